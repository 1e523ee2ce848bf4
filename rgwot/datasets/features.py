"""Features without videos: ``root/<task>/*.npy`` and similar, with optional annotations, as in the layout `folder`.

The file of features takes the place of the video, which is named like the file and as long as its features.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from rgwot.datasets import folder
from rgwot.datasets.annotation_files import suffix_of, suffixes
from rgwot.datasets.arrays import OPENERS, TIMES
from rgwot.datasets.base import DatasetFiles
from rgwot.datasets.names import VIDEO_SUFFIXES, tracked_name
from rgwot.datasets.pairing import own_tasks, parents, stem, walk
from rgwot.datasets.settings import Options

OPTIONS = frozenset({"strict", "subset", "tier", "silence", "labels_fps"})
EXPECTED = f"a folder of feature files per task: <task>/*.npy (or {', '.join(list(OPENERS)[1:])})"

LOOKED_AT = frozenset({*OPENERS, *VIDEO_SUFFIXES})
"""Suffixes of files with features, and of files beside which a table is an annotation."""

_ANNOTATIONS = "annotations"

read_annotation = folder.read_annotation


def find(root: Path, dataset: str, options: Options) -> DatasetFiles:
    """Find the feature files of every task; the first folder below the root is the task.

    A ``.csv`` is an annotation if it is in a folder ``annotations``, or if the task has features or videos in other
    files; otherwise it has features. Features without annotation are kept, but not scored.
    """
    annotations = suffixes(options)
    files = walk(root, root, {*LOOKED_AT, *annotations})
    tasks, unassigned, stray = own_tasks(root, files, lambda paths: sorted_out(paths, annotations), options, LOOKED_AT)
    return DatasetFiles(dataset, f"{root} ({EXPECTED})", tasks, unassigned, stray)


def sorted_out(paths: list[str], others: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """Return the features and the annotations among the files of a task, without times.

    ``others`` are the suffixes of annotations; a ``.csv`` can have features instead.
    """
    # ``plain``: there are features in another format, so every ``.csv`` is an annotation.
    plain = any(PurePosixPath(path).suffix.lower() in LOOKED_AT - {".csv"} or tracked_name(path) for path in paths)
    features: list[str] = []
    annotations: list[str] = []
    for path in paths:
        suffix = suffix_of(path)
        if suffix in VIDEO_SUFFIXES:
            continue
        beside = _ANNOTATIONS in map(str.lower, parents(path)[1:]) or plain
        if suffix in others and (suffix != ".csv" or beside) and tracked_name(path) is None:
            annotations.append(path)
        elif not (suffix == ".npy" and stem(path).endswith(TIMES)):
            features.append(path)
    return features, annotations
