"""ProceL as step-first files: per task ``mapping.txt``, ``annotations/<video>.csv`` and ``videos/``."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path, PurePosixPath

from rgwot.datasets.annotations import Annotation, read_step_first
from rgwot.datasets.base import DatasetFiles, Options, VideoEntry
from rgwot.datasets.pairing import by_suffix, by_task, pair, parents, walk_videos
from rgwot.datasets.procel import canonical
from rgwot.datasets.registry import TaskFacts
from rgwot.datasets.text import excerpt, filled_lines
from rgwot.runtime.errors import RgwotError
from rgwot.timing import VideoInfo

OPTIONS = frozenset({"strict", "subset", "unannotated", "frames_fps"})
EXPECTED = "<task>/mapping.txt, <task>/annotations/<video>.csv and <task>/videos/"


def find(root: Path, dataset: str, options: Options) -> DatasetFiles:
    """Find the tasks by their folders; the folder above ``annotations`` or ``videos`` is the task."""

    def task_of(path: str) -> str:
        kinds = ("annotations", "videos")
        above = [upper for upper, kind in pairwise(parents(path)) if kind.casefold() in kinds]
        return canonical(above[0], options.subset or dataset) if above else ""

    files = by_task(walk_videos(root, root, options, {".csv"}), task_of)
    unassigned, _ = by_suffix(files.pop("", ()), ".csv")
    sorted_out = {task: by_suffix(paths, ".csv") for task, paths in files.items()}
    tasks = {task: pair(videos, annotations, options) for task, (videos, annotations) in sorted_out.items() if videos}
    return DatasetFiles(dataset, f"{root} ({EXPECTED})", tasks, tuple(unassigned))


def read_annotation(
    root: Path, entry: VideoEntry, facts: TaskFacts | None, clock: VideoInfo | None, options: Options
) -> Annotation:
    """Read the annotation of a video that has one, with the step names of the task's ``mapping.txt``."""
    path = PurePosixPath(str(entry.annotation))
    task = next(folder for folder in path.parents if folder.name.casefold() == "annotations").parent
    names = read_step_names(root / task / "mapping.txt")
    step_ids = names.keys() if facts is None else facts.step_ids
    return read_step_first(root / path, step_ids, clock, names)


def read_step_names(path: Path) -> dict[int, str]:
    """Read ``mapping.txt``, the names of the steps: ``<int> <name_with_underscores>`` per line.

    Raises RgwotError if a line has another form or a number occurs twice.
    """
    names: dict[int, str] = {}
    for line in filled_lines(path):
        match = re.fullmatch(r"([1-9][0-9]{0,8})\s+(\S.*)", line.text.strip())
        if match is None or int(match[1]) in names:
            raise RgwotError(
                f"{path}: line {line.number}: {excerpt(line.text)}; expected a new whole number above 0, a blank and a "
                "name, like '3 pour_water'"
            )
        names[int(match[1])] = match[2].replace("_", " ").strip()
    return names
