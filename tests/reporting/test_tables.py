from __future__ import annotations

import statistics

import pandas as pd
import pytest
from table_helpers import FLAT, OURS, PLAIN, REPOSITORY, SPEC, all_scores, make_table, small_table, write_scores

from rgwot.records import read_scores
from rgwot.reporting.tables.scores import (
    join_rows,
    make_row,
    measured_rows,
    read_reported,
    read_table,
    reported_rows,
    table_columns,
)
from rgwot.reporting.tables.spec import load_tables
from rgwot.runtime.errors import RgwotError


@pytest.fixture
def table(tmp_path):
    return small_table(tmp_path)


def cell(frame, method, column, protocol="macro_task", background="with", rule="exact"):
    found = frame[
        (frame.method == method)
        & (frame.protocol == protocol)
        & (frame.background == background)
        & (frame.label_rule == rule)
    ]
    assert len(found) == 1
    return found[column].iloc[0]


def test_columns_are_those_of_the_contract_and_counts_behind_them(table):
    assert table_columns(table) == [
        "method", "kind", "protocol", "background", "label_rule", "n_runs", "n_videos", "degenerate", "note",
        "one_f1", "one_f1_sd", "one_iou", "one_iou_sd", "two_f1", "two_f1_sd", "two_iou", "two_iou_sd",
        "one_task_runs", "one_degenerate", "one_f1_degenerate", "one_iou_degenerate",
        "two_task_runs", "two_degenerate", "two_f1_degenerate", "two_iou_degenerate",
    ]  # fmt: skip


def test_tasks_are_averaged_within_a_seed_and_seeds_are_summarised(table, tmp_path):
    frame = make_table(table, all_scores(tmp_path), tmp_path / "small.csv")
    # Seeds of `one`: (.1 + .3) / 2, (.2 + .4) / 2, (.3 + .8) / 2 = .2, .3, .55, whose mean is .35.
    assert cell(frame, "ours", "one_f1") == pytest.approx(0.35)
    assert cell(frame, "ours", "one_f1_sd") == pytest.approx(((0.15**2 + 0.05**2 + 0.2**2) / 2) ** 0.5)
    assert cell(frame, "ours", "one_iou") == pytest.approx(0.175)
    assert cell(frame, "ours", "two_f1") == pytest.approx(0.52)
    assert cell(frame, "ours", "two_f1_sd") == pytest.approx(statistics.stdev([0.50, 0.51, 0.55]))
    # Two equal seeds deviate by nothing; one seed has no deviation.
    assert cell(frame, "plain", "one_f1_sd") == 0.0
    assert pd.isna(cell(frame, "flat", "one_f1_sd"))
    assert cell(frame, "flat", "two_f1") == pytest.approx(0.9)


def test_counts_and_notes(table, tmp_path):
    frame = make_table(table, all_scores(tmp_path), tmp_path / "small.csv")
    # Three seeds, of three tasks each.
    assert cell(frame, "ours", "n_runs") == 3
    assert cell(frame, "ours", "one_task_runs") == 6
    assert cell(frame, "ours", "two_task_runs") == 3
    assert cell(frame, "ours", "n_videos") == 3 + 4 + 3
    assert cell(frame, "ours", "degenerate") == 1
    assert cell(frame, "ours", "note") == "one: 2 of 9 videos skipped; two: 1 of 4 videos without annotation"
    assert cell(frame, "flat", "n_runs") == 1
    assert cell(frame, "flat", "note") == ""


def test_a_collapsed_run_is_told_in_columns_of_its_own(table, tmp_path):
    frame = make_table(table, all_scores(tmp_path), tmp_path / "small.csv")
    assert (cell(frame, "ours", "one_degenerate"), cell(frame, "ours", "two_degenerate")) == (1, 0)
    # Task a with seed 1 collapsed, at 0.2; the mean over all runs keeps it.
    assert cell(frame, "ours", "one_f1_degenerate") == pytest.approx(0.2)
    assert cell(frame, "ours", "one_iou_degenerate") == pytest.approx(0.1)
    assert pd.isna(cell(frame, "ours", "two_f1_degenerate"))
    assert pd.isna(cell(frame, "plain", "one_f1_degenerate"))
    assert cell(frame, "ours", "one_f1") == pytest.approx(0.35)


