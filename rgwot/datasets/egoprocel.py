"""EgoProceL's tree: six datasets side by side below ``annotations/`` and ``videos/``.

Which files belong to which dataset and task follows from folders and name patterns in the registry.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from rgwot.datasets.annotations import read_entry
from rgwot.datasets.base import DatasetFiles
from rgwot.datasets.names import folded
from rgwot.datasets.pairing import by_task, pair, parents, required_subfolder, stem, subfolder, walk, walk_videos
from rgwot.datasets.registry import TaskFacts, camera, datasets, tasks_of
from rgwot.datasets.settings import Options
from rgwot.runtime.errors import RgwotError

OPTIONS = frozenset({"view", "subset", "strict", "unannotated", "frames_fps", "features_alone"})
EXPECTED = "the folders annotations/ and videos/ of EgoProceL"

_SUFFIX = ".egoprocel.ann"

TaskAndCamera = tuple[str, str | None]
"""Task and camera of a file; the task is empty when unknown."""

read_annotation = read_entry


def find(root: Path, dataset: str, options: Options) -> DatasetFiles:
    """Find the videos of one of the six datasets."""
    subsets = datasets("egoprocel")
    subset = options.subset or dataset
    if folded(subset) not in map(folded, subsets):
        raise RgwotError(
            f"dataset {subset!r}: layout egoprocel holds only {', '.join(subsets)}; set `subset` to the one "
            "that you have; for your own videos, use `layout: folder` (root/<task>/*.mp4)"
        )
    rows = tasks_of(subset)
    view = camera(subset, options.view)

    def sorted_out(kind: str, listed: Callable[[Path], list[str]]) -> dict[str, list[str]]:
        """Return the files of the dataset by task; those without a task have the empty text as key."""
        # Downloaded features are in folders with other names, so no folder ``videos`` is expected.
        alone = kind == "videos" and options.features_alone
        top = root if alone else required_subfolder(root, kind, dataset, EXPECTED)
        view_folder = subfolder(top, rows[0].folder)
        placed = _placed(listed(view_folder or top), rows, view_folder is None)
        chosen = (path for path, (task, filmed_by) in placed.items() if filmed_by == view or not task)
        return by_task(chosen, lambda path: placed[path][0])

    videos = sorted_out("videos", lambda top: walk_videos(root, top, options))
    annotations = sorted_out("annotations", lambda top: walk(root, top, {".csv"}))
    tasks = {
        row.task: pair(videos[row.task], annotations.get(row.task, ()), options, annotated_stem, annotated_stem)
        for row in rows
        if row.task in videos
    }
    where = f"{root if options.features_alone else root / 'videos'}{f' (view {view})' if view else ''}"
    return DatasetFiles(dataset, where, tasks, tuple(videos.get("", ())))


def annotated_stem(path: str) -> str:
    """Return the stem of the video an annotation belongs to; EPIC-Tents adds ``.egoprocel.ann``."""
    name = stem(path)
    return name[: -len(_SUFFIX)] if name.lower().endswith(_SUFFIX) else name


def _placed(paths: list[str], rows: tuple[TaskFacts, ...], mixed: bool) -> dict[str, TaskAndCamera]:
    """Assign the dataset's files to tasks; in a ``mixed`` tree the dataset's files are in a folder further down.

    If there is no such folder, a file whose name fits no dataset is kept without a task: it may belong to this dataset.
    """
    mine = folded(rows[0].folder)
    inside = [path for path in paths if not mixed or mine in map(folded, parents(path))]
    if inside or not mixed:
        return {path: _task_and_camera(path, rows) for path in inside}
    others = [tasks_of(name) for name in datasets("egoprocel") if name != rows[0].dataset]
    folders = {folded(row.folder) for other in others for row in other}
    placed = {path: _by_name(path, rows) for path in paths if folders.isdisjoint(map(folded, parents(path)))}
    return {
        path: place or ("", None)
        for path, place in placed.items()
        if place or not any(_by_name(path, other) for other in others)
    }


def _by_name(path: str, rows: tuple[TaskFacts, ...]) -> TaskAndCamera | None:
    """Identify a file by its whole name, or by CnC's folder ``<task number>_<camera>``."""
    for row in rows:
        named = re.fullmatch(row.pattern, annotated_stem(path), re.IGNORECASE)
        if named:
            return row.task, named.groupdict().get("camera")
    for row in rows:
        for part in parents(path) if row.views else ():
            placed = re.fullmatch(rf"{row.code}_(?P<camera>\d+)", part)
            if placed:
                return row.task, placed["camera"]
    return None


def _task_and_camera(path: str, rows: tuple[TaskFacts, ...]) -> TaskAndCamera:
    """Return task and camera of a file in the dataset's own folder."""
    recognised = _by_name(path, rows)
    if recognised is not None:
        return recognised
    if len(rows) == 1:
        return rows[0].task, None
    folders = set() if rows[0].views else set(map(folded, parents(path)))
    return next((row.task for row in rows if folded(row.task) in folders), ""), None


def files_by_task(paths: Iterable[str], dataset: str, options: Options, where: str) -> tuple[dict[str, list[str]], str]:
    """Return published features by task (the empty text for those without a task), and where they were searched.

    A name follows the pattern of a task of the registered dataset, or the pattern of the entry, in which the group
    ``task`` is the task. Without a pattern, all files belong to one task, named like the dataset. If several cameras
    filmed a take, the file of the chosen camera is used, and the view and the existing cameras are added to ``where``.
    """
    rows = tasks_of(options.subset or dataset)
    patterns = {row.pattern: row.task for row in rows} or {options.pattern or ".+": dataset}
    # The folder of a release also has files of the other datasets; they are not reported as files without a task.
    others = [row.pattern for row in rows[:1] for name in datasets(row.layout) for row in tasks_of(name)]
    view = camera(options.subset or dataset, options.view) if rows else options.view
    filmed: Counter[str] = Counter()

    def task_of(path: str) -> str | None:
        name = annotated_stem(path)
        for pattern, task in patterns.items():
            if match := re.fullmatch(pattern, name, re.IGNORECASE):
                groups = match.groupdict()
                number = groups.get("camera")
                filmed.update([number] if number else [])
                return groups.get("task", task) if view is None or number is None or number == view else None
        return None if any(re.fullmatch(pattern, name, re.IGNORECASE) for pattern in others) else ""

    placed = by_task(paths, lambda path: "/" if (task := task_of(path)) is None else task)
    placed.pop("/", None)
    cameras = ", ".join(f"{number}: {count}" for number, count in sorted(filmed.items()))
    return placed, f"{where} (view {view}; files of cameras: {cameras})" if view and filmed else where
