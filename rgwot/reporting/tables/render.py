"""Printed forms of a table of scores: Markdown, LaTeX (booktabs) and plain text for a terminal."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from tabulate import tabulate

from rgwot.evaluation.protocols import BACKGROUNDS, DESCRIPTIONS
from rgwot.reporting.tables.forms import escape, floating, pipe, tabular, write_forms
from rgwot.reporting.tables.grid import (
    LOWER_IS_BETTER,
    MAX_COLUMNS,
    METRIC_LABELS,
    Cell,
    Column,
    Grid,
    Value,
    block_title,
    make_grid,
)
from rgwot.reporting.tables.make import read_table
from rgwot.reporting.tables.models import UNKNOWN, Block, Table
from rgwot.reporting.tables.notes import notes, reported_notes, row_notes

COLLAPSED = "X"
TERMINAL_COLUMNS = 6


class Form(NamedTuple):
    """How values are written: what stands before a deviation, for no value, around the best and the second best."""

    plus_minus: str
    missing: str
    best: str
    second: str


PLAIN = Form("±", "-", "{}*", "{}")
MARKDOWN = Form(" ± ", "–", "**{}**", "<ins>{}</ins>")
LATEX = Form(r"\,$\pm$\,", "--", r"\textbf{{{}}}", r"\underline{{{}}}")


class Panel(NamedTuple):
    """One grid of a printed table, its heading, and how it stands: leading, under a known protocol or not."""

    title: str
    grid: Grid
    leading: bool = False
    with_block: bool = True


def render_table(table: Table, csv: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write the Markdown and the LaTeX form of a table beside its CSV, and return their paths."""
    frame = read_table(table, csv)
    return write_forms(csv, markdown(table, frame), latex(table, frame))


