"""Printed forms of a table of scores: Markdown, LaTeX (booktabs) and plain text for a terminal."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from tabulate import tabulate

from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.reporting.tables import latex as tex
from rgwot.reporting.tables.grid import (
    METRIC_LABELS,
    Cell,
    Column,
    Grid,
    Line,
    Value,
    block_title,
    leading_blocks,
    make_grid,
    other_blocks,
    unknown_block,
)
from rgwot.reporting.tables.make import read_table
from rgwot.reporting.tables.models import Table
from rgwot.reporting.tables.notes import notes, reported_notes, row_notes
from rgwot.runtime.files import write_text

MISSING = "–"
COLLAPSED = "X"
TERMINAL_COLUMNS = 6


class Panel(NamedTuple):
    """One grid of a printed table, its heading, and how it stands: leading, under a known protocol or not."""

    title: str
    grid: Grid
    leading: bool = False
    with_block: bool = True


def render_table(table: Table, csv: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write the Markdown and the LaTeX form of a table beside its CSV.

    Returns
    -------
    The two paths: the CSV's with ``.md`` and with ``.tex``.
    """
    frame = read_table(table, csv)
    markdown_path, latex_path = Path(csv).with_suffix(".md"), Path(csv).with_suffix(".tex")
    write_text(markdown(table, frame), markdown_path)
    write_text(latex(table, frame), latex_path)
    return markdown_path, latex_path


def panels(table: Table, frame: pd.DataFrame) -> Iterator[Panel]:
    """Yield the grids of a printed table: the leading blocks, the other protocols, reported rows of unknown ones."""
    for blocks in leading_blocks(table):
        yield Panel("", make_grid(table, frame, blocks), leading=True)
    for blocks in other_blocks(table):
        protocol = PROTOCOLS[blocks[0].protocol]
        yield Panel(f"{protocol.name}: {protocol.description}", make_grid(table, frame, blocks))
    placed, block = unknown_block(frame)
    yield Panel("Reported, protocol unknown", make_grid(table, placed, [block]), with_block=False)


def terminal_table(table: Table, csv: str | os.PathLike[str]) -> str:
    """Return the leading blocks of a table for a terminal, the best value of a column with a star."""
    frame = read_table(table, csv)
    width = len(make_grid(table, frame, table.blocks[:1], TERMINAL_COLUMNS).columns)
    step = max(1, TERMINAL_COLUMNS // max(width, 1))
    parts = [table.title]
    for first in range(0, len(table.blocks), step):
        grid = make_grid(table, frame, table.blocks[first : first + step], TERMINAL_COLUMNS)
        lines = [[line.label, *(_text(cell, _plain) for cell in line.cells)] for line in grid.lines]
        heads = ["percent", *(_head(column, "\n", "bg") for column in grid.columns)]
        parts.append(tabulate(lines, heads, disable_numparse=True, colalign=("left", *("right" for _ in grid.columns))))
    # Notes that explain columns a terminal does not show would only be in the way.
    remarks = [*row_notes(table, frame), *reported_notes(table, frame), *table.notes]
    parts.append("\n".join(["* best of the column.", *remarks]))
    return "\n\n".join(parts) + "\n"


def markdown(table: Table, frame: pd.DataFrame) -> str:
    """Return the Markdown form: leading blocks, notes that tell protocols apart, other protocols."""
    shown = [panel for panel in panels(table, frame) if panel.grid.columns]
    parts = [f"# {table.title}", *(_pipe(panel.grid) for panel in shown if panel.leading)]
    parts.append("\n".join(f"- {note}" for note in notes(table, frame)))
    others = [panel for panel in shown if not panel.leading]
    if others:
        parts.append("## Other protocols")
    for panel in others:
        parts += [f"### {panel.title}", _pipe(panel.grid, panel.with_block)]
    return "\n\n".join(parts) + "\n"


def latex(table: Table, frame: pd.DataFrame) -> str:
    r"""Return a ``table*`` environment: the leading blocks, then the blocks of every other reported row."""
    parts: list[str] = []
    for panel in panels(table, frame):
        if panel.grid.columns and (panel.leading or panel.grid.reported):
            parts += [r"\\[1ex]"] if parts else []
            parts += [tex.escape(panel.title) + r"\\[0.5ex]"] if panel.title else []
            parts += _tabular(panel)
    caption = " ".join(tex.escape(text) for text in (f"{table.title}.", *notes(table, frame, short=True)))
    return tex.floating(table.id, caption, parts)


def _tabular(panel: Panel) -> list[str]:
    spans, rules, at = [""], "", 2
    for block, count in panel.grid.spans:
        spans.append(rf"\multicolumn{{{count}}}{{c}}{{{tex.escape(block_title(block))}}}")
        rules += rf"\cmidrule(lr){{{at}-{at + count - 1}}}"
        at += count
    heads = [["", *(tex.escape(_head(column, " ")) for column in panel.grid.columns)]]
    groups = [
        [[tex.escape(line.label), *(_text(cell, _latex_value) for cell in line.cells)] for line in lines]
        for _, lines in groupby(panel.grid.lines, key=lambda line: (line.kind, line.trivial))
    ]
    return tex.tabular([spans, *heads], groups, rules) if panel.with_block else tex.tabular(heads, groups)


def _pipe(grid: Grid, with_block: bool = True) -> str:
    heads = ["", *(_head(column, "<br>", "background" if with_block else None) for column in grid.columns)]
    lines = [[_markdown_label(line), *(_text(cell, _markdown_value) for cell in line.cells)] for line in grid.lines]
    rows = [heads, [":--", *("--:" for _ in grid.columns)], *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _markdown_label(line: Line) -> str:
    return f"*{line.label}*" if line.trivial else line.label


def _head(column: Column, separator: str, background: str | None = None) -> str:
    metrics = " / ".join(METRIC_LABELS[name] + (" ↓" if name == "order_tau" else "") for name in column.metrics)
    parts = [column.block.protocol, f"{column.block.background} {background}"] if background else []
    return separator.join([*parts, *([column.name] if column.name else []), metrics])


def _text(cell: Cell, form: Callable[[Value], str]) -> str:
    if all(math.isnan(value.mean) for value in cell):
        return form(cell[0])
    return " / ".join(form(value) for value in cell)


def _percent(value: Value, plus_minus: str, missing: str) -> str:
    """Return a value as text, with an X where it stands for collapsed runs, or with how many collapsed."""
    if math.isnan(value.mean):
        return COLLAPSED if value.degenerate else missing
    deviation = "" if math.isnan(value.deviation) else f"{plus_minus}{value.deviation:.1f}"
    text = f"{value.mean:.1f}{deviation}"
    if value.degenerate:
        return f"{COLLAPSED} ({text})"
    return f"{text} ({value.collapsed}/{value.runs} {COLLAPSED})" if value.collapsed else text


def _plain(value: Value) -> str:
    return _percent(value, "±", "-") + ("*" if value.rank == 1 else "")


def _markdown_value(value: Value) -> str:
    text = _percent(value, " ± ", MISSING)
    return {1: f"**{text}**", 2: f"<ins>{text}</ins>"}.get(value.rank, text)


def _latex_value(value: Value) -> str:
    text = _percent(value, tex.PLUS_MINUS, "--")
    return {1: tex.bold(text), 2: tex.underlined(text)}.get(value.rank, text)
