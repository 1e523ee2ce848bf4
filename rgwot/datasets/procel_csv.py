"""ProceL converted to EgoProceL's form: ``annotations/<task>/<video>.csv`` and ``videos/<task>/``."""

from __future__ import annotations

from pathlib import Path

from rgwot.datasets.annotations import read_entry
from rgwot.datasets.base import DatasetFiles, Options
from rgwot.datasets.pairing import by_task, pair, parents, required_subfolder, stem, walk, walk_videos
from rgwot.datasets.procel import canonical

OPTIONS = frozenset({"strict", "subset", "unannotated", "frames_fps"})
EXPECTED = "annotations/<task>/<video>.csv and videos/"

read_annotation = read_entry


def find(root: Path, dataset: str, options: Options) -> DatasetFiles:
    """Find the tasks by the folders of ``annotations/``, and a video's task by its folder or else its annotation."""
    registered = options.subset or dataset
    annotated, filmed = (required_subfolder(root, kind, dataset, EXPECTED) for kind in ("annotations", "videos"))
    annotations = by_task(walk(root, annotated, {".csv"}), lambda path: canonical(parents(path)[-1], registered))
    task_of = {stem(path): task for task, paths in annotations.items() for path in paths}

    def task_of_video(path: str) -> str:
        folders = (canonical(part, registered) for part in reversed(parents(path)))
        return next((name for name in folders if name in annotations), task_of.get(stem(path), ""))

    videos = by_task(walk_videos(root, filmed, options), task_of_video)
    unassigned = tuple(videos.pop("", ()))
    tasks = {task: pair(paths, annotations[task], options) for task, paths in videos.items()}
    return DatasetFiles(dataset, f"{root} ({EXPECTED})", tasks, unassigned)
