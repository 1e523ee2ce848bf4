"""The verb that prints tables and procedures."""

from __future__ import annotations

from pathlib import Path

import click

from rgwot.runtime.errors import RgwotError

Folder = click.Path(path_type=Path)


@click.command()
@click.argument("table", type=Folder)
@click.option(
    "--procedures", type=Folder, help="Also print the procedure of a folder of key steps, by its procedures.csv."
)
@click.option("--names", type=Folder, help="Names of key steps, as downloaded from a page; need not exist.")
def show(table: Path, procedures: Path | None, names: Path | None) -> None:
    """Print a TABLE or a row of one (CSV), then the procedure.

    In place of a table, a folder of key steps prints its procedure.
    """
    from rgwot.paths import PROCEDURE, name_of
    from rgwot.reporting.show import procedure_lines
    from rgwot.reporting.targets import find, in_terminal, load_targets

    if table.is_dir():
        click.echo("\n".join(procedure_lines(table, names)))
        return
    if (table.parent / name_of(PROCEDURE)).is_file():
        raise RgwotError(f"{table}: found a file of key steps, expected their folder; rgwot show {table.parent}")
    tables = load_targets().tables
    # A row lies in a folder of its table's name.
    shown = find("table", table.parent.name if table.parent.name in tables else table.stem, tables)
    click.echo(in_terminal(shown, table))
    if procedures:
        click.echo("\n".join(["", *procedure_lines(procedures.parent, names)]))
