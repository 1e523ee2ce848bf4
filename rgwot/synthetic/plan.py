"""The plan of a synthetic dataset: which videos there are, what happens when, and where the files go."""

from __future__ import annotations

import csv
import io
import zlib
from dataclasses import dataclass

import numpy as np

from rgwot.errors import RgwotError
from rgwot.synthetic import human
from rgwot.synthetic.layouts import Place, TaskPlaces, task_places
from rgwot.synthetic.settings import SynthSettings
from rgwot.synthetic.timelines import Levels, Timeline, from_human, parametric

_TIMELINES, _LOOK, _FIRST_VIDEO = 0, 1, 2


@dataclass(frozen=True)
class VideoPlan:
    """Everything one video is made of.

    Attributes
    ----------
    task
        As in `rgwot.synthetic.layouts.TaskPlaces`.
    place
        Where its files go.
    timeline
        Its ground truth.
    K
        Key steps of the task.
    step_ids, label
        How the annotation spells key steps 1 to K.
    look_seed, seed
        Seeds of the task's look and of this video's pictures.
    """

    task: str
    place: Place
    timeline: Timeline
    K: int
    step_ids: tuple[int, ...]
    label: str
    look_seed: int
    seed: int


def names(settings: SynthSettings) -> list[str]:
    """Return the video stems in the order of the plan, without making the plan."""
    return [place.stem for task in task_places(settings) for place in task.places]


def plan(settings: SynthSettings) -> list[VideoPlan]:
    """Return the plan of a dataset; a pure function of its settings.

    Raises
    ------
    RgwotError
        If the settings ask for a task, recipe or number of videos that does not exist.
    """
    videos = []
    for task in task_places(settings):
        timelines = _timelines(task, settings)
        for number, (place, timeline) in enumerate(zip(task.places, timelines, strict=True)):
            videos.append(
                VideoPlan(
                    task=task.task,
                    place=place,
                    timeline=timeline,
                    K=len(task.step_ids),
                    step_ids=task.step_ids,
                    label=task.label,
                    look_seed=_seed(settings.seed, task.task, _LOOK),
                    seed=_seed(settings.seed, task.task, _FIRST_VIDEO + number),
                )
            )
    return videos


def annotation(video: VideoPlan, step_names: list[str]) -> str:
    """Spell the ground truth of a video in EgoProceL's three columns: ``start,end,<int> <name>``, seconds.

    Parameters
    ----------
    video
        The planned video.
    step_names
        Names of key steps 1 to K.

    Returns
    -------
    str
        One line per segment in order of time; the same plan gives the same text.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for start, end, step in video.timeline.segments:
        label = video.label.format(id=video.step_ids[step - 1], name=step_names[step - 1])
        writer.writerow([round(start, 3), round(end, 3), label])
    return text.getvalue()


def _timelines(task: TaskPlaces, settings: SynthSettings) -> list[Timeline]:
    rng = np.random.default_rng(_seed(settings.seed, task.task, _TIMELINES))
    levels = Levels(
        foreground=settings.foreground,
        missing=settings.missing,
        repeated=settings.repeated,
        order_distance=settings.order_distance,
        min_piece_s=settings.min_piece_s,
        max_share=settings.max_share,
    )
    if settings.driver == "parametric":
        return parametric(len(task.step_ids), len(task.places), settings.min_s, settings.max_s, levels, rng)
    try:
        clips = human.read_recipe(settings.recipe)
    except ValueError as error:
        raise RgwotError(f"synth.recipe: {error}") from error
    if len(clips) < settings.n_videos:
        raise RgwotError(
            f"synth.n_videos: found {settings.n_videos}, but recipe {settings.recipe} has {len(clips)} "
            "recordings; lower it or choose another recipe"
        )
    wanted = levels if settings.levels == "egoprocel" else None
    return from_human(clips, human.K, settings.n_videos, settings.min_s, settings.max_s, wanted, rng)


def _seed(seed: int, task: str, stream: int) -> int:
    """Mix seed, task name and stream, so that a task is the same whatever is written beside it."""
    return int(np.random.SeedSequence([seed, zlib.crc32(task.encode()), stream]).generate_state(1)[0])
