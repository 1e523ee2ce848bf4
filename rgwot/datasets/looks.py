"""What a folder without tasks looks like."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from rgwot.datasets.arrays import OPENERS
from rgwot.datasets.base import FoundTask
from rgwot.datasets.names import VIDEO_SUFFIXES
from rgwot.datasets.pairing import parents, walk
from rgwot.runtime.errors import RgwotError

_FEATURES = frozenset(OPENERS) - {".csv"}
_SHOWN = 3


class NoTaskFound(RgwotError):
    """A folder in which a layout finds no task."""


def no_task(dataset: str, layout: str, root: Path, expected: str) -> NoTaskFound:
    """Return the error that no task was found below a root, with what the folder looks like instead."""
    where = f"datasets.{dataset}: no task found in {root}"
    paths = walk(root, root, {*VIDEO_SUFFIXES, *_FEATURES})
    videos = [path for path in paths if PurePosixPath(path).suffix.lower() in VIDEO_SUFFIXES]
    features = [path for path in paths if path not in set(videos)]
    wanted, others = (features, videos) if layout.strip().casefold() == "features" else (videos, features)
    what, other = ("features", "videos") if wanted is features else ("videos", "features")
    if not wanted and others:
        remedy = (
            "features without videos are `layout: features` with a block `imported`"
            if other == "features"
            else "videos are `layout: folder`"
        )
        return NoTaskFound(f"{where}; this looks like {other} only, such as {others[0]}; {remedy}")
    flat = [path for path in wanted if not parents(path)]
    if flat and len(flat) == len(wanted):
        resolved = root.absolute()
        return NoTaskFound(
            f"{where}; this looks like the folder of one task, {resolved.name}, with {what} such as {flat[0]}; the "
            f"root is the folder above it: set root to {resolved.parent}, or move the {what} into a folder per task"
        )
    if not paths:
        return NoTaskFound(f"{where}; there is no video and no file of features in it; expected {expected}")
    return NoTaskFound(f"{where}; there are {what} such as {wanted[0]}, but not as expected: {expected}")


def tasks_inside(found: FoundTask) -> Sequence[str]:
    """Return the folders below that of a task that hold all of its videos, none of them the task's own.

    Where there are several, they are likely to be the tasks, and the root a level too high.
    """
    inner = [parents(video.path)[1:2] for video in found.videos]
    if not all(inner):
        return ()
    folders = sorted({folder for (folder,) in inner})
    return folders if len(folders) > 1 else ()


def listed(names: Sequence[str]) -> str:
    """Return a few names and how many more there are."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
