"""Verbs that make or import the features of videos."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import click

from rgwot.cli import options
from rgwot.cli.options import Folder, Job, SettingsCommand
from rgwot.datasets.names import video_id
from rgwot.runtime.errors import RgwotError

_LIST = ".csv"
_videos = click.option("--video", "videos", multiple=True, help="Id of each video. Default: the name of its file.")


def _named(output: Path, sources: tuple[Path, ...], videos: tuple[str, ...]) -> dict[str, Path]:
    """Return the sources of a job by the ids of the videos."""
    ids = videos or tuple(video_id(path.stem) for path in sources)
    if len(ids) != len(sources) or len(set(ids)) != len(ids):
        raise RgwotError(f"--video: found {len(set(ids))} ids for {len(sources)} files; expected one for each")
    if len(ids) > 1 and output.suffix != _LIST:
        raise RgwotError(f"{output}: found {len(ids)} videos for one store; expected one, or an OUTPUT like index.csv")
    return dict(zip(ids, sources, strict=True))


def _write(output: Path, make: Mapping[str, Callable[[Path], None]]) -> None:
    """Make the store of one video, or those of several and their list."""
    from rgwot.features.index import write_part

    if output.suffix == _LIST:
        write_part(make, output)
    else:
        (run,) = make.values()
        run(output)


@click.command(
    cls=SettingsCommand,
    reads=("features",),
    epilog="Try features.fps 1 for long videos and 5 for short steps; it decides the cost.",
)
@click.argument("output", type=Folder)
@click.option("--source", "sources", required=True, multiple=True, type=Folder, help="The video file; repeat.")
@_videos
@options.frames_fps_option
@options.dataset
@options.config
@options.threads
@options.job("extract")
def extract(
    output: Path, sources: tuple[Path, ...], videos: tuple[str, ...], frames_fps: str | None, job: Job, threads: int
) -> None:
    """Decode videos, run the frozen backbone, write the features.

    OUTPUT is the store of one video (Zarr), or a CSV that lists the stores of several, which are written beside it. A
    store that was made from the same video with the same settings is kept.
    """
    from rgwot.features.backbone import load_backbone
    from rgwot.features.extract import extract as run

    config, chosen = job.study.config, job.settings.features
    entry = config.datasets.get(job.dataset)
    configured = entry.frames_fps if entry and entry.frames_fps != "file" else None
    rate = options.read_rate(frames_fps or configured, "--frames-fps")
    named = _named(output, sources, videos)
    backbone = load_backbone(chosen.weights, chosen.seed, chosen.precision, chosen.backbone)

    def make(source: Path, store: Path) -> None:
        run(
            source, store, chosen, on_bad_video=config.on_bad_video, threads=threads,
            device=config.device, frames_fps=rate, backbone=backbone,
        )  # fmt: skip

    _write(output, {video: partial(make, source) for video, source in named.items()})


@click.command("import-features")
@click.argument("output", type=Folder)
@click.option(
    "--source",
    "sources",
    required=True,
    multiple=True,
    type=Folder,
    help="Features of one video: .npy, .npz, .h5, .hdf5, .pt, .csv or .mat; repeat. Or a folder of such files, and "
    "OUTPUT is then a folder of stores.",
)
@_videos
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
@click.option("--key", help="Array inside the file, if it holds several.")
@click.option("--every", default=1, show_default=True, type=click.IntRange(1), help="Take every n-th feature only.")
@click.option(
    "--window",
    type=click.IntRange(1),
    help="Native frames that a feature stands for, of --native-fps. Or --fps, --times.",
)
@click.option("--rates", help="CSV with video, fps and frames of every video, beside --window.")
@click.option(
    "--keypoints",
    type=click.Choice(["image", "body"]),
    help="The file holds tracked points (DeepLabCut, SLEAP, tables): positions in the image, or relative to the body.",
)
@click.option("--channels", type=click.IntRange(1), help="Channels expected. Default: any number.")
@click.option("--start-s", default=0.0, show_default=True, help="Time of the first feature, seconds.")
@click.option(
    "--duration",
    type=click.FloatRange(0, min_open=True),
    help="Length of the video, seconds. Or --footage, or --no-video.",
)
@click.option("--native-fps", metavar="RATE", help="Frame rate of a video that is not available. Default: as --fps.")
@click.option(
    "--footage",
    multiple=True,
    type=Folder,
    help="The video file, which knows its length and rate, one per --source; or the folder of the videos. The SOURCE "
    "itself: --no-video.",
)
@click.option("--no-video", is_flag=True, help="There is no video; its length is that of its features.")
@options.frames_fps_option
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
    sources: tuple[Path, ...],
    videos: tuple[str, ...],
    duration: float | None,
    footage: tuple[Path, ...],
    no_video: bool,
    on_bad_video: Literal["fail", "skip"],
    frames_fps: str | None,
    **form: Any,
) -> None:
    """Turn features made elsewhere into OUTPUT, as `extract` writes it: a store (Zarr), or a CSV that lists several.

    For a whole dataset, let the workflow do it: a dataset of config.yaml with `imported: {folder: features, axes: TCHW,
    fps: 2}` takes features/TASK/VIDEO.npy (or features/VIDEO.npy) instead of running a network; `layout: features` and
    the folder of the features as `root` do without videos.
    """
    from rgwot.config.importing import ImportSettings
    from rgwot.config.settings import validated
    from rgwot.features.importing import import_features as run
    from rgwot.features.importing import import_folder, import_video
    from rgwot.timing import VideoInfo

    options.read_rate(form["native_fps"], "--native-fps")
    settings = validated(ImportSettings, form, "import-features")
    if [duration is not None, bool(footage), no_video].count(True) != 1:
        raise RgwotError("import-features: expected either --duration or --footage, or --no-video; give one of them")
    if footage and len(footage) != len(sources):
        raise RgwotError(f"--footage: found {len(footage)} for {len(sources)} sources; expected one for each")
    where = sources if no_video else footage
    alone = bool(where) and all(one.absolute() == own.absolute() for one, own in zip(where, sources, strict=True))
    if settings.native_fps is not None and not alone and duration is None:
        raise RgwotError(
            "import-features: --native-fps and --footage: expected either --duration or --footage; a video knows its "
            "rate; leave --native-fps out"
        )
    rate = options.read_rate(frames_fps, "--frames-fps")
    if sources[0].is_dir():
        if not where:
            raise RgwotError("import-features: one --duration for a folder; give --footage FOLDER or --no-video")
        import_folder(sources[0], output, settings, None if alone else where[0], frames_fps=rate)
        return
    named = _named(output, sources, videos)
    make: dict[str, Callable[[Path], None]]
    if where:
        make = {
            video: partial(import_video, place, source, settings=settings, on_bad_video=on_bad_video, frames_fps=rate)
            for (video, source), place in zip(named.items(), where, strict=True)
        }
    else:
        assert duration is not None
        if not math.isfinite(duration):
            raise RgwotError(f"import-features: --duration: found {duration}, expected a number of seconds")
        told = settings.native_fps or settings.fps
        if told is None:
            raise RgwotError("import-features: --native-fps: expected the frame rate of the video beside --times")
        lasting = VideoInfo(duration, options.read_rate(str(told), "--native-fps"))
        make = {video: partial(run, source, settings=settings, footage=lasting) for video, source in named.items()}
    _write(output, make)


@click.command()
@click.argument("output", type=Folder)
@click.argument("stores", type=Folder, nargs=-1, required=True)
def index(output: Path, stores: tuple[Path, ...]) -> None:
    """Check the feature STORES of a task and list them in OUTPUT (CSV).

    A list that `extract` or `import-features` wrote may stand for its stores.
    """
    from rgwot.features.index import write_index

    write_index(list(stores), output)
