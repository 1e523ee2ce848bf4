"""Verbs that make tables and figures."""

from __future__ import annotations

from pathlib import Path

import click

from rgwot.runtime.errors import RgwotError

Folder = click.Path(path_type=Path)
_config = click.option("--config", "configs", multiple=True, type=Folder, help="Configuration, as config.yaml.")


@click.command()
@click.argument("output", type=Folder)
@click.argument("inputs", type=Folder, nargs=-1)
@click.option("--tables", required=True, type=Folder, help="The file that defines all tables (workflow/tables.yaml).")
@click.option(
    "--row", help="Make this row alone, from score files or benchmarks. Without it: join rows into the table."
)
@_config
def table(output: Path, inputs: tuple[Path, ...], tables: Path, row: str | None, configs: tuple[Path, ...]) -> None:
    """Make OUTPUT (CSV) from score files (--row) or from rows, and the Markdown and LaTeX forms beside it."""
    from rgwot.reporting.tables.kinds import kind_of
    from rgwot.reporting.tables.spec import find_table, load_tables

    if row:
        from rgwot.study.study import Study
        from rgwot.study.tables import any_table, row_facts

        study, table_id = Study.read(configs, tables), output.parent.name
        spec = any_table(study, table_id)
        kind_of(spec).make_row(spec, row, inputs, output, row_facts(study, table_id, row))
    else:
        spec = find_table(load_tables(tables), output.stem)
        kind_of(spec).join_rows(spec, inputs, output)
    kind_of(spec).render(spec, output)


@click.command()
@click.argument("output", type=Folder)
@click.option("--manifest", required=True, type=Folder, help="Manifest of the task.")
@click.option("--annotations", required=True, type=Folder, help="Annotated segments of the task.")
@click.option(
    "--segments", required=True, multiple=True, metavar="LABEL=PATH", help="Predicted segments; once per row of bars."
)
@click.option("--title", default="", help="Title: dataset, task, seed, settings.")
@click.option("--videos", default=4, show_default=True, type=click.IntRange(1), help="How many videos are drawn.")
@click.option("--names", type=Folder, help="Names of key steps, as downloaded from a page; need not exist.")
def plot(
    output: Path,
    manifest: Path,
    annotations: Path,
    segments: tuple[str, ...],
    title: str,
    videos: int,
    names: Path | None,
) -> None:
    """Draw key steps over time, ground truth above predictions, into OUTPUT (PDF, and PNG beside it)."""
    from rgwot.records import read_annotations, read_manifest, read_segments
    from rgwot.reporting.figures.segments import segment_bars
    from rgwot.reporting.figures.style import save
    from rgwot.reporting.names import names_in, read_names

    typed = read_names(names)
    paths = {label: Path(path) for label, _, path in (pair.partition("=") for pair in segments)}
    predictions = {label: read_segments(path) for label, path in paths.items()}
    called = {label: names_in(path.parent, typed) for label, path in paths.items()}
    truth = read_annotations(annotations)
    save(segment_bars(read_manifest(manifest), truth, predictions, title, videos, called), output)


@click.command()
@click.argument("output", type=Folder)
@click.option("--tables", required=True, type=Folder, help="The file that defines figures (workflow/tables.yaml).")
@_config
def figure(output: Path, tables: Path, configs: tuple[Path, ...]) -> None:
    """Draw a figure of workflow/tables.yaml into OUTPUT (PDF, and PNG beside it), from the files of the workflow."""
    from rgwot.reporting.figures.style import save
    from rgwot.study.study import Study
    from rgwot.study.tables import draw_figure

    save(draw_figure(Study.read(configs, tables), output.stem), output)


@click.command()
@click.argument("table", type=Folder)
@click.option("--tables", type=Folder, help="The file that defines all tables. Default: that of the workflow.")
@click.option(
    "--procedures", type=Folder, help="Also print the procedure of a folder of key steps, by its procedures.csv."
)
@click.option("--names", type=Folder, help="Names of key steps, as downloaded from a page; need not exist.")
def show(table: Path, tables: Path | None, procedures: Path | None, names: Path | None) -> None:
    """Print a TABLE or a row of one (CSV), then the procedure.

    In place of a table, a folder of key steps prints its procedure.
    """
    from rgwot.paths import PROCEDURE, name_of
    from rgwot.reporting.show import procedure_lines
    from rgwot.reporting.tables.kinds import kind_of
    from rgwot.reporting.tables.spec import find_table, load_tables
    from rgwot.study.shipped import TABLES

    if table.is_dir():
        click.echo("\n".join(procedure_lines(table, names)))
        return
    if (table.parent / name_of(PROCEDURE)).is_file():
        raise RgwotError(f"{table}: found a file of key steps, expected their folder; rgwot show {table.parent}")
    loaded = load_tables(tables or TABLES)
    # A row lies in a folder of its table's name.
    spec = find_table(loaded, table.parent.name if table.parent.name in loaded else table.stem)
    click.echo(kind_of(spec).terminal(spec, table))
    if procedures:
        click.echo("\n".join(["", *procedure_lines(procedures.parent, names)]))
