"""The printed comparison of all methods: bold values, collapsed runs, and missing values."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from comparison import CONFIGS, LABELS, Column, columns_of, printed, segments_of, table_of

from rgwot.study.study import Study

ROOT = Path(__file__).parents[2]


@pytest.fixture
def study(house: Path) -> Study:
    return Study.read(tuple(map(Path, CONFIGS)))


def line(method: str, mean: float, spread: float, collapsed: int, metric: str = "f1") -> dict[str, object]:
    return {
        "method": method, "kind": "measured", "protocol": "macro_task", "background": "without", "label_rule": "exact",
        f"bench_made_{metric}": mean, f"bench_made_{metric}_sd": spread,
        "bench_made_task_runs": 3, "bench_made_degenerate": collapsed,
    }  # fmt: skip


@pytest.mark.parametrize(("metric", "best"), [("f1", "raw_kmeans"), ("order_distance", "uniform")])
def test_the_best_is_bold_and_a_collapse_is_not_ranked(study: Study, metric: str, best: str) -> None:
    table = table_of("methods", study, list(LABELS))
    frame = pd.DataFrame([
        line("uniform", 0.2, float("nan"), 0, metric),
        line("raw_kmeans", 0.4, 0.05, 1, metric),
        line("vaot", 0.9 if metric == "f1" else 0.1, 0.01, 2, metric),
        line("rgwot", 0.3, 0.01, 0, metric) | {"label_rule": "cnc"},
    ])  # fmt: skip
    text = printed(table, frame, [Column("bench_made", "macro_task", "without", metric, "value")])
    lines = [one.strip("| ").split(" | ") for one in text.splitlines()[2:]]
    cells = {label: cell for label, _, cell in lines}
    assert {label: follows.strip() for label, follows, _ in lines} == {row.label: row.source for row in table.rows}
    assert cells["VAOT"].startswith("X (")
    assert cells["RGWOT"] == "–"
    bold = [label for label, cell in cells.items() if cell.startswith("**")]
    assert bold == [table.row(best).label]
    assert cells["K equal segments"].strip("*") == "20.0"


def test_what_is_shown_is_in_the_tables(study: Study) -> None:
    for name, columns in (("methods", columns_of("bench_made")), ("methods_segments", segments_of("bench_human"))):
        table = table_of(name, study, list(LABELS))
        assert all(row.source for row in table.rows)
        for column in columns:
            assert column.dataset in table.places
            assert column.metric in table.metrics
            assert (column.protocol, column.background) in table.blocks


def test_the_record_has_these_rows(study: Study) -> None:
    for name in ("methods", "methods_segments"):
        recorded = pd.read_csv(ROOT / "benchmarks" / "results" / f"{name}.csv")["method"].unique()
        assert [row.id for row in table_of(name, study, list(LABELS)).rows] == list(recorded)
