"""What every layout takes and gives: options, and the videos of each task paired with annotations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal, Protocol

from rgwot.datasets.annotation_formats import Hints
from rgwot.datasets.annotations import Annotation
from rgwot.datasets.registry import TaskFacts
from rgwot.runtime.errors import RgwotError
from rgwot.timing import VideoInfo


@dataclass(frozen=True)
class VideoEntry:
    """One video of a task: its id (`rgwot.datasets.names.video_id`), the stem of its file, and where its files are.

    Paths are relative to the dataset's root, with ``/``; ``annotation`` is None when there is none. Where one file
    annotates a whole task, ``part`` is the position of the video in it, from 0.
    """

    video: str
    name: str
    path: str
    annotation: str | None
    part: int | None = None


@dataclass(frozen=True)
class FoundTask:
    """The videos of one task, what could not be paired, and why the task cannot be used (None: it can).

    ``unusable`` holds path and reason of every file whose name is the problem; they are not among the rest. Nor are
    those ``left_out``, which DeepLabCut made and `rgwot.datasets.names.points_chosen` says do not count.
    """

    videos: tuple[VideoEntry, ...] = ()
    without_annotation: tuple[str, ...] = ()
    without_video: tuple[str, ...] = ()
    problem: str | None = None
    unusable: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def points_told(self) -> str:
        """What to say of the files of DeepLabCut that are left out; empty where there are none."""
        kinds = "labelled videos, and tables beside a filtered one or beside a .csv"
        return (
            f"{len(self.left_out)} files of DeepLabCut left out ({kinds}): like {self.left_out[0]}"
            if self.left_out
            else ""
        )


@dataclass(frozen=True)
class Found:
    """The files found for a dataset at ``where``: its tasks by id.

    A fault of one task is kept with it and raised when that task is asked for, so that it stops no other. Videos that
    belong to no known task are ``unassigned``.
    """

    dataset: str
    where: str
    tasks: Mapping[str, FoundTask]
    unassigned: tuple[str, ...] = ()

    def of(self, task: str) -> tuple[VideoEntry, ...]:
        """Return the videos of a task, sorted by id.

        Raises RgwotError if the task was not found, cannot be used or has no video.
        """
        if task not in self.tasks:
            found = f"found {', '.join(sorted(self.tasks))}" if self.tasks else "found no video of any task"
            stray = f"; {len(self.unassigned)} videos fit no task, like {self.unassigned[0]}" if self.unassigned else ""
            raise RgwotError(
                f"{self.dataset}/{task}: no video in {self.where} ({found}{stray}); expected at least 1; "
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


@dataclass(frozen=True)
class Options:
    """What the configuration may say about a dataset besides its layout and root; a layout uses some of them.

    `rgwot.config.configuration.DatasetSettings` says what each of them means.
    """

    view: str | None = None
    subset: str | None = None
    strict: bool = False
    unannotated: Literal["leave_out", "keep"] = "leave_out"
    drop_rows: tuple[str, ...] = ()
    frames_fps: Fraction | Literal["file"] | None = None
    tier: str | None = None
    labels_fps: Fraction | None = None
    features_alone: bool = False
    pattern: str | None = None
    background: tuple[str, ...] = ()
    mapping: str = "mapping.txt"
    split: str | None = None

    @property
    def told_fps(self) -> Fraction | None:
        """Frames per second of stored frames whose file states none."""
        return None if self.frames_fps == "file" else self.frames_fps

    @property
    def hints(self) -> Hints:
        """What annotations of other programs do not say of themselves."""
        return Hints(self.tier, self.labels_fps)


class Layout(Protocol):
    """A module that reads one layout of `rgwot.config.configuration.LAYOUTS`."""

    OPTIONS: frozenset[str]  #: names of the `Options` it uses
    EXPECTED: str  #: the tree expected below the root, in a few words for messages

    def find(self, root: Path, dataset: str, options: Options) -> Found:
        """Find the videos of every task by one directory walk, opening no video.

        Raises RgwotError if the tree is not as expected, or an option does not fit it.
        """

    def read_annotation(
        self, root: Path, entry: VideoEntry, facts: TaskFacts | None, clock: VideoInfo | None, options: Options
    ) -> Annotation:
        """Read the annotation of a video that has one."""
