"""Anybody's own videos: ``root/<task>/*.mp4``, annotation optional (``<stem>.csv`` in EgoProceL's form)."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from rgwot.datasets import csv_files
from rgwot.datasets.base import Found, FoundTask, Options
from rgwot.datasets.pairing import by_task, ending, pair, parents, walk_videos, without

ABOUT = {"description": "one folder per task", "place": 1}
OPTIONS = frozenset({"strict", "subset", "frames_fps"})
EXPECTED = "a folder of videos per task: <task>/*.mp4 (or avi, mkv, webm, mov, m4v)"

_TASK = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")

read_annotation = csv_files.read_annotation


def find(root: Path, dataset: str, options: Options) -> Found:
    """Find the videos of every task; the first folder below the root is the task.

    Annotations may lie anywhere below the task's folder. Videos without one are kept, for all but scoring.
    """
    files = by_task(walk_videos(root, root, options, {".csv"}), lambda path: next(iter(parents(path)), ""))
    unassigned = tuple(without(files.pop("", ()), ".csv"))
    tasks = {}
    for task, paths in files.items():
        videos = without(paths, ".csv")
        if videos and _TASK.fullmatch(task):
            tasks[task] = pair(videos, ending(paths, ".csv"), replace(options, unannotated="keep"))
        elif videos:
            tasks[task] = FoundTask(
                problem=f"folder {task!r} cannot be a task id; expected letters, digits, '.', '_' and '-', "
                "not starting with '.' or '-'; rename it"
            )
    return Found(dataset, f"{root} ({EXPECTED})", tasks, unassigned)
