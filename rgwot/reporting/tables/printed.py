"""Printed forms of a table: Markdown, LaTeX (booktabs, graphicx) and plain text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from tabulate import tabulate

from rgwot.evaluation.protocols import BACKGROUNDS, DESCRIPTIONS
from rgwot.reporting.tables.reported import METRICS, UNKNOWN, reported_values, sources
from rgwot.reporting.tables.scores import read_table
from rgwot.reporting.tables.table import SOURCES, AnyTable, Table
from rgwot.runtime.files import write_text

_GREEK = {
    "α": "alpha", "β": "beta", "ε": "epsilon", "ζ": "zeta", "λ": "lambda", "ρ": "rho", "σ": "sigma", "τ": "tau",
    "ξ": "xi",
}  # fmt: skip
_SPECIAL = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "–": "--", "−": "$-$", "↓": r"$\downarrow$", "≤": r"$\leq$", "×": r"$\times$", "→": r"$\rightarrow$",
    "<": "$<$", ">": "$>$",
    **{letter: rf"$\{name}$" for letter, name in _GREEK.items()},
})  # fmt: skip

Lines = Sequence[Sequence[str]]
"""Lines of cells."""


def pipe(heads: Sequence[str], lines: Lines) -> str:
    """Return a Markdown table; the first column is aligned left, the others right."""
    rows = [heads, [":--", *("--:" for _ in heads[1:])], *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def escape(text: str) -> str:
    r"""Escape text for LaTeX.

    >>> escape("50 % of pc_assembly")
    '50 \\% of pc\\_assembly'
    """
    return text.translate(_SPECIAL)


def tabular(heads: Sequence[str], groups: Iterable[Lines]) -> list[str]:
    """Return the lines of one tabular as wide as the text, from escaped cells; a rule separates groups of lines."""
    body: list[str] = []
    for group in groups:
        body += [r"\midrule", *(" & ".join(line) + r" \\" for line in group)]
    return [
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}",
        r"\toprule",
        " & ".join(heads) + r" \\",
        *body,
        r"\bottomrule",
        r"\end{tabular}}",
    ]


def floating(name: str, caption: Iterable[str], parts: Sequence[str]) -> str:
    """Put the lines of tabulars into a ``table*``; the sentences of its caption are escaped here."""
    before = ["% needs the packages booktabs and graphicx", r"\begin{table*}", r"\centering"]
    texts = [rf"\caption{{{' '.join(map(escape, caption))}}}", rf"\label{{tab:{name}}}"]
    return "\n".join([*before, *texts, *parts, r"\end{table*}", ""])


def write_flat(table: AnyTable, csv: Path, heads: Sequence[str], lines: Lines, notes: Sequence[str]) -> None:
    """Write a table of texts as Markdown and LaTeX next to its CSV, with ``notes`` and then the table's own notes."""
    notes = [*notes, *table.notes]
    head, *body = [[cell.replace("|", r"\|") for cell in line] for line in (heads, *lines)]
    markdown = "\n\n".join([f"# {table.title}", pipe(head, body), "\n".join(f"- {note}" for note in notes)]) + "\n"
    write_text(markdown, csv.with_suffix(".md"))
    head, *body = [[escape(cell) for cell in line] for line in (heads, *lines)]
    latex = floating(table.id, (f"{table.title}.", *notes), tabular(head, [body]))
    write_text(latex, csv.with_suffix(".tex"))


PRINTED_RULE = "exact"
#: Label rules by protocol, where all published numbers of the protocol use a rule other than `PRINTED_RULE`.
OWN_RULES = {"hiero": "cnc"}
#: Largest number of columns in a grid, by default and in a terminal; beyond it, metrics of a dataset share a column.
MAX_COLUMNS, TERMINAL_COLUMNS = 12, 6
#: A cell is marked with an X, as in the paper, if at least this share of runs collapsed.
DEGENERATE_SHARE = 0.5
COLLAPSED_MARK = "X"


