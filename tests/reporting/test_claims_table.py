"""Tables of claims: from scores and histories to verdicts, and the metrics that stand in a table of their own."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml
from table_helpers import write_scores

from rgwot.reporting.tables import claims
from rgwot.reporting.tables.kinds import kind_of
from rgwot.reporting.tables.scores import make_row, read_table
from rgwot.reporting.tables.spec import ClaimsTable, load_tables
from rgwot.runtime.errors import RgwotError

CLAIMS = """
datasets: {d: {label: D}, e: {label: E}}
tables:
  claims:
    kind: claims
    title: Claims
    datasets: [d, e]
    groups: {only d: [d]}
    blocks: [{protocol: macro_task, background: with}, {protocol: micro_video, background: with}]
    experiments: {new: {method: rgwot, decoder: graphcut}, old: {method: vaot, decoder: graphcut}}
    rows:
      - {id: above, label: New above old, pairs: [[new, old]]}
      - {id: collapse, label: Old collapses, metric: degenerate, pairs: [[old, new]]}
      - {id: cost, label: As cheap, metric: seconds, pairs: [[old, new]], margin: 0.1}
"""
RUNS = [(dataset, task, seed) for dataset in "de" for task in "abc" for seed in range(3)]


@pytest.fixture
def table(tmp_path: Path) -> ClaimsTable:
    (tmp_path / "tables.yaml").write_text(CLAIMS)
    found = load_tables(tmp_path / "tables.yaml")["claims"]
    assert isinstance(found, ClaimsTable)
    return found


def scores(folder: Path) -> list[Path]:
    """The new method is better under macro_task on d only, and worse under micro_video; the old one collapses."""
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


def test_a_claim_is_judged_under_every_protocol_and_on_every_group(table: ClaimsTable, tmp_path: Path) -> None:
    files = scores(tmp_path)
    claims.make_row(table, "above", files, tmp_path / "above.csv", {})
    found = pd.read_csv(tmp_path / "above.csv").set_index(["tasks", "protocol"])
    assert found.loc[("only d", "macro_task"), "verdict"] == "holds"
    assert found.loc[("only d", "macro_task"), "effect"] == pytest.approx(0.21, abs=1e-6)
    assert found.loc[("all", "macro_task"), "verdict"] == "cannot tell"
    assert found.loc[("all", "micro_video"), "verdict"] == "does not hold"
    assert (found["low"] <= found["effect"]).all()
    assert (found["effect"] <= found["high"]).all()
    assert found.loc[("all", "macro_task"), ["n_tasks", "n_runs"]].tolist() == [6, 18]

    claims.make_row(table, "collapse", files, tmp_path / "collapse.csv", {})
    collapse = pd.read_csv(tmp_path / "collapse.csv")
    assert collapse[["effect", "low", "high"]].drop_duplicates().to_numpy().tolist() == [[1, 1, 1]]
    assert set(collapse["verdict"]) == {"holds"}


def histories(folder: Path, **seconds: float) -> list[Path]:
    """Histories of trainings of ten iterations, by method."""
    paths = []
    for method, (dataset, task, seed) in itertools.product(seconds, RUNS):
        paths.append(folder / f"results/models/{method}/{dataset}/{task}/seed{seed}/history.csv")
        paths[-1].parent.mkdir(parents=True)
        paths[-1].write_text(f"step,loss,align,cidm,seconds\n10,1,1,1,{seconds[method]}\n")
    return paths


def test_times_are_those_of_an_iteration(table: ClaimsTable, tmp_path: Path) -> None:
    claims.make_row(table, "cost", histories(tmp_path, rgwot=10.5, vaot=10), tmp_path / "cost.csv", {})
    whole = pd.read_csv(tmp_path / "cost.csv").iloc[0]
    assert whole["effect"] == pytest.approx(10 / 10.5 - 1)
    assert whole["verdict"] == "holds"
    assert pd.isna(whole["protocol"])


@pytest.mark.parametrize(("text", "wrong"), [("", "found no row"), ("10,1,1,1,\n", "row 2: found seconds ''")])
def test_a_history_that_was_cut_off_is_refused_in_one_line(
    table: ClaimsTable, tmp_path: Path, text: str, wrong: str
) -> None:
    files = histories(tmp_path, rgwot=10.5, vaot=10)
    files[3].write_text(f"step,loss,align,cidm,seconds\n{text}")
    with pytest.raises(RgwotError, match=f"{re.escape(str(files[3]))}: {wrong}"):
        claims.make_row(table, "cost", files, tmp_path / "cost.csv", {})


def test_printed_forms_lead_with_the_first_protocol(table: ClaimsTable, tmp_path: Path) -> None:
    files, times = scores(tmp_path), histories(tmp_path, rgwot=10, vaot=10)
    rows = [tmp_path / f"{row.id}.csv" for row in table.rows]
    for row, path in zip(table.rows, rows, strict=True):
        claims.make_row(table, row.id, times if row.id == "cost" else files, path, {})
    kind_of(table).join_rows(table, rows, tmp_path / "claims.csv")
    claims.render_table(table, tmp_path / "claims.csv")
    text = (tmp_path / "claims.md").read_text(encoding="utf-8")
    (line,) = (line for line in text.splitlines() if line.startswith("| New above old"))
    assert "cannot tell | holds | does not hold under all" in line
    assert "| Old collapses | +100.0 [+100.0, +100.0] | old − new | holds" in text
    assert "| As cheap | +0.0 % [+0.0, +0.0] |" in text
    assert r"\begin{tabular}" in (tmp_path / "claims.tex").read_text(encoding="utf-8")


def test_what_is_missing_is_named(table: ClaimsTable, tmp_path: Path) -> None:
    files = scores(tmp_path)
    files = [path for path in files if "rgwot-graphcut-e-c" not in path.name]
    with pytest.raises(RgwotError, match="claim 'above', experiment 'new': found 5 of 6 tasks, or seeds that differ"):
        claims.make_row(table, "above", files, tmp_path / "x.csv", {})
    content = yaml.safe_load(CLAIMS)
    content["tables"]["claims"]["rows"][0]["pairs"] = [["new", "oldest"]]
    (tmp_path / "tables.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(RgwotError, match=r"claim 'above': experiment 'oldest' is not there; .*old"):
        load_tables(tmp_path / "tables.yaml")


SEGMENTS = """
datasets: {d: {label: D}}
tables:
  segments:
    title: Segments
    datasets: [d]
    metrics: [mof, edit]
    blocks: [{protocol: segmentation, background: without}]
    rows: [{id: raw, label: Raw, method: raw, decoder: kmeans}]
