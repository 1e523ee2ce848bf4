"""Tables of settings and of run times, which have texts and single numbers as cells."""

from __future__ import annotations

import inspect

import pandas as pd
import pytest
from table_helpers import write_run

from rgwot.reporting.tables.hyperparameters import Hyperparameters
from rgwot.reporting.tables.reported import Reported
from rgwot.reporting.tables.runtime import Runtime
from rgwot.reporting.tables.table import Place, Row
from rgwot.reporting.targets import load_targets
from rgwot.runtime.errors import RgwotError
from rgwot.study.study import Study


@pytest.fixture
def times():
    rows = [Row("slow", "Slow_one", "opel"), Row("fast", "Fast", "vaot")]
    return Runtime(id="times", title="Times", place=Place("d", "D", task="t"), rows=rows)


def test_minutes_are_those_of_the_benchmarks_and_a_resumed_training_is_noted(times, tmp_path):
    slow = {seed: write_run(tmp_path, seed, seconds) for seed, seconds in enumerate((600, 660, 720))}
    fast = {3: write_run(tmp_path, 3, 60, trained=600)}
    line, resumed = times.frame({"slow": slow, "fast": fast}).to_dict("records")
    expected = {"method": "slow", "n_runs": 3, "iterations": 10, "minutes": 11, "minutes_sd": 1}
    expected |= {"seconds_per_iteration": 66, "memory_mb": 1002, "hardware": "2 threads of Some CPU", "note": ""}
    assert {key: line[key] for key in expected} == expected
    assert pd.isna(resumed["minutes_sd"])
    assert resumed["note"] == "seed 3: the training was resumed, so its benchmark covers 1.0 of 10.0 minutes"


def test_rows_stand_below_each_other_and_hardware_is_named(times, tmp_path, monkeypatch):
    gpu = {"gpu": "Big GPU", "processor": "Some CPU", "threads": 2}
    runs = {"opel": write_run(tmp_path / "slow", 0, 600, 20), "vaot": write_run(tmp_path / "fast", 0, 600, machine=gpu)}
    monkeypatch.setattr(Runtime, "_run", lambda self, row, seed: runs[row.method])
    times.spelt(Study.of({"seeds": [0]})).write(tmp_path / "times.csv")
    text = (tmp_path / "times.md").read_text(encoding="utf-8")
    assert text.index("Slow_one") < text.index("Fast")
    assert "| Fast | 10.0 | 1 | 10 | 60.000 | 1000 | Big GPU, 2 threads of Some CPU |" in text
    assert "they are not comparable" in text
    assert "different numbers of iterations" in text
    assert r"Slow\_one & 10.0" in (tmp_path / "times.tex").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("seeds", "missing", "message"),
    [
        ([(0, 11), (1, 10)], None, "row 'slow': found training runs of 10 and 11 iterations, expected the same"),
        ([(0, 10)], "machine.json", "seed 0: the training time cannot be read"),
    ],
)
def test_what_cannot_be_timed_is_one_line(times, tmp_path, seeds, missing, message):
    runs = {seed: write_run(tmp_path, seed, 60, steps) for seed, steps in seeds}
    for path in (path for files in runs.values() for path in files if path.name == missing):
        path.unlink()
    with pytest.raises(RgwotError, match=message):
        times.frame({"slow": runs, "fast": runs})


def test_values_that_cannot_be_set_are_those_of_the_code():
    from rgwot.losses.cross_entropy import _PROBABILITY_FLOOR
    from rgwot.transport.fused_gromov_wasserstein import solve

    path = load_targets().table("hyperparameters").parameters
    fixed = pd.read_csv(path, dtype=str, keep_default_na=False).set_index("parameter")
    parameters = inspect.signature(solve).parameters
    assert fixed.loc["outer", "rgwot-parity"] == str(parameters["parity_outer"].default)
    assert fixed.loc["inner", "rgwot-parity"] == str(parameters["parity_inner"].default)
    assert {float(value) for value in fixed.loc["log_floor", ["rgwot", "rgwot-parity"]]} == {_PROBABILITY_FLOOR}


PARAMETERS = """parameter,label,symbol,key,rgwot,vaot,reported,note
alpha,Weight,α,ot.alpha,,,Alpha,
seeds,Seeds,,seeds,,,,
fixed,Fixed,,,,25,,cannot be set
"""


def test_settings_of_every_method_stand_side_by_side(tmp_path):
    (tmp_path / "parameters.csv").write_text(PARAMETERS, encoding="utf-8")
    (tmp_path / "reported.csv").write_text("name,value,source,note\nAlpha,0.5,paper,twice\n")
    table = Hyperparameters(
        id="numbers",
        title="Numbers",
        methods=["rgwot", "vaot"],
        parameters=tmp_path / "parameters.csv",
        reported=Reported(tmp_path / "reported.csv"),
    )
    study = Study.of({"seeds": [0, 7], "ot": {"alpha": 0.25}})
    table.spelt(study).write(tmp_path / "numbers.csv")
    text = (tmp_path / "numbers.md").read_text(encoding="utf-8")
    for line in ("Weight | α | 0.25 | 0.25 | 0.5 |", "Seeds |  | 0, 7 | 0, 7 | – |", "Fixed |  | – | 25 | – |"):
        assert f"| {line}" in text
    assert "Weight: reported: twice." in text
    assert "Fixed: cannot be set." in text
    assert r"$\alpha$" in (tmp_path / "numbers.tex").read_text(encoding="utf-8")
    # A change of a setting makes the table outdated.
    assert table.spelt(study).content() != table.spelt(Study.of({"seeds": [0, 7]})).content()
    (tmp_path / "parameters.csv").write_text(PARAMETERS.replace("ot.alpha", "ot.alhpa"), encoding="utf-8")
    with pytest.raises(RgwotError, match="unknown setting 'ot.alhpa'; did you mean 'ot.alpha'"):
        table.spelt(study)
