"""The part of a table that a printed form shows: which cells stand where, and which of them are best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import pandas as pd

from rgwot.evaluation.protocols import BACKGROUNDS, PROTOCOLS
from rgwot.reporting.tables.models import UNKNOWN, Block, Table

PRINTED_RULE = "exact"
LOWER_IS_BETTER = ("order_tau",)
METRIC_LABELS = {"f1": "F1", "iou": "IoU", "precision": "Precision", "recall": "Recall", "order_tau": "Order"}
MAX_COLUMNS = 12

DEGENERATE_SHARE = 0.5
"""Share of collapsed runs from which a cell is marked with an X, as the paper marks a method that collapsed."""


@dataclass(frozen=True)
class Value:
    """One value in percent: mean, deviation (or NaN), rank (1 best, 2 second, 0 other), and collapsed runs of all.

    ``runs`` is 0 for a reported value, of whose runs nothing is known.
    """

    mean: float
    deviation: float
    rank: int = 0
    collapsed: int = 0
    runs: int = 0

    @property
    def degenerate(self) -> bool:
        """Whether so many runs collapsed that the value stands for them."""
        return self.collapsed > 0 and self.collapsed >= DEGENERATE_SHARE * self.runs

    @property
    def empty(self) -> bool:
        """Whether there is nothing to print, not even the mark of a collapse."""
        return math.isnan(self.mean) and not self.degenerate


Cell = tuple[Value, ...]
"""What stands in one column of one line: one value, or those of several metrics side by side."""


@dataclass(frozen=True)
class Column:
    """One column: the block it belongs to, the dataset or row it is about, and its metrics."""

    block: Block
    name: str
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """One line in print: its label, ``measured`` or ``reported`` (or ``dataset``), trivial or not, and its cells."""

    label: str
    kind: str
    trivial: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Grid:
    """Columns and lines of one printed table."""

    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    reported: bool = False

    @property
    def spans(self) -> list[tuple[Block, int]]:
        """Neighbouring columns of one block, counted."""
        return [(block, len(list(same))) for block, same in groupby(column.block for column in self.columns)]


class _Row(NamedTuple):
    """A row that is shown: its id in the CSV, label, kind, and whether it is a trivial answer."""

    id: str
    label: str
    kind: str
    trivial: bool


def block_title(block: Block) -> str:
    """Name a block: the protocol and what happens to background."""
    return f"{block.protocol}, {block.background} background"


def other_blocks(table: Table) -> list[list[Block]]:
    """Return the blocks a table does not lead with, those of one protocol together."""
    every = [[Block(protocol=name, background=bg) for bg in BACKGROUNDS] for name in PROTOCOLS]  # type: ignore[arg-type]
    left = [[block for block in blocks if block not in table.blocks] for blocks in every]
    return [blocks for blocks in left if blocks]


def leading_blocks(table: Table) -> list[list[Block]]:
    """Return the blocks a table leads with, as many together as fit side by side."""
    across = len(table.datasets) if table.lines == "rows" else len(table.rows)
    step = max(1, MAX_COLUMNS // across)
    return [list(table.blocks[first : first + step]) for first in range(0, len(table.blocks), step)]


def unknown_block(frame: pd.DataFrame) -> tuple[pd.DataFrame, Block]:
    """Return the reported rows whose protocol nobody knows, and a block to show them under; its name means nothing."""
    block = Block(protocol="micro_video", background="with")
    placed = frame[frame["protocol"] == UNKNOWN]
    return placed.assign(protocol=block.protocol, background=block.background), block


def _select(frame: pd.DataFrame, block: Block) -> dict[tuple[str, str], Mapping[Any, Any]]:
    """Return the lines of the CSV that a block shows, by kind and method."""
    here = frame[(frame["protocol"] == block.protocol) & (frame["background"] == block.background)]
    # Reported rows come with whatever label rule their code has; measured ones are shown by one of the two.
    here = here[(here["kind"] == "reported") | (here["label_rule"] == PRINTED_RULE)]
    return {(row["kind"], row["method"]): row for row in here.to_dict("records")}


def _printed(table: Table, frame: pd.DataFrame) -> set[str]:
    """Return the metrics that the papers print; all where what they print is an X throughout."""
    reported = frame[frame["kind"] == "reported"]
    found = {
        str(metric)
        for metric in table.metrics
        if reported[[f"{place}_{metric}" for place in table.datasets]].notna().any(axis=None)
    }
    return found or {str(metric) for metric in table.metrics}


def _number(row: Mapping[Any, Any], column: str) -> float:
    value = row.get(column)
    return math.nan if value is None or pd.isna(value) else float(value)


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

    Parameters
    ----------
    table
        The table; with ``lines: datasets`` its datasets stand below each other and its rows side by side.
    frame
        Its content, as from `rgwot.reporting.tables.make.read_table`.
    blocks
        Groups of columns, from left to right.
    max_columns
        With more columns than this, the metrics of a dataset share one.
    """
    shown = [_select(frame, block) for block in blocks]
    rows = _rows(table, shown)
    places = table.datasets
    sides: list[tuple[Any, str]]
    downs: list[tuple[Any, str, str, bool]]
    if table.lines == "rows":
        sides = [(name, place.label if len(places) > 1 else "") for name, place in places.items()]
        downs = [(index, row.label, row.kind, row.trivial) for index, row in enumerate(rows)]
    else:
        sides = [(index, row.label) for index, row in enumerate(rows)]
        downs = [(name, place.label, "dataset", False) for name, place in places.items()]
    # A column of one row holds all that is known of it, else a table of many tasks would be as wide as it is long.
    joined = len(blocks) * len(sides) * len(table.metrics) > max_columns or table.lines == "datasets"
    groups: list[tuple[str, ...]] = [table.metrics] if joined else [(metric,) for metric in table.metrics]

    printed = _printed(table, frame)
    columns: list[tuple[Column, list[Cell]]] = []
    for block, part in zip(blocks, shown, strict=True):
        values: dict[tuple[str, str], list[Value]] = {
            (name, metric): _values(part, rows, name, metric, metric in printed)
            for name in places
            for metric in table.metrics
        }
        for side, label in sides:
            for metrics in groups:
                cells = []
                for down, *_ in downs:
                    name, index = (side, down) if table.lines == "rows" else (down, side)
                    cells.append(tuple(values[name, metric][index] for metric in metrics))
                columns.append((Column(block, label, metrics), cells))
    kept = [(column, cells) for column, cells in columns if any(map(_told, cells))]
    lines = [
        Line(label, kind, trivial, tuple(cells[number] for _, cells in kept))
        for number, (_, label, kind, trivial) in enumerate(downs)
    ]
    if table.lines == "datasets":
        lines = [line for line in lines if any(map(_told, line.cells))]
    return Grid(tuple(column for column, _ in kept), tuple(lines), any(row.kind == "reported" for row in rows))


