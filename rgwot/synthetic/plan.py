"""The plan of a synthetic dataset: which videos there are, and what happens in them when."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rgwot.config.configuration import SynthSettings
from rgwot.synthetic.looks import step_names, task_look
from rgwot.synthetic.timelines import Timeline, parametric

TIMELINES, LOOK, FIRST_VIDEO = 0, 1, 2
"""Streams of random numbers of a task; the n-th video, counted from 0, has stream ``FIRST_VIDEO + n``."""


@dataclass(frozen=True)
class VideoPlan:
    """Everything one video is made of; ``video`` and ``annotation`` are paths below the root, with forward slashes.

    ``names`` are those of the key steps, and the seeds those of the task's look and of this video's pictures.
    """

    task: str
    video: str
    annotation: str
    timeline: Timeline
    names: tuple[str, ...]
    look_seed: int
    seed: int

    @property
    def K(self) -> int:
        """Number of key steps of the task."""
        return len(self.names)


def video_names(settings: SynthSettings) -> dict[str, list[str]]:
    """Return the names of the videos of every task."""
    digits = max(2, len(str(settings.n_videos)))
    return {
        task: [f"{task}_{number:0{digits}d}" for number in range(1, settings.n_videos + 1)] for task in settings.tasks
    }


def clip_path(task: str, name: str) -> str:
    """Return the path of a video below the root: a folder per task."""
    return f"{task}/{name}.mp4"


DrawTimelines = Callable[[int, SynthSettings, np.random.Generator], list[Timeline]]
"""K, settings and random numbers -> what happens in the videos of a task with K key steps."""


def plan(settings: SynthSettings, draw: DrawTimelines = parametric) -> list[VideoPlan]:
    """Return the plan of a dataset, a function of its settings alone; ``draw`` makes the timelines of a task."""
    videos = []
    for task, names in video_names(settings).items():
        look_seed = seed_of(settings.seed, task, LOOK)
        steps = tuple(step_names(task_look(settings.K, look_seed)))
        timelines = draw(settings.K, settings, np.random.default_rng(seed_of(settings.seed, task, TIMELINES)))
        for take, (name, timeline) in enumerate(zip(names, timelines, strict=True)):
            seed = seed_of(settings.seed, task, FIRST_VIDEO + take)
            paths = clip_path(task, name), f"{task}/{name}.csv"
            videos.append(VideoPlan(task, *paths, timeline, steps, look_seed, seed))
    return videos


def seed_of(seed: int, task: str, stream: int) -> int:
    """Mix seed, task name and stream, so that a task is the same whatever is written next to it."""
    return int(np.random.SeedSequence([seed, zlib.crc32(task.encode()), stream]).generate_state(1)[0])
