"""All methods on the same videos: the tables ``methods`` and ``methods_segments``, kept and put in print.

Runs what is missing, then renews benchmarks/results/methods.csv and methods_segments.csv, and the tables of
benchmarks/report/comparison.md.

    python benchmarks/comparison.py [--cores 2]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from pages import renew

from rgwot.reporting.tables.forms import pipe
from rgwot.reporting.tables.printed import DEGENERATE_SHARE, LOWER_IS_BETTER, PRINTED_RULE
from rgwot.reporting.tables.scores import read_table
from rgwot.reporting.tables.spec import Table, find_table, load_tables
from rgwot.runtime.files import write_text

HOUSE = Path(__file__).resolve().parents[1]
RESULTS = HOUSE / "benchmarks" / "results"
PAGE = HOUSE / "benchmarks" / "report" / "comparison.md"
CONFIGS = ("config.yaml", "benchmarks/tasks.yaml")


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
        best = ranked.min() if column.metric in LOWER_IS_BETTER else ranked.max()
        texts.append([
            "–" if pd.isna(value) else _cell(value, around, crossed=bool(cross), best=value == best and not cross)
            for value, around, cross in zip(mean, spread, out, strict=True)
        ])  # fmt: skip
    lines = [[row.label, row.source, *cells] for row, cells in zip(table.rows, zip(*texts, strict=True), strict=True)]
    return pipe(["", "follows", *(column.head for column in columns)], lines)


def _cell(mean: float, spread: float, *, crossed: bool, best: bool) -> str:
    text = f"{100 * mean:.1f}" + ("" if pd.isna(spread) else f" ± {100 * spread:.1f}")
    if crossed:
        return f"X ({text})"
    return f"**{text}**" if best else text


def main() -> None:
    """Make both tables, keep them, renew the pages, and print how long it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="jobs at a time")
    cores = parser.parse_args().cores
    tables = load_tables(HOUSE / "workflow" / "tables.yaml")
    made = {name: HOUSE / "results" / "tables" / f"{name}.csv" for name in ("methods", "methods_segments")}
    began = time.perf_counter()
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--configfile", *CONFIGS]
    command += ["--quiet", "host", "reason", "--keep-going"]
    targets = [str(path.relative_to(HOUSE)) for path in made.values()]
    subprocess.run([*command, "--", *targets], cwd=HOUSE, check=True)
    print(f"{(time.perf_counter() - began) / 60:.0f} minutes on {cores} cores", file=sys.stderr)
    read = {}
    for name, path in made.items():
        write_text(path.read_text(encoding="utf-8"), RESULTS / path.name)
        table = find_table(tables, name)
        read[name] = (table, read_table(table, path))
    places = read["methods"][0].datasets
    parts = [f"**{place.label}**\n\n{printed(*read['methods'], columns_of(name))}" for name, place in places.items()]
    renew(PAGE, "comparison", "comparison", "\n\n".join(parts))
    parts = [
        f"**{place.label}**\n\n{printed(*read['methods_segments'], segments_of(name))}"
        for name, place in places.items()
    ]
    renew(PAGE, "segments", "comparison", "\n\n".join(parts))


if __name__ == "__main__":
    main()
