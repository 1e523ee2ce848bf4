"""Layouts of synthetic datasets, each of which the module of its name in `rgwot.datasets` reads.

The module of a layout has ``tasks(settings)``, the tasks and the places of their videos, and ``files(videos)``, every
other file by its path below the root.
"""

from __future__ import annotations

import importlib
from typing import Any

from rgwot.config.synthetic import SynthSettings
from rgwot.synthetic.layouts.base import Place, TaskPlaces, VideoPlan

__all__ = ["Place", "TaskPlaces", "VideoPlan", "task_places", "written_layout"]


def written_layout(name: str) -> Any:
    """Return the module that writes a layout of `rgwot.config.layouts.WRITTEN`."""
    return importlib.import_module(f"{__name__}.{name}")


def task_places(settings: SynthSettings) -> list[TaskPlaces]:
    """Return the tasks that the settings ask for, with the place of every video.

    Raises RgwotError if a task is not part of the layout, or the released data has fewer videos than asked for.
    """
    places: list[TaskPlaces] = written_layout(settings.layout).tasks(settings)
    return places
