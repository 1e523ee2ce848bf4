"""Printed forms of a table: Markdown, LaTeX (booktabs) and plain text for a terminal."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from tabulate import tabulate

from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.files import write_text
from rgwot.reporting.grid import (
    METRIC_LABELS,
    Cell,
    Column,
    Grid,
    Line,
    Value,
    block_title,
    make_grid,
    other_blocks,
)
from rgwot.reporting.spec import Block, Table
from rgwot.reporting.tables import read_table

DAGGER = "†"
MISSING = "–"
TERMINAL_COLUMNS = 6
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", DAGGER: r"$\dagger$", MISSING: "--", "↓": r"$\downarrow$",
}  # fmt: skip


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


def terminal_table(table: Table, csv: str | os.PathLike[str]) -> str:
    """Return the leading blocks of a table for a terminal, the best value of a column with a star."""
    frame = read_table(table, csv)
    width = len(make_grid(table, frame, table.blocks[:1], TERMINAL_COLUMNS).columns)
    step = max(1, TERMINAL_COLUMNS // max(width, 1))
    parts = [table.title]
    for first in range(0, len(table.blocks), step):
        grid = make_grid(table, frame, table.blocks[first : first + step], TERMINAL_COLUMNS)
        lines = [[line.label, *(_text(cell, _plain) for cell in line.cells)] for line in grid.lines]
        heads = ["percent", *(_head(table, column, "\n", "bg") for column in grid.columns)]
        parts.append(tabulate(lines, heads, disable_numparse=True, colalign=("left", *("right" for _ in grid.columns))))
    # Notes that explain columns a terminal does not show would only be in the way.
    parts.append("\n".join(["* best of the column.", *_row_notes(table, frame), *table.notes]))
    return "\n\n".join(parts) + "\n"


def markdown(table: Table, frame: pd.DataFrame) -> str:
    """Return the Markdown form: leading blocks, notes that tell protocols apart, other protocols."""
    parts = [f"# {table.title}", _pipe(table, make_grid(table, frame, table.blocks))]
    parts.append("\n".join(f"- {note}" for note in notes(table, frame)))
    parts.append("## Other protocols")
    for blocks in other_blocks(table):
        grid = make_grid(table, frame, blocks)
        if grid.columns:
            protocol = PROTOCOLS[blocks[0].protocol]
            parts.append(f"### {protocol.name}: {protocol.description}")
            parts.append(_pipe(table, grid))
    unknown = _unknown(table, frame)
    if unknown.columns:
        parts.append("### Reported, protocol unknown")
        parts.append(_pipe(table, unknown, with_block=False))
    return "\n\n".join(parts) + "\n"


def latex(table: Table, frame: pd.DataFrame) -> str:
    r"""Return the leading blocks as a ``table*`` environment; needs the packages booktabs and graphicx."""
    grid = make_grid(table, frame, table.blocks)
    spans, rules, at = [], [], 2
    for block, count in grid.spans:
        spans.append(rf"\multicolumn{{{count}}}{{c}}{{{escape(block_title(block))}}}")
        rules.append(rf"\cmidrule(lr){{{at}-{at + count - 1}}}")
        at += count
    body: list[str] = []
    previous: tuple[str, bool] | None = None
    for line in grid.lines:
        if previous not in (None, (line.kind, line.trivial)):
            body.append(r"\midrule")
        previous = (line.kind, line.trivial)
        body.append(" & ".join([escape(line.label), *(_text(cell, _latex_value) for cell in line.cells)]) + r" \\")
    heads = [escape(_head(table, column, " ")) for column in grid.columns]
    caption = " ".join(escape(text) for text in (f"{table.title}.", *notes(table, frame, short=True)))
    return "\n".join(
        [
            "% needs the packages booktabs and graphicx",
            r"\begin{table*}",
            r"\centering",
            rf"\caption{{{caption}}}",
            rf"\label{{tab:{table.id}}}",
            r"\resizebox{\textwidth}{!}{%",
            rf"\begin{{tabular}}{{l{'r' * len(grid.columns)}}}",
            r"\toprule",
            " & ".join(["", *spans]) + r" \\",
            "".join(rules),
            " & ".join(["", *heads]) + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table*}",
            "",
        ]
    )


def escape(text: str) -> str:
    r"""Escape text for LaTeX.

    >>> escape("50 % of pc_assembly")
    '50 \\% of pc\\_assembly'
    """
    return "".join(_LATEX.get(character, character) for character in text)


def notes(table: Table, frame: pd.DataFrame, short: bool = False) -> list[str]:
    """Return what has to stand under a table so that no two numbers are compared that must not be.

    Parameters
    ----------
    table, frame
        The table and its content.
    short
        Only what concerns the leading blocks, for a caption.
    """
    names = [block.protocol for block in table.blocks] if short else list(PROTOCOLS)
    protocols = "; ".join(f"{name}: {PROTOCOLS[name].description}" for name in dict.fromkeys(names))
    runs = sorted({int(count) for count in frame["n_runs"].dropna()})
    found = [
        f"Percent. Protocols: {protocols}. Values of different protocols must not be compared.",
        "A dataset is the unweighted mean over its tasks; mean ± sample standard deviation over seeds, "
        f"{' or '.join(map(str, runs))} runs (tasks x seeds) a row. Best bold, second underlined, among "
        "measured rows.",
    ]
    trivial = [row.label for row in table.rows if row.trivial]
    if trivial:
        found.append(f"Trivial answers, which look at no picture: {', '.join(trivial)}.")
    if "order_tau" in table.metrics:
        found.append("Order: Kendall distance to the true order, lower is better, 50 is no information.")
    found += _row_notes(table, frame)
    if table.reported is not None:
        found.append(f"Reported rows: {table.reported.note}.")
    if not short:
        found.append("Labels by the rule `exact`; the CSV also has the rule `cnc`, and precise values of everything.")
    return [*found, *table.notes]


def _row_notes(table: Table, frame: pd.DataFrame) -> list[str]:
    """Return what is particular to measured rows: collapsed runs, skipped videos, missing tasks."""
    measured = frame[frame["kind"] == "measured"]
    labels = {row.id: row.label for row in table.rows}
    found = []
    collapsed = measured[measured["degenerate"] > 0].groupby("method", sort=False)[["degenerate", "n_runs"]].max()
    if len(collapsed):
        counts = [f"{labels[str(row)]} {count} of {runs} runs" for row, count, runs in collapsed.itertuples()]
        found.append(f"{DAGGER} some runs collapsed, their values are part of the mean: {', '.join(counts)}.")
    remarks = measured.drop_duplicates(["method", "note"]).groupby("note", sort=False)["method"].agg(list)
    for note, rows in remarks.items():
        if note:
            who = "All measured rows" if len(set(rows)) == len(table.rows) else ", ".join(labels[row] for row in rows)
            found.append(f"{who}: {note}.")
    return found


def _unknown(table: Table, frame: pd.DataFrame) -> Grid:
    """Return the reported rows whose protocol nobody knows; they stand under no protocol."""
    placed = frame[frame["protocol"] == "unknown"]
    block = Block(protocol="micro_video", background="with")
    return make_grid(table, placed.assign(protocol=block.protocol, background=block.background), [block])


def _pipe(table: Table, grid: Grid, with_block: bool = True) -> str:
    heads = [
        "",
        *(_head(table, column, "<br>", "background" if with_block else None) for column in grid.columns),
    ]
    lines = [[_markdown_label(line), *(_text(cell, _markdown_value) for cell in line.cells)] for line in grid.lines]
    rows = [heads, [":--", *("--:" for _ in grid.columns)], *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _markdown_label(line: Line) -> str:
    return f"*{line.label}*" if line.trivial else line.label


def _head(table: Table, column: Column, separator: str, background: str | None = None) -> str:
    metrics = " / ".join(METRIC_LABELS[name] + (" ↓" if name == "order_tau" else "") for name in column.metrics)
    parts = [column.block.protocol, f"{column.block.background} {background}"] if background else []
    if len(table.datasets) > 1:
        parts.append(table.datasets[column.dataset].label)
    return separator.join([*parts, metrics])


def _text(cell: Cell, form: Callable[[Value], str]) -> str:
    if all(math.isnan(value.mean) for value in cell):
        return form(cell[0])
    return " / ".join(form(value) for value in cell)


def _percent(value: Value, plus_minus: str, missing: str, dagger: str) -> str:
    if math.isnan(value.mean):
        return missing
    deviation = "" if math.isnan(value.deviation) else f"{plus_minus}{value.deviation:.1f}"
    return f"{value.mean:.1f}{deviation}{dagger if value.collapsed else ''}"


def _plain(value: Value) -> str:
    return _percent(value, "±", "-", DAGGER) + ("*" if value.rank == 1 else "")


def _markdown_value(value: Value) -> str:
    text = _percent(value, " ± ", MISSING, DAGGER)
    return {1: f"**{text}**", 2: f"<ins>{text}</ins>"}.get(value.rank, text)


def _latex_value(value: Value) -> str:
    text = _percent(value, r"\,$\pm$\,", "--", r"$^\dagger$")
    return {1: rf"\textbf{{{text}}}", 2: rf"\underline{{{text}}}"}.get(value.rank, text)
