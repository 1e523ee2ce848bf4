"""All methods on the same videos: the tables ``methods`` and ``methods_segments``, kept and put in print.

Runs what is missing, then renews benchmarks/results/methods.csv and methods_segments.csv, and the tables of
benchmarks/report/comparison.md.

    python benchmarks/comparison.py [--cores 2]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from pages import CONFIGS, HOUSE, REPORT, RESULTS, make, options_of, renew

from rgwot.reporting.tables.forms import pipe
from rgwot.reporting.tables.metrics import METRICS
from rgwot.reporting.tables.printed import DEGENERATE_SHARE, MARKDOWN, PRINTED_RULE, Value
from rgwot.reporting.tables.scores import read_table
from rgwot.reporting.tables.spec import Table, find_table, load_tables
from rgwot.runtime.files import write_text

PAGE = REPORT / "comparison.md"


class Column(NamedTuple):
    """A value of a table: the dataset, the cell that it stands in, and its head in print."""

    dataset: str
    protocol: str
    background: str
    metric: str
    head: str


def columns_of(dataset: str) -> list[Column]:
    """Return what the page shows of a dataset."""
    return [
        Column(dataset, "macro_task", "without", "f1", "`macro_task` F1"),
        Column(dataset, "strict_task", "without", "f1", "`strict_task` F1"),
        Column(dataset, "macro_task", "without", "order_distance", "order distance ↓"),
        Column(dataset, "macro_task", "with", "f1", "`macro_task` F1, with background"),
        Column(dataset, "micro_video", "with", "f1", "`micro_video` F1, with background"),
    ]


def segments_of(dataset: str) -> list[Column]:
    """Return what it shows of a dataset's segments."""
    heads = {
        "mof": "MoF", "miou": "mIoU", "f1_sampled": "F1 of sampled frames", "f1_10": "F1@10", "f1_25": "F1@25",
        "f1_50": "F1@50", "edit": "edit",
    }  # fmt: skip
    return [Column(dataset, "segmentation", "without", metric, head) for metric, head in heads.items()]


def printed(table: Table, frame: pd.DataFrame, columns: Sequence[Column]) -> str:
    """Return a Markdown table of all rows in percent: the best of a column bold, collapsed ones with an X, unranked."""
    measured = frame[(frame["kind"] == "measured") & (frame["label_rule"] == PRINTED_RULE)]
    texts: list[list[str]] = []
    for column in columns:
        here = measured[(measured["protocol"] == column.protocol) & (measured["background"] == column.background)]
        own = here.set_index("method").reindex([row.id for row in table.rows])
        mean, spread = (own[f"{column.dataset}_{column.metric}{end}"] for end in ("", "_sd"))
        runs, collapsed = (own[f"{column.dataset}_{what}"].astype(float) for what in ("task_runs", "degenerate"))
        out = (collapsed > 0) & (collapsed >= DEGENERATE_SHARE * runs)
        ranked = mean[~out]
        best = ranked.min() if METRICS[column.metric].lower_is_better else ranked.max()
        texts.append([
            Value(100 * value, 100 * around, int(cross), 1, best=value == best).text(MARKDOWN)
            for value, around, cross in zip(mean, spread, out, strict=True)
        ])  # fmt: skip
    lines = [[row.label, row.source, *cells] for row, cells in zip(table.rows, zip(*texts, strict=True), strict=True)]
    return pipe(["", "follows", *(column.head for column in columns)], lines)


def main() -> None:
    """Make both tables, keep them, renew the pages, and print how long it took."""
    cores = options_of(__doc__).parse_args().cores
    tables = load_tables(HOUSE / "workflow" / "tables.yaml")
    began = time.perf_counter()
    targets = {name: f"results/tables/{name}.csv" for name in ("methods", "methods_segments")}
    if done := make(targets.values(), cores, CONFIGS):
        sys.exit(done)
    print(f"{(time.perf_counter() - began) / 60:.0f} minutes on {cores} cores", file=sys.stderr)
    for (name, target), mark, columns in zip(
        targets.items(), ("comparison", "segments"), (columns_of, segments_of), strict=True
    ):
        write_text((HOUSE / target).read_text(encoding="utf-8"), RESULTS / f"{name}.csv")
        table = find_table(tables, name)
        frame = read_table(table, HOUSE / target)
        places = find_table(tables, "methods").datasets
        parts = [f"**{place.label}**\n\n{printed(table, frame, columns(name))}" for name, place in places.items()]
        renew(PAGE, mark, "comparison", "\n\n".join(parts))


if __name__ == "__main__":
    main()
