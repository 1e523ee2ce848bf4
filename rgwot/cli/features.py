"""Verbs that make the features of videos, or take those made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import click

from rgwot.cli import options
from rgwot.cli.options import Folder
from rgwot.cli.settings_help import SettingsCommand
from rgwot.runtime.errors import RgwotError


@click.command(
    cls=SettingsCommand,
    reads=("features",),
    epilog="Try features.fps 1 for long videos and 5 for short steps; it is the one that costs most.",
)
@click.argument("output", type=Folder)
@click.option("--source", required=True, type=Folder, help="The video file.")
@options.frames_fps
@options.dataset
@options.config
@options.threads
def extract(
    output: Path, source: Path, frames_fps: str | None, dataset: str, configs: tuple[Path, ...], threads: int
) -> dict[str, Any]:
    """Decode a video, run the frozen backbone, write the features into OUTPUT (Zarr)."""
    from rgwot.features.extract import extract as run

    study, settings, reads = options.resolved(configs, "extract", dataset, "")
    entry = study.config.datasets.get(dataset)
    configured = entry.frames_fps if entry and entry.frames_fps != "file" else None
    run(
        source,
        output,
        settings.features,
        on_bad_video=study.config.on_bad_video,
        threads=threads,
        device=study.config.device,
        frames_fps=options.read_rate(frames_fps or configured, "--frames-fps"),
    )
    return reads


@click.command("import-features")
@click.argument("output", type=Folder)
@click.option(
    "--source",
    required=True,
    type=Folder,
    help="Features of one video: .npy, .npz, .h5, .hdf5, .pt, .csv or .mat; or a folder of such files, and OUTPUT is "
    "then a folder of stores.",
)
@click.option(
    "--axes",
    required=True,
    type=click.Choice(["TCHW", "THWC", "TC", "CT"]),
    help="Order of the axes: T time, C channels, any number of them, H and W space. Never guessed.",
)
@click.option("--fps", metavar="RATE", help="Features per second, like 30 or 30000/1001. Or --times.")
@click.option(
    "--times",
    help="Array inside the file with the time of every feature, seconds; of a .csv a column, of an .npy the file "
    "NAME.times.npy beside it.",
)
@click.option("--key", help="Array inside the file, where it holds several.")
@click.option("--channels", type=click.IntRange(1), help="Channels expected. Default: any number.")
@click.option("--start-s", default=0.0, show_default=True, help="Time of the first feature, seconds.")
@click.option("--duration", type=float, help="Length of the video, seconds. Or --footage, or --no-video.")
@click.option(
    "--native-fps", metavar="RATE", help="Frame rate of the video, where it is not at hand. Default: as --fps."
)
@click.option(
    "--footage",
    type=Folder,
    help="The video file, which knows its length and rate, or the folder of the videos. The SOURCE itself: --no-video.",
)
@click.option("--no-video", is_flag=True, help="There is no video; it is taken to last as long as its features.")
@options.frames_fps
@options.on_bad_video
@click.option(
    "--on-mismatch",
    default="error",
    show_default=True,
    type=click.Choice(["error", "trim"]),
    help="Where number, rate and duration disagree by a sample or more: trim drops surplus features and marks a video "
    "with too few as partial.",
)
@click.option("--backbone", default="imported", show_default=True, help="Name of the network, to record.")
@click.option("--layer", default="imported", show_default=True, help="Name of its layer, to record.")
@click.option("--weights", default="imported", show_default=True, help="Name of its weights, to record.")
def import_features(
    output: Path,
    source: Path,
    duration: float | None,
    footage: Path | None,
    no_video: bool,
    on_bad_video: Literal["fail", "skip"],
    frames_fps: str | None,
    **form: Any,
) -> None:
    r"""Turn features made elsewhere into OUTPUT (Zarr), as `extract` writes it.

    For a whole dataset, let the workflow do it: an entry of config.yaml with a block `imported`, such as

    \b
      datasets:
        mine:
          layout: folder
          root: videos
          imported: {folder: features, axes: TCHW, fps: 2}

    takes features/TASK/VIDEO.npy (or features/VIDEO.npy) instead of running a network; `layout: features` and the
    folder of the features as `root` do without videos. By hand, the workflow expects a store at
    results/features/DATASET/TASK/VIDEO.zarr.
    """
    from pydantic import ValidationError

    from rgwot.config.importing import ImportSettings
    from rgwot.config.settings import describe
    from rgwot.features.importing import Footage, import_folder, import_video
    from rgwot.features.importing import import_features as run

    options.read_rate(form["native_fps"], "--native-fps")
    try:
        settings = ImportSettings.model_validate(form)
    except ValidationError as error:
        raise RgwotError(f"import-features: {describe(error, ImportSettings)}") from None
    if [duration is not None, footage is not None, no_video].count(True) != 1:
        raise RgwotError("import-features: expected either --duration or --footage, or --no-video; give one of them")
    where = source if no_video else footage
    alone = where is not None and where.absolute() == source.absolute()
    if settings.native_fps is not None and not alone and duration is None:
        raise RgwotError(
            "import-features: --native-fps and --footage: expected either --duration or --footage; a video knows its "
            "rate; leave --native-fps out"
        )
    if source.is_dir():
        if where is None:
            raise RgwotError("import-features: one --duration for a folder; give --footage FOLDER or --no-video")
        rate = options.read_rate(frames_fps, "--frames-fps")
        import_folder(source, output, settings, None if alone else where, frames_fps=rate)
    elif where is not None:
        rate = options.read_rate(frames_fps, "--frames-fps")
        import_video(where, source, output, settings, on_bad_video=on_bad_video, frames_fps=rate)
    else:
        assert duration is not None
        told = settings.native_fps or settings.fps
        if told is None:
            raise RgwotError("import-features: --native-fps: expected the frame rate of the video beside --times")
        run(source, output, settings, Footage(duration, options.read_rate(str(told), "--native-fps")))


@click.command()
@click.argument("output", type=Folder)
@click.argument("stores", type=Folder, nargs=-1, required=True)
@click.option(
    "--on-bad-video",
    default="fail",
    show_default=True,
    type=click.Choice(["fail", "skip"]),
    help="fail refuses a store that lacks frames because its video was skipped; skip lists it with the reason.",
)
def index(output: Path, stores: tuple[Path, ...], on_bad_video: Literal["fail", "skip"]) -> None:
    """Check the feature STORES of a task and list them in OUTPUT (CSV).

    An earlier list of some of them may stand for its stores: a command cannot name thousands.
    """
    from rgwot.features.index import write_index

    write_index(list(stores), output, on_bad_video)
