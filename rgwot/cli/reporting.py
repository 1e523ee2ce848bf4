"""Verbs that make tables and figures, for papers and for the terminal."""

from __future__ import annotations

from pathlib import Path

import click

from rgwot.cli.options import Folder


@click.command()
@click.argument("output", type=Folder)
@click.argument("inputs", type=Folder, nargs=-1, required=True)
@click.option("--tables", required=True, type=Folder, help="The file that defines all tables (workflow/tables.yaml).")
@click.option("--row", help="Make this row alone, from score files. Left out: join rows into the table.")
@click.option("--method", help="With --row: method id as the score files spell it. Default: as the table does.")
@click.option("--decoder", help="With --row: decoder id as the score files spell it. Default: as the table does.")
def table(
    output: Path, inputs: tuple[Path, ...], tables: Path, row: str | None, method: str | None, decoder: str | None
) -> None:
    """Make OUTPUT (CSV) from score files (--row) or from rows, and the Markdown and LaTeX forms beside it."""
    from rgwot.reporting.render import render_table
    from rgwot.reporting.spec import find_table, load_tables
    from rgwot.reporting.tables import join_rows, make_row

    loaded = load_tables(tables)
    spec = find_table(loaded, output.parent.name if row else output.stem)
    if row:
        spelling = {key: value for key, value in {"method": method, "decoder": decoder}.items() if value}
        spec = spec.model_copy(update={"rows": (spec.row(row).model_copy(update=spelling),)})
        make_row(spec, row, inputs, output)
    else:
        join_rows(spec, inputs, output)
    render_table(spec, output)


@click.command()
@click.argument("output", type=Folder)
@click.option("--manifest", required=True, type=Folder, help="Manifest of the task.")
@click.option("--annotations", required=True, type=Folder, help="Annotated segments of the task.")
@click.option(
    "--segments",
    required=True,
    multiple=True,
    metavar="LABEL=PATH",
    help="Predicted segments; once per row of bars.",
)
@click.option("--title", default="", help="Title: dataset, task, seed, settings.")
@click.option("--videos", default=4, show_default=True, type=click.IntRange(1), help="How many videos are drawn.")
def plot(output: Path, manifest: Path, annotations: Path, segments: tuple[str, ...], title: str, videos: int) -> None:
    """Draw key steps over time, ground truth above predictions, into OUTPUT (PDF, and PNG beside it)."""
    import pandas as pd

    from rgwot.datasets.manifest import read_manifest
    from rgwot.reporting.figures import labels_and_paths, save, segment_bars

    predictions = {label: pd.read_csv(path, dtype={"video": str}) for label, path in labels_and_paths(segments).items()}
    truth = pd.read_csv(annotations, dtype={"video": str})
    save(segment_bars(read_manifest(manifest), truth, predictions, title, videos), output)


@click.command()
@click.argument("table", type=Folder)
@click.option("--tables", default="workflow/tables.yaml", show_default=True, type=Folder, help="Defines all tables.")
@click.option("--yardsticks", type=Folder, help="Also say how hard the clips are.")
@click.option("--procedures", type=Folder, help="Also print the procedure ranked first.")
def show(table: Path, tables: Path, yardsticks: Path | None, procedures: Path | None) -> None:
    """Print a TABLE (CSV) for people, with the yardsticks and the top-ranked procedure beside it."""
    from rgwot.reporting.render import terminal_table
    from rgwot.reporting.show import procedure_lines, yardstick_lines
    from rgwot.reporting.spec import find_table, load_tables

    click.echo(terminal_table(find_table(load_tables(tables), table.stem), table))
    for lines in (
        yardstick_lines(yardsticks) if yardsticks else [],
        procedure_lines(procedures) if procedures else [],
    ):
        click.echo()
        click.echo("\n".join(lines))
