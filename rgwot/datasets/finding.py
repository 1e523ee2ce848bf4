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
    """Check the options of a dataset's entry; None stands for an option that is not given.

    Raises RgwotError if an option is not one the layout knows, or its value is of the wrong kind.
    """
    known = layout_module(layout).OPTIONS
    where = f"dataset {dataset!r} (layout {layout})"
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in known:
            raise RgwotError(f"{where}: option {key!r}; this layout has no such option; {nearest(key, known)}")
    for key, is_wrong, expected in (
        ("unannotated", given.get("unannotated", "keep") not in ("keep", "leave_out"), "leave_out or keep"),
        ("strict", not isinstance(given.get("strict", True), bool), "true or false"),
        ("drop_rows", isinstance(given.get("drop_rows"), str), "a list of video names"),
        ("pattern", not _compiles(given.get("pattern", "")), "a regular expression"),
    ):
        if is_wrong:
            raise RgwotError(f"{where}: {key} is {given[key]!r}; expected {expected}")
    if "view" in given:
        given["view"] = str(given["view"])
    for key in ("drop_rows", "background"):
        if key in given:
            given[key] = tuple(map(str, given[key]))
    for key, word in (("frames_fps", "file"), ("labels_fps", None)):
        if given.get(key, word) == word:
            continue
        try:
            given[key] = parse_rate(given[key])
        except ValueError:
            expected = f"{word}, or a rate" if word else "a rate"
            raise RgwotError(f"{where}: {key} is {given[key]!r}; expected {expected} like 30 or 30000/1001") from None
    return Options(**given)


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


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
