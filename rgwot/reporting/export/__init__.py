"""Key steps in the formats of other programs, `rgwot export`: what a format is given, and how it is written.

Format ``x`` is the function ``export_x`` of the module that `FORMATS` names.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from networkx import DiGraph

from rgwot import paths
from rgwot.datasets.names import stem_of
from rgwot.paths import Tree
from rgwot.records import read_manifest, read_segments
from rgwot.reporting.names import as_named, names_in
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.files import contents
from rgwot.runtime.provenance import growing_folder, own_folder
from rgwot.stages.procedure import read_procedure

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Format:
    """A format: its module, and what it is.

    ``graph`` if it is one of the procedure, not of the segments of videos; ``links`` if its files name the videos.
    """

    module: str
    description: str
    graph: bool = False
    links: bool = False


#: Format ``x`` is written by ``export_x`` of its module, from videos or a graph into an empty folder.
FORMATS: Mapping[str, Format] = {
    "csv": Format("texts", "one table of all videos, segments.csv, with names of key steps"),
    "elan": Format("texts", "annotations of ELAN, VIDEO.eaf, with the video linked if there is one", links=True),
    "webvtt": Format("texts", "subtitles, VIDEO.vtt, which browsers show"),
    "boris": Format("texts", "a project of BORIS, project.boris, an observation per video", links=True),
    "lerobot": Format("lerobot", "subtasks of the dataset of LeRobot that the episodes were cut from, to copy over it"),
    "clips": Format("clips", "a clip per segment, and a sheet of pictures per key step; needs --root"),
    "dot": Format("texts", "the procedure for Graphviz, procedure.dot", graph=True),
    "eventlog": Format("texts", "an event log for process mining, eventlog.csv"),
}


class LabelledSegment(NamedTuple):
    """A segment of a key step, in seconds; ``label`` is the name of the step, or "key step 3" where it has none."""

    start_s: float
    end_s: float
    key_step: int
    label: str


@dataclass(frozen=True)
class ExportedVideo:
    """A video with its segments in order of time; background is in none.

    Attributes
    ----------
    name
        Its id in the results.
    path
        The video file: absolute where the folder of the dataset was given, else as in the manifest. Without a video,
        the file of its features, or its name.
    duration_s, fps, size
        Length in seconds, frames per second, width and height in pixels (NaN where they are not known).
    """

    name: str
    path: Path
    duration_s: float
    fps: float
    size: tuple[float, ...]
    segments: tuple[LabelledSegment, ...]

    @property
    def stem(self) -> str:
        """Its real name, which its files have; the id where that would lead into another folder."""
        stem = stem_of(self.name)
        return self.name if "/" in stem else stem

    def milliseconds(self, time_s: float) -> int:
        """Return a time in whole milliseconds, the nearest that is not after the last of the video."""
        # Lengths such as 1.001 s are a little less as numbers.
        return min(round(1000 * time_s), math.floor(1000 * self.duration_s + 1e-6))

    def within(self) -> ExportedVideo:
        """Return the video with segments that end when it does; none is left of those that start there."""
        cut = (one._replace(end_s=min(one.end_s, self.duration_s)) for one in self.segments)
        return replace(self, segments=tuple(one for one in cut if one.end_s > one.start_s))

    @property
    def filmed(self) -> bool:
        """Whether there is a video; features alone have no size."""
        return not math.isnan(self.size[0])


def key_steps_of(videos: Iterable[ExportedVideo]) -> dict[int, str]:
    """Return the labels of the key steps that occur, by key step, ascending."""
    return dict(sorted({segment.key_step: segment.label for video in videos for segment in video.segments}.items()))


def read_videos(keysteps: Path, names: Path | None = None, root: Path | None = None) -> list[ExportedVideo]:
    """Read the result in a folder of key steps, such as ``RESULTS/keysteps/METHOD/DECODER/DATASET/TASK/seedN``.

    Its key steps are those of scope ``task``, which mean the same in all videos.

    Parameters
    ----------
    keysteps
        The folder. The manifest of its task is looked up in the same results; where there is none, as for a folder
        elsewhere, videos are known by their segments alone.
    names
        Names of key steps, as downloaded from a page; by default those of the study.
    root
        Folder that the manifest's paths start from.

    Raises
    ------
    RgwotError
        When the folder is no folder of key steps, or holds no key step.
    """
    folder = _folder(keysteps)
    file, media = folder / paths.name_of(paths.SEGMENTS), None
    task = Tree.of_folder(folder)
    if task is not None and (file_of_videos := task.at(paths.MANIFEST)).is_file():
        manifest = read_manifest(file_of_videos)
        media = manifest[manifest["status"] != "skipped"]
    elif task is not None:
        log.warning(
            "%s: no such file, so videos are as long as their segments, and none is linked; copy it from where the "
            "result was made",
            file_of_videos,
        )
    segments = read_segments(file)
    segments = segments[segments["scope"] == "task"]
    if not (segments["key_step"] > 0).any():
        raise RgwotError(f"{keysteps}: found no key step of scope task in {file.name}")
    return videos_of(segments, media, names_in(folder, names), root)


def videos_of(
    segments: pd.DataFrame,
    media: pd.DataFrame | None = None,
    names: Mapping[int, str] | None = None,
    root: Path | None = None,
) -> list[ExportedVideo]:
    """Return a table of segments as what formats are given.

    Parameters
    ----------
    segments
        Columns ``video`` (id), ``start_s``, ``end_s`` (seconds) and ``key_step``; 0 is background.
    media
        The videos, with columns ``video``, ``path``, ``duration_s``, ``fps``, ``width`` and ``height``, as a manifest
        has them; None: there are only segments, which tell the length.
    names
        Names of key steps (`rgwot.reporting.names.as_named`).
    root
        Folder that the paths start from.
    """
    if media is None:
        ends = segments.groupby("video", sort=False)["end_s"].max()
        media = pd.DataFrame({"video": ends.index, "path": map(stem_of, ends.index), "duration_s": ends.to_numpy()})
        media = media.assign(fps=math.nan, width=0, height=0)
    called = names or {}
    segments = as_named(segments, called)
    segments = segments[segments["key_step"] > 0]
    # Features without a video have sides of 0.
    sides = media[["width", "height"]].astype("float64").where(lambda side: side > 0)
    videos = []
    for row, size in zip(media.to_dict("records"), sides.itertuples(index=False, name=None), strict=True):
        own = segments[segments["video"] == row["video"]].sort_values("start_s")
        found = tuple(
            LabelledSegment(start_s, end_s, key_step, called.get(key_step, f"key step {key_step}"))
            for start_s, end_s, key_step in own[["start_s", "end_s", "key_step"]].itertuples(index=False)
        )
        path = Path(row["path"])
        if ".." in path.parts:
            raise RgwotError(f"video {row['video']!r}: found the path {path}, expected one inside the folder of videos")
        # Players and the programs that files are for take no way through another folder.
        path = path if root is None else root.resolve() / path
        videos.append(ExportedVideo(str(row["video"]), path, float(row["duration_s"]), float(row["fps"]), size, found))
    return videos


def read_graph(keysteps: Path, names: Path | None = None) -> DiGraph[Any]:
    """Read the task graph in a folder of key steps, as `rgwot.procedure.Procedure.graph` gives it.

    Every node also has a ``label``: the name of the key step, or "key step 3" where it has none.

    Raises
    ------
    RgwotError
        When the folder is no folder of key steps, or has no procedure.
    """
    folder = _folder(keysteps)
    graph = read_procedure(folder / paths.name_of(paths.PROCEDURE)).graph
    return with_labels(graph, names_in(folder, names))


def with_labels(graph: DiGraph[Any], names: Mapping[int, str]) -> DiGraph[Any]:
    """Give every node of a task graph its ``label``, and return the graph."""
    for node, facts in graph.nodes(data=True):
        facts["label"] = node if isinstance(node, str) else names.get(node, f"key step {node}")
    return graph


def _folder(keysteps: Path) -> Path:
    folder = keysteps.absolute()
    if not (folder / paths.name_of(paths.SEGMENTS)).is_file():
        raise RgwotError(
            f"{keysteps}: found no key steps there, expected a folder such as "
            f"{paths.RESULTS}/keysteps/rgwot/graphcut/demo/assembly/seed0"
        )
    return folder


def export_keysteps(
    name: str,
    keysteps: Path,
    output: Path,
    names: Path | None = None,
    root: Path | None = None,
    wanted: Sequence[str] = (),
) -> str:
    """Write the result in a folder of key steps in a format; arguments are those of `read_videos` and `export`.

    Of the ``wanted`` videos, by name or id; without any, of all.
    """
    if name in FORMATS and FORMATS[name].graph:
        return export(name, read_graph(keysteps, names), output)
    videos = read_videos(keysteps, names, root)
    known = {called: video for video in videos for called in (video.name, video.stem)}
    for one in wanted:
        if one not in known:
            raise RgwotError(f"video {one!r}: not in {keysteps}; {nearest(one, known)}")
    return export(name, [video for video in videos if not wanted or {video.name, video.stem} & set(wanted)], output)


def export(name: str, content: Sequence[ExportedVideo] | DiGraph[Any], output: str | os.PathLike[str]) -> str:
    """Write videos, or a graph for a graph format, into a new folder, or over an export that nobody changed.

    Returns a line that says what was written and where.

    Raises
    ------
    RgwotError
        For an unknown format, or a folder with anything else in it.
    """
    if name not in FORMATS:
        raise RgwotError(f"format {name!r}: not known; {nearest(name, FORMATS)}")
    write = getattr(import_module(f"rgwot.reporting.export.{FORMATS[name].module}"), f"export_{name}")
    if not FORMATS[name].graph:
        content = [video.within() for video in content]
    # Clips take long, and each is kept as soon as it is there.
    opened: Any = growing_folder if name == "clips" else own_folder
    with opened(output, "export") as folder:
        write(content, folder)
    place = Path(output)
    made = sorted(path.relative_to(place).as_posix() for path in contents(place) if path.is_file())
    if FORMATS[name].links and (lost := [one.path for one in content if one.filmed and not one.path.is_file()]):
        log.warning(
            "%s: %d of %d videos are not where its files say, such as %s; give the folder of the dataset as root",
            os.fspath(output), len(lost), len(content), lost[0],
        )  # fmt: skip
    shown = ", ".join(made[:3]) + (f" and {len(made) - 3} more" if len(made) > 3 else "")
    return f"{os.fspath(output)}: wrote {shown or 'nothing'} ({FORMATS[name].description.partition(',')[0]})"
