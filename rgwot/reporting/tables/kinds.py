"""What can be done with a table, by its kind: make one row, put rows together, print it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rgwot.reporting.tables import forms, printed, runtime, scores, settings
from rgwot.reporting.tables.spec import AnyTable, RuntimeTable, SettingsTable, Table
from rgwot.runtime.files import read_csv, write_csv


class Kind(NamedTuple):
    """The steps of one kind of table.

    ``make_row`` writes the CSV of a row from table, id of the row, input files, output and the facts that the workflow
    gives; ``join_rows`` the CSV of the table from those of its rows. ``render`` writes Markdown and LaTeX beside
    either; ``terminal`` returns it as text for a terminal.
    """

    make_row: Callable[[Any, str, Iterable[Path], Path, Mapping[str, str]], Any]
    join_rows: Callable[[Any, Iterable[Path], Path], Any]
    render: Callable[[Any, Path], Any]
    terminal: Callable[[Any, Path], str] = forms.read_markdown


def _join_flat(table: AnyTable, rows: Iterable[Path], output: Path) -> None:
    frame = scores.joined(table, rows, lambda path: read_csv(path, (), {}))
    # Where rows are of a kind, the reported ones come first.
    write_csv(frame.sort_values("kind", ascending=False, kind="stable") if "kind" in frame else frame, output)


KINDS = {
    Table.KIND: Kind(scores.make_row, scores.join_rows, printed.render_table, printed.terminal_table),
    SettingsTable.KIND: Kind(settings.make_row, _join_flat, settings.render_table),
    RuntimeTable.KIND: Kind(runtime.make_row, _join_flat, runtime.render_table),
}


def kind_of(table: AnyTable) -> Kind:
    """Return what can be done with a table."""
    return KINDS[table.kind]
