"""What every layout takes and gives: options, and the videos of each task paired with annotations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from rgwot.datasets.annotations import Annotation, VideoClock
from rgwot.datasets.registry import TaskFacts
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.timing import parse_rate


@dataclass(frozen=True)
class VideoEntry:
    """One video of a task.

    Attributes
    ----------
    video
        Id, see `rgwot.datasets.names.video_id`.
    name
        Stem of the file.
    path
        Relative to the dataset's root, with ``/``.
    annotation
        Relative to the root; None when there is none.
    part
        Position within the annotation file from 0, where one file annotates a whole task.
    """

    video: str
    name: str
    path: str
    annotation: str | None
    part: int | None = None


@dataclass(frozen=True)
class FoundTask:
    """The videos of one task, what could not be paired, and why the task cannot be used (None: it can).

    ``unusable`` holds path and reason of every file whose name is the problem; they are not among the rest.
    """

    videos: tuple[VideoEntry, ...] = ()
    without_annotation: tuple[str, ...] = ()
    without_video: tuple[str, ...] = ()
    problem: str | None = None
    unusable: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Found:
    """What lies on disk for one dataset.

    A fault of one task is kept with it and raised when that task is asked for, so that it stops no other.

    Attributes
    ----------
    dataset
        Id of the dataset.
    where
        What was searched, for messages.
    tasks
        By task id; only tasks of which something was found.
    unassigned
        Videos that belong to no known task, relative to the root.
    """

    dataset: str
    where: str
    tasks: Mapping[str, FoundTask]
    unassigned: tuple[str, ...] = ()

    def of(self, task: str, at_least: int = 1) -> tuple[VideoEntry, ...]:
        """Return the videos of a task, sorted by id.

        Parameters
        ----------
        task
            Id of the task.
        at_least
            Videos needed; procedure learning compares two videos, so training needs two.

        Raises
        ------
        RgwotError
            If the task was not found, cannot be used or has too few videos.
        """
        if task not in self.tasks:
            found = f"found {', '.join(sorted(self.tasks))}" if self.tasks else "found no video of any task"
            stray = f"; {len(self.unassigned)} videos fit no task, like {self.unassigned[0]}" if self.unassigned else ""
            raise RgwotError(
                f"{self.dataset}/{task}: no video in {self.where} ({found}{stray}); expected at least "
                f"{at_least}; add its videos or leave the task out"
            )
        entry = self.tasks[task]
        if entry.problem is not None:
            raise RgwotError(f"{self.dataset}/{task}: {entry.problem}")
        if len(entry.videos) < at_least:
            raise RgwotError(too_few_videos(self.dataset, task, len(entry.videos), at_least, self.where))
        return entry.videos


def too_few_videos(dataset: str, task: str, n_videos: int, at_least: int, where: str) -> str:
    """Return the line that tells a user that a task has too few usable videos."""
    return (
        f"{dataset}/{task}: {n_videos} usable {'video' if n_videos == 1 else 'videos'} in {where}; "
        f"expected at least {at_least}; add videos or leave the task out"
    )


@dataclass(frozen=True)
class Options:
    """What the configuration may say about a dataset besides its layout and root; a layout uses some of them.

    Attributes
    ----------
    view
        Camera number, or a name of the registry such as ``ego``.
    subset
        Registered dataset whose files these are, when the dataset has an id of its own.
    strict
        Whether videos and annotations without a partner are an error instead of a warning.
    unannotated
        What becomes of videos without annotation: left out, as published work does, or kept for training.
    drop_rows
        Video names whose rows in ``readme.txt`` are deleted before pairing (ProceL).
    frames_fps
        The videos are frames stored in HDF5 files: how many per second, or ``file``, where each file says so itself.
    """

    view: str | None = None
    subset: str | None = None
    strict: bool = False
    unannotated: Literal["leave_out", "keep"] = "leave_out"
    drop_rows: tuple[str, ...] = ()
    frames_fps: Fraction | Literal["file"] | None = None

    @property
    def told_fps(self) -> Fraction | None:
        """Frames per second of stored frames whose file states none."""
        return None if self.frames_fps == "file" else self.frames_fps

    @classmethod
    def of(cls, values: Mapping[str, Any], allowed: Collection[str], where: str) -> Options:
        """Build options from configuration values; None means not given.

        Raises
        ------
        RgwotError
            If an option is not one the layout knows, or its value is of the wrong kind.
        """
        given = {key: value for key, value in values.items() if value is not None}
        for key in given:
            if key not in allowed:
                raise RgwotError(f"{where}: option {key!r}; this layout has no such option; {nearest(key, allowed)}")
        if given.get("unannotated", "keep") not in ("keep", "leave_out"):
            raise RgwotError(f"{where}: unannotated is {given['unannotated']!r}; expected leave_out or keep")
        if not isinstance(given.get("strict", True), bool):
            raise RgwotError(f"{where}: strict is {given['strict']!r}; expected true or false")
        if isinstance(given.get("drop_rows"), str):
            raise RgwotError(f"{where}: drop_rows is {given['drop_rows']!r}; expected a list of video names")
        if "view" in given:
            given["view"] = str(given["view"])
        if "drop_rows" in given:
            given["drop_rows"] = tuple(map(str, given["drop_rows"]))
        if given.get("frames_fps", "file") != "file":
            try:
                given["frames_fps"] = parse_rate(given["frames_fps"])
            except ValueError:
                raise RgwotError(
                    f"{where}: frames_fps is {given['frames_fps']!r}; expected file, or a rate like 30 or 30000/1001"
                ) from None
        return cls(**given)


class Layout(Protocol):
    """A module that reads one layout, with a constant ``ABOUT`` (`rgwot.config.about`).

    Attributes
    ----------
    OPTIONS
        Names of the `Options` it uses.
    EXPECTED
        The tree expected below the root, in a few words for messages.
    """

    OPTIONS: frozenset[str]
    EXPECTED: str

    def find(self, root: Path, dataset: str, options: Options) -> Found:
        """Find the videos of every task by one directory walk, opening no video."""

    def read_annotation(
        self,
        root: Path,
        entry: VideoEntry,
        facts: TaskFacts | None,
        clock: VideoClock | None,
        options: Options,
    ) -> Annotation:
        """Read the annotation of a video that has one."""


@runtime_checkable
class ListedLayout(Protocol):
    """A layout whose release brings lists that reading it does not need."""

    def check_lists(self, root: Path, dataset: str) -> None:
        """Complain, see `rgwot.datasets.faults`, where the lists do not fit each other or the annotations."""
