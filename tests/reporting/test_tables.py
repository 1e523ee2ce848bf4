from __future__ import annotations

import shutil
import statistics
from dataclasses import replace

import pandas as pd
import pytest
from table_helpers import FLAT, ONE, OURS, REPOSITORY, TWO, all_scores, small_table, write_scores

from rgwot.records import read_scores
from rgwot.reporting.tables.printed import reported_notes
from rgwot.reporting.tables.reported import read_reported, reported_rows
from rgwot.reporting.tables.scores import measured_rows, read_table, table_columns, write_table
from rgwot.reporting.tables.table import Place, Table
from rgwot.reporting.targets import load_targets
from rgwot.runtime.errors import RgwotError


@pytest.fixture
def table(tmp_path):
    return small_table(tmp_path)


def without_iou(path):
    scores = pd.read_csv(path)
    scores[scores["metric"] != "iou"].to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    return write_table(small_table(folder), all_scores(folder), folder / "small.csv")


def cell(frame, method, column, *key):
    columns = [method, *(key or ("macro_task", "with", "exact"))]
    found = frame[(frame[["method", "protocol", "background", "label_rule"]] == columns).all(axis=1)]
    assert len(found) == 1
    return found[column].iloc[0]


def test_columns_are_those_of_the_contract_and_counts_behind_them(table):
    assert table_columns(table) == [
        "method", "kind", "protocol", "background", "label_rule", "n_runs", "n_videos", "degenerate", "note",
        "one_f1", "one_f1_sd", "one_iou", "one_iou_sd", "two_f1", "two_f1_sd", "two_iou", "two_iou_sd",
        "one_task_runs", "one_degenerate", "one_f1_degenerate", "one_iou_degenerate",
        "two_task_runs", "two_degenerate", "two_f1_degenerate", "two_iou_degenerate",
    ]  # fmt: skip


def test_tasks_are_averaged_within_a_seed_and_seeds_are_summarised(frame):
    # Seeds of `one`: (.1 + .3) / 2, (.2 + .4) / 2, (.3 + .8) / 2 = .2, .3, .55, whose mean is .35.
    assert cell(frame, "ours", "one_f1") == pytest.approx(0.35)
    assert cell(frame, "ours", "one_f1_sd") == pytest.approx(((0.15**2 + 0.05**2 + 0.2**2) / 2) ** 0.5)
    assert cell(frame, "ours", "one_iou") == pytest.approx(0.175)
    assert cell(frame, "ours", "two_f1") == pytest.approx(0.52)
    assert cell(frame, "ours", "two_f1_sd") == pytest.approx(statistics.stdev([0.50, 0.51, 0.55]))
    # Two equal seeds have the deviation 0; a single seed has none.
    assert cell(frame, "plain", "one_f1_sd") == 0.0
    assert pd.isna(cell(frame, "flat", "one_f1_sd"))
    assert cell(frame, "flat", "two_f1") == pytest.approx(0.9)


def test_counts_and_notes(frame):
    # Three seeds, of three tasks each.
    counts = {"n_runs": 3, "one_task_runs": 6, "two_task_runs": 3, "n_videos": 3 + 4 + 3, "degenerate": 1}
    assert {column: cell(frame, "ours", column) for column in counts} == counts
    assert cell(frame, "ours", "note") == "one: 2 of 9 videos skipped; two: 1 of 4 videos without annotation"
    assert cell(frame, "flat", "n_runs") == 1
    assert cell(frame, "flat", "note") == ""


def test_a_collapsed_run_is_reported_in_columns_of_its_own(frame):
    assert (cell(frame, "ours", "one_degenerate"), cell(frame, "ours", "two_degenerate")) == (1, 0)
    # Task a collapsed with seed 1, where F1 is 0.2; the mean over all runs includes this run.
    assert cell(frame, "ours", "one_f1_degenerate") == pytest.approx(0.2)
    assert cell(frame, "ours", "one_iou_degenerate") == pytest.approx(0.1)
    assert pd.isna(cell(frame, "ours", "two_f1_degenerate"))
    assert pd.isna(cell(frame, "plain", "one_f1_degenerate"))
    assert cell(frame, "ours", "one_f1") == pytest.approx(0.35)


