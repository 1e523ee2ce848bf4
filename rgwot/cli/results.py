"""Verbs for finished results: show, compare and export them, and apply them to other videos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rgwot.columns import LEARNER_NAMES
from rgwot.runtime.errors import RgwotError

Folder = click.Path(path_type=Path)
_names = click.option(
    "--names",
    type=Folder,
    help="File with the names of key steps, as downloaded from a page. Default: the names of the study, if any.",
)


@click.command()
@click.argument("format_", metavar="FORMAT")
@click.argument("places", metavar="[KEYSTEPS] OUTPUT", type=Folder, nargs=-1, required=True)
@_names
@click.option(
    "--root",
    type=Folder,
    help="Folder of the dataset's videos, for absolute links. Default: that of the study's configuration, if any.",
)
@click.option("--videos", "chosen", multiple=True, help="A video to export; may be repeated. Default: all.")
def export(
    format_: str, places: tuple[Path, ...], names: Path | None, root: Path | None, chosen: tuple[str, ...]
) -> None:
    """Export a result in the FORMAT of another program into OUTPUT, a new folder or an unchanged export.

    KEYSTEPS is a folder such as results/keysteps/rgwot/graphcut/demo/assembly/seed0; by default, the result that the
    page of the study shows first. It may also be a table of annotations, such as results/annotations/demo/assembly.csv;
    marks are then exported, too.
    """
    from rgwot.reporting.chosen import result_folder
    from rgwot.reporting.export import export_keysteps

    if len(places) > 2:
        raise click.UsageError(f"found {len(places)} paths, expected KEYSTEPS (optional) and OUTPUT")
    keysteps, output = result_folder(places[0] if len(places) == 2 else None), places[-1]
    click.echo(export_keysteps(format_, keysteps, output, names, root or _folder_of_videos(keysteps), chosen))


def _folder_of_videos(keysteps: Path) -> Path | None:
    """Return the folder of the videos of a result of this study, or None for a result from elsewhere."""
    from rgwot.paths import RESULTS, Tree
    from rgwot.study.study import Study

    tree, configuration = Tree.of_folder(keysteps) or Tree.of_annotations(keysteps), Path("config.yaml")
    if tree is None or tree.results != Path(RESULTS).absolute() or not configuration.is_file():
        return None
    config = Study.read((configuration,)).config
    return config.root_of(tree.dataset) if tree.dataset in config.datasets else None


@click.command()
@click.argument("keysteps", type=Folder, required=False)
@click.option("-n", "number", type=click.IntRange(1), help="How many videos. Default: 3.")
@click.option("--moments", type=click.IntRange(1), help="Or how many moments of all videos, instead of videos.")
@click.option("--output", type=Folder, help="New table (CSV) of the moments, to write their labels into.")
def suggest(keysteps: Path | None, number: int | None, moments: int | None, output: Path | None) -> None:
    """Suggest which videos or moments to annotate next, and how to open the videos.

    KEYSTEPS is a folder such as results/keysteps/rgwot-plus/consensus/demo/assembly/seed0, by default the result that
    the page of the study shows first.
    """
    from rgwot.reporting.chosen import result_folder
    from rgwot.reporting.show import moment_suggestion, suggestion

    if moments is None:
        if output is not None:
            raise RgwotError("--output: found without --moments; expected a number of moments to write; give both")
        click.echo("\n".join(suggestion(result_folder(keysteps), number or 3)))
    else:
        if number is not None:
            raise RgwotError(f"-n: found {number} videos and {moments} moments; expected one of the two; leave one out")
        click.echo("\n".join(moment_suggestion(result_folder(keysteps), moments, output)))


@click.command()
@click.argument("both", metavar="[FIRST] SECOND", type=Folder, nargs=-1, required=True)
@_names
@click.option(
    "--overlap",
    default=0.5,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True),
    help="Least intersection over union at which two segments count as the same.",
)
@click.option("--tier", help="Tier of an ELAN file. Default: the tier `key steps`, or the only one.")
@click.option("--fps", help="Frames per second for formats that count frames, such as 25 or 30000/1001.")
def compare(both: tuple[Path, ...], names: Path | None, overlap: float, tier: str | None, fps: str | None) -> None:
    """Compare two results of a task: how much they agree, and which key steps are split or merged.

    FIRST and SECOND are folders such as results/keysteps/rgwot/graphcut/demo/assembly/seed0, or annotations of a
    coder in ELAN, BORIS and others: a file, or a folder with a file per video. By default, FIRST is the result that
    the page of the study shows first.
    """
    from rgwot.reporting.chosen import result_folder
    from rgwot.reporting.compare import compare_results

    if len(both) > 2:
        raise click.UsageError(f"found {len(both)} paths, expected one or two")
    first, second = result_folder(both[0] if len(both) == 2 else None), result_folder(both[-1])
    click.echo("\n".join(compare_results(first, second, names, overlap, tier, fps)))


@click.command("compare-groups")
@click.argument("output", type=Folder)
@click.argument("keysteps", type=Folder, required=False)
@click.option("--videos", required=True, type=Folder, help="Table of the videos (CSV: video, group).")
@click.option("--column", default="group", show_default=True, help="Column with the groups in the table of --videos.")
@click.option("--task", help="Use only this task's rows of the table, if it has a column task.")
@_names
@click.option("--title", default="", help="Title of the figure, such as its dataset, task, method, decoder and seed.")
def compare_groups(
    output: Path, keysteps: Path | None, videos: Path, column: str, task: str | None, names: Path | None, title: str
) -> None:
    """Test whether groups of videos differ, and write OUTPUT (CSV) with a figure beside it (PDF and PNG).

    KEYSTEPS is a folder such as results/keysteps/rgwot/graphcut/demo/assembly/seed0, by default the result that the
    page of the study shows first. Permutation tests, with the video as the unit, compare for every key step the share
    of videos that have it, the number of segments, duration, place, deviations, and the next key step. If the table has
    a column subject, the unit is the person.
    """
    from rgwot.reporting.chosen import result_folder
    from rgwot.reporting.figures.groups import write_groups
    from rgwot.runtime.provenance import write_record

    keysteps = result_folder(keysteps)
    lines = write_groups(output, keysteps, videos, column, task, names, title)
    figures = [output.with_suffix(suffix) for suffix in (".pdf", ".png")]
    write_record(output, "compare-groups", figures, keysteps=keysteps, videos=videos, column=column, task=task)
    click.echo("\n".join(lines))


@click.command()
@click.argument("segments", type=Folder)
@click.option("--output", "folder", required=True, type=Folder, help="Folder for procedure.json and deviations.csv.")
@click.option(
    "--learner",
    default=next(iter(LEARNER_NAMES)),
    show_default=True,
    type=click.Choice(list(LEARNER_NAMES)),
    help="; ".join(f"{name}: {what}" for name, what in LEARNER_NAMES.items()) + ".",
)
def procedure(segments: Path, folder: Path, learner: str) -> None:
    """Learn the procedure from a table of SEGMENTS (CSV), and print it.

    The columns are video, start_s, end_s (seconds) and key_step (whole numbers from 1, background 0); name is optional.
    If there is a column scope, only rows with the scope task are read.
    """
    from rgwot.procedure import deviations, learn
    from rgwot.reporting.show import drawn
    from rgwot.stages.procedure import read_recordings, write_procedure

    recordings, names = read_recordings(segments)
    learned = learn(recordings, learner)
    deviating = deviations(learned, recordings)
    folder.mkdir(parents=True, exist_ok=True)
    write_procedure(folder, learned, deviating)
    # Segments of a table are taken as they are, like annotations.
    click.echo("\n".join(drawn(learned, deviating, recordings, names, [recording.video for recording in recordings])))


@click.command()
@click.argument("bundle", type=Folder)
@click.argument("videos", type=Folder, nargs=-1, required=True)
@click.option(
    "--output",
    "folder",
    required=True,
    type=Folder,
    help="Folder for segments.csv, order.csv, deviations.csv and page.html.",
)
@click.option(
    "--weights", metavar="PATH", help="Checkpoint of the backbone, if the bundle was made with a user's checkpoint."
)
@click.option(
    "--extension",
    "extensions",
    multiple=True,
    type=Folder,
    help="Extension: the Python file that defines the method or decoder of the bundle; may be repeated.",
)
@click.option(
    "--frames-fps",
    metavar="RATE",
    help="Frames per second, such as 30000/1001, of stored frames (.h5) whose file has no rate.",
)
@click.option(
    "--on-bad-video",
    default="fail",
    show_default=True,
    type=click.Choice(["fail", "skip"]),
    help="For bad videos: fail stops with the reason; skip keeps the frames that can be decoded, if any.",
)
@click.option(
    "--threads",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Number of CPU threads; it does not change results.",
)
@click.option(
    "--device",
    default="auto",
    show_default=True,
    type=click.Choice(["auto", "cpu", "cuda"]),
    help="auto uses a GPU if there is one; cuda fails without one.",
)
def apply(
    bundle: Path,
    videos: tuple[Path, ...],
    folder: Path,
    extensions: tuple[Path, ...],
    frames_fps: str | None,
    **how: Any,
) -> None:
    """Find the key steps of other VIDEOS with a BUNDLE, and their deviations; nothing is trained.

    Instead of a video, you can give a feature store (.zarr) or, if the bundle was made from imported features, a file
    of such features.
    """
    from rgwot.bundles.apply import ApplyOptions, apply_bundle, draw_page
    from rgwot.columns import readable
    from rgwot.config.extensions import load_extensions
    from rgwot.reporting.show import deviation_lines
    from rgwot.timing import parse_rate

    load_extensions(extensions)
    try:
        rate = None if frames_fps is None else parse_rate(frames_fps)
    except ValueError as error:
        raise RgwotError(f"--frames-fps: {error}") from None
    results = apply_bundle(bundle, videos, folder, ApplyOptions(frames_fps=rate, **how))
    draw_page(bundle, folder)
    for applied in results:
        for line in filter(None, (applied.unlike, applied.length)):
            click.echo(f"{readable(applied.video)}: {line}")
    for applied in results:
        in_study = " (a video of the study, with its result there)" if applied.from_study else ""
        order = f"{applied.segments} segments, order {applied.order}"
        click.echo(f"{readable(applied.video)}: {order}{in_study}")
    click.echo("\n".join(deviation_lines([row for applied in results for row in applied.deviations])))
    click.echo(f"{folder / 'page.html'}: open it in a browser")


@click.command()
@click.argument("table", type=Folder, required=False)
@click.option("--procedures", type=Folder, help="Also print the procedure of this folder of key steps.")
@_names
def show(table: Path | None, procedures: Path | None, names: Path | None) -> None:
    """Print TABLE, the CSV file of a table or of a row, and optionally a procedure.

    If TABLE is a folder of key steps, print its procedure; by default that of the result that the page shows first.
    """
    from rgwot.reporting.chosen import result_folder
    from rgwot.reporting.show import procedure_lines
    from rgwot.reporting.targets import in_terminal, load_targets

    table = result_folder(table)
    if table.is_dir():
        click.echo("\n".join(procedure_lines(table, names)))
        return
    targets = load_targets()
    # The file of a single row is in a folder named like its table.
    name = table.parent.name if table.parent.name in targets.tables else table.stem
    click.echo(in_terminal(targets.table(name), table))
    if procedures:
        click.echo("\n".join(["", *procedure_lines(procedures, names)]))
