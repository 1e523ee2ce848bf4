"""From a dataset's entry in the configuration to the videos on disk."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from rgwot.config.layouts import LAYOUTS
from rgwot.datasets.base import Found, Layout, Options
from rgwot.datasets.registry import TaskFacts, facts, match, tasks_of
from rgwot.runtime.errors import RgwotError


def layout_module(layout: str) -> Layout:
    """Return the module of a layout, its name matched without case and punctuation.

    Raises
    ------
    RgwotError
        If there is no such layout.
    """
    name = match(layout, LAYOUTS, "layout")
    return cast(Layout, importlib.import_module(f"rgwot.datasets.{name}"))


def read_options(dataset: str, layout: str, options: Mapping[str, Any]) -> Options:
    """Check the options of a dataset's entry; None stands for an option that is not given."""
    known = layout_module(layout).OPTIONS
    return Options.of(options, known, f"dataset {dataset!r} (layout {layout})")


def registered_facts(dataset: str, task: str, options: Options) -> TaskFacts | None:
    """Return what is known about a task, following ``subset``; None for a user's own.

    Raises
    ------
    RgwotError
        If ``subset`` is not a registered dataset, or a registered one has no such task.
    """
    known = options.subset or dataset
    if options.subset and not tasks_of(options.subset):
        raise RgwotError(f"dataset {dataset!r}: subset {options.subset!r}; expected a registered dataset; correct it")
    return facts(known, task)


def find(dataset: str, layout: str, root: Path, options: Mapping[str, Any] | None = None) -> Found:
    """Find the videos of a dataset without opening one.

    Parameters
    ----------
    dataset
        Id in the configuration.
    layout
        A key of `rgwot.config.layouts.LAYOUTS`.
    root
        Folder that holds the files.
    options
        What else the dataset's entry says, see `rgwot.datasets.base.Options`.

    Raises
    ------
    RgwotError
        If the layout or an option is unknown, or the root is not there or not as the layout expects.
    """
    module = layout_module(layout)
    chosen = read_options(dataset, layout, options or {})
    if not root.is_dir():
        raise RgwotError(
            f"dataset {dataset!r}: no folder {root}; expected {module.EXPECTED}; "
            "put the files there or set `roots` (or the dataset's `root`) in config.yaml"
        )
    return module.find(root, dataset, chosen)
