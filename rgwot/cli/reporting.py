"""Verbs that make tables and figures, for papers and for the terminal."""

from __future__ import annotations

from pathlib import Path

import click

from rgwot.cli.options import Folder


@click.command()
@click.argument("output", type=Folder)
@click.argument("inputs", type=Folder, nargs=-1)
@click.option("--tables", required=True, type=Folder, help="The file that defines all tables (workflow/tables.yaml).")
@click.option("--row", help="Make this row alone, from score files or benchmarks. Left out: join rows into the table.")
@click.option(
    "--fact",
    "facts",
    multiple=True,
    metavar="NAME=TEXT",
    help="With --row: method and decoder as the score files spell them, or the value that a setting resolves to.",
)
def table(output: Path, inputs: tuple[Path, ...], tables: Path, row: str | None, facts: tuple[str, ...]) -> None:
    """Make OUTPUT (CSV) from score files (--row) or from rows, and the Markdown and LaTeX forms beside it."""
    from rgwot.reporting.tables.kinds import kind_of
    from rgwot.reporting.tables.spec import find_table, load_tables

    loaded = load_tables(tables)
    spec = find_table(loaded, output.parent.name if row else output.stem)
    kind = kind_of(spec)
    if row:
        kind.make_row(spec, row, inputs, output, dict(fact.split("=", 1) for fact in facts))
    else:
        kind.join_rows(spec, inputs, output)
    kind.render(spec, output)


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
@click.argument("diagnostics", type=Folder)
@click.option("--title", default="", help="What the figure is of: dataset, task, method, decoder, seed.")
def plot_choices(output: Path, diagnostics: Path, title: str) -> None:
    """Draw what a result left to the data into OUTPUT (PDF, and PNG beside it).

    DIAGNOSTICS is the diagnostics.json of a decoding with K, time or clusters of background `auto`: how far views of
    the features agree over everything that was tried.
    """
    from rgwot.reporting.figures.choices import choice_curves
    from rgwot.reporting.figures.style import save

    save(choice_curves(diagnostics, title), output)


@click.command()
@click.argument("table", type=Folder)
@click.option("--tables", type=Folder, help="The file that defines all tables. Default: that of the workflow.")
@click.option("--yardsticks", type=Folder, help="Also say how hard the clips are.")
@click.option(
    "--procedures", type=Folder, help="Also print the procedure of a folder of key steps, by its procedures.csv."
)
@click.option("--names", type=Folder, help="Names of key steps, as downloaded from a page; need not exist.")
def show(
    table: Path, tables: Path | None, yardsticks: Path | None, procedures: Path | None, names: Path | None
) -> None:
    """Print a TABLE or a row of one (CSV) for people, with the yardsticks and the procedure after it."""
    from rgwot.reporting.show import procedure_lines, yardstick_lines
    from rgwot.reporting.tables.kinds import kind_of
    from rgwot.reporting.tables.spec import find_table, load_tables
    from rgwot.study.shipped import TABLES

    loaded = load_tables(tables or TABLES)
    # A row lies in a folder of its table's name.
    spec = find_table(loaded, table.parent.name if table.parent.name in loaded else table.stem)
    click.echo(kind_of(spec).terminal(spec, table))
    for lines in (
        yardstick_lines(yardsticks) if yardsticks else [],
        procedure_lines(procedures.parent, names) if procedures else [],
    ):
        click.echo()
        click.echo("\n".join(lines))
