"""The part of a table that a printed form shows: which cells stand where, and which of them are best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from rgwot.evaluation.protocols import BACKGROUNDS, PROTOCOLS
from rgwot.reporting.spec import Block, Table

PRINTED_RULE = "exact"
LOWER_IS_BETTER = ("order_tau",)
METRIC_LABELS = {"f1": "F1", "iou": "IoU", "precision": "Precision", "recall": "Recall", "order_tau": "Order"}
MAX_COLUMNS = 12


@dataclass(frozen=True)
class Value:
    """One value in percent: mean, deviation (or NaN), rank (1 best, 2 second, 0 other), collapsed or not."""

    mean: float
    deviation: float
    rank: int = 0
    collapsed: bool = False


Cell = tuple[Value, ...]
"""What stands in one column of one row: one value, or those of several metrics side by side."""


@dataclass(frozen=True)
class Column:
    """One column: the block and dataset it belongs to, and its metrics."""

    block: Block
    dataset: str
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """One row in print: its label, ``measured`` or ``reported``, trivial answer or not, and its cells."""

    label: str
    kind: str
    trivial: bool
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Grid:
    """Columns and rows of one printed table."""

    columns: tuple[Column, ...]
    lines: tuple[Line, ...]

    @property
    def spans(self) -> list[tuple[Block, int]]:
        """Neighbouring columns of one block, counted."""
        return [(block, len(list(same))) for block, same in groupby(column.block for column in self.columns)]


def block_title(block: Block) -> str:
    """Name a block: the protocol and what happens to background."""
    return f"{block.protocol}, {block.background} background"


def other_blocks(table: Table) -> list[list[Block]]:
    """Return the blocks a table does not lead with, those of one protocol together."""
    every = [[Block(protocol=name, background=bg) for bg in BACKGROUNDS] for name in PROTOCOLS]  # type: ignore[arg-type]
    left = [[block for block in blocks if block not in table.blocks] for blocks in every]
    return [blocks for blocks in left if blocks]


def _select(frame: pd.DataFrame, block: Block) -> pd.DataFrame:
    here = frame[(frame["protocol"] == block.protocol) & (frame["background"] == block.background)]
    # Reported rows come with whatever label rule their code has; measured ones are shown by one of the two.
    return here[(here["kind"] == "reported") | (here["label_rule"] == PRINTED_RULE)]


def _number(row: Mapping[str, Any], column: str) -> float:
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

    Measured rows stand in the order of the table and are ranked within each column, trivial answers and
    collapsed runs included: they were all made by the same protocol on the same videos. Reported rows stand
    first, only under the protocol that they were made with, and are not ranked. A column without any value is
    left out.

    Parameters
    ----------
    table
        The table.
    frame
        Its content, as from `rgwot.reporting.tables.read_table`.
    blocks
        Groups of columns, from left to right.
    max_columns
        With more columns than this, the metrics of a dataset share one.
    """
    joined = len(blocks) * len(table.datasets) * len(table.metrics) > max_columns
    groups = [table.metrics] if joined else [(metric,) for metric in table.metrics]
    shown = [_select(frame, block) for block in blocks]
    measured = [
        (row.label, row.trivial, row.id)
        for row in table.rows
        if any((part["method"] == row.id).any() for part in shown)
    ]
    reported = [entry.method for entry in table.reported.methods] if table.reported else []
    reported = [m for m in reported if any(((p["method"] == m) & (p["kind"] == "reported")).any() for p in shown)]

    columns: list[Column] = []
    measured_cells: list[list[Cell]] = [[] for _ in measured]
    reported_cells: list[list[Cell]] = [[] for _ in reported]
    for block, part in zip(blocks, shown, strict=True):
        ours = part[part["kind"] == "measured"]
        theirs = part[part["kind"] == "reported"]
        for dataset in table.datasets:
            for metrics in groups:
                own = [
                    _values(ours, [row_id for _, _, row_id in measured], dataset, metric, True) for metric in metrics
                ]
                foreign = [_values(theirs, reported, dataset, metric, False) for metric in metrics]
                if all(math.isnan(value.mean) for side in (*own, *foreign) for value in side):
                    continue
                columns.append(Column(block, dataset, tuple(metrics)))
                for index, cells in enumerate(measured_cells):
                    cells.append(tuple(values[index] for values in own))
                for index, cells in enumerate(reported_cells):
                    cells.append(tuple(values[index] for values in foreign))
    lines = [
        Line(f"{name} (reported)", "reported", False, tuple(cells))
        for name, cells in zip(reported, reported_cells, strict=True)
    ]
    lines += [
        Line(label, "measured", trivial, tuple(cells))
        for (label, trivial, _), cells in zip(measured, measured_cells, strict=True)
    ]
    return Grid(tuple(columns), tuple(lines))


def _values(part: pd.DataFrame, methods: Sequence[str], dataset: str, metric: str, ranked: bool) -> list[Value]:
    by_method = {str(row["method"]): row for row in part.to_dict("records")}
    rows: list[Mapping[Any, Any]] = [by_method.get(method, {}) for method in methods]
    means = [_number(row, f"{dataset}_{metric}") for row in rows]
    ranks = _ranks(means, metric) if ranked else [0] * len(rows)
    return [
        Value(100 * mean, 100 * _number(row, f"{dataset}_{metric}_sd"), rank, _number(row, "degenerate") > 0)
        for row, mean, rank in zip(rows, means, ranks, strict=True)
    ]
