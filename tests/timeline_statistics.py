"""Statistics of timelines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from rgwot.synthetic.settings import SynthSettings
from rgwot.synthetic.timelines import FPS, Timeline, TimelineSegment, mean_discordance


def clips_of(n_videos: int, min_s: float, max_s: float, **changes: object) -> SynthSettings:
    return SynthSettings(n_videos=n_videos, min_s=min_s, max_s=max_s, **changes)


def statistics(tables: Sequence[Sequence[TimelineSegment]], durations: Sequence[float], K: int) -> tuple[float, ...]:
    """Return foreground F, missing M, repeated R and order variation tau of a task.

    With u distinct steps and g segments in a video: F is the mean share of a video that steps cover, M is
    1 - sum(u) / (K N), R is 1 - sum(u) / sum(g) over all N videos together, and tau is the mean normalised
    Kendall distance between the orders of first occurrence, over pairs of videos and the steps both contain.
    """
    shares, orders = [], []
    for table, duration in zip(map(sorted, tables), durations, strict=True):
        covered = reached = 0.0
        for start, end, _ in table:
            covered += max(0.0, end - max(start, reached))
            reached = max(reached, end)
        shares.append(covered / duration)
        orders.append(list(dict.fromkeys(segment.key_step for segment in table)))
    distinct, total = sum(map(len, orders)), sum(map(len, tables))
    return np.mean(shares), 1 - distinct / (K * len(tables)), 1 - distinct / total, mean_discordance(orders)


def measured(timelines: list[Timeline], K: int) -> tuple[float, ...]:
    return statistics([t.segments for t in timelines], [t.duration_s for t in timelines], K)


def step_seconds(timelines: list[Timeline], K: int) -> np.ndarray:
    rows = [s for t in timelines for s in t.segments]
    return np.bincount([s.key_step for s in rows], weights=[s.end_s - s.start_s for s in rows], minlength=K + 1)[1:]


def assert_sound(timelines: list[Timeline], K: int) -> None:
    for timeline in timelines:
        assert (timeline.duration_s * FPS) == pytest.approx(round(timeline.duration_s * FPS), abs=1e-9)
        assert timeline.segments[0].start_s >= 0.0
        assert timeline.segments[-1].end_s <= timeline.duration_s
        for segment in timeline.segments:
            assert segment.end_s > segment.start_s
            assert 1 <= segment.key_step <= K
        for earlier, later in pairwise(timeline.segments):
            assert earlier.end_s <= later.start_s
            if earlier.key_step == later.key_step:
                assert earlier.end_s < later.start_s, "a repeat without a pause is not a repeat"
