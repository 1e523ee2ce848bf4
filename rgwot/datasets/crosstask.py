"""CrossTask: ``annotations/<task>_<video>.csv`` and ``tasks_primary.txt``; videos in any folder."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from pathlib import Path

from rgwot.datasets.annotations import Annotation, read_step_first
from rgwot.datasets.base import DatasetFiles, VideoEntry
from rgwot.datasets.pairing import by_suffix, by_task, pair, parents, stem, walk_videos
from rgwot.datasets.registry import TaskFacts
from rgwot.datasets.settings import Options
from rgwot.datasets.text import DataFault, excerpt, read_lines
from rgwot.runtime.errors import RgwotError
from rgwot.timing import VideoInfo

OPTIONS = frozenset({"strict", "subset", "unannotated", "frames_fps", "features_alone"})
EXPECTED = "crosstask_release/ as downloaded and videos/<task>/<video>.mp4 or videos/<video>.mp4"

_TASKS = "tasks_primary.txt"


def find(root: Path, dataset: str, options: Options) -> DatasetFiles:
    """Find the videos of the primary tasks; related tasks have no annotation and are ignored."""
    release = _release(root, dataset)
    primary = read_tasks(release / _TASKS)
    filmed, tables = by_suffix(walk_videos(root, root, options, {".csv"}), ".csv")
    annotated = (release / "annotations").relative_to(root).as_posix() + "/"
    tables = [path for path in tables if path.startswith(annotated)]
    annotations = by_task(tables, lambda path: _annotated_pair(path)[0])
    of_video = by_task(tables, lambda path: _annotated_pair(path)[1])
    # Features may be named like the annotation instead of the video.
    named = {stem(table): _annotated_pair(table)[1] for table in tables if options.features_alone}

    def video_of(path: str) -> str:
        return named.get(stem(path), stem(path))

    videos: dict[str, list[str]] = defaultdict(list)
    unassigned: list[str] = []
    for path in filmed:
        # A folder named by digits is a task, possibly a related one. For videos outside such folders, the task is
        # looked up in the annotations.
        folders = [part for part in parents(path) if part.isdecimal()]
        placed = folders[-1:] or [_annotated_pair(table)[0] for table in of_video[video_of(path)]]
        if not placed:
            unassigned.append(path)
        for task in placed:
            if task in primary:
                videos[task].append(path)
    tasks = {
        task: pair(paths, annotations[task], options, lambda path: _annotated_pair(path)[1], video_of)
        for task, paths in videos.items()
    }
    return DatasetFiles(dataset, f"{root} ({EXPECTED})", tasks, tuple(unassigned))


def read_annotation(
    root: Path, entry: VideoEntry, facts: TaskFacts | None, clock: VideoInfo | None, options: Options
) -> Annotation:
    """Read the annotation of a video that has one, with the step names of the release."""
    path = root / str(entry.annotation)
    task, _ = _annotated_pair(str(entry.annotation))
    names = dict(enumerate(read_tasks(path.parent.with_name(_TASKS))[task], start=1))
    return read_step_first(path, names.keys(), clock, names)


def read_tasks(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the steps of every task in ``tasks_primary.txt`` or ``tasks_related.txt``, in order.

    A task is a block of five lines, and a blank line stands between blocks.

    Raises RgwotError if a block does not have five lines, its number of steps is wrong, or a task occurs twice.
    """
    tasks: dict[str, tuple[str, ...]] = {}
    for filled, block in groupby(read_lines(path), key=lambda line: bool(line.text.strip())):
        if not filled:
            continue
        lines = list(block)
        where = f"line {lines[0].number}"
        if len(lines) != 5:
            fault = f"{len(lines)} lines in the block that begins {excerpt(lines[0].text.strip())}"
            expected = "expected id, name, URL, number of steps, comma-separated step names, then a blank line"
            raise DataFault("release", path, where, f"{fault}; {expected}; restore the blank line or the missing line")
        task, _, _, count, listed = (line.text.strip() for line in lines)
        steps = tuple(step.strip() for step in listed.split(","))
        if count != str(len(steps)):
            fault = f"{excerpt(count)} steps declared and {len(steps)} listed for task {task}; expected equal numbers"
            raise DataFault("release", path, f"line {lines[3].number}", f"{fault}; use the file of the release")
        if task in tasks:
            raise DataFault("release", path, where, f"task {task!r} occurs twice; expected every task once; delete one")
        tasks[task] = steps
    return tasks


def _annotated_pair(path: str) -> tuple[str, str]:
    """Return task and video of an annotation, separated by the first ``_``; the id of a video may contain more of them.

    >>> _annotated_pair("annotations/990001_-aB_cD3eF-g.csv")
    ('990001', '-aB_cD3eF-g')
    """
    task, _, video = stem(path).partition("_")
    return task, video


def _release(root: Path, dataset: str) -> Path:
    for folder in (root / "crosstask_release", root):
        if (folder / _TASKS).is_file():
            return folder
    raise RgwotError(
        f"dataset {dataset!r}: no {root / 'crosstask_release' / _TASKS}; expected {EXPECTED}; "
        f"unpack crosstask_release.zip in {root}, or correct `roots`"
    )