class _Form(NamedTuple):
    """Formatting of values: the sign before a deviation, the text for no value, and the marks of the best value."""

    plus_minus: str
    missing: str
    best: str


PLAIN = _Form("±", "-", "{}*")
MARKDOWN = _Form(" ± ", "–", "**{}**")
LATEX = _Form(r"\,$\pm$\,", "--", r"\textbf{{{}}}")


class Value(NamedTuple):
    """A value in percent: mean, deviation (or NaN), number of collapsed and of all runs, and whether it is the best.

    ``runs`` is 0 for a reported value.
    """

    mean: float
    deviation: float
    collapsed: int
    runs: int
    best: bool = False

    @property
    def degenerate(self) -> bool:
        """Whether so many runs collapsed that the value mainly reflects them."""
        return self.collapsed > 0 and self.collapsed >= DEGENERATE_SHARE * self.runs

    @property
    def shown(self) -> bool:
        """Whether there is a value to print, or the mark of a collapse."""
        return self.degenerate or not math.isnan(self.mean)

    def text(self, form: _Form) -> str:
        """Return the value as text, with an X if it reflects collapsed runs, or with the number of collapsed runs."""
        if math.isnan(self.mean):
            return COLLAPSED_MARK if self.degenerate else form.missing
        deviation = "" if math.isnan(self.deviation) else f"{form.plus_minus}{self.deviation:.1f}"
        text = f"{self.mean:.1f}{deviation}"
        if self.degenerate:
            return f"{COLLAPSED_MARK} ({text})"
        if self.collapsed:
            text = f"{text} ({self.collapsed}/{self.runs} {COLLAPSED_MARK})"
        return form.best.format(text) if self.best else text


class _Line(NamedTuple):
    """A printed line: its label, its kind (``measured``, ``reported`` or ``dataset``), and whether it is trivial."""

    label: str
    kind: str
    trivial: bool = False


class _Grid(NamedTuple):
    """A printed table: its columns (dataset or row, and metrics), its lines and its cells.

    A cell has one value, or the values of several metrics.
    """

    columns: Sequence[tuple[str, Sequence[str]]]
    lines: Sequence[tuple[_Line, Sequence[Sequence[Value]]]]

    def heads(self, separator: str) -> list[str]:
        """Return the heads of the columns."""
        metrics = [" / ".join(METRICS[name].head for name in names) for _, names in self.columns]
        return [
            separator.join(filter(None, (name, of_name)))
            for (name, _), of_name in zip(self.columns, metrics, strict=True)
        ]

    def texts(self, form: _Form) -> list[list[str]]:
        """Return the cells of every line as text; a cell without values has a mark."""
        return [
            [
                " / ".join(
                    value.text(form) for value in (cell if any(text_value.shown for text_value in cell) else cell[:1])
                )
                for cell in cells
            ]
            for _, cells in self.lines
        ]


#: A protocol, and its treatment of background.
ColumnGroup = tuple[str, str]


def block_title(block: ColumnGroup) -> str:
    """Return the title of a block."""
    return "{}, {} background".format(*block)


