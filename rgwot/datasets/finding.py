"""From a dataset's entry in the configuration to the videos on disk."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from rgwot.config.layouts import LAYOUTS
from rgwot.datasets.base import Found, Layout, Options
from rgwot.datasets.registry import TaskFacts, facts, match, tasks_of
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.timing import parse_rate


def layout_module(layout: str) -> Layout:
    """Return the module of a layout, its name matched without case and punctuation; RgwotError if there is none."""
    name = match(layout, LAYOUTS, "layout")
    return cast(Layout, importlib.import_module(f"rgwot.datasets.{name}"))


def read_options(dataset: str, layout: str, options: Mapping[str, Any]) -> Options:
    """Return the options of a dataset's entry, whose values the configuration has checked; None is not given.

    Raises RgwotError if an option is not one the layout knows, or a pattern is no regular expression.
    """
    known = layout_module(layout).OPTIONS
    where = f"dataset {dataset!r} (layout {layout})"
    given = {key: value for key, value in options.items() if value is not None}
    for key, value in given.items():
        if key not in known:
            raise RgwotError(f"{where}: option {key!r}; this layout has no such option; {nearest(key, known)}")
        if key in ("frames_fps", "labels_fps") and value != "file":
            given[key] = parse_rate(value)
        elif isinstance(value, list):
            given[key] = tuple(value)
    try:
        re.compile(given.get("pattern", ""))
    except re.error:
        raise RgwotError(f"{where}: pattern is {given['pattern']!r}; expected a regular expression") from None
    return Options(**given)


def registered_facts(dataset: str, task: str, options: Options) -> TaskFacts | None:
    """Return what is known about a task, following ``subset``; None for a user's own.

    Raises RgwotError if ``subset`` is not a registered dataset, or a registered one has no such task.
    """
    if options.subset and not tasks_of(options.subset):
        raise RgwotError(f"dataset {dataset!r}: subset {options.subset!r}; expected a registered dataset; correct it")
    return facts(options.subset or dataset, task)


def find(dataset: str, layout: str, root: Path, options: Mapping[str, Any] | None = None) -> Found:
    """Find the videos of a dataset below its root without opening one; ``options`` is what else its entry says.

    Raises RgwotError if the layout or an option is unknown, or the root is not there or not as the layout expects.
    """
    module = layout_module(layout)
    chosen = read_options(dataset, layout, options or {})
    if not root.is_dir():
        raise RgwotError(
            f"dataset {dataset!r}: no folder {root}; expected {module.EXPECTED}; "
            "put the files there or set `roots` (or the dataset's `root`) in config.yaml"
        )
    return module.find(root, dataset, chosen)
