"""Layouts of synthetic datasets: every one that the readers in `rgwot.datasets` read."""

from __future__ import annotations

from collections.abc import Mapping

from rgwot.synthetic.layouts import crosstask, egoprocel, folder, procel
from rgwot.synthetic.layouts.base import Layout, Place, TaskPlaces, VideoPlan
from rgwot.synthetic.settings import SynthSettings

__all__ = ["LAYOUTS", "Layout", "Place", "TaskPlaces", "VideoPlan", "task_places"]

LAYOUTS: Mapping[str, Layout] = {
    "folder": folder.LAYOUT,
    "egoprocel": egoprocel.LAYOUT,
    "procel": procel.RELEASED,
    "procel_csv": procel.THREE_COLUMNS,
    "procel_stepfirst": procel.STEP_FIRST,
    "crosstask": crosstask.LAYOUT,
}


def task_places(settings: SynthSettings) -> list[TaskPlaces]:
    """Return the tasks that the settings ask for, with the place of every video.

    Raises
    ------
    RgwotError
        If a task is not part of the layout, or the released data has fewer videos than asked for.
    """
    return LAYOUTS[settings.layout].tasks(settings)
