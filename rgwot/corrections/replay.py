"""Replaying corrections on a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from rgwot.corrections.edits import Edit, Segment, Step
from rgwot.timing import BACKGROUND

#: Videos that a key step is remembered by, at most: those in which it takes longest.
MOST_VIDEOS = 12

REPORT_COLUMNS = ("edit", "by", "when", "why", "holds", "reason")

Row = tuple[int, int, int]
"""Start and end in milliseconds, and key step."""


class Corrected(NamedTuple):
    """A corrected result.

    Attributes
    ----------
    segments
        The table with corrected segments of scope ``task``. Key steps keep their numbers; a new one has the next.
    report
        A row per edit, in order: ``edit, by, when, why``, whether it ``holds`` here, else the ``reason``.
    names
        Names of key steps, by number.
    """

    segments: pd.DataFrame
    report: pd.DataFrame
    names: dict[int, str]


def apply_corrections(
    segments: pd.DataFrame, edits: Sequence[Edit], names: Mapping[int, str] | None = None
) -> Corrected:
    """Replay corrections on the segments of a task, in order; what does not fit is reported, never forced.

    A key step of an edit is the one whose time, in the videos that the edit names and the result has, shares more than
    half of their union with the segments of the edit (intersection over union above 1/2, so there is at most one); a
    segment likewise. Where an edit has nothing left to do, because the result is already so, it holds. Key steps that
    get one name are one. Times count to the millisecond; borders that no edit touches stay as they are.

    Parameters
    ----------
    segments
        ``video, start_s, end_s, key_step``, of every video without gaps from 0 on; with a column ``scope`` those of
        scope ``task`` count, and others stay as they are.
    edits
        `rgwot.corrections.parse_edits` makes them from plain data.
    names
        Names that key steps have before.
    """
    scoped = "scope" in segments
    own = segments[segments["scope"] == "task"] if scoped else segments
    result = Result(own, names or {})
    reasons = [result.replay(edit) for edit in edits]
    rows = [
        (one.edit, one.by, one.when, one.why, not reason, reason) for one, reason in zip(edits, reasons, strict=True)
    ]
    report = pd.DataFrame(rows, columns=list(REPORT_COLUMNS)).astype({"holds": bool})
    present = {step for parts in result.rows.values() for _, _, step in parts}
    kept = {step: name for step, name in sorted(result.names.items()) if step in present}
    if not report["holds"].any():
        return Corrected(segments.copy(), report, kept)
    table = result.table()
    if scoped:
        others = segments[segments["scope"] != "task"]
        table = pd.concat([table.assign(scope="task"), others], ignore_index=True)
    return Corrected(table[list(segments.columns)], report, kept)


def reference(segments: pd.DataFrame, step: int) -> tuple[Segment, ...]:
    """Return what a key step is remembered by: all its segments in the videos in which it takes longest.

    At most `MOST_VIDEOS` of them; the segments are those of scope ``task``, times to the millisecond.
    """
    own = segments[segments["key_step"] == step]
    if "scope" in own:
        own = own[own["scope"] == "task"]
    lengths = (own["end_s"] - own["start_s"]).round(3).groupby(own["video"]).sum()
    longest = lengths.sort_values(ascending=False, kind="stable").index[:MOST_VIDEOS]
    own = own[own["video"].isin(longest)]
    return tuple(
        (str(video), ms(start) / 1000, ms(end) / 1000)
        for video, start, end in zip(own["video"], own["start_s"], own["end_s"], strict=True)
    )


def ms(seconds: float) -> int:
    """Return seconds in whole milliseconds."""
    return int(np.rint(seconds * 1000))


class Result:
    """The segments of every video in milliseconds, the borders that they came from, and names."""

    def __init__(self, segments: pd.DataFrame, names: Mapping[int, str]) -> None:
        self.rows: dict[str, list[Row]] = {}
        self.exact: dict[str, dict[int, float]] = {}
        self.names = dict(names)
        for video, own in segments.groupby("video", sort=False):
            parts = own.sort_values("start_s", kind="stable")[["start_s", "end_s", "key_step"]]
            rows = [(ms(start), ms(end), int(step)) for start, end, step in parts.itertuples(index=False)]
            self.rows[str(video)] = joined(rows)
            borders = pd.concat([parts["start_s"], parts["end_s"]]).tolist()
            self.exact[str(video)] = {ms(border): float(border) for border in borders}
        # Of a number that is gone, or has a name, no new key step takes the place.
        self.last = max((*self.names, *(step for parts in self.rows.values() for _, _, step in parts)), default=0)

    def table(self) -> pd.DataFrame:
        """Return the segments as a table ``video, start_s, end_s, key_step``."""
        found = [
            (video, self.exact[video].get(start, start / 1000), self.exact[video].get(end, end / 1000), step)
            for video, rows in self.rows.items()
            for start, end, step in rows
        ]
        return pd.DataFrame(found, columns=["video", "start_s", "end_s", "key_step"]).astype({"key_step": "int64"})

    def replay(self, edit: Edit) -> str:
        """Make an edit; return why it does not fit, or nothing."""
        return _EDITS[edit.edit](self, edit)

    def new(self) -> int:
        """Return the number of a new key step."""
        self.last += 1
        return self.last

    def shared(self, wanted: Iterable[Segment]) -> tuple[Counter[int], int]:
        """Return the time that every key step has in segments, and their time, in videos of the result."""
        shared: Counter[int] = Counter()
        total = 0
        for video, start_s, end_s in wanted:
            for start, end, step in self.rows.get(video, []):
                if (both := min(end, ms(end_s)) - max(start, ms(start_s))) > 0:
                    shared[step] += both
            if video in self.rows:
                total += ms(end_s) - ms(start_s)
        return shared, total

    def step(self, wanted: Step) -> int | None:
        """Return the key step that segments mean, None where there is none."""
        if isinstance(wanted, int):
            return wanted if any(step == wanted for rows in self.rows.values() for _, _, step in rows) else None
        shared, total = self.shared(wanted)
        whole: Counter[int] = Counter()
        for video in {video for video, _, _ in wanted} & self.rows.keys():
            for start, end, step in self.rows[video]:
                whole[step] += end - start
        found = (step for step, both in shared.items() if 2 * both > total + whole[step] - both and step != BACKGROUND)
        return next(found, None)

    def mostly(self, wanted: Step) -> int | None:
        """Return what has more than half of the time of segments, a key step or background."""
        if isinstance(wanted, int):
            return self.step(wanted)
        shared, total = self.shared(wanted)
        return next((step for step, both in shared.items() if 2 * both > total), None)

    def segment(self, wanted: Segment) -> Row | None:
        """Return the segment of a key step that is meant, None where there is none."""
        video, start_s, end_s = wanted
        for start, end, step in self.rows.get(video, []):
            both = min(end, ms(end_s)) - max(start, ms(start_s))
            union = max(end, ms(end_s)) - min(start, ms(start_s))
            if step != BACKGROUND and 2 * both > union:
                return start, end, step
        return None

    def paint(self, video: str, start: int, end: int, step: int, only: int | None = None) -> None:
        """Give the time from start to end to a key step, or what ``only`` has of it."""
        parts: list[Row] = []
        for first, last, own in self.rows[video]:
            left, right = max(first, start), min(last, end)
            if left < right and only in (None, own):
                parts += [(first, left, own), (left, right, step), (right, last, own)]
            else:
                parts.append((first, last, own))
        self.rows[video] = joined(parts)

    def become(self, step: int, other: int) -> None:
        """Make one key step part of another; its name goes with it where the other has none."""
        for video, rows in self.rows.items():
            self.rows[video] = joined([(start, end, other if own == step else own) for start, end, own in rows])
        name = self.names.pop(step, None)
        if name and other != BACKGROUND:
            self.names.setdefault(other, name)

    def called(self, name: str) -> int | None:
        """Return the key step of a name."""
        return next((step for step, own in sorted(self.names.items()) if own == name), None)


def joined(rows: Iterable[Row]) -> list[Row]:
    """Return rows without empty ones, neighbours of one key step as one."""
    found: list[Row] = []
    for start, end, step in rows:
        if end <= start:
            continue
        if found and found[-1][1] == start and found[-1][2] == step:
            found[-1] = (found[-1][0], end, step)
        else:
            found.append((start, end, step))
    return found


def _missing(result: Result, *wanted: Step) -> str:
    """Say why there is no key step for segments."""
    if gone := [one for one in wanted if isinstance(one, int) and result.step(one) is None]:
        return f"there is no key step {gone[0]} here"
    videos = {video for one in wanted if not isinstance(one, int) for video, _, _ in one}
    if videos and not videos & result.rows.keys():
        return "none of its videos is in this result"
    return "no key step here has more than half in common with it"


def _merge(result: Result, edit: Edit) -> str:
    one, other = result.step(edit.step), result.step(edit.into)
    if one is None or other is None:
        # Another result may have them as one already.
        both = result.mostly(edit.step)
        return "" if both and both == result.mostly(edit.into) else _missing(result, edit.step, edit.into)
    if one != other:
        result.become(one, other)
    return ""


def _rename(result: Result, edit: Edit) -> str:
    step = result.step(edit.step)
    if step is None:
        return _missing(result, edit.step)
    other = result.called(edit.name)
    result.names[step] = edit.name
    if other not in (None, step):
        result.become(step, other)
    return ""


def _split(result: Result, edit: Edit) -> str:
    # Another result may have them apart already.
    alone = None if isinstance(edit.step, int) else _apart(result, edit.step, edit.part)
    if alone is None:
        step = result.step(edit.step)
        if step is None:
            return _missing(result, edit.step)
        if not result.shared(edit.part)[0][step]:
            return "nothing of the part is in this key step"
        alone = result.new()
        for video, start_s, end_s in edit.part:
            if video in result.rows:
                result.paint(video, ms(start_s), ms(end_s), alone, only=step)
    if edit.name:
        result.names[alone] = edit.name
    return ""


def _apart(result: Result, step: tuple[Segment, ...], part: tuple[Segment, ...]) -> int | None:
    """Return the key step that a part is already, if the rest of what it was part of is not in it."""
    alone, videos = result.step(part), {video for video, _, _ in step}
    if alone is None:
        return None
    (inside, own), (of_part, of_own) = result.shared(step), result.shared(one for one in part if one[0] in videos)
    return alone if 2 * (inside[alone] - of_part[alone]) <= own - of_own else None


def _background(result: Result, edit: Edit) -> str:
    step = result.step(edit.step)
    if step is not None:
        result.become(step, BACKGROUND)
    elif result.mostly(edit.step) != BACKGROUND:
        return _missing(result, edit.step)
    return ""


def _delete(result: Result, edit: Edit) -> str:
    assert edit.segment is not None
    found = result.segment(edit.segment)
    if found is not None:
        result.paint(edit.segment[0], found[0], found[1], BACKGROUND)
    elif result.mostly((edit.segment,)) != BACKGROUND:
        return _no_segment(result, edit.segment)
    return ""


def _no_segment(result: Result, segment: Segment) -> str:
    if segment[0] not in result.rows:
        return "its video is not in this result"
    return "no segment here has more than half in common with it"


def _border(result: Result, edit: Edit) -> str:
    assert edit.segment is not None
    video, found = edit.segment[0], result.segment(edit.segment)
    if found is None:
        return _no_segment(result, edit.segment)
    start, end, step = found
    at = result.rows[video].index(found)
    if edit.end is not None:
        old, new, beyond = end, ms(edit.end), result.rows[video][at + 1 : at + 2]
        left, gains = new > start, new > end
    else:
        assert edit.start is not None
        old, new, beyond = start, ms(edit.start), result.rows[video][max(0, at - 1) : at]
        left, gains = new < end, new < start
    if not left:
        return "nothing of the segment would be left"
    other = beyond[0][2] if beyond else BACKGROUND
    result.paint(video, min(old, new), max(old, new), step if gains else other)
    return ""


def _assign(result: Result, edit: Edit) -> str:
    assert edit.segment is not None
    video, start_s, end_s = edit.segment
    shared, _ = result.shared([edit.segment])
    if not shared:
        return "its video is not in this result" if video not in result.rows else "the video has ended by then"
    step = result.step(edit.step) if edit.step else None if edit.name else BACKGROUND
    if step is None and edit.name:
        step = result.called(edit.name) or result.new()
        result.names[step] = edit.name
    if step is None:
        return _missing(result, edit.step)
    result.paint(video, ms(start_s), ms(end_s), step)
    return ""


#: What every kind of edit does to a result; it returns why it does not fit, or nothing.
_EDITS: Mapping[str, Callable[[Result, Edit], str]] = {
    "merge": _merge,
    "rename": _rename,
    "split": _split,
    "background": _background,
    "delete": _delete,
    "border": _border,
    "assign": _assign,
}
