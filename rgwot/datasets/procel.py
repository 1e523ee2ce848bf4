"""ProceL as released: ``<task>/readme.txt`` lists the videos, ``<task>/data.mat`` holds their key steps.

Row v of the list belongs to cell v of the file, regardless of the number in the video's name.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from rgwot.datasets.annotations import AnnotatedSegment, Annotation, Complaints, build_annotation
from rgwot.datasets.arrays import read_mat
from rgwot.datasets.base import DatasetFiles, TaskFiles, VideoEntry
from rgwot.datasets.names import folded
from rgwot.datasets.pairing import by_task, pair, parents, stem, walk_videos
from rgwot.datasets.registry import TaskFacts, tasks_of
from rgwot.datasets.settings import Options
from rgwot.datasets.text import DataFault, excerpt, filled_lines, judged
from rgwot.runtime.errors import RgwotError
from rgwot.timing import VideoInfo

OPTIONS = frozenset({"strict", "subset", "unannotated", "drop_rows", "frames_fps"})
EXPECTED = "ProceL_dataset/<task>/data.mat with readme.txt next to it, and the videos in folders named like the tasks"

UNTRIMMED_S = 5.0
"""A video may be this many seconds longer than the end of its last superframe; the times refer to the trimmed video."""

_REMEDY = "use the file of the release"


def find(root: Path, dataset: str, options: Options) -> DatasetFiles:
    """Find the tasks by their ``data.mat``, and pair the videos below the root with the names in ``readme.txt``."""
    files = walk_videos(root, root, options, {".mat"})
    lists = {parents(path)[-1]: path for path in files if path.endswith("/data.mat")}
    release = options.subset or dataset
    folders = {canonical(folder, release): folder for folder in lists}
    videos = by_task(
        (path for path in files if not path.endswith(".mat")), lambda path: _task_of(path, folders, release)
    )
    unassigned = tuple(videos.pop("", ()))
    tasks: dict[str, TaskFiles] = {}
    for folder, path in lists.items():
        try:
            task = _paired(root, path, videos[folder], options)
        except RgwotError as error:
            task = TaskFiles(problem=str(error))
        tasks[canonical(folder, release)] = task
    return DatasetFiles(dataset, f"{root} ({EXPECTED})", tasks, unassigned)


def canonical(folder: str, dataset: str) -> str:
    """Return the task id of a folder; ProceL has up to three names for a task."""
    for row in tasks_of(dataset):
        if folded(folder) in (folded(row.task), folded(row.code)):
            return row.task
    return folder


def _task_of(path: str, folders: Mapping[str, str], dataset: str) -> str:
    """Return the folder of a video's task, by one of the video's folders or the beginning of its name."""
    for part in reversed(parents(path)):
        if canonical(part, dataset) in folders:
            return folders[canonical(part, dataset)]
    return folders.get(canonical(stem(path).rpartition("_")[0], dataset), "")


def _paired(root: Path, data: str, videos: Sequence[str], options: Options) -> TaskFiles:
    names = read_video_names(root / data, options.drop_rows)
    position = {name: row for row, name in enumerate(names)}
    # Each name in the list stands for one annotation, so that `pair` finds names without a video, and videos without a
    # name.
    rows = [f"{data}#{name}" for name in names]
    pairs = pair(videos, rows, options, annotation_key=lambda row: row.partition("#")[2])
    entries = (
        replace(entry, annotation=entry.annotation and data, part=position.get(entry.name)) for entry in pairs.videos
    )
    return replace(pairs, videos=tuple(entries))


def read_video_names(data: Path, drop_rows: Collection[str] = ()) -> tuple[str, ...]:
    """Return the video names of the ``readme.txt`` next to a ``data.mat``, in the order of its cells.

    Raises RgwotError if the file is missing, a line has no two tab-separated fields, or a name occurs twice.
    """
    path = data.with_name("readme.txt")
    names: list[str] = []
    for line in filled_lines(path):
        cells = [cell.strip() for cell in line.text.split("\t")]
        if len(cells) < 2 or not cells[1] or cells[1] in names:
            expected = "expected URL, a new video name, start and end of the cut, separated by tabs"
            raise DataFault("release", path, f"line {line.number}", f"{excerpt(line.text)}; {expected}; {_REMEDY}")
        names.append(cells[1])
    return tuple(name for name in names if name not in drop_rows)


def read_annotation(
    root: Path, entry: VideoEntry, facts: TaskFacts | None, clock: VideoInfo | None, options: Options
) -> Annotation:
    """Read the key steps of one video from ``data.mat``.

    Raises RgwotError if list and file differ in length, the cells do not fit the step names, an interval is not usable,
    or the video outlasts its last superframe by more than 5 s (it is probably not trimmed).
    """
    data, part = root / str(entry.annotation), entry.part
    assert part is not None
    n_listed = len(read_video_names(data, options.drop_rows))
    content = _content(data, os.stat(data).st_mtime_ns if data.exists() else 0)
    steps, videos = (
        _cells(content.get(variable), data, "", f"no cell array `{variable}`")
        for variable in ("grammar", "key_steps_time")
    )
    if len(videos) != n_listed:
        fault = f"{len(videos)} videos, but readme.txt lists {n_listed}; expected equal numbers"
        remedy = "name the row without annotation in `drop_rows` (perform_cpr of the release: cpr_0041)"
        raise DataFault("release", data, "", f"{fault}; {remedy}")
    where = f"video {entry.name}"
    cells = _cells(videos[part], data, where, "no cell per step")
    if len(cells) != len(steps):
        fault = f"{len(cells)} steps, but `grammar` names {len(steps)}; expected equal numbers"
        raise DataFault("release", data, where, f"{fault}; {_REMEDY}")
    if facts is not None and len(steps) != facts.K:
        fault = f"`grammar` names {len(steps)} steps; expected {facts.K}; does the file belong to the task?"
        raise DataFault("step", data, "", fault)
    superframes = content.get("superframe_time")
    if clock is not None and _is_cell(superframes) and part < superframes.size:
        _check_trimmed(superframes.ravel(order="F")[part], clock, data, where)
    segments: list[AnnotatedSegment] = []
    for number, (step, intervals) in enumerate(zip(steps, cells, strict=True), start=1):
        place = f"{where}, step {number}"
        with judged():
            times = _intervals(intervals, data, place)
            segments += [AnnotatedSegment(place, start, end, number, _text(step)) for start, end in times]
    return build_annotation(data, segments, Complaints(data), clock, overlap_is_normal=True)


@lru_cache(maxsize=4)
def _content(path: Path, modified_ns: int) -> dict[str, NDArray[Any]]:
    return read_mat(path, ("grammar", "key_steps_time", "superframe_time"))


def _is_cell(value: Any) -> TypeGuard[NDArray[np.object_]]:
    return isinstance(value, np.ndarray) and value.dtype == object


def _is_numeric(value: Any) -> TypeGuard[NDArray[Any]]:
    return isinstance(value, np.ndarray) and value.dtype.kind in "biuf"


def _cells(value: Any, data: Path, where: str, lacking: str) -> list[Any]:
    """Return the items of a cell array in MATLAB's order."""
    if not _is_cell(value):
        raise DataFault("release", data, where, f"{lacking}; expected ProceL's data.mat; {_REMEDY}")
    return list(value.ravel(order="F"))


def _text(value: Any) -> str:
    return "".join(map(str, np.ravel(value))).strip()


def _intervals(value: Any, data: Path, where: str) -> list[list[float]]:
    """Return start and end of each occurrence of a step; a step that does not occur has an empty cell of any kind."""
    if np.size(value) == 0:
        return []
    if _is_numeric(value) and value.shape[1:] == (2,) and np.isfinite(value).all() and (value >= 0).all():
        intervals: list[list[float]] = value.astype(np.float64).tolist()
        return intervals
    expected = "expected n x 2 finite seconds from 0 (start, end)"
    raise DataFault("time", data, where, f"{excerpt(str(value))}; {expected}; {_REMEDY}")


def _check_trimmed(times: Any, clock: VideoInfo, data: Path, where: str) -> None:
    if _is_numeric(times) and times.size and clock.duration_s > float(times.max()) + UNTRIMMED_S:
        fault = f"the video lasts {clock.duration_s:g} s, its last superframe ends at {float(times.max()):g} s"
        remedy = "expected the trimmed video; cut it as readme.txt says"
        raise DataFault("past_end", data, where, f"{fault}; {remedy}")
