"""ProceL converted to EgoProceL's form: ``annotations/<task>/<video>.csv`` and ``videos/<task>/``."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from rgwot.datasets.annotations import Annotation, VideoClock
from rgwot.datasets.base import Found, Options, VideoEntry
from rgwot.datasets.pairing import pair, parents, stem, subfolder, walk, walk_videos
from rgwot.datasets.procel import canonical
from rgwot.datasets.registry import TaskFacts
from rgwot.datasets.three_columns import read_three_columns
from rgwot.runtime.errors import RgwotError

ABOUT = {"description": "ProceL converted to EgoProceL's columns", "place": 4}
OPTIONS = frozenset({"strict", "subset", "unannotated", "frames_fps"})
EXPECTED = "annotations/<task>/<video>.csv and videos/"


def find(root: Path, dataset: str, options: Options) -> Found:
    """Find the tasks by the folders of ``annotations/``, and a video's by its folder or else its annotation.

    Raises
    ------
    RgwotError
        If one of the two folders is missing.
    """
    registered = options.subset or dataset
    tops = {kind: subfolder(root, kind) for kind in ("annotations", "videos")}
    for kind, top in tops.items():
        if top is None:
            raise RgwotError(
                f"dataset {dataset!r}: no folder {root / kind}; expected {EXPECTED}; add it or set `roots`"
            )
    annotations: dict[str, list[str]] = defaultdict(list)
    for path in walk(root, tops["annotations"] or root, {".csv"}):
        annotations[canonical(parents(path)[-1], registered)].append(path)
    task_of = {stem(path): task for task, paths in annotations.items() for path in paths}
    videos: dict[str, list[str]] = defaultdict(list)
    for path in walk_videos(root, tops["videos"] or root, options):
        folders = [canonical(part, registered) for part in reversed(parents(path))]
        videos[next((name for name in folders if name in annotations), task_of.get(stem(path), ""))].append(path)
    unassigned = tuple(videos.pop("", ()))
    tasks = {task: pair(paths, annotations[task], options) for task, paths in videos.items()}
    return Found(dataset, f"{root} ({EXPECTED})", tasks, unassigned)


def read_annotation(
    root: Path, entry: VideoEntry, facts: TaskFacts | None, clock: VideoClock | None, options: Options
) -> Annotation:
    """Read the annotation of a video that has one."""
    return read_three_columns(root / str(entry.annotation), None if facts is None else facts.step_ids, clock)
