"""Tables in Markdown, and in LaTeX with the packages booktabs and graphicx."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rgwot.reporting.tables.table import AnyTable
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
    """Write both forms of a table of texts next to its CSV: below it or in the caption ``notes``, then its own."""
    notes = [*notes, *table.notes]
    head, *body = [[cell.replace("|", r"\|") for cell in line] for line in (heads, *lines)]
    markdown = "\n\n".join([f"# {table.title}", pipe(head, body), "\n".join(f"- {note}" for note in notes)]) + "\n"
    write_text(markdown, csv.with_suffix(".md"))
    head, *body = [[escape(cell) for cell in line] for line in (heads, *lines)]
    latex = floating(table.id, (f"{table.title}.", *notes), tabular(head, [body]))
    write_text(latex, csv.with_suffix(".tex"))