def leading_blocks(table: Table) -> list[tuple[Block, ...]]:
    """Return the blocks a table leads with, as many together as fit side by side."""
    across = len(table.datasets) if table.lines == "rows" else len(table.rows)
    return _side_by_side(table, max(1, MAX_COLUMNS // across))


def _side_by_side(table: Table, step: int) -> list[tuple[Block, ...]]:
    return [table.blocks[first : first + step] for first in range(0, len(table.blocks), step)]


def panels(table: Table, frame: pd.DataFrame) -> Iterator[Panel]:
    """Yield what has something to show: the leading blocks, the other protocols, reported rows of unknown ones."""
    every = [Panel("", make_grid(table, frame, blocks), leading=True) for blocks in leading_blocks(table)]
    for name, description in DESCRIPTIONS.items():
        both = [Block(protocol=name, background=background) for background in BACKGROUNDS]  # type: ignore[arg-type]
        grid = make_grid(table, frame, [block for block in both if block not in table.blocks])
        every.append(Panel(f"{name}: {description}", grid))
    # A grid stands under blocks; the name of this one is not printed.
    block = table.blocks[0]
    placed = frame[frame["protocol"] == UNKNOWN].assign(protocol=block.protocol, background=block.background)
    every.append(Panel("Reported, protocol unknown", make_grid(table, placed, [block]), with_block=False))
    return (panel for panel in every if panel.grid.columns)


def terminal_table(table: Table, csv: str | os.PathLike[str]) -> str:
    """Return the leading blocks of a table for a terminal, the best value of a column with a star."""
    frame = read_table(table, csv)
    width = len(make_grid(table, frame, table.blocks[:1], TERMINAL_COLUMNS).columns)
    parts = [table.title]
    for blocks in _side_by_side(table, max(1, TERMINAL_COLUMNS // max(width, 1))):
        grid = make_grid(table, frame, blocks, TERMINAL_COLUMNS)
        lines = [[line.label, *(_text(cell, PLAIN) for cell in line.cells)] for line in grid.lines]
        heads = ["percent", *(_head(column, "\n", "bg") for column in grid.columns)]
        parts.append(tabulate(lines, heads, disable_numparse=True, colalign=("left", *("right" for _ in grid.columns))))
    # Notes that explain columns a terminal does not show would only be in the way.
    remarks = [*row_notes(table, frame), *reported_notes(table, frame), *table.notes]
    parts.append("\n".join(["* best of the column.", *remarks]))
    return "\n\n".join(parts) + "\n"


def markdown(table: Table, frame: pd.DataFrame) -> str:
    """Return the Markdown form: leading blocks, notes on how protocols differ, other protocols."""
    shown = list(panels(table, frame))
    parts = [f"# {table.title}", *(markdown_grid(panel.grid) for panel in shown if panel.leading)]
    parts.append("\n".join(f"- {note}" for note in notes(table, frame)))
    others = [panel for panel in shown if not panel.leading]
    if others:
        parts.append("## Other protocols")
    for panel in others:
        parts += [f"### {panel.title}", markdown_grid(panel.grid, panel.with_block)]
    return "\n\n".join(parts) + "\n"


def markdown_grid(grid: Grid, with_block: bool = True) -> str:
    """Return a grid as a Markdown table; trivial answers stand in italics."""
    heads = ["", *(_head(column, "<br>", "background" if with_block else None) for column in grid.columns)]
    lines = [
        [f"*{line.label}*" if line.trivial else line.label, *(_text(cell, MARKDOWN) for cell in line.cells)]
        for line in grid.lines
    ]
    return pipe(heads, lines)


def latex(table: Table, frame: pd.DataFrame) -> str:
    r"""Return a ``table*`` environment: the leading blocks, then the blocks of every other reported row."""
    parts: list[str] = []
    for panel in panels(table, frame):
        if panel.leading or panel.grid.reported:
            parts += [r"\\[1ex]"] if parts else []
            parts += [escape(panel.title) + r"\\[0.5ex]"] if panel.title else []
            parts += _tabular(panel)
    return floating(table.id, (f"{table.title}.", *notes(table, frame, short=True)), parts)


def _tabular(panel: Panel) -> list[str]:
    spans, rules, at = [""], "", 2
    for block, same in groupby(column.block for column in panel.grid.columns):
        count = len(list(same))
        spans.append(rf"\multicolumn{{{count}}}{{c}}{{{escape(block_title(block))}}}")
        rules += rf"\cmidrule(lr){{{at}-{at + count - 1}}}"
        at += count
    heads = ["", *(escape(_head(column, " ")) for column in panel.grid.columns)]
    groups = [
        [[escape(line.label), *(_text(cell, LATEX) for cell in line.cells)] for line in lines]
        for _, lines in groupby(panel.grid.lines, key=lambda line: (line.kind, line.trivial))
    ]
    return tabular([spans, heads], groups, rules) if panel.with_block else tabular([heads], groups)


def _head(column: Column, separator: str, background: str | None = None) -> str:
    metrics = " / ".join(METRIC_LABELS[name] + (" ↓" if name in LOWER_IS_BETTER else "") for name in column.metrics)
    block = [column.block.protocol, f"{column.block.background} {background}"] if background else []
    return separator.join([*block, *([column.name] if column.name else []), metrics])


def _text(cell: Cell, form: Form) -> str:
    shown = cell[:1] if all(math.isnan(value.mean) for value in cell) else cell
    return " / ".join(_percent(value, form) for value in shown)


def _percent(value: Value, form: Form) -> str:
    """Return a value as text, with an X where it stands for collapsed runs, or with how many collapsed."""
    if math.isnan(value.mean):
        return COLLAPSED if value.degenerate else form.missing
    deviation = "" if math.isnan(value.deviation) else f"{form.plus_minus}{value.deviation:.1f}"
    text = f"{value.mean:.1f}{deviation}"
    if value.degenerate:
        return f"{COLLAPSED} ({text})"
    if value.collapsed:
        text = f"{text} ({value.collapsed}/{value.runs} {COLLAPSED})"
    return ("{}", form.best, form.second)[value.rank].format(text)
