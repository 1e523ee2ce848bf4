"""The interface of layouts: options, and the videos of each task paired with annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rgwot.datasets.annotations import Annotation
from rgwot.datasets.registry import TaskFacts
from rgwot.datasets.settings import Options
from rgwot.runtime.errors import RgwotError
from rgwot.timing import VideoInfo


@dataclass(frozen=True)
class VideoEntry:
    """A video of a task: its id (`rgwot.datasets.names.video_id`), the stem of its file, and the paths of its files.

    Paths are relative to the dataset's root, with ``/``; ``annotation`` is None without an annotation. If one file
    annotates a whole task, ``part`` is the position of the video in it, from 0.
    """

    video: str
    name: str
    path: str
    annotation: str | None
    part: int | None = None


@dataclass(frozen=True)
class TaskFiles:
    """The videos of a task, the files that could not be paired, and the problem of an unusable task (or None).

    ``unusable`` has the path and reason of every file whose name is unusable or repeated, ``left_out`` the files of
    DeepLabCut that `rgwot.datasets.names.points_chosen` excludes, and ``not_read`` files of kinds that are not read
    (`rgwot.datasets.names.way_in`); these files are not in the other fields.
    """

    videos: tuple[VideoEntry, ...] = ()
    without_annotation: tuple[str, ...] = ()
    without_video: tuple[str, ...] = ()
    problem: str | None = None
    unusable: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()
    not_read: tuple[str, ...] = ()


@dataclass(frozen=True)
class DatasetFiles:
    """The files of a dataset at ``where``: its tasks by id.

    The fault of a task is raised only when that task is used, so that it does not stop other tasks. Videos of no known
    task are ``unassigned``; other files that may be a part of the study, but lie in no task, are ``stray``.
    """

    dataset: str
    where: str
    tasks: Mapping[str, TaskFiles]
    unassigned: tuple[str, ...] = ()
    stray: tuple[str, ...] = ()

    def of(self, task: str) -> tuple[VideoEntry, ...]:
        """Return the videos of a task, sorted by id.

        Raises RgwotError if the task was not found, cannot be used or has no video.
        """
        if task not in self.tasks:
            tasks = f"found {', '.join(sorted(self.tasks))}" if self.tasks else "found no video of any task"
            stray = (
                f"; {len(self.unassigned)} videos fit no task, such as {self.unassigned[0]}" if self.unassigned else ""
            )
            raise RgwotError(
                f"{self.dataset}/{task}: no video in {self.where} ({tasks}{stray}); expected at least 1; "
                "add its videos or leave the task out"
            )
        entry = self.tasks[task]
        if entry.problem is not None:
            raise RgwotError(f"{self.dataset}/{task}: {entry.problem}")
        if not entry.videos:
            raise RgwotError(too_few_videos(self.dataset, task, 0, 1, self.where))
        return entry.videos


def too_few_videos(dataset: str, task: str, n_videos: int, at_least: int, where: str) -> str:
    """Return the message that a task has too few usable videos."""
    return (
        f"{dataset}/{task}: {n_videos} usable {'video' if n_videos == 1 else 'videos'} in {where}; "
        f"expected at least {at_least}; add videos or leave the task out"
    )


class Layout(Protocol):
    """The module of a layout of `rgwot.datasets.settings.LAYOUTS`."""

    OPTIONS: frozenset[str]  #: names of the `Options` that the layout uses
    EXPECTED: str  #: the tree expected below the root, in a few words for messages

    def find(self, root: Path, dataset: str, options: Options) -> DatasetFiles:
        """Find the videos of every task by one directory walk, opening no video.

        Raises RgwotError if the tree is not as expected, or an option does not fit it.
        """

    def read_annotation(
        self, root: Path, entry: VideoEntry, facts: TaskFacts | None, clock: VideoInfo | None, options: Options
    ) -> Annotation:
        """Read the annotation of a video that has one."""
