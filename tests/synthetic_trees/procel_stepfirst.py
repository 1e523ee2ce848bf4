"""ProceL as step-first files: per task ``mapping.txt``, ``annotations/<video>.csv`` and ``videos/``."""

from __future__ import annotations

from collections.abc import Sequence

from rgwot.datasets.pairing import by_task
from rgwot.datasets.registry import TaskFacts
from synthetic_trees.base import Content, TreeVideo, step_first
from synthetic_trees.procel import tasks_with


def _paths(rank: int, facts: TaskFacts, name: str) -> tuple[str, str]:
    return f"{facts.task}/videos/{name}.mp4", f"{facts.task}/annotations/{name}.csv"


def files(videos: Sequence[TreeVideo]) -> dict[str, Content]:
    """Return annotations and lists by their path below the root."""
    made: dict[str, Content] = {}
    for task, own in by_task(videos, lambda video: video.task).items():
        steps = zip(own[0].step_ids, own[0].names, strict=True)
        made[f"{task}/mapping.txt"] = "".join(f"{number} {name.replace(' ', '_')}\n" for number, name in steps)
        made |= {video.place.annotation: step_first(video) for video in own}
    return made


tasks = tasks_with(_paths)