def test_every_protocol_has_its_own_measured_row(table, tmp_path):
    order = {}

    def distinct(*key):
        return order.setdefault(key, len(order) / 100)

    paths = [
        write_scores(tmp_path, (*OURS, *place, 0), distinct) for place in (("one", "a"), ("one", "b"), ("two", "a"))
    ]
    frame = write_table(table, paths, tmp_path / "ours.csv", "ours")
    assert len(order) == 16
    for key, value in order.items():
        assert cell(frame, "ours", "one_f1", *key) == pytest.approx(value)
    assert len(frame) == 16


def test_missing_tasks_of_a_dataset_are_noted(table, tmp_path):
    paths = [write_scores(tmp_path, (*OURS, d, "a", 0), 0.5) for d in ("one", "two")]
    frame = write_table(table, paths, tmp_path / "ours.csv", "ours")
    assert set(frame.note) == {"one: 1 of 2 tasks"}


def test_a_row_by_itself_is_that_of_the_table_and_reading_it_back_loses_nothing(table, frame, tmp_path):
    paths = all_scores(tmp_path)
    for row in table.rows:
        own = [path for path in paths if path.name.startswith(f"{row.method}-{row.decoder}")]
        made = write_table(table, own, tmp_path / "rows" / f"{row.id}.csv", row.id)
        expected = frame[frame["method"] == row.id].reset_index(drop=True)
        pd.testing.assert_frame_equal(made, expected)
    # A file of scores that is given twice counts once.
    pd.testing.assert_frame_equal(write_table(table, [*reversed(paths), paths[0]], tmp_path / "all.csv"), frame)
    whole = read_table(table, tmp_path / "all.csv")
    pd.testing.assert_frame_equal(whole, frame)
    assert whole["n_runs"].dtype == "Int64"
    with pytest.raises(RgwotError, match=r"no row 'our'; did you mean 'ours'\?"):
        write_table(table, paths, tmp_path / "x.csv", "our")


def test_what_is_reported_of_a_method_stands_beside_its_row(tmp_path):
    reported = small_table(tmp_path).reported
    rgwot, gpl = reported.rows
    table = small_table(tmp_path, reported=replace(reported, rows=[replace(rgwot, row="ours"), gpl]))
    for row, shown in (("ours", ["RGWOT"]), ("plain", [])):
        made = write_table(table, all_scores(tmp_path), tmp_path / f"{row}.csv", row)
        assert list(made.loc[made["kind"] == "reported", "method"]) == shown


def test_order_distance_may_be_missing(tmp_path):
    table = small_table(tmp_path, metrics=["order_distance"], reported=None)
    paths = [
        write_scores(tmp_path, (*OURS, "one", "a", 0), 0.5, order_distance=0.25),
        write_scores(tmp_path, (*OURS, "one", "b", 0), 0.5, order_distance=float("nan")),
        write_scores(tmp_path, (*OURS, "two", "a", 0), 0.5),
    ]
    frame = write_table(table, paths, tmp_path / "ours.csv", "ours")
    assert cell(frame, "ours", "one_order_distance") == 0.25
    assert pd.isna(cell(frame, "ours", "two_order_distance"))


