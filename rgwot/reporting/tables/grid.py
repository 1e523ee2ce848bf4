"""The part of a table that a printed form shows: which cells stand where, and which of them are best."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from rgwot.reporting.tables.models import Block, Table

PRINTED_RULE = "exact"
LOWER_IS_BETTER = ("order_distance", "consensus_distance")
METRIC_LABELS = {
    "f1": "F1", "iou": "IoU", "precision": "Precision", "recall": "Recall", "order_distance": "Order",
    "mof": "MoF", "miou": "mIoU", "precision_sampled": "Precision of segments", "recall_sampled": "Recall of segments",
    "f1_sampled": "F1 of segments", "f1_10": "F1@10", "f1_25": "F1@25", "f1_50": "F1@50", "edit": "Edit",
    "edge_precision": "Precision of edges", "edge_recall": "Recall of edges", "edge_f1": "F1 of edges",
    "consensus_distance": "One order", "order_f1": "F1 of order errors", "missing_f1": "F1 of steps left out",
}  # fmt: skip
MAX_COLUMNS = 12

DEGENERATE_SHARE = 0.5
"""Share of collapsed runs from which a cell is marked with an X, as the paper marks a method that collapsed."""


class Value(NamedTuple):
    """One value in percent: mean, deviation (or NaN), collapsed runs of all, and rank (1 best, 2 second, 0 other).

    ``runs`` is 0 for a reported value, of whose runs nothing is known.
    """

    mean: float
    deviation: float
    collapsed: int = 0
    runs: int = 0
    rank: int = 0

    @property
    def degenerate(self) -> bool:
        """Whether so many runs collapsed that the value stands for them."""
        return self.collapsed > 0 and self.collapsed >= DEGENERATE_SHARE * self.runs


Cell = tuple[Value, ...]
"""What stands in one column of one line: one value, or those of several metrics side by side."""


class Column(NamedTuple):
    """One column: the block it belongs to, the dataset or row it is about, and its metrics."""

    block: Block
    name: str
    metrics: tuple[str, ...]


class Line(NamedTuple):
    """One line in print: its label, ``measured`` or ``reported`` (or ``dataset``), trivial or not, and its cells."""

    label: str
    kind: str
    trivial: bool
    cells: tuple[Cell, ...] = ()


class Grid(NamedTuple):
    """Columns and lines of one printed table, and whether it has reported rows."""

    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    reported: bool


Key = tuple[str, str]
"""Kind and id of a row, as the CSV has them."""


def block_title(block: Block) -> str:
    """Name a block: the protocol and what happens to background."""
    return f"{block.protocol}, {block.background} background"


def rows_under(frame: pd.DataFrame, block: Block) -> dict[Key, Mapping[Any, Any]]:
    """Return the lines of the CSV that a block shows, by kind and method."""
    here = frame[(frame["protocol"] == block.protocol) & (frame["background"] == block.background)]
    # Reported rows come with whatever label rule their code has; measured ones are shown by one of the two.
    here = here[(here["kind"] == "reported") | (here["label_rule"] == PRINTED_RULE)]
    return {(row["kind"], row["method"]): row for row in here.to_dict("records")}


def _ranks(values: Sequence[float], metric: str) -> list[int]:
    """Rank values among each other: 1 the best, 2 the second best, 0 the rest; equal values share a rank.

    >>> _ranks([0.3, 0.5, 0.4, 0.5, float("nan")], "f1")
    [0, 1, 2, 1, 0]
    """
    distinct = sorted({value for value in values if not math.isnan(value)}, reverse=metric not in LOWER_IS_BETTER)
    place = {value: rank for rank, value in enumerate(distinct[:2], start=1)} if len(distinct) > 1 else {}
    return [place.get(value, 0) for value in values]


def make_grid(table: Table, frame: pd.DataFrame, blocks: Sequence[Block], max_columns: int = MAX_COLUMNS) -> Grid:
    """Choose the cells of a printed table.

    Measured rows stand in the order of the table and are ranked within each column, trivial answers included:
    they were all made by the same protocol on the same videos. Cells marked as degenerate are not ranked. Reported
    rows stand first, only under the protocol that they were made with, and are not ranked. A column without any
    value is left out.

    With ``lines: datasets`` the datasets of a table stand below each other and its rows side by side. ``blocks`` are
    groups of columns, from left to right; with more columns than ``max_columns`` the metrics of a dataset share one.
    """
    shown = [rows_under(frame, block) for block in blocks]
    rows = {key: line for key, line in _lines(table).items() if any(key in part for part in shown)}
    reported = frame[frame["kind"] == "reported"]
    # Where all that the papers print is an X, every metric counts as printed.
    printed = [
        metric
        for metric in table.metrics
        if reported[[f"{place}_{metric}" for place in table.datasets]].notna().any(axis=None)
    ] or table.metrics
    joined = len(blocks) * len(table.datasets) * len(table.metrics) > max_columns
    groups: list[tuple[str, ...]] = [table.metrics] if joined else [(metric,) for metric in table.metrics]

    columns: list[tuple[Column, list[Cell]]] = []
    for block, part in zip(blocks, shown, strict=True):
        values: dict[str, dict[str, list[Value]]] = {
            name: {metric: _values(part, rows, name, metric, metric in printed) for metric in table.metrics}
            for name in table.datasets
        }
        if table.lines == "rows":
            for name, place in table.datasets.items():
                for metrics in groups:
                    cells = list(zip(*(values[name][metric] for metric in metrics), strict=True))
                    columns.append((Column(block, place.label if len(table.datasets) > 1 else "", metrics), cells))
        else:
            # A column of one row holds all that is known of it, else a table of many tasks would be too wide.
            for index, row in enumerate(rows.values()):
                cells = [tuple(own[metric][index] for metric in table.metrics) for own in values.values()]
                columns.append((Column(block, row.label, table.metrics), cells))
    kept = [(column, cells) for column, cells in columns if any(map(_shows, cells))]
    places = [Line(place.label, "dataset", False) for place in table.datasets.values()]
    heads = rows.values() if table.lines == "rows" else places
    lines = [head._replace(cells=tuple(cells[index] for _, cells in kept)) for index, head in enumerate(heads)]
    if table.lines == "datasets":
        lines = [line for line in lines if any(map(_shows, line.cells))]
    return Grid(tuple(column for column, _ in kept), tuple(lines), any(row.kind == "reported" for row in rows.values()))


def _shows(cell: Cell) -> bool:
    """Whether there is something to print, at least the mark of a collapse."""
    return any(value.degenerate or not math.isnan(value.mean) for value in cell)


def _lines(table: Table) -> dict[Key, Line]:
    """Return all rows of a table without their cells, the reported ones first."""
    labels = {row.id: row.label for row in table.rows}
    # With a condition, several reported rows are of one method, and only the condition distinguishes them.
    reported = {
        ("reported", entry.id): Line(f"{labels.get(entry.id, entry.method)} (reported)", "reported", False)
        for entry in (table.reported.methods if table.reported else ())
    }
    return reported | {("measured", row.id): Line(row.label, "measured", row.trivial) for row in table.rows}


def _values(
    part: Mapping[Key, Mapping[Any, Any]], rows: Collection[Key], place: str, metric: str, printed: bool
) -> list[Value]:
    values = []
    for key in rows:
        own = part.get(key, {})
        # A collapse is reported of a method; its X stands where the papers have numbers.
        counts = [own.get(f"{place}_{what}") for what in ("degenerate", "task_runs")]
        counted = key[0] == "measured" or printed
        mean, deviation = (100 * own.get(f"{place}_{metric}{end}", math.nan) for end in ("", "_sd"))
        values.append(Value(mean, deviation, *(int(n) if counted and pd.notna(n) else 0 for n in counts)))
    ranked = [
        value.mean if kind == "measured" and not value.degenerate else math.nan
        for (kind, _), value in zip(rows, values, strict=True)
    ]
    return [value._replace(rank=rank) for value, rank in zip(values, _ranks(ranked, metric), strict=True)]
