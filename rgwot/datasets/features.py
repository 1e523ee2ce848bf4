"""Features without videos: ``root/<task>/*.npy`` and the like, annotation optional, as in the layout `folder`.

The file of the features stands for the video: it has its name, and its length follows from the number of features.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from rgwot.datasets import folder
from rgwot.datasets.annotation_files import suffix_of, suffixes
from rgwot.datasets.arrays import OPENERS, TIMES
from rgwot.datasets.base import Found, Options
from rgwot.datasets.names import VIDEO_SUFFIXES, tracked_name
from rgwot.datasets.pairing import own_tasks, parents, stem, walk

OPTIONS = frozenset({"strict", "subset", "tier", "labels_fps"})
EXPECTED = f"a folder of feature files per task: <task>/*.npy (or {', '.join(list(OPENERS)[1:])})"

LOOKED_AT = frozenset({*OPENERS, *VIDEO_SUFFIXES})
"""Suffixes of files with features, and of those that tell what a table next to them is."""

_ANNOTATIONS = "annotations"

read_annotation = folder.read_annotation


def find(root: Path, dataset: str, options: Options) -> Found:
    """Find the feature files of every task; the first folder below the root is the task.

    A ``.csv`` is an annotation in a folder ``annotations``, and where the task has features or videos in other files;
    else it holds features. What has no annotation is kept, for all but scoring.
    """
    annotations = suffixes(options.hints)
    files = walk(root, root, {*LOOKED_AT, *annotations})
    tasks, unassigned = own_tasks(root, files, lambda paths: sorted_out(paths, annotations), options)
    return Found(dataset, f"{root} ({EXPECTED})", tasks, unassigned)


def sorted_out(paths: list[str], others: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """Return the features and the annotations among the files of a task, without times.

    ``others`` are the suffixes of annotations; of these ``.csv`` can hold features, too.
    """
    # Those that leave a ``.csv`` to be an annotation.
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