def test_a_protocol_without_a_metric_has_no_note_about_its_values(tmp_path):
    table = small_table(tmp_path, metrics=["f1", "order_distance"], reported=None)
    paths = [
        write_scores(tmp_path, (*OURS, *task, 0), 0.5, order_distance=0.25)
        for task in (("one", "a"), ("one", "b"), ("two", "a"))
    ]
    for path in paths:
        scores = pd.read_csv(path)
        scores[(scores["metric"] != "order_distance") | (scores["protocol"] == "macro_task")].to_csv(path, index=False)
    frame = write_table(table, paths, tmp_path / "ours.csv", "ours")
    assert frame["note"].fillna("").eq("").all()
    assert pd.isna(cell(frame, "ours", "one_order_distance", "micro_video", "with", "exact"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, f: p[:3], r"row 'ours': found no scores of rgwot/graphcut on one, two"),
        (lambda p, f: [path for path in p if path.name != "rgwot-graphcut-one-b-2.csv"],
         r"row 'ours': seed 2: found no scores of one/b, expected them as for the other seeds"),
        (lambda p, f: [path for path in p if path.name != "raw-kmeans-two-a-1.csv"],
         r"row 'plain': seed 1: found no scores of two/a"),
        (lambda p, f: [without_iou(path) for path in p],
         r"found scores without iou; evaluate them again"),
        (lambda p, f: [*p, shutil.copy(p[0], f / "copy.csv")], "found none/one_label/one/a seed 0 twice"),
        (lambda p, f: [], "found no file"),
        (lambda p, f: [f / "reported.csv"], r"reported\.csv: no column decoder, seed.*; expected dataset,"),
        (lambda p, f: [f / "gone.csv"], r"gone\.csv: cannot be read"),
    ],
)  # fmt: skip
def test_mistakes_end_in_one_line(table, tmp_path, change, message):
    paths = change(all_scores(tmp_path), tmp_path)
    with pytest.raises(RgwotError, match=message) as caught:
        write_table(table, paths, tmp_path / "small.csv")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "small.csv").exists()


def test_a_table_of_other_columns_is_refused(table, frame, tmp_path):
    path = tmp_path / "small.csv"
    write_table(table, all_scores(tmp_path), path)
    path.write_text(path.read_text().replace("one_f1,", "three_f1,", 1))
    with pytest.raises(RgwotError, match=r"small\.csv: no column one_f1; expected method,kind"):
        read_table(table, path)


def test_reported_rows_carry_their_protocol_and_stand_first(frame):
    assert list(frame.kind[:3]) == ["reported", "reported", "measured"]
    rgwot, gpl = frame.iloc[0], frame.iloc[1]
    how = ["method", "protocol", "background", "label_rule"]
    assert list(rgwot[how]) == ["RGWOT", "micro_video", "with", "cnc"]
    assert list(gpl[how]) == ["GPL", "unknown", "unknown", "unknown"]
    assert (rgwot.one_f1, rgwot.one_iou, rgwot.two_f1) == (0.544, 0.386, 0.374)
    assert rgwot[["two_iou", "one_f1_sd", "n_runs"]].isna().all()
    assert pd.isna(gpl.two_f1)
    assert rgwot.note == "paper; other features; made with micro_video: not comparable with rows of another protocol"
    assert gpl.note.startswith("paper; other features; protocol unknown: comparable with no measured row")


def rows_of(table):
    """Return the reported rows of a table."""
    return reported_rows(table.reported, table.places, table.metrics) if table.reported else []


def test_a_reported_row_has_the_source_of_its_own_numbers(tmp_path):
    table, path = small_table(tmp_path), tmp_path / "reported.csv"
    path.write_text(path.read_text().replace("GPL,ONE,all,F1,30.2,,paper,", "GPL,ONE,all,F1,30.2,,another paper,"))
    frame = write_table(table, all_scores(tmp_path), tmp_path / "small.csv")
    assert [note.split("; ")[0] for note in frame.note[:2]] == ["paper", "another paper and paper"]
    assert "Sources of the reported rows: paper: RGWOT; another paper and paper: GPL." in reported_notes(table, frame)


def test_every_reported_number_is_read_with_the_protocol_that_it_was_made_with():
    loaded = load_targets()
    tables = [one for one in map(loaded.table, loaded.tables) if isinstance(one, Table)]
    rows = {table.id: {row["method"]: row for row in rows_of(table)} for table in tables}
    assert {name: row["protocol"] for name, row in rows["egoprocel"].items()}.items() >= {
        "RGWOT": "micro_video", "VAOT": "micro_video", "OPEL": "macro_video", "CnC": "macro_task",
        "Random": "macro_task", "Uniform": "unknown", "GPL-2D": "unknown", "UG-I3D": "unknown",
        "GPL-w BG": "unknown", "GPL-w/o BG": "unknown",
    }.items()  # fmt: skip


