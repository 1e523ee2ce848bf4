"""Export of key steps in the formats of other programs (`rgwot export`).

The function ``export_x`` of the module that `FORMATS` names writes the format ``x``.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from networkx import DiGraph

from rgwot import paths
from rgwot.columns import COUNTS, SHOWS
from rgwot.datasets.names import stem_of
from rgwot.datasets.segment_rows import BACKGROUND_LABEL
from rgwot.names import as_named
from rgwot.paths import Tree
from rgwot.procedure import Deviation, recordings_from_segments
from rgwot.procedure.facts import DeviationFacts, deviation_facts
from rgwot.procedure.known import told
from rgwot.records import read_annotations, read_diagnostics, read_manifest
from rgwot.reporting.named import read_named
from rgwot.runtime.errors import RgwotError, extras, nearest
from rgwot.runtime.files import contents
from rgwot.runtime.provenance import own_folder

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Format:
    """An export format: its module and a description.

    ``graph`` formats export the procedure instead of segments; the files of ``links`` formats refer to the videos.
    Formats without ``marks`` have no place for moments.
    """

    module: str
    description: str
    graph: bool = False
    links: bool = False
    marks: bool = True


#: ``export_x`` of the module writes the format ``x`` into an empty folder, from videos or a graph.
FORMATS: Mapping[str, _Format] = {
    "csv": _Format("texts", "one table of all videos, segments.csv, with names of key steps"),
    "deviations": _Format("texts", "one table of how all videos deviate, deviations.csv, with names of key steps"),
    "elan": _Format("texts", "annotations of ELAN, VIDEO.eaf, with the video linked if there is one", links=True),
    "sheets": _Format("sheets", "a page per video to print, VIDEO.html: what was done when and what differs"),
    "webvtt": _Format("texts", "subtitles, VIDEO.vtt, which browsers show"),
    "boris": _Format("texts", "a project of BORIS, project.boris, an observation per video", links=True),
    "lerobot": _Format(
        "lerobot", "subtasks of the LeRobot dataset that the episodes were cut from, to copy over it", marks=False
    ),
    "clips": _Format(
        "clips", "a clip per segment, and a sheet of pictures per key step; needs the videos", marks=False
    ),
    "dot": _Format("texts", "the procedure for Graphviz, procedure.dot", graph=True),
    "eventlog": _Format("texts", "an event log for process mining, eventlog.csv"),
}


class LabelledSegment(NamedTuple):
    """A segment of a key step, in seconds, or a mark, whose start and end are equal.

    ``label`` is the key step's name, or "key step 3" without a name. In a result, ``counts`` says whether the segment
    counts as an occurrence; if it is an occurrence of another key step, it ``shows`` that key step.
    """

    start_s: float
    end_s: float
    key_step: int
    label: str
    counts: bool | None = None
    shows: str = ""

    @property
    def note(self) -> str:
        """Why a segment does not count as an occurrence of its key step; empty if it does."""
        return f"looks like {self.shows}" if self.shows else "does not count" if self.counts is False else ""

    @property
    def mark(self) -> bool:
        """Whether this is a mark, a label of one moment."""
        return self.end_s == self.start_s


@dataclass(frozen=True)
class ExportedVideo:
    """A video with its segments and marks in order of time; only annotations have marks and background.

    Attributes
    ----------
    name
        The id of the video in the results.
    path
        The video file: absolute if the folder of the dataset was given, otherwise as in the manifest. If there is no
        video, it is the file of features; if there is no manifest, the name of the video.
    duration_s, fps, size
        Length in seconds, frames per second, width and height in pixels (NaN if unknown).
    vocabulary
        The labels of all key steps of the result, by key step.
    silence
        How time without a segment is read, if the annotation says it.
    start_s
        When a player shows the first frame. Segments, deviations and ``duration_s`` are in the time of the player.
    deviations
        How the video deviates from the procedure, the most surprising first.
    """

    name: str
    path: Path
    duration_s: float
    fps: float
    size: tuple[float, ...]
    segments: tuple[LabelledSegment, ...]
    vocabulary: Mapping[int, str] = field(default_factory=dict)
    silence: str = ""
    start_s: float = 0.0
    deviations: tuple[DeviationFacts, ...] = ()

    @property
    def told(self) -> list[DeviationFacts]:
        """The deviations that are not doubtful, in order of time."""
        likely = (row for row in self.deviations if row.sureness != "doubtful")
        return sorted(likely, key=lambda row: (row.deviation.start_s, row.deviation.key_step))

    def called(self, key_step: int) -> str:
        """Return the label of a key step of the result."""
        return self.vocabulary.get(key_step, f"key step {key_step}")

    @property
    def stem(self) -> str:
        """The file name behind the id (`stem_of`), or the id if that name would lead into another folder."""
        stem = stem_of(self.name)
        return self.name if "/" in stem else stem

    def milliseconds(self, time_s: float) -> int:
        """Return a time in whole milliseconds, rounded, but not after the end of the video."""
        # 1e-6 is added, because 1000 times a length such as 1.001 s is slightly too small as a float.
        return min(round(1000 * time_s), math.floor(1000 * self.duration_s + 1e-6))

    def within(self) -> ExportedVideo:
        """Return the video with its segments cut at its end; segments that start there are removed."""
        cut = (
            segment if segment.mark else segment._replace(end_s=min(segment.end_s, self.duration_s))
            for segment in self.segments
            if segment.start_s < self.duration_s or segment.mark
        )  # fmt: skip
        return replace(self, segments=tuple(cut))

    @property
    def filmed(self) -> bool:
        """Whether there is a video file; features without a video have no size."""
        return not math.isnan(self.size[0])


def key_steps_of(videos: Iterable[ExportedVideo]) -> dict[int, str]:
    """Return the labels of the key steps of the result, by key step in ascending order."""
    labels: dict[int, str] = {}
    for video in videos:
        labels |= {segment.key_step: segment.label for segment in video.segments} | dict(video.vocabulary)
    return dict(sorted(labels.items()))


def read_videos(keysteps: Path, names: Path | None = None, root: Path | None = None) -> list[ExportedVideo]:
    """Read the result in a folder such as ``RESULTS/keysteps/METHOD/DECODER/DATASET/TASK/seedN``.

    Only key steps of scope ``task`` are read, which mean the same in all videos.

    Parameters
    ----------
    keysteps
        The folder. The manifest of the task is read from the same results. Without a manifest, for example for a copy
        of the folder, only the segments of the videos are known.
    names
        File of key step names, as downloaded from a page; by default the names of the study.
    root
        Folder to which the manifest's paths are relative.

    Raises
    ------
    RgwotError
        If the folder is not a folder of key steps, or has no key step.
    """
    folder = _folder(keysteps)
    file, media = folder / paths.name_of(paths.SEGMENTS), None
    task = Tree.of_folder(folder)
    if task is not None and (file_of_videos := task.at(paths.MANIFEST)).is_file():
        manifest = read_manifest(file_of_videos)
        media = manifest[manifest["status"] != "skipped"]
    elif task is not None:
        log.warning(
            "%s: no such file, so videos end with their last segment and none is linked; copy it from the original "
            "results",
            file_of_videos,
        )
    segments, called, _, deviations, _ = read_named(folder, names)
    segments = segments[segments["scope"] == "task"]
    if not (segments["key_step"] > 0).any():
        raise RgwotError(f"{keysteps}: found no key step of scope task in {file.name}")
    annotated: Sequence[str] = ()
    if (diagnostics := folder / paths.name_of(paths.DIAGNOSTICS)).is_file():
        annotated = read_diagnostics(diagnostics).taught
    return videos_of(segments, media, called, root, deviations=deviations, annotated=annotated)


def videos_of(
    segments: pd.DataFrame,
    media: pd.DataFrame | None = None,
    names: Mapping[int, str] | None = None,
    root: Path | None = None,
    *,
    background: bool = False,
    deviations: Sequence[Deviation] = (),
    annotated: Collection[str] = (),
) -> list[ExportedVideo]:
    """Turn a table of segments and marks into exported videos.

    Parameters
    ----------
    segments
        Columns ``video`` (id), ``start_s``, ``end_s`` (seconds) and ``key_step``; 0 is background. A column ``silence``
        says how time without a segment is read, ``shows`` and ``counts`` which segments are occurrences.
    media
        The videos, with the columns ``video``, ``path``, ``duration_s``, ``fps``, ``width``, ``height`` and, if it is
        not 0, ``start_s`` of a manifest. If None, the lengths of the videos are taken from their segments.
    names
        Names of key steps (`rgwot.names.as_named`).
    root
        Folder to which the paths are relative.
    background
        Whether to keep background.
    deviations, annotated
        Deviations of the videos, and which videos are annotated.
    """
    if media is None:
        ends = segments.groupby("video", sort=False)["end_s"].max()
        media = pd.DataFrame({"video": ends.index, "path": map(stem_of, ends.index), "duration_s": ends.to_numpy()})
        media = media.assign(fps=math.nan, width=0, height=0)
    called = names or {}
    segments = as_named(segments, called)
    recordings, every = (recordings_from_segments(segments, every=one) for one in (False, True))
    facts = deviation_facts(deviations, recordings, annotated, every)
    segments = segments[segments["key_step"] >= (0 if background else 1)]
    # Features without a video have the size 0 x 0.
    sides = media[["width", "height"]].astype("float64").where(lambda side: side > 0)
    steps = sorted(set(segments["key_step"].tolist()) - {0})
    vocabulary = {key_step: called.get(key_step, f"key step {key_step}") for key_step in steps}
    videos = []
    for row_of_video, size in zip(media.to_dict("records"), sides.itertuples(index=False, name=None), strict=True):
        rows = segments[segments["video"] == row_of_video["video"]].sort_values("start_s")
        late_s = float(row_of_video.get("start_s", 0.0))
        segments_ = tuple(
            LabelledSegment(
                late_s + one["start_s"],
                late_s + one["end_s"],
                one["key_step"],
                vocabulary.get(one["key_step"], BACKGROUND_LABEL),
                one.get(COUNTS),
                vocabulary.get(one[SHOWS], "") if one.get(COUNTS) and one[SHOWS] != one["key_step"] else "",
            )
            for one in rows.to_dict("records")
        )
        differs = tuple(_later(row, late_s) for row in facts if row.deviation.video == row_of_video["video"])
        path = Path(row_of_video["path"])
        if ".." in path.parts:
            raise RgwotError(
                f"video {row_of_video['video']!r}: found the path {path}, expected one inside the folder of videos"
            )
        # Players and the target programs do not accept ".." in paths.
        path = path if root is None else root.resolve() / path
        known = path, late_s + float(row_of_video["duration_s"]), float(row_of_video["fps"]), size
        silence = str(rows["silence"].iloc[0]) if len(rows) and "silence" in rows else ""
        videos.append(
            ExportedVideo(str(row_of_video["video"]), *known, segments_, vocabulary, silence, late_s, differs)
        )
    return videos


def _later(facts: DeviationFacts, late_s: float) -> DeviationFacts:
    """Return a deviation with its times in the time of a player, ``late_s`` later."""
    one = facts.deviation
    return replace(facts, deviation=replace(one, start_s=late_s + one.start_s, end_s=late_s + one.end_s))


def read_annotated(table: Path, root: Path | None = None) -> list[ExportedVideo]:
    """Read the annotations of a task as they were given: segments and marks, with background, of annotated videos.

    Parameters
    ----------
    table
        A table such as ``RESULTS/annotations/DATASET/TASK.csv``.
    root
        Folder to which the manifest's paths are relative.

    Raises
    ------
    RgwotError
        If the table is not in a tree of results, or has no row.
    """
    task = Tree.of_annotations(table)
    if task is None or not table.is_file():
        example = paths.at(paths.ANNOTATIONS, dataset="demo", task="assembly").as_posix()
        raise RgwotError(f"{table}: found no annotations of a task, expected a table such as {example}")
    rows, manifest = read_annotations(table, background=True), read_manifest(task.at(paths.MANIFEST))
    if rows.empty:
        raise RgwotError(f"{table}: found no row, expected annotations to export; annotate a video")
    names = {
        int(row["key_step"]): str(row["name"]) for row in rows.to_dict("records") if row["name"] and row["key_step"]
    }
    return videos_of(rows, manifest[manifest["video"].isin(rows["video"])], names, root, background=True)


def read_graph(keysteps: Path, names: Path | None = None) -> DiGraph[Any]:
    """Read the task graph in a folder of key steps (`rgwot.procedure.Procedure.graph`), with the needs that are known.

    Every node also has a ``label``: the name of the key step, or "key step 3" without a name.

    Raises
    ------
    RgwotError
        If the folder is not a folder of key steps, or has no procedure.
    """
    folder = _folder(keysteps)
    found = read_named(folder, names)
    if found.procedure is None:
        raise RgwotError(f"{keysteps}: found no {paths.name_of(paths.PROCEDURE)}, expected a folder of key steps")
    return with_labels(told(found.procedure).graph, found.names)


def with_labels(graph: DiGraph[Any], names: Mapping[int, str]) -> DiGraph[Any]:
    """Add a ``label`` to every node of a task graph, and return the graph."""
    for node, facts in graph.nodes(data=True):
        facts["label"] = node if isinstance(node, str) else names.get(node, f"key step {node}")
    return graph


def _folder(keysteps: Path) -> Path:
    folder = keysteps.absolute()
    if not (folder / paths.name_of(paths.SEGMENTS)).is_file():
        raise RgwotError(
            f"{keysteps}: found no key steps, expected a folder such as "
            f"{paths.RESULTS}/keysteps/rgwot/graphcut/demo/assembly/seed0"
        )
    return folder


def export_keysteps(
    name: str,
    keysteps: Path,
    output: Path,
    names: Path | None = None,
    root: Path | None = None,
    chosen: Sequence[str] = (),
) -> str:
    """Export the result in a folder of key steps; the arguments are those of `read_videos` and `export`.

    ``chosen`` lists the videos to export, by name or id; by default all. If ``keysteps`` is a table of annotations
    (`read_annotated`), the annotations are exported, with their own names.
    """
    if name in FORMATS and FORMATS[name].graph:
        return export(name, read_graph(keysteps, names), output)
    if keysteps.suffix == ".csv":
        if names is not None:
            raise RgwotError(f"{keysteps}: found annotations and --names; annotations keep their names; omit --names")
        videos = read_annotated(keysteps, root)
    else:
        videos = read_videos(keysteps, names, root)
    by_name = {called: video for video in videos for called in (video.path.name, video.stem, video.name)}
    for video_name in chosen:
        if video_name not in by_name:
            raise RgwotError(f"video {video_name!r}: not in {keysteps}; {nearest(video_name, by_name)}")
    wanted = {by_name[video_name].name for video_name in chosen}
    return export(name, [video for video in videos if not chosen or video.name in wanted], output)


def export(name: str, content: Sequence[ExportedVideo] | DiGraph[Any], output: str | os.PathLike[str]) -> str:
    """Write videos, or a graph for a graph format, into a new folder or over an unchanged export.

    Returns a line with the folder and the written files.

    Raises
    ------
    RgwotError
        If the format is unknown, or the folder has other content.
    """
    if name not in FORMATS:
        raise RgwotError(f"format {name!r}: unknown; {nearest(name, FORMATS)}")
    with extras(f"format {name}"):
        write = getattr(import_module(f"rgwot.reporting.export.{FORMATS[name].module}"), f"export_{name}")
    if not FORMATS[name].graph:
        content = [video.within() for video in content]
        if not FORMATS[name].marks and (marks := sum(segment.mark for video in content for segment in video.segments)):
            log.warning("format %s: has no place for moments, so %d marks are left out", name, marks)
            content = [
                replace(video, segments=tuple(segment for segment in video.segments if not segment.mark))
                for video in content
            ]
    with own_folder(output, "export") as folder:
        write(content, folder)
    place = Path(output)
    written = sorted(path.relative_to(place).as_posix() for path in contents(place) if path.is_file())
    if FORMATS[name].links and (
        lost := [linked.path for linked in content if linked.filmed and not linked.path.is_file()]
    ):
        log.warning(
            "%s: %d of %d linked videos do not exist, such as %s; give the folder of the dataset's videos with --root",
            os.fspath(output), len(lost), len(content), lost[0],
        )  # fmt: skip
    names = ", ".join(written[:3]) + (f" and {len(written) - 3} more" if len(written) > 3 else "")
    return f"{place.absolute()}: wrote {names or 'nothing'} ({FORMATS[name].description.partition(',')[0]})"
