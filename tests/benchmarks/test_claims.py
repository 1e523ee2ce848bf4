"""Claims, from scores and histories to verdicts and printed lines."""

from __future__ import annotations

import itertools
from pathlib import Path

import pandas as pd
import pytest
from claims import CLAIMS, Claim, judged, printed, seconds_of
from claims import EXPERIMENTS as ALL_EXPERIMENTS
from table_helpers import write_scores

from rgwot.records import read_scores
from rgwot.runtime.errors import RgwotError

EXPERIMENTS = {"new": ("rgwot", "graphcut"), "old": ("vaot", "graphcut")}
GROUPS = {"only d": ("d",)}
CELLS = (("macro_task", "with"), ("micro_video", "with"))
ABOVE = Claim("above", "New above old", (("new", "old"),), cells=CELLS)
COLLAPSE = Claim("collapse", "Old collapses", (("old", "new"),), "degenerate", cells=CELLS)
COST = Claim("cost", "As cheap", (("old", "new"),), "seconds", 0.1)
RUNS = [(dataset, task, seed) for dataset in "de" for task in "abc" for seed in range(3)]


def verdicts(claim: Claim, values: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(judged(claim, values, EXPERIMENTS, GROUPS))


def scores(folder: Path) -> list[Path]:
    """Write scores: rgwot is better by macro_task (only on dataset d), and worse by micro_video; vaot collapses."""
    paths = []
    for dataset, task, seed in RUNS:
        noise = 0.01 * ((ord(task) + seed) % 3)

        def new(protocol: str, background: str, rule: str, noise: float = noise, dataset: str = dataset) -> float:
            if rule != "exact" or background != "with":
                return 0.9
            return {"macro_task": 0.6 if dataset == "d" else 0.35, "micro_video": 0.2}.get(protocol, 0.5) + noise

        paths.append(write_scores(folder, ("rgwot", "graphcut", dataset, task, seed), new))
        paths.append(write_scores(folder, ("vaot", "graphcut", dataset, task, seed), 0.4, degenerate=1))
    return paths


def test_a_claim_is_judged_under_every_protocol_and_on_every_group(tmp_path: Path) -> None:
    values = read_scores(scores(tmp_path))
    table = verdicts(ABOVE, values).set_index(["tasks", "protocol"])
    assert table.loc[("only d", "macro_task"), "verdict"] == "holds"
    assert table.loc[("only d", "macro_task"), "effect"] == pytest.approx(0.21, abs=1e-6)
    assert table.loc[("all", "macro_task"), "verdict"] == "cannot tell"
    assert table.loc[("all", "micro_video"), "verdict"] == "does not hold"
    assert (table["low"] <= table["effect"]).all()
    assert (table["effect"] <= table["high"]).all()
    assert table.loc[("all", "macro_task"), ["n_tasks", "n_runs"]].tolist() == [6, 18]
    collapse = verdicts(COLLAPSE, values)
    assert collapse[["effect", "low", "high"]].drop_duplicates().to_numpy().tolist() == [[1, 1, 1]]
    assert set(collapse["verdict"]) == {"holds"}


def histories(folder: Path, **seconds: float) -> list[Path]:
    """Write histories of trainings of ten iterations that take the given seconds, by method."""
    paths = []
    for method, (dataset, task, seed) in itertools.product(seconds, RUNS):
        paths.append(folder / f"results/models/{method}/{dataset}/{task}/seed{seed}/history.csv")
        paths[-1].parent.mkdir(parents=True)
        paths[-1].write_text(f"step,loss,align,cidm,seconds\n10,1,1,1,{seconds[method]}\n")
    return paths


def test_times_are_those_of_an_iteration(tmp_path: Path) -> None:
    whole = verdicts(COST, seconds_of(histories(tmp_path, rgwot=10.5, vaot=10))).iloc[0]
    assert whole["effect"] == pytest.approx(10 / 10.5 - 1)
    assert whole["verdict"] == "holds"
    assert whole["protocol"] == ""


def test_printed_lines_lead_with_the_first_protocol(tmp_path: Path) -> None:
    values, times = read_scores(scores(tmp_path)), seconds_of(histories(tmp_path, rgwot=10, vaot=10))
    frame = pd.concat([verdicts(ABOVE, values), verdicts(COLLAPSE, values), verdicts(COST, times)])
    text = printed(frame, (ABOVE, COLLAPSE, COST), GROUPS)
    (line,) = (line for line in text.splitlines() if line.startswith("| New above old"))
    assert "cannot tell | holds | does not hold under all" in line
    assert "| Old collapses | +100.0 [+100.0, +100.0] | old − new | holds" in text
    assert "| As cheap | +0.0 % [+0.0, +0.0] |" in text


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    files = [path for path in scores(tmp_path) if "rgwot-graphcut-e-c" not in path.name]
    with pytest.raises(RgwotError, match="claim 'above', experiment 'new': found 5 of 6 tasks, or seeds that differ"):
        verdicts(ABOVE, read_scores(files))


def test_the_page_is_what_the_record_says() -> None:
    root = Path(__file__).parents[2]
    record = pd.read_csv(root / "benchmarks/results/claims.csv", keep_default_na=False)
    assert printed(record) in (root / "benchmarks/report/claims.md").read_text(encoding="utf-8")
    assert {claim.id for claim in CLAIMS} == set(record["claim"])
    assert {name for claim in CLAIMS for name in claim.experiments} <= set(ALL_EXPERIMENTS)
