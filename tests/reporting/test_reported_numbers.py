"""Every number of the paper's tables is in its cell, and only there.

The cell of a number is worked out here from the words of its line, not by the code that makes the tables.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pandas as pd
import pytest
from table_helpers import REPOSITORY, write_run

from rgwot.columns import SCORE_COLUMNS
from rgwot.reporting.tables.hyperparameters import Hyperparameters
from rgwot.reporting.tables.runtime import Runtime
from rgwot.reporting.tables.scores import write_table
from rgwot.reporting.tables.table import Table
from rgwot.reporting.targets import load_targets
from rgwot.study.study import Study

REPORTED = REPOSITORY / "workflow/reported"
LOADED = load_targets()
TABLES = {name: LOADED.table(name) for name in LOADED.tables}
DATASETS = {
    "CMU-MMAC": "cmu_mmac", "EGTEA-GAZE+": "egtea_gaze", "MECCANO": "meccano", "EPIC-Tents": "epic_tents",
    "PC Assembly": "pc_assembly", "PC Disassembly": "pc_disassembly", "ProceL": "procel", "CrossTask": "crosstask",
}  # fmt: skip
METRICS = {"Precision": "precision", "Recall": "recall", "F1": "f1", "IoU": "iou"}
TASKS = {
    "Bacon Eggs": "BaconAndEggs", "Breakfast": "ContinentalBreakfast", "Greek Salad": "GreekSalad",
    "Pasta Salad": "PastaSalad", "Turkey": "TurkeySandwich", "Assemble Clarinet": "assemble_clarinet",
    "Change iPhone Battery": "change_iphone_battery", "Change Tire": "change_tire",
    "Change Toilet Seat": "change_toilet_seat", "Jump Car": "jump_car", "Coffee": "make_coffee",
    "Make PBJ Sandwich": "make_pbj_sandwich", "Make Salmon Sandwich": "make_smoke_salmon_sandwich",
    "Perform CPR": "perform_cpr", "Repot Plant": "repot_plant", "Setup Chromecast": "setup_chromecast",
    "Tie Tie": "tie_tie",
}  # fmt: skip
PARTS = {
    "contrastive_regularization": "no_contrastive", "temporal_prior": "no_temporal_prior",
    "structural_prior": "no_structural_prior", "virtual_frame": "no_virtual_frame",
}  # fmt: skip
SCORE_FILES = [
    "egoprocel", "third_person", "multimodal", "action_segmentation", "ablation_components", "ablation_clustering",
    "ablation_k", "sensitivity_beta", "subtasks_egtea", "subtasks_cmu_mmac", "subtasks_procel", "subtasks_crosstask",
]  # fmt: skip


OF_THE_PAPER = r"RGWOT paper, .* table( \(supplement\))?"


def lines_of(name: str) -> list[dict[str, str]]:
    """Return those lines of a file of reported numbers that name a table of the paper as their source."""
    frame = pd.read_csv(REPORTED / f"{name}.csv", dtype=str, keep_default_na=False)
    return frame[frame["source"].str.fullmatch(OF_THE_PAPER)].to_dict("records")


def fabricated(table: Table, folder: Path) -> Path:
    """Write a file with scores for every row of a table: one protocol, one seed, one task per whole dataset."""
    lines = []
    for row, place in itertools.product(table.rows, table.datasets):
        run = (place.dataset, place.task or "first", row.method, row.decoder, 0, "micro_video", "with", "exact")
        values = dict.fromkeys(METRICS.values(), 0.5) | {"n_videos": 1, "degenerate": 0}
        lines += [(*run, metric, value) for metric, value in values.items()]
    # Two rows of a table may show one experiment.
    frame = pd.DataFrame(list(dict.fromkeys(lines)), columns=list(SCORE_COLUMNS))
    path = folder / f"{table.id}-scores.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    """Return every table of scores, made from made-up scores, written and read back."""
    folder = tmp_path_factory.mktemp("tables")
    frames = {}
    for table in (table for table in TABLES.values() if isinstance(table, Table) and table.paper):
        write_table(table, [fabricated(table, folder)], folder / f"{table.id}.csv")
        frames[table.id] = pd.read_csv(folder / f"{table.id}.csv", keep_default_na=False, na_values=[""])
    return frames


def cell_of(name: str, line: dict[str, str]) -> tuple[str, str]:
    """Return where a number belongs: the reported row and the column."""
    if name == "ablation_components":
        without = [row for part, row in PARTS.items() if line[part] == "no"]
        row = without[0] if without else "full"
    elif name in ("ablation_k", "sensitivity_beta"):
        key = name.rpartition("_")[2].replace("k", "K")
        row = f"{key}={line[key]}"
    else:
        row = line["method"]
    place = DATASETS[line["dataset"]] if line["task"] == "all" else TASKS.get(line["task"], line["task"])
    return row, f"{place}_{METRICS[line['metric']]}"


@pytest.mark.parametrize("name", SCORE_FILES)
def test_every_number_is_in_its_cell_and_every_cell_has_its_number(tables: dict[str, pd.DataFrame], name: str) -> None:
    frame = tables[name]
    rows = frame[frame["kind"] == "reported"].set_index("method")
    assert rows.index.is_unique
    # There may also be rows of other papers.
    rows = rows[rows["note"].str.contains("RGWOT paper, ")]
    values = [column for column in frame if column.rpartition("_")[2] in METRICS.values()]
    left = {(row, column) for row in rows.index for column in values if not pd.isna(rows.loc[row, column])}
    lines = lines_of(name)
    assert lines
    cells = [cell_of(name, line) for line in lines]
    assert len(set(cells)) == len(cells)
    for line, (row, column) in zip(lines, cells, strict=True):
        actual = rows.loc[row, column]
        if line["value"]:
            assert actual == pytest.approx(float(line["value"]) / 100, abs=1e-9), (row, column)
            left.remove((row, column))
        else:
            assert pd.isna(actual), (row, column)
            collapsed = rows.loc[row, f"{column.rpartition('_')[0]}_degenerate"]
            assert (collapsed == 1) == line["note"].startswith("degenerate"), (row, column)
    assert not left
    # Reported rows have no deviation and no number of runs; each has its protocol, or is marked as unknown.
    assert rows[[column for column in frame if column.endswith(("_sd", "_runs"))]].isna().all(axis=None)
    assert set(rows["protocol"]) <= {"micro_video", "macro_video", "macro_task", "unknown"}
    assert rows["note"].str.contains("not comparable with rows of another|comparable with no measured row").all()


def test_all_files_and_their_numbers_were_walked() -> None:
    of_the_paper = {path.stem for path in REPORTED.glob("*.csv") if path.stem != "hyperparameters"}
    counted = {name: len(lines_of(name)) for name in of_the_paper}
    assert {name for name, count in counted.items() if count} == {*SCORE_FILES, "runtime"}
    assert sum(counted.values()) == 120 + 84 + 24 + 48 + 20 + 32 + 24 + 24 + 14 + 10 + 24 + 36 + 3


def test_no_other_table_shows_reported_scores(tables: dict[str, pd.DataFrame]) -> None:
    with_reported = {name for name, frame in tables.items() if (frame["kind"] == "reported").any()}
    assert with_reported == set(SCORE_FILES)


def test_a_row_has_its_reported_numbers_beside_it(tmp_path: Path) -> None:
    table = TABLES["ablation_k"]
    frame = write_table(table, [fabricated(table, tmp_path)], tmp_path / "K=10.csv", "K=10")
    assert list(frame["kind"]) == ["reported", "measured"]
    assert set(frame["method"]) == {"K=10"}
    assert list(frame["pc_assembly_f1"]) == [0.378, 0.5]
    gt = write_table(table, [fabricated(table, tmp_path)], tmp_path / "K=gt.csv", "K=gt")
    assert list(gt["kind"]) == ["measured"]


def test_hyperparameters_one_by_one(tmp_path: Path) -> None:
    table = TABLES["hyperparameters"]
    assert isinstance(table, Hyperparameters)
    table.spelt(Study.of({"seeds": [0, 7]})).write(tmp_path / "hyperparameters.csv")
    frame = pd.read_csv(tmp_path / "hyperparameters.csv", dtype=str, keep_default_na=False).set_index("parameter")
    printed = pd.read_csv(REPORTED / "hyperparameters.csv", dtype=str, keep_default_na=False)
    # Names of rows in the paper, by their names in rgwot.
    names = pd.read_csv(table.parameters, dtype=str, keep_default_na=False).set_index("parameter")["reported"]
    beside = {names[row]: (value, source) for row, value, source in
              zip(frame.index, frame["reported"], frame["source"], strict=True) if value}  # fmt: skip
    assert beside == {
        name: (value, source)
        for name, value, source in zip(printed["name"], printed["value"], printed["source"], strict=True)
    }
    # Values are resolved from the configuration; those that are not settings are in the file of parameters.
    ours = {"K": "7", "alpha": "0.3", "seeds": "0, 7", "outer": "100", "inner": "", "log_floor": "1e-11"}
    assert {row: frame.loc[row, "rgwot"] for row in ours} == ours
    assert list(frame.loc[["outer", "inner"], "rgwot-parity"]) == ["25", "1"]


def test_run_times_one_by_one(tmp_path: Path) -> None:
    table = TABLES["runtime"]
    assert isinstance(table, Runtime)
    frame = table.frame({row.id: {0: write_run(tmp_path / row.id, 0, 600)} for row in table.rows})
    reported = frame[frame["kind"] == "reported"].set_index("method")["minutes"]
    assert dict(reported) == {line["method"].lower(): float(line["value"]) for line in lines_of("runtime")}
    assert dict(reported) == {"opel": 206, "vaot": 161, "rgwot": 164}
