"""Layouts of synthetic datasets, each of which the module of its name in `rgwot.datasets` reads."""

from __future__ import annotations

import importlib
from typing import cast

from rgwot.config.synthetic import SynthSettings
from rgwot.synthetic.layouts.base import Layout, Place, TaskPlaces, VideoPlan

__all__ = ["Layout", "Place", "TaskPlaces", "VideoPlan", "task_places", "written_layout"]


def written_layout(name: str) -> Layout:
    """Return how a layout of `rgwot.config.layouts.WRITTEN` is written."""
    return cast(Layout, importlib.import_module(f"{__name__}.{name}").LAYOUT)


def task_places(settings: SynthSettings) -> list[TaskPlaces]:
    """Return the tasks that the settings ask for, with the place of every video.

    Raises
    ------
    RgwotError
        If a task is not part of the layout, or the released data has fewer videos than asked for.
    """
    return written_layout(settings.layout).tasks(settings)
