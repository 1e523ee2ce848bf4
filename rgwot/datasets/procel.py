"""ProceL as released: ``<task>/readme.txt`` lists the videos, ``<task>/data.mat`` holds their key steps.

Row v of the list belongs to cell v of the file, whatever number the video's name ends in.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from rgwot.datasets.annotations import Annotation, Notes, Segment, VideoClock, checked
from rgwot.datasets.base import Found, FoundTask, Options, VideoEntry
from rgwot.datasets.faults import DataFault, judged
from rgwot.datasets.matlab import Cell, read_cells
from rgwot.datasets.names import folded
from rgwot.datasets.pairing import pair, parents, stem, walk_videos
from rgwot.datasets.registry import TaskFacts, tasks_of
from rgwot.datasets.text import excerpt, read_text
from rgwot.runtime.errors import RgwotError

ABOUT = {"description": "ProceL as released, 12 tasks", "place": 3}
OPTIONS = frozenset({"strict", "subset", "unannotated", "drop_rows", "frames_fps"})
EXPECTED = "ProceL_dataset/<task>/data.mat with readme.txt beside it, and the videos in folders named like the tasks"

UNTRIMMED_S = 5.0
"""Seconds a video may outlast its last superframe; the times refer to the trimmed video."""


def find(root: Path, dataset: str, options: Options) -> Found:
    """Find the tasks by their ``data.mat`` and the videos below the root by the names in ``readme.txt``."""
    files = walk_videos(root, root, options, {".mat"})
    lists = {parents(path)[-1]: path for path in files if path.endswith("/data.mat")}
    known = options.subset or dataset
    wanted = {canonical(folder, known): folder for folder in lists}
    by_task: dict[str, list[str]] = defaultdict(list)
    for path in files:
        if not path.endswith(".mat"):
            by_task[_task_of(path, wanted, known)].append(path)
    unassigned = tuple(by_task.pop("", ()))
    tasks: dict[str, FoundTask] = {}
    for folder, path in lists.items():
        task = canonical(folder, known)
        try:
            tasks[task] = _paired(root, path, by_task.get(folder, []), options)
        except RgwotError as error:
            tasks[task] = FoundTask(problem=str(error))
    return Found(dataset, f"{root} ({EXPECTED})", tasks, unassigned)


def canonical(folder: str, dataset: str) -> str:
    """Return the task id behind a folder; ProceL names one task in up to three ways."""
    for row in tasks_of(dataset):
        if folded(folder) in (folded(row.task), folded(row.code)):
            return row.task
    return folder


def _task_of(path: str, wanted: Mapping[str, str], dataset: str) -> str:
    """Return the folder of the task a video belongs to: one of its folders, or what its name begins with."""
    for part in reversed(parents(path)):
        if canonical(part, dataset) in wanted:
            return wanted[canonical(part, dataset)]
    return wanted.get(canonical(stem(path).rpartition("_")[0], dataset), "")


def _paired(root: Path, data: str, videos: Sequence[str], options: Options) -> FoundTask:
    names = read_video_names(root / data, options.drop_rows)
    position = {name: row for row, name in enumerate(names)}
    # Each row of the list stands for an annotation, so that both left-over lists come out as names.
    rows = [f"{data}#{name}" for name in names]
    found = pair(videos, rows, options, annotation_key=lambda row: row.partition("#")[2])
    return FoundTask(
        tuple(
            VideoEntry(entry.video, entry.name, entry.path, entry.annotation and data, position.get(entry.name))
            for entry in found.videos
        ),
        found.without_annotation,
        found.without_video,
        found.problem,
        found.unusable,
    )


def read_video_names(data: Path, drop_rows: Collection[str] = ()) -> tuple[str, ...]:
    """Return the video names of the ``readme.txt`` beside a ``data.mat``, in the order of its cells.

    Raises
    ------
    RgwotError
        If the file is missing, a line has no two tab-separated fields, or a name occurs twice.
    """
    path = data.with_name("readme.txt")
    names: list[str] = []
    for number, line in enumerate(read_text(path).lines, start=1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) < 2 or not cells[1] or cells[1] in names:
            raise RgwotError(
                f"{path}: line {number}: {excerpt(line)}; expected URL, a new video name, start and end of "
                "the cut, separated by tabs; use the file of the release"
            )
        names.append(cells[1])
    return tuple(name for name in names if name not in drop_rows)


@lru_cache(maxsize=4)
def _cells(path: Path, modified_ns: int) -> dict[str, Cell]:
    return read_cells(path, ("grammar", "key_steps_time", "superframe_time"))


def read_procel(
    data: Path,
    part: int,
    n_listed: int,
    step_ids: Collection[int] | None,
    clock: VideoClock | None = None,
    name: str | None = None,
) -> Annotation:
    """Read the key steps of one video from ``data.mat``.

    Parameters
    ----------
    data
        The file.
    part
        Position of the video in the file, from 0.
    n_listed
        Number of videos in ``readme.txt`` after the rows the user dropped.
    step_ids
        The ids of the task; None accepts every step of the file.
    clock
        Duration and rate of the video; None skips the checks that need them.
    name
        The video, for messages.

    Raises
    ------
    RgwotError
        If list and file differ in length, the cells do not fit the step names, an interval is not usable, or
        the video outlasts its last superframe by more than 5 s (it is probably not trimmed).
    """
    content = _cells(data, os.stat(data).st_mtime_ns if data.exists() else 0)
    steps, videos = _listed(content, "grammar", data), _listed(content, "key_steps_time", data)
    if len(videos) != n_listed:
        raise DataFault(
            "release",
            data,
            "",
            f"{len(videos)} videos, but readme.txt lists {n_listed}; expected equal numbers; name "
            "the row without annotation in `drop_rows` (perform_cpr of the release: cpr_0041)",
        )
    where = f"video {name or part + 1}"
    cells = _unwrapped(videos[part], data, where)
    if len(cells) != len(steps):
        raise DataFault(
            "release",
            data,
            where,
            f"{len(cells)} steps, but `grammar` names {len(steps)}; expected equal numbers; "
            "use the file of the release",
        )
    if step_ids is not None and len(steps) != len(step_ids):
        raise DataFault(
            "step",
            data,
            "",
            f"`grammar` names {len(steps)} steps; expected {len(step_ids)}; does the file belong to the task?",
        )
    _check_trimmed(content, part, clock, data, where)
    segments: list[Segment] = []
    for number, (step, intervals) in enumerate(zip(steps, cells, strict=True), start=1):
        with judged():
            place = f"{where}, step {number}"
            segments += [
                Segment(place, start, end, number, str(step).strip())
                for start, end in _intervals(intervals, data, place)
            ]
    return checked(data, segments, Notes(data), clock, overlap_is_normal=True)


def read_annotation(
    root: Path, entry: VideoEntry, facts: TaskFacts | None, clock: VideoClock | None, options: Options
) -> Annotation:
    """Read the annotation of a video that has one."""
    data = root / str(entry.annotation)
    if entry.part is None:
        raise ValueError(f"{entry.name}: no part; expected the position of the video in {data}")
    n_listed = len(read_video_names(data, options.drop_rows))
    return read_procel(data, entry.part, n_listed, None if facts is None else facts.step_ids, clock, entry.name)


def _listed(content: dict[str, Cell], variable: str, data: Path) -> list[Cell]:
    value = content.get(variable)
    if not isinstance(value, list):
        raise DataFault(
            "release",
            data,
            "",
            f"no cell array `{variable}`; expected ProceL's data.mat; use the file of the release",
        )
    return value


def _unwrapped(value: Cell, data: Path, where: str) -> list[Cell]:
    if not isinstance(value, list):
        raise DataFault(
            "release", data, where, "no cell per step; expected ProceL's data.mat; use the file of the release"
        )
    return value


def _intervals(value: Cell, data: Path, where: str) -> list[tuple[float, float]]:
    if isinstance(value, np.ndarray):
        if value.size == 0:
            return []
        times = np.asarray(value, dtype=np.float64)
        if times.ndim == 2 and times.shape[1] == 2 and np.isfinite(times).all() and (times >= 0).all():
            return [(float(start), float(end)) for start, end in times]
    elif value == [] or value == "":
        return []
    raise DataFault(
        "time",
        data,
        where,
        f"{excerpt(str(value))}; expected n x 2 finite seconds from 0 (start, end); use the file of the release",
    )


def _check_trimmed(content: dict[str, Cell], part: int, clock: VideoClock | None, data: Path, where: str) -> None:
    superframes = content.get("superframe_time")
    if clock is None or not isinstance(superframes, list) or part >= len(superframes):
        return
    times = superframes[part]
    if isinstance(times, np.ndarray) and times.size and clock.duration_s > float(times.max()) + UNTRIMMED_S:
        raise DataFault(
            "past_end",
            data,
            where,
            f"the video lasts {clock.duration_s:g} s, its last superframe ends at "
            f"{float(times.max()):g} s; expected the trimmed video; cut it as readme.txt says",
        )
