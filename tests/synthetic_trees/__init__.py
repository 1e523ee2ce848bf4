"""Synthetic clips in the folder trees of released datasets, which the layout modules of `rgwot.datasets` read.

``tests/write_tree.py`` writes a tree from the command line.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from videos import write_scene

from rgwot.synthetic.appearance import step_names, task_look
from rgwot.synthetic.timelines import FIRST_VIDEO, FPS, LOOK, TIMELINES, Timeline, TimelineSegment, parametric, seed_of
from rgwot.synthetic.videos import Scene
from synthetic_trees import crosstask, egoprocel, procel
from synthetic_trees.base import TaskPlaces, TreeSettings, TreeVideo, three_column_files

__all__ = ["TreeSettings", "TreeVideo", "files", "plan", "task_places", "write_tree"]

#: For every layout, a function that returns its tasks with their videos, and a function that returns all other files.
LAYOUTS: dict[str, Any] = {
    "egoprocel": (egoprocel.tasks, three_column_files),
    "procel": (procel.tasks, procel.files),
    "crosstask": (crosstask.tasks, crosstask.files),
}


def task_places(settings: TreeSettings) -> list[TaskPlaces]:
    """Return the tasks that the settings ask for, with the place of every video."""
    places: list[TaskPlaces] = LAYOUTS[settings.layout][0](settings)
    return places


def plan(settings: TreeSettings) -> list[TreeVideo]:
    """Return the plan of a tree, a function of its settings alone."""
    videos = []
    for task in task_places(settings):
        rng = np.random.default_rng(seed_of(settings.seed, task.task, TIMELINES))
        timelines = parametric(len(task.step_ids), settings, rng)
        look_seed = seed_of(settings.seed, task.task, LOOK)
        called = tuple(step_names(task_look(len(task.step_ids), look_seed)))
        for place in task.places:
            # Every camera of a take has its own pictures; the first camera has the same pictures as a single camera.
            pictures = task.task if place.lead_frames == 0 else f"{task.task} {place.camera}"
            seed = seed_of(settings.seed, pictures, FIRST_VIDEO + place.take)
            timeline = _led_in(timelines[place.take], place.lead_frames)
            plan = task.task, place.video, place.annotation, timeline, called, look_seed, seed
            videos.append(TreeVideo(*plan, task.step_ids, task.label, place))
    return videos


def _led_in(timeline: Timeline, frames: int) -> Timeline:
    """Return the timeline for a camera that started ``frames`` frames earlier."""
    if not frames:
        return timeline
    lead_s = frames / FPS
    later = (
        TimelineSegment(round(start + lead_s, 3), round(end + lead_s, 3), step)
        for start, end, step in timeline.segments
    )
    return Timeline(timeline.duration_s + lead_s, tuple(later))


def files(layout: str, videos: list[TreeVideo]) -> dict[str, bytes]:
    """Return every file except the videos, by its path below the root."""
    made = LAYOUTS[layout][1](videos)
    return {path: content.encode() if isinstance(content, str) else content for path, content in made.items()}


def write_tree(settings: TreeSettings, root: Path, jobs: int = 1) -> None:
    """Write a tree below ``root``, ``jobs`` videos at the same time."""
    videos = plan(settings)
    for path, content in files(settings.layout, videos).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        list(pool.map(partial(_write_one, root=root, size=(settings.width, settings.height)), videos))


def _write_one(video: TreeVideo, root: Path, size: tuple[int, int]) -> None:
    look = task_look(video.K, video.look_seed)
    write_scene(root / video.place.video, Scene(look, video.timeline, video.seed, *size), video.place.fps)
