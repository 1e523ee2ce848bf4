"""Annotated segments: what every reader returns, and the checks they all share."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from rgwot.datasets.faults import DataFault, judged, refuse, remark
from rgwot.datasets.text import excerpt

if TYPE_CHECKING:
    import pandas as pd

TOLERATED_S = 1.0
"""Seconds a segment may end after its video before the pair is taken for a wrong one."""

_ROUNDING_S = 1e-6
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class VideoClock:
    """Duration in seconds and exact rate of the video an annotation belongs to."""

    duration_s: float
    fps: Fraction


@dataclass(frozen=True)
class Segment:
    """One annotated interval ``[start_s, end_s)`` and the place it was read from, such as ``line 3``."""

    where: str
    start_s: float
    end_s: float
    step_id: int
    name: str


@dataclass(frozen=True)
class Annotation:
    """The key steps of one video.

    Attributes
    ----------
    segments
        Columns ``start_s,end_s`` (seconds), ``step_id`` (as in the file), ``name``; in file order, because a
        later row wins where segments overlap. No rows: the video cannot be scored.
    warnings
        One line each, naming the file and, where there is one, the line.
    overlaps, overlap_s
        Number of segments that start before an earlier one has ended, and the seconds covered more than once.
    """

    segments: pd.DataFrame
    warnings: tuple[str, ...] = ()
    overlaps: int = 0
    overlap_s: float = 0.0

    @property
    def empty(self) -> bool:
        """Whether no step is annotated."""
        return self.segments.empty


class Notes:
    """Collects complaints of a file so that each kind is one warning, however many rows it concerns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[str, list[str]] = {}

    def add(self, rule: str, where: str, message: str) -> None:
        """Note that ``message``, about a rule, holds at ``where``."""
        remark(rule, self._path, where, message)
        self._places.setdefault(message, []).append(where)

    def lines(self) -> tuple[str, ...]:
        """Return one line per kind of complaint."""
        return tuple(f"{self._path}: {_listed(places)}: {message}" for message, places in self._places.items())


def _listed(places: Sequence[str]) -> str:
    shown = ", ".join(places[:5])
    return shown if len(places) <= 5 else f"{shown} and {len(places) - 5} more"


def seconds(text: str, path: Path, where: str, line: str) -> float:
    """Read a time in seconds with a decimal point.

    Raises
    ------
    DataFault
        If the text is empty, no number, not finite, negative, or in clock or comma notation.
    """
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if math.isfinite(value) and value >= 0:
        return value + 0.0
    if not text:
        found = "a missing time"
    elif value < 0:
        found = f"the negative time {excerpt(text)}"
    elif ":" in text:
        found = f"the clock time {excerpt(text)}"
    elif "," in text:
        found = f"the decimal comma {excerpt(text)}"
    else:
        found = f"{excerpt(text)} as a time"
    raise DataFault(
        "time",
        path,
        where,
        f"{found} in {excerpt(line)}; expected finite seconds from 0 with a decimal point, like 12.5; correct it",
    )


def step_number(digits: str, path: Path, where: str, line: str, step_ids: Collection[int] | None) -> int:
    """Read a step id and check it against the task's list.

    Parameters
    ----------
    digits
        An optional sign and digits.
    path, where, line
        For messages.
    step_ids
        The ids the task has; None accepts every id from 1.

    Raises
    ------
    DataFault
        If the id is below 1 (0 means background and is never stored) or not in the list.
    """
    step = int(digits)
    if step < 1:
        raise DataFault(
            "step",
            path,
            where,
            f"step id {step} in {excerpt(line)}; expected ids from 1; "
            "background is what no row covers, so delete such rows (are these the labels of another release?)",
        )
    if step_ids is not None and step not in step_ids:
        raise DataFault(
            "step",
            path,
            where,
            f"step id {step} in {excerpt(line)}; expected one of {id_ranges(step_ids)}; "
            "check that the file belongs to this task",
        )
    return step