"""


def test_segments_stand_beside_no_other_protocol(tmp_path: Path) -> None:
    (tmp_path / "tables.yaml").write_text(SEGMENTS)
    table = load_tables(tmp_path / "tables.yaml")["segments"]
    path = write_scores(tmp_path, ("raw", "kmeans", "d", "a", 0), 0.5)
    with pytest.raises(RgwotError, match="scores without the protocol segmentation"):
        make_row(table, "raw", [path], tmp_path / "raw.csv", {})
    old = pd.read_csv(path)
    new = old[old["metric"] == "f1"].assign(protocol="segmentation", metric="edit", value=0.7).drop_duplicates()
    pd.concat([old, new]).to_csv(path, index=False)
    make_row(table, "raw", [path], tmp_path / "raw.csv", {})
    found = read_table(table, tmp_path / "raw.csv")
    assert set(found["protocol"]) == {"segmentation"}
    assert found["d_edit"].tolist() == [0.7] * len(found)
    for wrong in ({"metrics": ["mof", "f1"]}, {"blocks": [{"protocol": "macro_task", "background": "with"}]}):
        content = yaml.safe_load(SEGMENTS)
        content["tables"]["segments"] |= wrong
        (tmp_path / "tables.yaml").write_text(yaml.safe_dump(content))
        with pytest.raises(RgwotError, match="protocol (segmentation|macro_task) has the metrics"):
            load_tables(tmp_path / "tables.yaml")
