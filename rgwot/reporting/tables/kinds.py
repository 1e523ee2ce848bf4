"""What can be done with a table, by its kind: make one row, put rows together, print it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rgwot.reporting.tables import flat, make, render, runtime_table, settings_table
from rgwot.reporting.tables.models import AnyTable, RuntimeTable, SettingsTable, Table

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Kind:
    """The steps of one kind of table.

    Attributes
    ----------
    make_row
        From table, id of the row, input files, what the workflow tells, to the CSV of the row.
    join_rows
        From table and the CSV files of its rows to the CSV of the table.
    render
        From table and a CSV of either to the Markdown and LaTeX beside it.
    terminal
        From table and a CSV to its text for a terminal.
    """

    make_row: Callable[[Any, str, Sequence[Path], Mapping[str, Any], Path], Any]
    join_rows: Callable[[Any, Iterable[Path], Path], Any]
    render: Callable[[Any, Path], Any]
    terminal: Callable[[Any, Path], str]


def _score_row(table: Table, row_id: str, inputs: Sequence[Path], told: Mapping[str, Any], output: Path) -> None:
    """Make a row from scores; ``told`` has ``method`` and ``decoder`` in the one spelling that scores use."""
    spelling = {key: told[key] for key in ("method", "decoder") if told.get(key)}
    rows = (row.model_copy(update=spelling) if row.id == row_id else row for row in table.rows)
    make.make_row(table.model_copy(update={"rows": tuple(rows)}), row_id, inputs, output)


KINDS: Mapping[str, Kind] = {
    Table.KIND: Kind(_score_row, make.join_rows, render.render_table, render.terminal_table),
    SettingsTable.KIND: Kind(
        settings_table.make_row, settings_table.join_rows, settings_table.render_table, flat.terminal
    ),
    RuntimeTable.KIND: Kind(runtime_table.make_row, runtime_table.join_rows, runtime_table.render_table, flat.terminal),
}


def kind_of(table: AnyTable) -> Kind:
    """Return what can be done with a table."""
    return KINDS[table.kind]
