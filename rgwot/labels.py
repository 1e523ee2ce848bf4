"""The labels of `rgwot.discover`: key steps per feature, or segments, of some of the videos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rgwot.datasets.annotation_formats import ENDS, STARTS
from rgwot.datasets.annotations import BACKGROUND_NAMES, TOLERATED_S
from rgwot.datasets.names import id_of
from rgwot.keysteps.interface import Given
from rgwot.runtime.errors import RgwotError, nearest
from rgwot.timing import given_labels

if TYPE_CHECKING:
    import pandas as pd

    from rgwot.embedding.interface import VideoFeatures

Labels = Mapping[str, Any] | Sequence[Any]
"""Labels (T,) or tables by the name of a video, or in a sequence with None for a video without labels."""

LABEL_COLUMNS = ("label", "name", "step")


def read_labels(labels: Labels, names: Sequence[str], videos: Sequence[VideoFeatures]) -> Given:
    """Read the labels of videos from key steps per feature or from segments.

    Parameters
    ----------
    labels
        For each video whole numbers (T,): key steps from 1, 0 for background, -1 for unlabelled features; or a table of
        segments with ``start_s``, ``end_s`` in seconds, and ``key_step``, a name (``label``, ``name`` or ``step``), or
        both. Names without numbers are numbered in the order of their first occurrence, after the largest number. Time
        without a segment between the first and the last segment of a video is background.
    names
        Names of all videos, in the order of ``labels`` if that is a sequence.
    videos
        The videos that have features.

    Raises
    ------
    RgwotError
        For labels of an unknown video, or labels that do not fit the video or each other.
    """
    if not isinstance(labels, Mapping):
        if len(labels) != len(names):
            raise RgwotError(f"labels: found {len(labels)}, expected {len(names)}, one per video (None for no labels)")
        labels = dict(zip(names, labels, strict=True))
    by_id, numbers, labels_of = {video.video: video for video in videos}, _Numbers(), {}
    # Tables of names alone come last, so that their names get numbers that no other labels have.
    for name, of_video in sorted(labels.items(), key=lambda item: _without_numbers(item[1])):
        where = f"labels[{name!r}]"
        if name not in names:
            raise RgwotError(f"{where}: no video of this name; {nearest(str(name), names)}")
        video = by_id.get(id_of(name))
        if of_video is None or video is None:
            continue
        labels_here = (
            _of_table(where, of_video, video, numbers)
            if hasattr(of_video, "columns")
            else _of_array(where, of_video, len(video))
        )
        numbers.largest = max(numbers.largest, int(labels_here.max(initial=0)))
        if (labels_here > 0).any():
            labels_of[video.video] = labels_here
    if not labels_of:
        raise RgwotError("labels: found no key step in any video, expected at least one")
    labels_of = {video.video: labels_of[video.video] for video in videos if video.video in labels_of}
    return Given(labels_of, numbers.names, max(int(labels_here.max()) for labels_here in labels_of.values()))


class _Numbers:
    """The names of key steps by number; a new name without a number gets the one after the ``largest`` so far."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.largest = 0

    def of(self, where: str, number: int | None, name: str) -> int:
        """Return the number of a key step by number or name; raise RgwotError if a number gets a second name."""
        if number is None:
            number = next((step for step, other in self.names.items() if other == name), self.largest + 1)
        self.largest = max(self.largest, number)
        if name and self.names.setdefault(number, name) != name:
            raise RgwotError(
                f"{where}: key step {number} is called {name!r}, and {self.names[number]!r} elsewhere; expected one "
                "name per number"
            )
        return number


def _of_array(where: str, values: ArrayLike, length: int) -> NDArray[np.int64]:
    labels = np.asarray(values)
    whole = labels.dtype.kind in "iu" and labels.ndim == 1
    if not whole or len(labels) != length or labels.min(initial=0) < -1:
        least = f"{len(labels)} labels from {labels.min(initial=0)}" if whole else ""
        what = least or f"shape {labels.shape} of {labels.dtype}"
        raise RgwotError(
            f"{where}: found {what}, expected {length} whole numbers, one per feature: key steps from 1, 0 for "
            "background, -1 for unlabelled features"
        )
    return labels.astype(np.int64)


def _of_table(where: str, of_video: pd.DataFrame, video: VideoFeatures, numbers: _Numbers) -> NDArray[np.int64]:
    start, end, name = (
        next((value for value in some if value in of_video), None) for some in (STARTS, ENDS, LABEL_COLUMNS)
    )
    numbered = "key_step" in of_video
    if start is None or end is None or (name is None and not numbered):
        raise RgwotError(
            f"{where}: found columns {list(of_video.columns)}, expected start_s, end_s and key_step or label"
        )
    try:
        timed = bool(np.isfinite(of_video[[start, end]].to_numpy(dtype=np.float64)).all())
    except (TypeError, ValueError):
        timed = False
    if not timed:
        raise RgwotError(f"{where}: found a row without times, expected {start} and {end} in seconds in every row")
    table = of_video.sort_values(start, kind="stable")
    last = float(table[end].max()) if len(table) else 0.0
    if last > video.duration_s + TOLERATED_S:
        raise RgwotError(
            f"{where}: a segment ends at {last:g} s, and the video at {video.duration_s:g} s; expected no "
            "segment to end after the video; check video, rate and unit"
        )
    steps = []
    for row in table.to_dict("records"):
        text = "" if name is None or _empty(row[name]) else " ".join(str(row[name]).split())
        number = _whole(where, row["key_step"]) if numbered else None
        if number == 0 or (number is None and (text.lower() in BACKGROUND_NAMES or text in ("", "0"))):
            steps.append(0)
        else:
            steps.append(numbers.of(where, number, text))
    segments = table[[start, end]].set_axis(["start_s", "end_s"], axis=1).assign(key_step=steps)
    return given_labels(segments, video.time_s)


def _without_numbers(of_video: Any) -> bool:
    """Return whether the labels of a video are a table of names alone."""
    return hasattr(of_video, "columns") and "key_step" not in of_video


def _empty(value: Any) -> bool:
    """Return whether a cell is empty: None, or NaN as pandas reads it from a CSV."""
    return value is None or value != value


def _whole(where: str, value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if number < 0 or number != float(value):
        raise RgwotError(
            f"{where}: key_step: found {value!r}, expected whole numbers: key steps from 1, 0 for background"
        )
    return number
