"""ProceL converted to EgoProceL's form: ``annotations/<task>/<video>.csv`` and ``videos/<task>/``."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from rgwot.datasets import csv_files
from rgwot.datasets.base import Found, Options
from rgwot.datasets.pairing import pair, parents, required_subfolder, stem, walk, walk_videos
from rgwot.datasets.procel import canonical

ABOUT = {"description": "ProceL converted to EgoProceL's columns", "place": 4}
OPTIONS = frozenset({"strict", "subset", "unannotated", "frames_fps"})
EXPECTED = "annotations/<task>/<video>.csv and videos/"

read_annotation = csv_files.read_annotation


def find(root: Path, dataset: str, options: Options) -> Found:
    """Find the tasks by the folders of ``annotations/``, and a video's by its folder or else its annotation."""
    registered = options.subset or dataset
    annotated, filmed = (required_subfolder(root, kind, dataset, EXPECTED) for kind in ("annotations", "videos"))
    annotations: dict[str, list[str]] = defaultdict(list)
    for path in walk(root, annotated, {".csv"}):
        annotations[canonical(parents(path)[-1], registered)].append(path)
    task_of = {stem(path): task for task, paths in annotations.items() for path in paths}
    videos: dict[str, list[str]] = defaultdict(list)
    for path in walk_videos(root, filmed, options):
        folders = [canonical(part, registered) for part in reversed(parents(path))]
        videos[next((name for name in folders if name in annotations), task_of.get(stem(path), ""))].append(path)
    unassigned = tuple(videos.pop("", ()))
    tasks = {task: pair(paths, annotations[task], options) for task, paths in videos.items()}
    return Found(dataset, f"{root} ({EXPECTED})", tasks, unassigned)
