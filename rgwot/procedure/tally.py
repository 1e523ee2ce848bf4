"""Recordings as arrays: who did which key step when, and who did which one first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rgwot.procedure.interface import Event, Recording

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

SUBSTANTIAL = 0.5
"""Part of its longest occurrence in the video that an occurrence has to last to give a key step its place."""


def placed(recording: Recording) -> dict[int, Event]:
    """Return the event that gives each key step its place: the first that lasts at least half as long as its longest.

    Key steps that were found flicker: their first occurrence is often a fragment.

    >>> placed(Recording("a", (Event(1, 0, 0.5), Event(2, 1, 4), Event(1, 5, 9), Event(1, 9, 14)), 20))[1]
    Event(key_step=1, start_s=5, end_s=9)
    """
    longest: dict[int, float] = {}
    for step, start_s, end_s in recording.events:
        longest[step] = max(longest.get(step, 0.0), end_s - start_s)
    found: dict[int, Event] = {}
    for event in recording.events:
        if event.end_s - event.start_s >= SUBSTANTIAL * longest[event.key_step]:
            found.setdefault(event.key_step, event)
    return found


@dataclass(frozen=True)
class Tally:
    """Arrays over V videos and K key steps; times in seconds, NaN where a video does not have a key step.

    Attributes
    ----------
    steps
        (K,) the key steps, ascending.
    count
        (V, K) occurrences.
    start, end
        (V, K) start and end of the occurrence that gives its place (`placed`).
    total
        (V, K) time in seconds of all occurrences.
    duration
        (V,) length of the videos in seconds.
    """

    steps: Integers
    count: Integers
    start: Floats
    end: Floats
    total: Floats
    duration: Floats

    @cached_property
    def present(self) -> Booleans:
        """(V, K) whether a video has a key step."""
        return self.count > 0

    @cached_property
    def earlier(self) -> Booleans:
        """(V, K, K) whether a video has both and its [k] begins before its [l] (`placed`); of equal starts, ends."""
        start, end = self.start[:, :, None], self.end[:, :, None]
        other_start, other_end = self.start[:, None, :], self.end[:, None, :]
        found: Booleans = (start < other_start) | ((start == other_start) & (end < other_end))
        return found

    @cached_property
    def agree(self) -> Integers:
        """(K, K) videos in which [k] comes before [l]."""
        found: Integers = self.earlier.sum(axis=0, dtype=np.int64)
        return found

    @cached_property
    def both(self) -> Integers:
        """(K, K) videos that have both key steps."""
        present = self.present.astype(np.int64)
        return present.T @ present

    @cached_property
    def place(self) -> Floats:
        """(K,) median of the middle of the occurrence that gives the place over the length of the video, 0 to 1."""
        middle = (self.start + self.end) / 2 / np.maximum(self.duration, 1e-9)[:, None]
        return np.clip(np.nanmedian(middle, axis=0), 0.0, 1.0) if middle.size else np.zeros(len(self.steps))

    def orders(self) -> list[Integers]:
        """Per video the indices (into ``steps``) of its key steps, in their order."""
        found = []
        for present, start, end in zip(self.present, self.start, self.end, strict=True):
            where = np.flatnonzero(present)
            found.append(where[np.lexsort((self.place[where], end[where], start[where]))])
        return found


def tally(recordings: Sequence[Recording]) -> Tally:
    """Count recordings: the key steps are all that occur in any of them."""
    known = np.array(sorted({event.key_step for one in recordings for event in one.events}), dtype=np.int64)
    index = {int(step): place for place, step in enumerate(known)}
    shape = (len(recordings), len(known))
    count, total = np.zeros(shape, dtype=np.int64), np.zeros(shape)
    start, end = np.full(shape, np.nan), np.full(shape, np.nan)
    for row, recording in enumerate(recordings):
        for step, start_s, end_s in recording.events:
            count[row, index[step]] += 1
            total[row, index[step]] += end_s - start_s
        for step, start_s, end_s in placed(recording).values():
            start[row, index[step]], end[row, index[step]] = start_s, end_s
    return Tally(known, count, start, end, total, np.array([recording.duration_s for recording in recordings]))
