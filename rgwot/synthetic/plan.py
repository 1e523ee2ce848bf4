"""The plan of a synthetic dataset: which videos there are, and what happens in them when."""

from __future__ import annotations

import zlib

import numpy as np

from rgwot.config.synthetic import SynthSettings
from rgwot.runtime.errors import RgwotError
from rgwot.synthetic import human
from rgwot.synthetic.ground_truth import FPS, Segment, Timeline
from rgwot.synthetic.layouts import TaskPlaces, VideoPlan, task_places
from rgwot.synthetic.looks import step_names, task_look
from rgwot.synthetic.timelines import from_human, parametric

_TIMELINES, _LOOK, _FIRST_VIDEO = 0, 1, 2


def plan(settings: SynthSettings) -> list[VideoPlan]:
    """Return the plan of a dataset, a function of its settings alone; RgwotError if they ask for what is not there."""
    videos = []
    for task in task_places(settings):
        timelines = _timelines(task, settings)
        look_seed = _seed(settings.seed, task.task, _LOOK)
        called = tuple(step_names(task_look(len(task.step_ids), look_seed)))
        for place in task.places:
            # Every camera of a take has its own pictures; the first one those of a dataset with one camera.
            pictures = task.task if place.lead_frames == 0 else f"{task.task} {place.camera}"
            seed = _seed(settings.seed, pictures, _FIRST_VIDEO + place.take)
            timeline = _led_in(timelines[place.take], place.lead_frames)
            videos.append(VideoPlan(task.task, task.step_ids, task.label, place, timeline, called, look_seed, seed))
    return videos


def _led_in(timeline: Timeline, frames: int) -> Timeline:
    """Return the timeline as a camera sees it that started some frames earlier."""
    if not frames:
        return timeline
    lead_s = frames / FPS
    later = (Segment(round(start + lead_s, 3), round(end + lead_s, 3), step) for start, end, step in timeline.segments)
    return Timeline(timeline.duration_s + lead_s, tuple(later))


def _timelines(task: TaskPlaces, settings: SynthSettings) -> list[Timeline]:
    rng = np.random.default_rng(_seed(settings.seed, task.task, _TIMELINES))
    if settings.driver == "parametric":
        return parametric(len(task.step_ids), settings, rng)
    clips = human.read_recipe(settings.recipe)
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
    return from_human(clips, human.K, settings, rng)


def _seed(seed: int, task: str, stream: int) -> int:
    """Mix seed, task name and stream, so that a task is the same whatever is written next to it."""
    return int(np.random.SeedSequence([seed, zlib.crc32(task.encode()), stream]).generate_state(1)[0])
