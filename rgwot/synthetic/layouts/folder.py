"""A folder of videos per task, each with its annotation beside it."""

from __future__ import annotations

from rgwot.config.synthetic import SynthSettings
from rgwot.synthetic.layouts.base import Layout, Place, TaskPlaces
from rgwot.synthetic.layouts.spelling import three_column_files

DEFAULT_TASK = "assembly"


def _tasks(settings: SynthSettings) -> list[TaskPlaces]:
    return [_task(task, settings) for task in settings.tasks or (DEFAULT_TASK,)]


def _task(task: str, settings: SynthSettings) -> TaskPlaces:
    digits = max(2, len(str(settings.n_videos)))
    stems = [f"{task}_{number:0{digits}d}" for number in range(1, settings.n_videos + 1)]
    places = tuple(
        Place(task, stem, f"{task}/{stem}.mp4", f"{task}/{stem}.csv", take) for take, stem in enumerate(stems)
    )
    return TaskPlaces(task, tuple(range(1, settings.K + 1)), "{id} {name}", places)


LAYOUT = Layout(_tasks, three_column_files)
