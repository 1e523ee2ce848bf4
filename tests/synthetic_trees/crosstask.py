"""Trees of CrossTask: the release with its lists, and videos next to the release."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from rgwot.datasets.pairing import by_task
from rgwot.datasets.registry import tasks_of
from rgwot.synthetic.timelines import TimelineSegment
from synthetic_trees.base import Content, Place, TaskPlaces, TreeSettings, TreeVideo, step_first

_RELEASE = "crosstask_release"
# Tasks in the order of the release, which is neither that of their numbers nor that of any paper.
_ORDER = (
    "23521 59684 71781 113766 105222 94276 53193 105253 44047 76400 16815 95603 109972 44789 40567 77721 87706 91515"
)
_RELATED = {"900001": ("Fold a Paper Boat", "fold half,press crease"), "900002": ("Polish a Spoon", "rub,rinse,dry")}
_README = "Synthetic clips laid out like the CrossTask release.\n"
# File suffixes that download tools leave.
_CONTAINERS = (".mp4", ".webm", ".mkv")
_OVERLAP_S = 0.2
# Every fourth file has overlapping rows, as 744 of the 2750 released files, and rows out of order, as 49 of them.
_EVERY, _ODD_ONE = 4, 1


def tasks(settings: TreeSettings) -> list[TaskPlaces]:
    """Return the tasks that the settings ask for, with the place of every video."""
    facts = {row.task: row for row in tasks_of("crosstask")}
    known = {task: facts[task] for task in _ORDER.split()}
    listed = []
    for task in settings.tasks or known:
        # Users keep videos in a folder per task, or all in one; tasks alternate between the two.
        rank = list(known).index(task)
        folder = f"{task}/" if rank % 2 else ""
        places = []
        for take in range(settings.n_videos):
            video, suffix = _video_id(task, take), _CONTAINERS[(rank + take) % len(_CONTAINERS)]
            annotation = f"{_RELEASE}/annotations/{task}_{video}.csv"
            places.append(Place(video, f"videos/{folder}{video}{suffix}", annotation, take))
        listed.append(TaskPlaces(task, known[task].step_ids, tuple(places)))
    return listed


def _video_id(task: str, take: int) -> str:
    """Return 11 characters like a YouTube id; the first of a task begins with ``-``, the second has a ``_``."""
    digest = hashlib.sha256(f"{task}/{take}".encode()).digest()
    video = base64.urlsafe_b64encode(digest).decode()[:11]
    return {0: f"-{video[1:]}", 1: f"{video[:4]}_{video[5:]}"}.get(take, video)


def files(videos: Sequence[TreeVideo]) -> dict[str, Content]:
    """Return annotations and lists by their path below the root."""
    titles = {row.task: row.name for row in tasks_of("crosstask")}
    own_videos = by_task(videos, lambda video: video.task)
    made: dict[str, Content] = {
        f"{_RELEASE}/readme.txt": _README,
        f"{_RELEASE}/tasks_primary.txt": "".join(
            _block(task, titles[task], ",".join(own[0].names)) for task, own in own_videos.items()
        ),
        f"{_RELEASE}/tasks_related.txt": "".join(_block(task, *facts) for task, facts in _RELATED.items()),
    }
    return made | {video.place.annotation: step_first(video, annotated_rows(video)) for video in videos}


def _block(task: str, title: str, steps: str) -> str:
    address = f"http://www.wikihow.com/{title.replace(' ', '-')}"
    return f"{task}\n{title}\n{address}\n{steps.count(',') + 1}\n{steps}\n\n"


def annotated_rows(video: TreeVideo) -> list[TimelineSegment]:
    """Return the rows of a video's file, in the order of the file.

    In every fourth file some rows overlap and one is out of order, such that painting them in the order of
    the file gives the planned labels, and painting them in any other order does not.
    """
    segments = list(video.timeline.segments)
    if video.place.take % _EVERY != _ODD_ONE or len(segments) < 2:
        return segments
    place = max(range(len(segments)), key=lambda index: segments[index].end_s - segments[index].start_s)
    longest = segments[place]
    length = longest.end_s - longest.start_s
    middle, overlap = longest.start_s + length / 2, min(_OVERLAP_S, length / 4)
    halves = [
        TimelineSegment(longest.start_s, middle + overlap, longest.key_step),
        TimelineSegment(middle - overlap, longest.end_s, longest.key_step),
    ]
    other = next((segment.key_step for segment in segments if segment.key_step != longest.key_step), None)
    # Add a row of another step inside the longest segment; it is overwritten by later rows, but not if rows are sorted.
    hidden = [] if other is None else [TimelineSegment(middle - overlap / 2, middle + overlap, other)]
    return [*segments[:place], *hidden, *halves, *segments[place + 1 :]]
