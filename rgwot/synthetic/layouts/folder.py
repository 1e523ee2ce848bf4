"""A folder of videos per task, each with its annotation next to it."""

from __future__ import annotations

from rgwot.config.synthetic import SynthSettings
from rgwot.synthetic.layouts.base import Place, TaskPlaces, three_column_files

DEFAULT_TASK = "assembly"

files = three_column_files


def tasks(settings: SynthSettings) -> list[TaskPlaces]:
    """Return the tasks that the settings ask for, with the place of every video."""
    digits = max(2, len(str(settings.n_videos)))
    listed = []
    for task in settings.tasks or (DEFAULT_TASK,):
        stems = [f"{task}_{number:0{digits}d}" for number in range(1, settings.n_videos + 1)]
        places = (Place(stem, f"{task}/{stem}.mp4", f"{task}/{stem}.csv", take) for take, stem in enumerate(stems))
        listed.append(TaskPlaces(task, tuple(range(1, settings.K + 1)), tuple(places)))
    return listed
