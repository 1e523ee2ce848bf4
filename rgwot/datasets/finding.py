"""Finding the videos of a dataset on disk by its entry in the configuration."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import cast

from rgwot.datasets.arrays import OPENERS, open_array
from rgwot.datasets.base import DatasetFiles, Layout, TaskFiles
from rgwot.datasets.names import VIDEO_SUFFIXES
from rgwot.datasets.pairing import parents, walk
from rgwot.datasets.registry import TaskFacts, facts, match_name, tasks_of
from rgwot.datasets.settings import LAYOUTS, Options
from rgwot.runtime.errors import RgwotError, nearest

_FEATURES = frozenset(OPENERS) - {".csv"}
_SHOWN = 3
#: For each layout of published videos: published features that need no videos, and also the name of their table.
_WITHOUT_VIDEOS = {"egoprocel": "egoprocel_fact", "crosstask": "crosstask_features"}


def layout_module(layout: str) -> Layout:
    """Return the module of a layout, matched without case and punctuation; raise RgwotError for an unknown name."""
    name = match_name(layout, LAYOUTS, "layout")
    return cast(Layout, importlib.import_module(f"rgwot.datasets.{name}"))


def read_options(dataset: str, layout: str, options: Mapping[str, object]) -> Options:
    """Return the options of a dataset's entry, whose values the configuration has checked.

    Raises RgwotError if the layout has no such option.
    """
    names = layout_module(layout).OPTIONS
    for key in options:
        if key not in names:
            where = f"dataset {dataset!r} (layout {layout})"
            raise RgwotError(f"{where}: option {key!r} does not exist in this layout; {nearest(key, names)}")
    return Options(**options)


def registered_facts(dataset: str, task: str, options: Options) -> TaskFacts | None:
    """Return the registered facts about a task, following ``subset``; None for a user's own task.

    Raises RgwotError if ``subset`` is not a registered dataset, or a registered dataset has no such task.
    """
    if options.subset and not tasks_of(options.subset):
        raise RgwotError(
            f"dataset {dataset!r}: found subset {options.subset!r}, expected a registered dataset; correct `subset`"
        )
    return facts(options.subset or dataset, task)


def find(dataset: str, layout: str, root: Path, options: Mapping[str, object] | None = None) -> DatasetFiles:
    """Find the videos of a dataset below its root without opening any; ``options`` come from its entry.

    Raises RgwotError if the layout or an option is unknown, or the root does not exist or does not fit the layout.
    """
    module = layout_module(layout)
    chosen = read_options(dataset, layout, options or {})
    if not root.is_dir():
        remedy = "put the files there or set `roots` (or the dataset's `root`) in config.yaml"
        if tasks_of(chosen.subset or dataset):
            remedy += "; docs/datasets.md says where to get them"
        instead = _WITHOUT_VIDEOS.get(match_name(layout, LAYOUTS, "layout"))
        if instead and not chosen.features_alone:
            remedy += (
                f"; without videos, results/tables/{instead}.csv needs one download: rgwot fetch {instead}, then "
                "--configfile workflow/published_features.yaml"
            )
        raise RgwotError(f"dataset {dataset!r}: no folder {root}; expected {module.EXPECTED}; {remedy}")
    return module.find(root, dataset, chosen)


class NoTaskFound(RgwotError):
    """Error: a layout finds no task in a folder."""


def no_task(dataset: str, layout: str, root: Path) -> NoTaskFound:
    """Return the error that no task was found below a root, with a guess at the kind of folder."""
    where, expected = f"datasets.{dataset}: no task found in {root}", layout_module(layout).EXPECTED
    paths = walk(root, root, {*VIDEO_SUFFIXES, *_FEATURES})
    # A table next to videos or other features is an annotation, so tables are examined only if there are none.
    tables = [] if paths else walk(root, root, {".csv"})
    if any(_holds_features(root / path) for path in tables[:_SHOWN]):
        paths = tables
    videos = [path for path in paths if PurePosixPath(path).suffix.lower() in VIDEO_SUFFIXES]
    features = [path for path in paths if path not in set(videos)]
    main, others = (features, videos) if layout.strip().casefold() == "features" else (videos, features)
    what, other = ("features", "videos") if main is features else ("videos", "features")
    if not main and others:
        remedy = (
            "features without videos are `layout: features` with a block `imported`"
            if other == "features"
            else "videos are `layout: folder`"
        )
        return NoTaskFound(f"{where}; this looks like {other} only, such as {others[0]}; {remedy}")
    flat = [path for path in main if not parents(path)]
    if flat and len(flat) == len(main):
        resolved = root.absolute()
        return NoTaskFound(
            f"{where}; this looks like the folder of one task, {resolved.name}, with {what} such as {flat[0]}; the "
            f"root is the folder above it: set root to {resolved.parent}, or move the {what} into a folder per task"
        )
    if not paths:
        return NoTaskFound(f"{where}; found no video and no file of features; expected {expected}")
    return NoTaskFound(f"{where}; found {what}, such as {main[0]}, but expected {expected}")


def _holds_features(table: Path) -> bool:
    try:
        with open_array(table, None):
            return True
    except RgwotError:
        return False


def tasks_inside(files: TaskFiles) -> Sequence[str]:
    """Return the subfolders of a task, if they contain all of its videos.

    Several such folders are probably the tasks, and the root is one level too high.
    """
    inner = [parents(video.path)[1:2] for video in files.videos]
    if not all(inner):
        return ()
    folders = sorted({folder for (folder,) in inner})
    return folders if len(folders) > 1 else ()


def first_few(names: Sequence[str]) -> str:
    """Return the first names, and the number of the others."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
