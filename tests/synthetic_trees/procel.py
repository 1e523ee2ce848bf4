"""Trees of ProceL as released, with one MATLAB file per task."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from itertools import count, islice
from typing import Any, cast

import numpy as np

from rgwot.datasets.pairing import by_task
from rgwot.datasets.registry import TaskFacts, tasks_of
from synthetic_trees.base import Content, Place, TaskPlaces, TreeSettings, TreeVideo

# The release lists a video that its data file lacks, so all later rows are shifted by one.
LISTED_ONLY = {"perform_cpr": 41}

_CUT_FROM_S = 5
# SciPy begins a file with the time of writing, which would make every file different.
_HEADER = b"MATLAB 5.0 MAT-file, synthetic".ljust(116)


def _numbers(task: str, n_videos: int) -> list[int]:
    """Return the numbers in the names of a task's videos; some numbers are skipped, as in the release."""
    listed_only = LISTED_ONLY.get(task)
    if listed_only is None:
        return list(islice((number for number in count(1) if number % 4 != 2), n_videos))
    first = max(1, listed_only - (n_videos + 1) // 2)
    return list(islice((number for number in count(first) if number != listed_only), n_videos))


def tasks(settings: TreeSettings) -> list[TaskPlaces]:
    """Return the tasks that the settings ask for, with the place of every video."""
    known = {facts.task: facts for facts in tasks_of("procel")}
    rank = {task: number for number, task in enumerate(known)}
    listed = []
    for task in settings.tasks or known:
        facts = known[task]
        names = [f"{facts.code}_{number:04d}" for number in _numbers(task, settings.n_videos)]
        places = (Place(name, *_paths(rank[task], facts, name), take) for take, name in enumerate(names))
        listed.append(TaskPlaces(task, facts.step_ids, tuple(places)))
    return listed


def _paths(rank: int, facts: TaskFacts, name: str) -> tuple[str, str]:
    # The release has no videos: users put them into folders with either name of the task, or all into one folder.
    folder = (f"{facts.task}/", f"{facts.code}/", "")[rank % 3]
    return f"videos/{folder}{name}{('.mp4', '.webm')[rank % 2]}", f"ProceL_dataset/{facts.task}/data.mat"


def files(videos: Sequence[TreeVideo]) -> dict[str, Content]:
    """Return annotations and lists by their path below the root."""
    facts = {row.task: row for row in tasks_of("procel")}
    made: dict[str, Content] = {}
    for task, own in by_task(videos, lambda video: video.task).items():
        made[f"ProceL_dataset/{task}/readme.txt"] = _readme(facts[task], own)
        made[f"ProceL_dataset/{task}/data.mat"] = _data(own)
    return made


def _readme(facts: TaskFacts, videos: Sequence[TreeVideo]) -> str:
    lengths = {video.place.stem: video.timeline.duration_s for video in videos}
    if facts.task in LISTED_ONLY:
        lengths[f"{facts.code}_{LISTED_ONLY[facts.task]:04d}"] = 10.0
    lines = (
        f"https://www.youtube.com/watch?v={name}\t{name}\t{_clock(_CUT_FROM_S)}\t{_clock(_CUT_FROM_S + length)}\n"
        for name, length in sorted(lengths.items())
    )
    return "".join(lines)


def _clock(seconds: float) -> str:
    return f"{math.ceil(seconds) // 60}:{math.ceil(seconds) % 60:02d}"


def _data(videos: Sequence[TreeVideo]) -> bytes:
    """Return ``data.mat``: nested cells, a row per video and in it a row per key step."""
    import scipy.io

    content = {
        "grammar": _cell(videos[0].names),
        "key_steps_time": _cell(_cell(_times_of_steps(video)) for video in videos),
        "superframe_time": _cell(np.array([[0.0, video.timeline.duration_s]]) for video in videos),
    }
    stream = io.BytesIO()
    scipy.io.savemat(cast(Any, stream), content)
    return _HEADER + stream.getvalue()[len(_HEADER) :]


def _cell(items: Iterable[Any]) -> Any:
    rows = list(items)
    column = np.empty((len(rows), 1), dtype=object)
    for row, item in enumerate(rows):
        column[row, 0] = item
    return column


def _times_of_steps(video: TreeVideo) -> list[Any]:
    """Return an array (n, 2) of starts and ends in seconds for each key step, of shape (0, 0) if it is absent."""
    steps: list[list[tuple[float, float]]] = [[] for _ in range(video.K)]
    for start, end, step in video.timeline.segments:
        steps[step - 1].append((round(start, 3), round(end, 3)))
    return [np.array(times) if times else np.zeros((0, 0)) for times in steps]