def _told(cell: Cell) -> bool:
    return any(not value.empty for value in cell)


def _rows(table: Table, shown: Sequence[Mapping[tuple[str, str], Any]]) -> list[_Row]:
    """Return the rows that any of the blocks shows: the reported ones first."""
    labels = {row.id: row.label for row in table.rows}
    entries = table.reported.methods if table.reported else ()
    rows = [
        # With a condition, several reported rows are of one method, and the condition is what tells them apart.
        _Row(e.id, f"{labels.get(e.id, e.method)} (reported)", "reported", False)
        for e in entries
    ]
    rows += [_Row(row.id, row.label, "measured", row.trivial) for row in table.rows]
    return [row for row in rows if any((row.kind, row.id) in part for part in shown)]


def _values(
    part: Mapping[tuple[str, str], Mapping[Any, Any]], rows: Sequence[_Row], place: str, metric: str, printed: bool
) -> list[Value]:
    values = []
    for kind, row in ((row.kind, part.get((row.kind, row.id), {})) for row in rows):
        mean, deviation = _number(row, f"{place}_{metric}"), _number(row, f"{place}_{metric}_sd")
        counts = [_number(row, f"{place}_{what}") for what in ("degenerate", "task_runs")]
        # A collapse is reported of a method; its X stands where the papers have numbers.
        known = kind == "measured" or printed
        values.append(
            Value(100 * mean, 100 * deviation, 0, *(int(n) if known and not math.isnan(n) else 0 for n in counts))
        )
    ranked = [row.kind == "measured" and not value.degenerate for row, value in zip(rows, values, strict=True)]
    ranks = _ranks([value.mean if counts else math.nan for value, counts in zip(values, ranked, strict=True)], metric)
    return [
        Value(value.mean, value.deviation, rank, value.collapsed, value.runs)
        for value, rank in zip(values, ranks, strict=True)
    ]