def test_every_protocol_has_its_own_measured_row(table, tmp_path):
    order = {}

    def distinct(*key):
        return order.setdefault(key, len(order) / 100)

    paths = []
    for method, decoder in (FLAT, OURS, PLAIN):
        for dataset, task in (("one", "a"), ("one", "b"), ("two", "a")):
            paths.append(write_scores(tmp_path, (method, decoder, dataset, task, 0), distinct))
    frame = make_table(table, paths, tmp_path / "small.csv")
    assert len(order) == 16
    for key, value in order.items():
        assert cell(frame, "ours", "one_f1", *key) == pytest.approx(value)
    assert (frame[frame.kind == "measured"].groupby("method").size() == 16).all()


def test_missing_tasks_of_a_dataset_are_noted(table, tmp_path):
    paths = [write_scores(tmp_path, (*OURS, d, "a", 0), 0.5) for d in ("one", "two")]
    frame = make_row(table, "ours", paths, tmp_path / "ours.csv", {})
    assert set(frame.note) == {"one: 1 of 2 tasks"}


def test_rows_put_together_are_the_table(table, tmp_path):
    paths = all_scores(tmp_path)
    rows = []
    for row in table.rows:
        own = [path for path in paths if path.name.startswith(f"{row.method}-{row.decoder}")]
        rows.append(tmp_path / "rows" / f"{row.id}.csv")
        frame = make_row(table, row.id, own, rows[-1], {})
        assert set(frame.method) == {row.id}
        assert set(frame.kind) == {"measured"}
    join_rows(table, reversed(rows), tmp_path / "joined.csv")
    make_table(table, paths, tmp_path / "whole.csv")
    assert (tmp_path / "joined.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    # Reading back loses nothing, so a table can be printed from its file.
    whole = read_table(table, tmp_path / "whole.csv")
    pd.testing.assert_frame_equal(whole, make_table(table, paths, tmp_path / "again.csv"))
    assert whole["n_runs"].dtype == "Int64"


def test_order_distance_may_be_missing(tmp_path):
    changed = {**SPEC["tables"]["small"], "metrics": ["order_distance"], "reported": None}
    table = small_table(tmp_path, {**SPEC, "tables": {"small": changed}})
    paths = [
        write_scores(tmp_path, (*OURS, "one", "a", 0), 0.5, order_distance=0.25),
        write_scores(tmp_path, (*OURS, "one", "b", 0), 0.5, order_distance=float("nan")),
        write_scores(tmp_path, (*OURS, "two", "a", 0), 0.5),
    ]
    frame = make_row(table, "ours", paths, tmp_path / "ours.csv", {})
    assert cell(frame, "ours", "one_order_distance") == 0.25
    assert pd.isna(cell(frame, "ours", "two_order_distance"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, f: p[:3], r"row 'ours': found no scores of rgwot/graphcut on one, two"),
        (lambda p, f: [path for path in p if path.name != "rgwot-graphcut-one-b-2.csv"],
         r"row 'ours': seed 2: found no scores of one/b, expected them as for the other seeds"),
        (lambda p, f: [path for path in p if path.name != "raw-kmeans-two-a-1.csv"],
         r"row 'plain': seed 1: found no scores of two/a"),
        (lambda p, f: [*p, p[0]], "found none/one_label/one/a seed 0 twice"),
        (lambda p, f: [], "found no file"),
        (lambda p, f: [f / "reported.csv"], r"reported\.csv: found columns .* expected also decoder,seed"),
        (lambda p, f: [f / "gone.csv"], r"gone\.csv: cannot be read as scores"),
    ],
)  # fmt: skip
def test_mistakes_end_in_one_line(table, tmp_path, change, message):
    paths = change(all_scores(tmp_path), tmp_path)
    with pytest.raises(RgwotError, match=message) as caught:
        make_table(table, paths, tmp_path / "small.csv")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "small.csv").exists()