def test_reported_numbers_agree_with_each_other():
    """The headline number of a dataset is the mean of its tasks, up to the rounding in print (methods 8)."""
    folder = REPOSITORY / "workflow" / "reported"
    headline = read_reported(folder / "egoprocel.csv")
    for name, tasks, dataset in (("subtasks_cmu_mmac", 5, "CMU-MMAC"), ("subtasks_egtea", 7, "EGTEA-GAZE+")):
        frame = read_reported(folder / f"{name}.csv")
        for metric in ("F1", "IoU"):
            values = frame[frame.metric == metric].value
            whole = headline[(headline.method == "RGWOT") & (headline.dataset == dataset) & (headline.metric == metric)]
            assert len(values) == tasks
            assert values.mean() == pytest.approx(whole.value.iloc[0], abs=0.11)


def test_reported_numbers_are_checked(table, tmp_path):
    path = tmp_path / "reported.csv"
    good = path.read_text()
    path.write_text(good.replace("54.4", "544"))
    with pytest.raises(RgwotError, match=r"reported\.csv: row 2: found '544', expected a percentage"):
        rows_of(table)
    path.write_text(good + "RGWOT,ONE,all,F1,54.5,,paper,\n")
    with pytest.raises(RgwotError, match="found 2 values of 'RGWOT' for ONE F1, expected one"):
        rows_of(table)
    path.write_text(good.replace("GPL,ONE", "GPL,OEN").replace("GPL,TWO", "GPL,TOW"))
    with pytest.raises(
        RgwotError, match="found no number of 'GPL' for any column, expected one of dataset ONE, TWO and"
    ):
        rows_of(table)
    path.write_text(good.replace("GPL", "GPS"))
    with pytest.raises(RgwotError, match="found no line of 'GPL'"):
        rows_of(table)


def test_hieros_f1_of_a_dataset_is_that_of_the_mean_precision_and_recall(table, tmp_path):
    paths = [
        write_scores(tmp_path, (*FLAT, "one", task, 0), 0.5, precision=precision, recall=recall)
        for task, precision, recall in (("a", 0.2, 1.0), ("b", 0.4, 0.2))
    ]
    for path in paths:
        path.write_text(path.read_text().replace(",micro_video,", ",hiero,"))
    rows = measured_rows(table, table.row("flat"), read_scores(paths))
    actual = {row["protocol"]: row["one_f1"] for row in rows if row["background"] == "with"}
    assert actual["hiero"] == pytest.approx(2 * 0.3 * 0.6 / 0.9)
    assert actual["macro_video"] == 0.5


def test_a_mean_over_the_datasets_is_taken_within_a_seed_and_beside_what_is_reported(tmp_path):
    values = {("one", "a"): (0.2, 0.1), ("one", "b"): (0.4, 0.3), ("two", "c"): (0.5, 0.4)}
    paths = [write_scores(tmp_path, (*FLAT, *place, seed), values[place][seed]) for place in values for seed in (0, 1)]
    table = small_table(tmp_path, datasets=[ONE, TWO, Place("both", "Mean", reported="ALL", mean=True)])
    with (tmp_path / "reported.csv").open("a") as file:
        file.write("GPL,ALL,all,F1,40,,paper,\n")
    assert [row.get("both_f1") for row in rows_of(table)][1] == 0.4
    for row in measured_rows(table, table.row("flat"), read_scores(paths)):
        # Seed 0: (0.3 + 0.5) / 2; seed 1: (0.2 + 0.4) / 2.
        assert row["both_f1"] == pytest.approx(0.35)
        assert row["both_f1_sd"] == pytest.approx(statistics.stdev([0.4, 0.3]))
        assert (row["both_task_runs"], row["n_runs"]) == (6, 2)
        assert "both" not in row["note"]