def make_grid(table: Table, frame: pd.DataFrame, block: ColumnGroup, max_columns: int = MAX_COLUMNS) -> _Grid:
    """Choose the cells of a printed table.

    Measured rows are in the order of the table. The best value of each column is marked among them, including trivial
    baselines, because they all use the same protocol and videos; cells marked as degenerate are not compared. Reported
    rows come first, only under their own protocol, and are not compared. Columns without values are left out. With
    ``lines: datasets``, datasets are lines and rows are columns.
    """
    protocol, background = block
    rows_here = frame[(frame["protocol"] == protocol) & (frame["background"] == background)]
    # Reported rows have the label rule of their code, if known; measured rows exist with both rules, but one is shown.
    rule = OWN_RULES.get(protocol, PRINTED_RULE)
    rows_here = rows_here[(rows_here["kind"] == "reported") | (rows_here["label_rule"] == rule)]
    row_of = {(row["kind"], row["method"]): row for row in rows_here.to_dict("records")}
    rows = {key: line for key, line in _lines(table).items() if key in row_of}
    reported = frame[frame["kind"] == "reported"]
    # The X of a reported method is shown under the metrics that papers print, or under all metrics if they print only
    # X.
    printed = [m for m in table.metrics if reported[[f"{place}_{m}" for place in table.places]].notna().any(axis=None)]
    joined = len(table.datasets) * len(table.metrics) > max_columns or table.lines == "datasets"
    groups = [table.metrics] if joined else [(metric,) for metric in table.metrics]
    columns: list[tuple[str, Sequence[str]]] = []
    cells: list[Sequence[Sequence[Value]]] = []
    for name, place in table.places.items():
        for metrics in groups:
            of_metrics = (_values(row_of, rows, name, name_, name_ in printed or not printed) for name_ in metrics)
            columns_here = list(zip(*of_metrics, strict=True))
            if any(value.shown for cell in columns_here for value in cell):
                columns.append((place.label if len(table.datasets) > 1 else "", metrics))
                cells.append(columns_here)
    lines = list(zip(rows.values(), zip(*cells, strict=True), strict=True)) if cells else []
    if table.lines == "rows":
        return _Grid(columns, lines)
    # Lines are rows up to here; now each row becomes a column.
    turned = [(_Line(name, "dataset"), column) for (name, _), column in zip(columns, cells, strict=True)]
    return _Grid([(line.label, table.metrics) for line, _ in lines], turned)


def _lines(table: Table) -> dict[tuple[str, str], _Line]:
    """Return all rows of a table by kind and id, the reported ones first."""
    labels = {row.id: row.label for row in table.rows}
    # Rows have their ids as keys, because several reported rows of a method may differ only in their condition.
    reported = {
        ("reported", entry.id): _Line(f"{labels.get(entry.id, entry.method)} (reported)", "reported")
        for entry in (table.reported.rows if table.reported else ())
    }
    return reported | {("measured", row.id): _Line(row.label, "measured", row.trivial) for row in table.rows}


def _values(
    rows_by_key: Mapping[tuple[str, str], Mapping[Any, Any]],
    rows: Collection[tuple[str, str]],
    place: str,
    metric: str,
    printed: bool,
) -> list[Value]:
    values = []
    for key in rows:
        row = rows_by_key[key]
        counts = [
            row[f"{place}_{what}"] if printed or key[0] == "measured" else 0 for what in ("degenerate", "task_runs")
        ]
        mean, deviation = (100 * row[f"{place}_{metric}{end}"] for end in ("", "_sd"))
        collapsed, runs = (int(n) if pd.notna(n) else 0 for n in counts)
        values.append(Value(mean, deviation, collapsed, runs))
    ranked = [
        value.mean
        for (kind, _), value in zip(rows, values, strict=True)
        if kind == "measured" and not value.degenerate and not math.isnan(value.mean)
    ]
    best = (min if METRICS[metric].lower_is_better else max)(ranked) if len(set(ranked)) > 1 else None
    return [
        value._replace(best=kind == "measured" and not value.degenerate and value.mean == best)
        for (kind, _), value in zip(rows, values, strict=True)
    ]


def grids(table: Table, frame: pd.DataFrame) -> Iterator[tuple[str, _Grid]]:
    """Yield grids with values and their titles: leading blocks, other blocks, and rows of unknown protocol last."""
    others = [(name, how) for name in DESCRIPTIONS for how in BACKGROUNDS]
    blocks = [*table.blocks, *(block for block in others if block not in table.blocks)]
    blocks_made = [(block_title(block), make_grid(table, frame, block)) for block in blocks]
    # `make_grid` selects rows by their block, so rows of an unknown protocol are moved to the first block.
    protocol, background = table.blocks[0]
    placed = frame[frame["protocol"] == UNKNOWN].assign(protocol=protocol, background=background)
    blocks_made.append((f"Reported, protocol {UNKNOWN}", make_grid(table, placed, table.blocks[0])))
    return ((title, grid) for title, grid in blocks_made if grid.columns and grid.lines)