def test_joining_the_wrong_rows_is_refused(table, tmp_path):
    paths = all_scores(tmp_path)
    for row in table.rows:
        make_row(table, row.id, paths, tmp_path / f"{row.id}.csv", {})
    flat, ours = tmp_path / "flat.csv", tmp_path / "ours.csv"
    with pytest.raises(RgwotError, match="found no row plain"):
        join_rows(table, [flat, ours], tmp_path / "small.csv")
    with pytest.raises(RgwotError, match="expected one row of table 'small', each row once"):
        join_rows(table, [flat, flat], tmp_path / "small.csv")
    with pytest.raises(RgwotError, match="found other columns than its table has"):
        join_rows(table, [paths[0]], tmp_path / "small.csv")
    with pytest.raises(RgwotError, match=r"no row 'our'; did you mean 'ours'\?"):
        make_row(table, "our", paths, tmp_path / "x.csv", {})


def test_reported_rows_carry_their_protocol_and_stand_first(table, tmp_path):
    frame = make_table(table, all_scores(tmp_path), tmp_path / "small.csv")
    assert list(frame.kind[:3]) == ["reported", "reported", "measured"]
    rgwot, gpl = frame.iloc[0], frame.iloc[1]
    assert (rgwot.method, rgwot.protocol, rgwot.background, rgwot.label_rule) == (
        "RGWOT",
        "micro_video",
        "with",
        "cnc",
    )
    assert (gpl.method, gpl.protocol, gpl.background, gpl.label_rule) == (
        "GPL",
        "unknown",
        "unknown",
        "unknown",
    )
    assert (rgwot.one_f1, rgwot.one_iou, rgwot.two_f1) == (0.544, 0.386, 0.374)
    assert pd.isna(rgwot.two_iou)
    assert pd.isna(gpl.two_f1)
    assert pd.isna(rgwot.one_f1_sd)
    assert pd.isna(rgwot.n_runs)
    assert rgwot.note == "other features; made with micro_video: not comparable with rows of another protocol"
    assert gpl.note.startswith("other features; protocol unknown: comparable with no measured row")


def test_reported_egoprocel_cell_by_cell():
    table = load_tables(REPOSITORY / "workflow" / "tables.yaml")["egoprocel"]
    rows = {row["method"]: row for row in reported_rows(table)}
    printed = pd.read_csv(REPOSITORY / "workflow" / "reported" / "egoprocel.csv", keep_default_na=False)
    by_print = {dataset.reported: name for name, dataset in table.datasets.items()}
    assert len(printed) == len(rows) * len(by_print) * 2 == 120
    for line in printed.itertuples():
        assert rows[line.method][f"{by_print[line.dataset]}_{line.metric.lower()}"] == pytest.approx(line.value / 100)
    # Three cells by hand, so that file and table cannot be wrong together.
    assert rows["RGWOT"]["cmu_mmac_f1"] == 0.544
    assert rows["OPEL"]["epic_tents_iou"] == 0.106
    assert rows["GPL-w/o BG"]["egtea_gaze_f1"] == 0.271
    protocols = {name: row["protocol"] for name, row in rows.items()}
    assert protocols == {
        "RGWOT": "micro_video", "VAOT": "micro_video", "OPEL": "macro_video", "CnC": "macro_task",
        "Random": "macro_task", "Uniform": "unknown", "GPL-2D": "unknown", "UG-I3D": "unknown",
        "GPL-w BG": "unknown", "GPL-w/o BG": "unknown",
    }  # fmt: skip


