"""Verbs that make the page of a task."""

from __future__ import annotations

from pathlib import Path

import click

from rgwot.cli import options
from rgwot.cli.options import Folder, Job, SettingsCommand
from rgwot.runtime.errors import RgwotError


@click.command()
@click.argument("output", type=Folder)
@click.option("--manifest", required=True, type=Folder, help="Manifest of the task.")
@click.option("--root", required=True, type=Folder, help="Folder that the paths of the manifest are relative to.")
@options.threads
def strips(output: Path, manifest: Path, root: Path, threads: int) -> None:
    """Write 32 small pictures of every video of a task, evenly spaced, into the folder OUTPUT (a JPEG per video)."""
    from rgwot.reporting.page.pictures import write_strips

    write_strips(manifest, root, output, jobs=threads)


@click.command(
    cls=SettingsCommand,
    reads=("ot",),
    epilog="Try the settings of the method, so that the plans are those of its training.",
)
@click.argument("output", type=Folder)
@click.option("--embeddings", required=True, type=Folder, help="Embeddings of the task.")
@click.option("--segments", required=True, type=Folder, help="Key steps found from them (segments.csv).")
@click.option("--manifest", required=True, type=Folder, help="Manifest of the task.")
@click.option("--root", required=True, type=Folder, help="Folder that the paths of the manifest are relative to.")
@click.option("--method", default="none", help="Method id. Default: none in particular, which trains nothing.")
@options.dataset
@options.task
@options.config
@options.seed
@options.job("view")
def view(output: Path, embeddings: Path, segments: Path, manifest: Path, root: Path, job: Job, seed: int) -> None:
    """Compute what the page shows of a run's embeddings, into OUTPUT (JSON).

    Typical frames of every key step and the tree of key steps; of a method that trains also embeddings in the plane
    (t-SNE) and transport plans between videos, for which the block `ot` of the settings is read.
    """
    from rgwot.config.experiments import family_of
    from rgwot.reporting.page.view import write_view

    write_view(embeddings, segments, manifest, root, output, job.settings, seed, family_of(job.method).trained)


@click.command()
@click.argument("output", type=Folder)
@click.option("--dataset", required=True, help="Dataset id, such as meccano.")
@click.option("--task", required=True, help="Task id, such as meccano or Brownie.")
@click.option(
    "--run",
    "runs",
    required=True,
    multiple=True,
    metavar="METHOD/DECODER/seedN",
    help="A result to show, such as rgwot/graphcut/seed0; repeat it for more. The first is shown first.",
)
@click.option(
    "--results",
    default="results",
    show_default=True,
    type=Folder,
    help="Folder of results; what the page needs is found in it by its usual path.",
)
@click.option("--root", required=True, type=Folder, help="Folder of the videos, so that a click can play them.")
@click.option("--names", type=Folder, help="Names of key steps, as downloaded from a page; need not exist.")
@click.option("--groups", help="Column of the table of videos whose groups are shown, where they were compared.")
def report(
    output: Path,
    dataset: str,
    task: str,
    runs: tuple[str, ...],
    results: Path,
    root: Path,
    names: Path | None,
    groups: str | None,
) -> None:
    """Write the page of a task into OUTPUT (HTML), and its ranked procedures next to it (CSV).

    The page opens in a browser without a server: double-click it. Names typed into it are kept when the file
    that it gives is given back as --names.
    """
    from rgwot.paths import Run, Tree
    from rgwot.reporting.page.render import write_page

    tree, shown = Tree(results, dataset, task), []
    for text in runs:
        run = Run.of_text(text)
        if run is None:
            raise RgwotError(f"run {text!r}: expected METHOD/DECODER/seedN, such as rgwot/graphcut/seed0")
        shown.append(run)
    write_page(tree, root, shown, output, names, groups)


@click.command("report-index")
@click.argument("output", type=Folder)
@click.argument("pages", type=Folder, nargs=-1)
def report_index(output: Path, pages: tuple[Path, ...]) -> None:
    """Write a list of PAGES, such as results/report/demo/assembly.html, into OUTPUT (HTML), with links to them."""
    from rgwot.reporting.page.render import write_page_list

    write_page_list(pages, output)


@click.command()
@click.argument("format_", metavar="FORMAT")
@click.argument("keysteps", type=Folder)
@click.argument("output", type=Folder)
@click.option("--names", type=Folder, help="Names of key steps, as downloaded from a page; need not exist.")
@click.option(
    "--root", type=Folder, help="Folder that the manifest's paths start from; links to videos are then absolute."
)
def export(format_: str, keysteps: Path, output: Path, names: Path | None, root: Path | None) -> None:
    """Export a result in the FORMAT of another program into OUTPUT, a new folder or an export that nobody changed.

    KEYSTEPS is a folder such as results/keysteps/rgwot/graphcut/demo/assembly/seed0.
    """
    from rgwot.reporting.export.interface import export_keysteps

    click.echo(export_keysteps(format_, keysteps, output, names, root))


@click.command()
@click.argument("first", type=Folder)
@click.argument("second", type=Folder)
@click.option("--names", type=Folder, help="Names of key steps, as downloaded from a page; need not exist.")
@click.option(
    "--overlap",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True),
    help="Intersection over union from which a segment of one is a segment of the other.",
)
@click.option("--tier", help="Tier of ELAN. Default: key steps, or the only one.")
@click.option("--fps", help="Frames per second, of formats that count frames, such as 25 or 30000/1001.")
def compare(first: Path, second: Path, names: Path | None, overlap: float, tier: str | None, fps: str | None) -> None:
    """Say how far two results of a task agree, and which key steps were split or merged.

    FIRST and SECOND are folders such as results/keysteps/rgwot/graphcut/demo/assembly/seed0, or annotations of a second
    coder in ELAN, BORIS and others: a file, or a folder with a file per video.
    """
    from rgwot.reporting.compare import compare_results

    click.echo("\n".join(compare_results(first, second, names, overlap, tier, fps)))


@click.command("compare-groups")
@click.argument("output", type=Folder)
@click.argument("keysteps", type=Folder)
@click.option("--videos", required=True, type=Folder, help="Table of the videos (CSV: video, group).")
@click.option("--column", default="group", show_default=True, help="Column of that table with the groups.")
@click.option("--task", help="Task whose rows count, where the table has a column task.")
@click.option("--names", type=Folder, help="Names of key steps, as downloaded from a page; need not exist.")
@click.option("--title", default="", help="Title of the figure: dataset, task, method, decoder, seed.")
def compare_groups(
    output: Path, keysteps: Path, videos: Path, column: str, task: str | None, names: Path | None, title: str
) -> None:
    """Test whether groups of videos differ, into OUTPUT (CSV, and a figure next to it: PDF and PNG).

    KEYSTEPS is a folder such as results/keysteps/rgwot/graphcut/demo/assembly/seed0. For every key step: share of the
    videos that have it, number of segments, duration, place, deviations and what follows, by permutation tests with the
    video as the unit.
    """
    from rgwot.reporting.figures.style import save
    from rgwot.reporting.groups import group_bars, groups_of_result, lines
    from rgwot.reporting.names import names_in, read_names
    from rgwot.runtime.files import write_csv

    table = groups_of_result(keysteps, videos, column, task)
    called = names_in(keysteps, read_names(names))
    save(group_bars(table, title, called), output)
    if called:
        table.insert(1, "name", table["key_step"].map(called).fillna(""))
    write_csv(table, output)
    click.echo("\n".join(lines(table, called)))