def render_table(table: Table, csv: Path) -> None:
    """Write the Markdown and the LaTeX form of a table beside its CSV."""
    frame = read_table(table, csv)
    write_text(markdown(table, frame), csv.with_suffix(".md"))
    write_text(latex(table, frame), csv.with_suffix(".tex"))


def terminal_table(table: Table, csv: Path) -> str:
    """Return the leading blocks of a table for a terminal, the best value of a column with a star."""
    frame = read_table(table, csv)
    parts = [table.title]
    for block in table.blocks:
        grid = make_grid(table, frame, block, TERMINAL_COLUMNS)
        lines = [[line.label, *texts] for (line, _), texts in zip(grid.lines, grid.texts(PLAIN), strict=True)]
        aligned = ("left", *("right" for _ in grid.columns))
        parts.append(block_title(block))
        parts.append(tabulate(lines, ["percent", *grid.heads("\n")], disable_numparse=True, colalign=aligned))
    # Notes on columns that a terminal does not show are left out.
    remarks = [*row_notes(table, frame), *reported_notes(table, frame), *table.notes]
    return "\n\n".join([*parts, "\n".join(["* best of the column.", *remarks])]) + "\n"


def markdown(table: Table, frame: pd.DataFrame) -> str:
    """Return the Markdown form: leading blocks, notes on how protocols differ, other protocols."""
    parts = [f"# {table.title}"]
    leading = list(map(block_title, table.blocks))
    all_grids = list(grids(table, frame))
    for title, grid in all_grids:
        lines = [
            [f"*{line.label}*" if line.trivial else line.label, *texts]
            for (line, _), texts in zip(grid.lines, grid.texts(MARKDOWN), strict=True)
        ]
        parts += [f"### {title}", pipe(["", *grid.heads("<br>")], lines)]
    parts.insert(
        1 + 2 * sum(title in leading for title, _ in all_grids), "\n".join(f"- {note}" for note in notes(table, frame))
    )
    return "\n\n".join(parts) + "\n"


def latex(table: Table, frame: pd.DataFrame) -> str:
    r"""Return a ``table*`` environment: the leading blocks, then the blocks of every other reported row."""
    parts: list[str] = []
    leading = list(map(block_title, table.blocks))
    for title, grid in grids(table, frame):
        if title not in leading and all(line.kind != "reported" for line, _ in grid.lines):
            continue
        parts += [*([r"\\[1ex]"] if parts else []), escape(title) + r"\\[0.5ex]"]
        cells = [[escape(line.label), *texts] for (line, _), texts in zip(grid.lines, grid.texts(LATEX), strict=True)]
        numbered = groupby(range(len(cells)), key=lambda at, columns=grid.lines: columns[at][0][1:])  # type: ignore[misc]
        parts += tabular(["", *map(escape, grid.heads(" "))], [[cells[at] for at in group] for _, group in numbered])
    return floating(table.id, (f"{table.title}.", *notes(table, frame, short=True)), parts)


def notes(table: Table, frame: pd.DataFrame, short: bool = False) -> list[str]:
    """Return the notes of a table; if ``short``, only those on leading blocks and reported rows, for a caption."""
    names = [protocol for protocol, _ in table.blocks]
    if short:
        names += [name for name in frame[frame["kind"] == "reported"]["protocol"] if name != UNKNOWN]
    names += [] if short else list(frame[frame["kind"] == "measured"]["protocol"])
    explained = [name for name in DESCRIPTIONS if name in names]
    protocols = "; ".join(f"{name}: {DESCRIPTIONS[name]}" for name in explained)
    runs = sorted({int(count) for count in frame["n_runs"].dropna()})
    over = "A single run (one seed on all tasks), so there is no deviation;"
    if runs != [1]:
        counts = " or ".join(map(str, runs))
        over = f"Mean ± sample standard deviation over {counts} runs: a run is one seed on all tasks, and"
    lines = [
        f"Percent. Protocols: {protocols}. Values of different protocols must not be compared.",
        f"{over} a dataset is the unweighted mean over its tasks. Best of the measured rows in bold.",
    ]
    trivial = [row.label for row in table.rows if row.trivial]
    if trivial:
        lines.append(f"Trivial baselines, which do not look at the videos: {', '.join(trivial)}.")
    if "order_distance" in table.metrics:
        lines.append("Order: Kendall distance to the true order, lower is better, 50 means no information.")
    lines += [*row_notes(table, frame), *reported_notes(table, frame)]
    if not short:
        ruled = {OWN_RULES.get(protocol, PRINTED_RULE): protocol for protocol, _ in table.blocks}
        others = "".join(f", of {protocol} by `{rule}`" for rule, protocol in ruled.items() if rule != PRINTED_RULE)
        lines.append(f"Labels by the rule `exact`{others}; the CSV has `exact` and `cnc`, and precise values.")
    return [*lines, *table.notes]