def test_reported_numbers_agree_with_each_other():
    """The headline of a dataset is the mean of its tasks, to the rounding of print (methods 8)."""
    folder = REPOSITORY / "workflow" / "reported"
    headline = read_reported(folder / "egoprocel.csv")
    for name, tasks, dataset in (("subtasks_cmu_mmac", 5, "CMU-MMAC"), ("subtasks_egtea", 7, "EGTEA-GAZE+")):
        frame = read_reported(folder / f"{name}.csv")
        for metric in ("F1", "IoU"):
            values = frame[frame.metric == metric].value
            whole = headline[(headline.method == "RGWOT") & (headline.dataset == dataset) & (headline.metric == metric)]
            assert len(values) == tasks
            assert values.mean() == pytest.approx(whole.value.iloc[0], abs=0.11)


@pytest.mark.parametrize("path", sorted((REPOSITORY / "workflow" / "reported").glob("*.csv")), ids=lambda p: p.stem)
def test_all_reported_files_read(path):
    if path.stem == "hyperparameters":
        frame = pd.read_csv(path)
        assert {"name", "symbol", "value", "source"} <= set(frame.columns)
    else:
        assert len(read_reported(path)) > 0


def test_reported_numbers_are_checked(table, tmp_path):
    path = tmp_path / "reported.csv"
    good = path.read_text()
    path.write_text(good.replace("54.4", "544"))
    with pytest.raises(RgwotError, match=r"reported\.csv: row 2: found '544', expected a percentage"):
        reported_rows(table)
    path.write_text(good + "RGWOT,ONE,all,F1,54.5,,paper,\n")
    with pytest.raises(RgwotError, match="found 2 values of 'RGWOT' for ONE F1, expected one"):
        reported_rows(table)
    path.write_text(good.replace("GPL", "GPS"))
    with pytest.raises(RgwotError, match="found no method 'GPL'"):
        reported_rows(table)


def test_hieros_f1_of_a_dataset_is_that_of_the_mean_precision_and_recall(tmp_path):
    facts = ("none", "one_label", "one")
    paths = [
        write_scores(tmp_path, (*facts, task, 0), 0.5, precision=precision, recall=recall)
        for task, precision, recall in (("a", 0.2, 1.0), ("b", 0.4, 0.2))
    ]
    for path in paths:
        path.write_text(path.read_text().replace(",micro_video,", ",hiero,"))
    table = small_table(tmp_path)
    rows = measured_rows(table, table.row("flat"), read_scores(paths))
    found = {row["protocol"]: row["one_f1"] for row in rows if row["background"] == "with"}
    assert found["hiero"] == pytest.approx(2 * 0.3 * 0.6 / 0.9)
    assert found["macro_video"] == 0.5


def test_a_mean_over_the_datasets_is_taken_within_a_seed_and_beside_what_is_reported(tmp_path):
    facts = ("none", "one_label")
    values = {
        ("one", "a", 0): 0.2,
        ("one", "b", 0): 0.4,
        ("two", "c", 0): 0.5,
        ("one", "a", 1): 0.1,
        ("one", "b", 1): 0.3,
        ("two", "c", 1): 0.4,
    }
    paths = [write_scores(tmp_path, (*facts, *place), value) for place, value in values.items()]
    mean = {"label": "Mean", "reported": "ALL", "mean": True}
    entry = SPEC["tables"]["small"] | {"datasets": ["one", "two", "both"]}
    spec = SPEC | {"datasets": SPEC["datasets"] | {"both": mean}, "tables": {"small": entry}}
    table = small_table(tmp_path, spec)
    with (tmp_path / "reported.csv").open("a") as file:
        file.write("GPL,ALL,all,F1,40,,paper,\n")
    assert [row.get("both_f1") for row in reported_rows(table)][1] == 0.4
    rows = measured_rows(table, table.row("flat"), read_scores(paths))
    # Seed 0: (0.3 + 0.5) / 2; seed 1: (0.2 + 0.4) / 2.
    assert [row["both_f1"] for row in rows] == pytest.approx([0.35] * len(rows))
    assert [row["both_f1_sd"] for row in rows] == pytest.approx([statistics.stdev([0.4, 0.3])] * len(rows))
    assert {(row["both_task_runs"], row["n_runs"]) for row in rows} == {(6, 2)}
    assert all("both" not in row["note"] for row in rows)
