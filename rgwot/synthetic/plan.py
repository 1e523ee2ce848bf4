"""The plan of a synthetic dataset: which videos there are, what happens when, and what the other files say."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from rgwot.config.synthetic import SynthSettings
from rgwot.runtime.errors import RgwotError
from rgwot.synthetic import human
from rgwot.synthetic.ground_truth import FPS, Segment
from rgwot.synthetic.layouts import TaskPlaces, VideoPlan, task_places, written_layout
from rgwot.synthetic.layouts.base import Content
from rgwot.synthetic.looks import step_names, task_look
from rgwot.synthetic.timelines import Levels, Timeline, from_human, parametric

_TIMELINES, _LOOK, _FIRST_VIDEO = 0, 1, 2


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
        look_seed = _seed(settings.seed, task.task, _LOOK)
        K = len(task.step_ids)
        called = tuple(step_names(task_look(K, look_seed)))
        for place in task.places:
            # Every camera of a take has its own pictures; the first one those of a dataset with one camera.
            pictures = task.task if place.lead_frames == 0 else f"{task.task} {place.camera}"
            videos.append(
                VideoPlan(
                    task=task.task,
                    place=place,
                    timeline=_led_in(timelines[place.take], place.lead_frames),
                    K=K,
                    step_ids=task.step_ids,
                    label=task.label,
                    names=called,
                    look_seed=look_seed,
                    seed=_seed(settings.seed, pictures, _FIRST_VIDEO + place.take),
                )
            )
    return videos


def side_files(settings: SynthSettings, videos: Sequence[VideoPlan]) -> dict[str, Content]:
    """Return every file besides the videos by its path below the root: annotations and lists."""
    return written_layout(settings.layout).files(videos)


def _led_in(timeline: Timeline, frames: int) -> Timeline:
    """Return the timeline as a camera sees it that started some frames earlier."""
    lead_s = frames / FPS
    return (
        Timeline(
            timeline.duration_s + lead_s,
            tuple(
                Segment(round(start + lead_s, 3), round(end + lead_s, 3), step)
                for start, end, step in timeline.segments
            ),
        )
        if frames
        else timeline
    )


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
        return parametric(len(task.step_ids), settings.n_videos, settings.min_s, settings.max_s, levels, rng)
    try:
        clips = human.read_recipe(settings.recipe)
    except ValueError as error:
        raise RgwotError(f"synth.recipe: {error}") from error
    if len(task.step_ids) != human.K:
        raise RgwotError(
            f"synth.driver: people's timelines have {human.K} key steps, task {task.task!r} {len(task.step_ids)}; "
            "expected as many; choose driver parametric"
        )
    if len(clips) < settings.n_videos:
        raise RgwotError(
            f"synth.n_videos: found {settings.n_videos}, but recipe {settings.recipe} has {len(clips)} "
            "recordings; lower it or choose another recipe"
        )
    wanted = levels if settings.levels == "published" else None
    return from_human(clips, human.K, settings.n_videos, settings.min_s, settings.max_s, wanted, rng)


def _seed(seed: int, task: str, stream: int) -> int:
    """Mix seed, task name and stream, so that a task is the same whatever is written beside it."""
    return int(np.random.SeedSequence([seed, zlib.crc32(task.encode()), stream]).generate_state(1)[0])
