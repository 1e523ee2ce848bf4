"""A user's own videos: ``root/<task>/*.mp4``, each with or without an annotation (`annotation_files`)."""

from __future__ import annotations

from pathlib import Path

from rgwot.datasets import annotation_files
from rgwot.datasets.annotations import Annotation, read_entry
from rgwot.datasets.arrays import OPENERS
from rgwot.datasets.base import DatasetFiles, VideoEntry
from rgwot.datasets.pairing import by_suffix, own_tasks, walk_videos
from rgwot.datasets.registry import TaskFacts
from rgwot.datasets.settings import Options
from rgwot.timing import VideoInfo

OPTIONS = frozenset({"strict", "subset", "frames_fps", "tier", "silence", "labels_fps"})
EXPECTED = "a folder of videos per task: <task>/*.mp4 (or avi, mkv, webm, mov, m4v, mts, mpg, wmv, flv, ...)"


def find(root: Path, dataset: str, options: Options) -> DatasetFiles:
    """Find the videos of every task; the first folder below the root is the task.

    Annotations may be anywhere below the task's folder. Videos without an annotation are kept, but not scored.
    """
    annotations = annotation_files.suffixes(options)
    files = walk_videos(root, root, options, annotations)
    tasks, unassigned, stray = own_tasks(root, files, lambda paths: by_suffix(paths, annotations), options, OPENERS)
    return DatasetFiles(dataset, f"{root} ({EXPECTED})", tasks, unassigned, stray)


def read_annotation(
    root: Path, entry: VideoEntry, facts: TaskFacts | None, clock: VideoInfo | None, options: Options
) -> Annotation:
    """Read the annotation of a video, from its own file or a file of several videos.

    EgoProceL's three columns have step ids, which `rgwot.datasets.annotations` reads.
    """
    path = root / str(entry.annotation)
    if annotation_files.format_of(path) == "three_columns":
        return read_entry(root, entry, facts, clock, options)
    return annotation_files.read_annotation(path, (entry.name, entry.video), options, clock)
