"""Anybody's own videos: ``root/<task>/*.mp4``, annotation optional (``<stem>.csv`` in EgoProceL's form)."""

from __future__ import annotations

from pathlib import Path

from rgwot.datasets import csv_files
from rgwot.datasets.base import Found, Options
from rgwot.datasets.pairing import by_suffix, own_tasks, walk_videos

OPTIONS = frozenset({"strict", "subset", "frames_fps"})
EXPECTED = "a folder of videos per task: <task>/*.mp4 (or avi, mkv, webm, mov, m4v)"

read_annotation = csv_files.read_annotation


def find(root: Path, dataset: str, options: Options) -> Found:
    """Find the videos of every task; the first folder below the root is the task.

    Annotations may lie anywhere below the task's folder. Videos without one are kept, for all but scoring.
    """
    files = walk_videos(root, root, options, {".csv"})
    tasks, unassigned = own_tasks(files, lambda paths: by_suffix(paths, ".csv"), options)
    return Found(dataset, f"{root} ({EXPECTED})", tasks, unassigned)
