"""Plain tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]], lines: Sequence[str] = ()) -> str:
    """Return a table as HTML, with ``lines`` in paragraphs above it; every text is escaped.

    >>> html_table("a < b", ["x"], [["1"]])
    '<table><caption>a &lt; b</caption><tr><th>x</th></tr><tr><td>1</td></tr></table>'
    """

    def row(tag: str, cells: Iterable[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    above = "".join(f"<p>{escape(line)}</p>" for line in lines)
    body = "".join(row("td", cells) for cells in rows)
    return f"{above}<table><caption>{escape(caption)}</caption>{row('th', headings)}{body}</table>"