def id_ranges(ids: Iterable[int]) -> str:
    """Write ids briefly.

    >>> id_ranges([1, 2, 3, 5])
    '1-3, 5'
    """
    runs: list[list[int]] = []
    for value in sorted(ids):
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _clipped(segment: Segment, path: Path, clock: VideoClock, notes: Notes) -> Segment:
    beyond = segment.end_s - clock.duration_s
    if beyond > TOLERATED_S or segment.start_s > clock.duration_s:
        raise DataFault(
            "past_end",
            path,
            segment.where,
            f"segment {segment.start_s:g}-{segment.end_s:g} s of a video of {clock.duration_s:g} s; "
            "expected it to end with the video; wrong video, rate or unit?",
        )
    if beyond <= 0:
        return segment
    if beyond > _ROUNDING_S:
        notes.add("past_end", segment.where, f"ends after the video ({clock.duration_s:g} s); clipped")
    return replace(segment, end_s=clock.duration_s)


def _overlap(segments: Sequence[Segment]) -> tuple[int, float]:
    count, covered_twice, reached = 0, 0.0, -math.inf
    for segment in sorted(segments, key=lambda item: (item.start_s, item.end_s)):
        if segment.start_s < min(reached, segment.end_s):
            count += 1
            covered_twice += min(reached, segment.end_s) - segment.start_s
        reached = max(reached, segment.end_s)
    return count, covered_twice


def checked(
    path: Path,
    segments: Iterable[Segment],
    notes: Notes,
    clock: VideoClock | None,
    *,
    overlap_is_normal: bool,
) -> Annotation:
    """Apply the rules that hold for every layout and build the table.

    Parameters
    ----------
    path
        The file, for messages.
    segments
        As read, in file order.
    notes
        Complaints so far; the checks add to them.
    clock
        Duration and rate of the video; None skips the checks that need them.
    overlap_is_normal
        Whether the layout's releases overlap by nature, so that overlaps are counted but not warned about.

    Raises
    ------
    DataFault
        If a segment ends before it starts, starts after the video or ends more than a second after it.
    """
    import pandas as pd

    kept: dict[tuple[float, float, int, str], Segment] = {}
    for segment in segments:
        if segment.end_s < segment.start_s:
            found = f"end {segment.end_s:g} before start {segment.start_s:g}"
            refuse(DataFault("time_order", path, segment.where, f"{found}; expected start <= end; swap the two times"))
            continue
        if clock is not None:
            clipped = None
            with judged():
                clipped = _clipped(segment, path, clock, notes)
            if clipped is None:
                continue
            segment = clipped
        key = (segment.start_s, segment.end_s, segment.step_id, segment.name)
        if key in kept:
            notes.add("duplicate", segment.where, "repeats an earlier row; dropped")
            continue
        length = segment.end_s - segment.start_s
        if length == 0 or (clock is not None and length * clock.fps < 1):
            notes.add("short", segment.where, "shorter than a frame; kept, but it labels one frame or none")
        kept[key] = segment
    overlaps, overlap_s = _overlap(list(kept.values()))
    if overlaps and not overlap_is_normal:
        notes.add(
            "overlap", "overlap", f"{overlaps} segments overlap for {overlap_s:g} s; the later row of the file wins"
        )
    frame = pd.DataFrame(
        {
            "start_s": pd.Series([key[0] for key in kept], dtype="float64"),
            "end_s": pd.Series([key[1] for key in kept], dtype="float64"),
            "step_id": pd.Series([key[2] for key in kept], dtype="int64"),
            "name": pd.Series([key[3] for key in kept], dtype="object"),
        }
    )
    return Annotation(frame, notes.lines(), overlaps, overlap_s)


def remapped_ids(annotations: Iterable[Annotation]) -> dict[int, int]:
    """Number the ids that occur, ascending, from 1 to K'.

    Ids of a release can have holes, and some steps never occur; scoring works on 1 to K'.
    """
    ids = sorted({int(step) for annotation in annotations for step in annotation.segments["step_id"]})
    return {step: number for number, step in enumerate(ids, start=1)}


def step_names(annotations: Iterable[Annotation]) -> Mapping[int, str]:
    """Return the commonest spelling of every step id (the first seen among equals), or an empty text."""
    spellings: dict[int, Counter[str]] = {}
    for annotation in annotations:
        for step, name in zip(annotation.segments["step_id"], annotation.segments["name"], strict=True):
            spellings.setdefault(int(step), Counter()).update([name] if name else [])
    return {step: next(iter(counts.most_common(1)), ("", 0))[0] for step, counts in spellings.items()}
