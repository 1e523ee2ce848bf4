"""ProceL as step-first files: per task ``mapping.txt``, ``annotations/<video>.csv`` and ``videos/``."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path, PurePosixPath

from rgwot.datasets.annotations import Annotation, VideoClock
from rgwot.datasets.base import Found, Options, VideoEntry
from rgwot.datasets.pairing import pair, parents, walk_videos
from rgwot.datasets.procel import canonical
from rgwot.datasets.registry import TaskFacts
from rgwot.datasets.release_lists import read_mapping
from rgwot.datasets.step_first import read_step_first

ABOUT = {"description": "ProceL converted to CrossTask's columns", "place": 5}
OPTIONS = frozenset({"strict", "subset", "unannotated", "frames_fps"})
EXPECTED = "<task>/mapping.txt, <task>/annotations/<video>.csv and <task>/videos/"


def find(root: Path, dataset: str, options: Options) -> Found:
    """Find the tasks by their folders; the folder above ``annotations`` or ``videos`` is the task."""
    files: dict[str, list[str]] = defaultdict(list)
    for path in walk_videos(root, root, options, {".csv"}):
        above = [upper for upper, kind in zip(parents(path), parents(path)[1:], strict=False) if _kind(kind)]
        files[canonical(above[0], options.subset or dataset) if above else ""].append(path)
    unassigned = tuple(path for path in files.pop("", ()) if not path.lower().endswith(".csv"))
    tasks = {
        task: pair(videos, [path for path in paths if path.lower().endswith(".csv")], options)
        for task, paths in files.items()
        if (videos := [path for path in paths if not path.lower().endswith(".csv")])
    }
    return Found(dataset, f"{root} ({EXPECTED})", tasks, unassigned)


def _kind(folder: str) -> bool:
    return folder.casefold() in ("annotations", "videos")


def read_annotation(
    root: Path, entry: VideoEntry, facts: TaskFacts | None, clock: VideoClock | None, options: Options
) -> Annotation:
    """Read the annotation of a video that has one, with the step names of the task's ``mapping.txt``."""
    path = PurePosixPath(str(entry.annotation))
    task = next(folder for folder in path.parents if folder.name.casefold() == "annotations").parent
    names = read_mapping(root / task / "mapping.txt")
    step_ids = names.keys() if facts is None else facts.step_ids
    return read_step_first(root / path, step_ids, clock, names)
