"""Tables of settings and of run times, whose cells are texts and single numbers."""

from __future__ import annotations

import inspect

import pandas as pd
import pytest
from table_helpers import MACHINE, REPOSITORY, write_run

from rgwot.reporting.tables import runtime, settings
from rgwot.reporting.tables.kinds import kind_of
from rgwot.reporting.tables.spec import RuntimeTable, SettingsTable, load_tables
from rgwot.runtime.errors import RgwotError


@pytest.fixture
def times():
    rows = [{"id": "slow", "label": "Slow_one", "method": "opel"}, {"id": "fast", "label": "Fast", "method": "vaot"}]
    return RuntimeTable.model_validate(
        {"kind": "runtime", "id": "times", "title": "Times", "dataset": "d", "task": "t", "rows": rows}
    )


def test_minutes_are_those_of_the_benchmarks_and_a_resumed_training_is_told(times, tmp_path):
    inputs = [path for seed, seconds in enumerate((600, 660, 720)) for path in write_run(tmp_path, seed, seconds)]
    runtime.make_row(times, "slow", inputs, tmp_path / "slow.csv", {})
    (line,) = pd.read_csv(tmp_path / "slow.csv").to_dict("records")
    expected = {"n_runs": 3, "iterations": 10, "minutes": 11, "minutes_sd": 1, "seconds_per_iteration": 66}
    expected |= {"memory_mb": 1002, "hardware": "2 threads of Some CPU"}
    assert {key: line[key] for key in expected} == expected
    assert pd.isna(line["note"])
    runtime.make_row(times, "slow", write_run(tmp_path, 3, 60, trained=600), tmp_path / "slow.csv", {})
    note = pd.read_csv(tmp_path / "slow.csv")["note"].iloc[0]
    assert note == "seed 3: the training was resumed, so its benchmark covers 1.0 of 10.0 minutes"


def test_rows_are_joined_and_hardware_is_named(times, tmp_path):
    gpu = {"gpu": "Big GPU", "processor": "Some CPU", "threads": 2}
    for row, machine, iterations in (("slow", MACHINE, 20), ("fast", gpu, 10)):
        inputs = write_run(tmp_path / row, 0, 600, iterations, machine=machine)
        runtime.make_row(times, row, inputs, tmp_path / f"{row}.csv", {})
    kind_of(times).join_rows(times, [tmp_path / "fast.csv", tmp_path / "slow.csv"], tmp_path / "times.csv")
    runtime.render_table(times, tmp_path / "times.csv")
    text = (tmp_path / "times.md").read_text(encoding="utf-8")
    assert text.index("Slow_one") < text.index("Fast")
    assert "| Fast | 10.0 | 1 | 10 | 60.000 | 1000 | Big GPU, 2 threads of Some CPU |" in text
    assert "they are not comparable" in text
    assert "different numbers of iterations" in text
    assert r"Slow\_one & 10.0" in (tmp_path / "times.tex").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("seeds", "missing", "message"),
    [
        ([(0, 11), (1, 10)], None, "found trainings of 10 and 11 iterations, expected one number; train them again"),
        ([(0, 10)], "machine.json", "seed 0: time of a training cannot be read"),
        ([], None, "found no benchmark"),
    ],
)
def test_what_cannot_be_timed_is_one_line(times, tmp_path, seeds, missing, message):
    inputs = [path for seed, steps in seeds for path in write_run(tmp_path, seed, 60, steps) if path.name != missing]
    with pytest.raises(RgwotError, match=message):
        runtime.make_row(times, "slow", inputs, tmp_path / "slow.csv", {})


def test_values_that_cannot_be_set_are_those_of_the_code():
    from rgwot.losses.cross_entropy import _PROBABILITY_FLOOR
    from rgwot.transport.fused_gromov_wasserstein import solve

    rows = {row.id: row.fixed for row in load_tables(REPOSITORY / "workflow/tables.yaml")["hyperparameters"].rows}
    parameters = inspect.signature(solve).parameters
    assert rows["outer"]["rgwot-parity"] == str(parameters["parity_outer"].default)
    assert rows["inner"]["rgwot-parity"] == str(parameters["parity_inner"].default)
    assert {float(value) for value in rows["log_floor"].values()} == {_PROBABILITY_FLOOR}


def test_settings_of_every_method_stand_side_by_side(tmp_path):
    rows = [
        {"id": "alpha", "label": "Weight", "symbol": "α", "key": "ot.alpha"},
        {"id": "seeds", "label": "Seeds", "key": "seeds"},
        {"id": "fixed", "label": "Fixed", "note": "cannot be set"},
    ]
    table = SettingsTable.model_validate(
        {"kind": "settings", "id": "numbers", "title": "Numbers", "methods": ["one", "two"], "rows": rows}
    )
    facts = {"alpha": {"one": "0.3", "two": "1"}, "seeds": {"one": "0, 7", "two": "0, 7"}, "fixed": {}}
    for row in table.rows:
        settings.make_row(table, row.id, [], tmp_path / f"{row.id}.csv", facts[row.id])
    kind_of(table).join_rows(table, [tmp_path / f"{row.id}.csv" for row in table.rows], tmp_path / "numbers.csv")
    settings.render_table(table, tmp_path / "numbers.csv")
    text = (tmp_path / "numbers.md").read_text(encoding="utf-8")
    for line in ("Weight | α | 0.3 | 1 | – |", "Seeds |  | 0, 7 | 0, 7 | – |", "Fixed |  | – | – | – |"):
        assert f"| {line}" in text
    assert "Fixed: cannot be set." in text
    assert r"$\alpha$" in (tmp_path / "numbers.tex").read_text(encoding="utf-8")