def reported_notes(table: Table, frame: pd.DataFrame) -> list[str]:
    """Return notes on reported rows: their sources and protocols."""
    reported = frame[frame["kind"] == "reported"]
    if table.reported is None or reported.empty:
        return []
    by_source: dict[str, list[str]] = {}
    for entry in table.reported.rows:
        by_source.setdefault(sources(reported_values(table.reported, entry)), []).append(entry.method)
    listing = "; ".join(f"{source}: {', '.join(dict.fromkeys(methods))}" for source, methods in by_source.items())
    lines = [f"Sources of the reported rows: {listing}."]
    lines += [f"Reported rows: {table.reported.note}."] if table.reported.note else []
    names = {entry.id: entry.method for entry in table.reported.rows}
    called = reported["method"].map(names).groupby(reported["protocol"], sort=False)
    listed = "; ".join(f"{protocol}: {', '.join(methods.unique())}" for protocol, methods in called)
    lines.append(f"Protocols of the reported rows, which are shown only under their own protocol: {listed}.")
    if len(called) > 1:
        lines.append(
            "The reported rows use different protocols, so their order in the papers means nothing: "
            "compare a reported row with the measured rows of the same protocol."
        )
    return lines


def row_notes(table: Table, frame: pd.DataFrame) -> list[str]:
    """Return notes on measured rows: their sources, collapsed runs, skipped videos, missing tasks."""
    sources = {row.id: row.source for row in table.rows}
    measured = frame[frame["kind"] == "measured"]
    measured = measured.assign(
        note=[
            "; ".join(clause for clause in note.split("; ") if clause != sources[row])
            for row, note in zip(measured["method"], measured["note"], strict=True)
        ]
    )
    labels = {row.id: row.label for row in table.rows}
    following = {source: [labels[row] for row, its in sources.items() if its == source] for source in SOURCES}
    clauses = [f"{source}: {', '.join(rows)}" for source, rows in following.items() if rows]
    lines, counts = [f"Rows follow {'; '.join(clauses)}."] if clauses else [], []
    for row, part in measured[measured["degenerate"] > 0].groupby("method", sort=False):
        most = part[[f"{name}_{what}" for name in table.places for what in ("degenerate", "task_runs")]].max()
        where = [
            f"{place.label} {most[f'{name}_degenerate']} of {most[f'{name}_task_runs']}"
            for name, place in table.places.items()
            # Tasks that are not configured have no runs.
            if pd.notna(most[f"{name}_degenerate"]) and most[f"{name}_degenerate"] > 0
        ]
        counts.append(f"{labels[str(row)]}: {', '.join(where)}")
    if counts:
        lines.append(
            "X: degenerate, as the papers mark it. Collapsed runs of single tasks (largest number of any protocol): "
            f"{'; '.join(counts)}. Their values are part of the mean; the CSV also has them alone."
        )
    remarks = measured.drop_duplicates(["method", "note"]).groupby("note", sort=False)["method"].agg(list)
    for note, rows in remarks.items():
        if note != "":
            who = "All measured rows" if len(set(rows)) == len(table.rows) else ", ".join(labels[row] for row in rows)
            lines.append(f"{who}: {note}.")
    return lines
