"""What can be done with a table, by its kind: make one row, put rows together, print it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from rgwot.reporting.tables import claims_table, forms, make, render, runtime_table, settings_table
from rgwot.reporting.tables.models import AnyTable, ClaimsTable, RuntimeTable, SettingsTable, Table

Path = str | os.PathLike[str]


class Kind(NamedTuple):
    """The steps of one kind of table.

    ``make_row`` writes the CSV of a row from table, id of the row, input files, output and the facts that the workflow
    gives; ``join_rows`` the CSV of the table from those of its rows. ``render`` writes Markdown and LaTeX beside
    either; ``terminal`` returns it as text for a terminal.
    """

    make_row: Callable[[Any, str, Iterable[Path], Path, Mapping[str, Any]], Any]
    join_rows: Callable[[Any, Iterable[Path], Path], Any]
    render: Callable[[Any, Path], Any]
    terminal: Callable[[Any, Path], str]


FLAT = {SettingsTable.KIND: settings_table, ClaimsTable.KIND: claims_table, RuntimeTable.KIND: runtime_table}
KINDS = {
    Table.KIND: Kind(make.make_row, make.join_rows, render.render_table, render.terminal_table),
    **{
        name: Kind(kind.make_row, kind.join_rows, kind.render_table, forms.read_markdown) for name, kind in FLAT.items()
    },
}


def kind_of(table: AnyTable) -> Kind:
    """Return what can be done with a table."""
    return KINDS[table.kind]
