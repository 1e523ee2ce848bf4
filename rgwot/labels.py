"""What people say of arrays, as `rgwot.discover` takes it: labels per feature, or segments, of some of the videos."""

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
"""By name of a video, or one after the other with None for a video without labels: labels (T,), or a table."""

LABEL_COLUMNS = ("label", "name", "step")


def read_labels(labels: Labels, names: Sequence[str], videos: Sequence[VideoFeatures]) -> Given:
    """Return what people say of videos, from labels per feature or from segments.

    Parameters
    ----------
    labels
        By video, whole numbers (T,): key steps from 1, 0 for background, -1 where nothing is said; or a table of
        segments with ``start_s``, ``end_s`` in seconds, and ``key_step``, a name (``label``, ``name`` or ``step``), or
        both. Names without numbers are numbered as they first occur. Between the first and the last segment of a video
        time without a segment is background.
    names
        Names of all videos, in the order in which they were given.
    videos
        Those with a feature.

    Raises
    ------
    RgwotError
        In one line, for labels of a video that is not there, or that do not fit it or each other.
    """
    if not isinstance(labels, Mapping):
        if len(labels) != len(names):
            raise RgwotError(f"labels: found those of {len(labels)} videos, expected {len(names)}, None where unknown")
        labels = dict(zip(names, labels, strict=True))
    known, numbers, labels_of = {video.video: video for video in videos}, _Numbers(), {}
    for name, given in labels.items():
        where = f"labels[{name!r}]"
        if name not in names:
            raise RgwotError(f"{where}: no video of this name; {nearest(str(name), names)}")
        video = known.get(id_of(name))
        if given is None or video is None:
            continue
        labels_here = (
            _of_table(where, given, video, numbers)
            if hasattr(given, "columns")
            else _of_array(where, given, len(video))
        )
        if (labels_here > 0).any():
            labels_of[video.video] = labels_here
    if not labels_of:
        raise RgwotError("labels: found no key step in any video, expected one at least")
    return Given(labels_of, numbers.names, max(int(labels_here.max()) for labels_here in labels_of.values()))


class _Numbers:
    """Key steps by name, and their names by number."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}

    def of(self, where: str, number: int | None, name: str) -> int:
        """Return the number of a key step; RgwotError where it has another name already."""
        if number is None:
            number = next((step for step, other in self.names.items() if other == name), max(self.names, default=0) + 1)
        if name and self.names.setdefault(number, name) != name:
            raise RgwotError(
                f"{where}: key step {number} is called {name!r}, and {self.names[number]!r} elsewhere; expected one "
                "name for a number"
            )
        return number


def _of_array(where: str, given: ArrayLike, length: int) -> NDArray[np.int64]:
    labels = np.asarray(given)
    whole = labels.dtype.kind in "iu" and labels.ndim == 1
    if not whole or len(labels) != length or labels.min(initial=0) < -1:
        least = f"{len(labels)} labels from {labels.min(initial=0)}" if whole else ""
        what = least or f"shape {labels.shape} of {labels.dtype}"
        raise RgwotError(
            f"{where}: found {what}, expected {length} whole numbers, one per feature: key steps from 1, 0 for "
            "background, -1 where nothing is said"
        )
    return labels.astype(np.int64)


def _of_table(where: str, given: pd.DataFrame, video: VideoFeatures, numbers: _Numbers) -> NDArray[np.int64]:
    start, end, name = (
        next((value for value in some if value in given), None) for some in (STARTS, ENDS, LABEL_COLUMNS)
    )
    numbered = "key_step" in given
    if start is None or end is None or (name is None and not numbered):
        raise RgwotError(f"{where}: found columns {list(given.columns)}, expected start_s, end_s and key_step or label")
    table = given.sort_values(start, kind="stable")
    last = float(table[end].max()) if len(table) else 0.0
    if last > video.duration_s + TOLERATED_S:
        raise RgwotError(
            f"{where}: a segment ends at {last:g} s, and the video at {video.duration_s:g} s; expected it to end with "
            "the video; wrong video, rate or unit?"
        )
    steps = []
    for row in table.to_dict("records"):
        text = "" if name is None or row[name] is None else " ".join(str(row[name]).split())
        number = int(row["key_step"]) if numbered else None
        if number == 0 or (number is None and (text.lower() in BACKGROUND_NAMES or text in ("", "0"))):
            steps.append(0)
        else:
            steps.append(numbers.of(where, number, text))
    segments = table[[start, end]].set_axis(["start_s", "end_s"], axis=1).assign(key_step=steps)
    return given_labels(segments, video.time_s)
