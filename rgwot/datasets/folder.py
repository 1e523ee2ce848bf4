"""Anybody's own videos: ``root/<task>/*.mp4``, annotation optional (``<stem>.csv`` in EgoProceL's form)."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from rgwot.datasets.annotations import Annotation, VideoClock
from rgwot.datasets.base import Found, FoundTask, Options, VideoEntry
from rgwot.datasets.pairing import pair, parents, walk_videos
from rgwot.datasets.registry import TaskFacts
from rgwot.datasets.three_columns import read_three_columns

ABOUT = {"description": "one folder per task", "place": 1}
OPTIONS = frozenset({"strict", "subset", "frames_fps"})
EXPECTED = "a folder of videos per task: <task>/*.mp4 (or avi, mkv, webm, mov, m4v)"

_TASK = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


def find(root: Path, dataset: str, options: Options) -> Found:
    """Find the videos of every task; the first folder below the root is the task.

    Annotations may lie anywhere below the task's folder. Videos without one are kept, for all but scoring.
    """
    files: dict[str, list[str]] = defaultdict(list)
    for path in walk_videos(root, root, options, {".csv"}):
        files[next(iter(parents(path)), "")].append(path)
    unassigned = tuple(path for path in files.pop("", ()) if not path.lower().endswith(".csv"))
    tasks = {}
    for task, paths in files.items():
        videos = [path for path in paths if not path.lower().endswith(".csv")]
        annotations = [path for path in paths if path.lower().endswith(".csv")]
        if not videos:
            continue
        tasks[task] = (
            pair(videos, annotations, replace(options, unannotated="keep"))
            if _TASK.fullmatch(task)
            else FoundTask(
                problem=f"folder {task!r} cannot be a task id; expected letters, digits, '.', '_' and '-', "
                "not starting with '.' or '-'; rename it"
            )
        )
    return Found(dataset, f"{root} ({EXPECTED})", tasks, unassigned)


def read_annotation(
    root: Path, entry: VideoEntry, facts: TaskFacts | None, clock: VideoClock | None, options: Options
) -> Annotation:
    """Read the annotation of a video that has one."""
    return read_three_columns(root / str(entry.annotation), None if facts is None else facts.step_ids, clock)
