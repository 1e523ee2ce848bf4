"""Ground truth of clips: key-step segments, and the statistics a task's timelines are judged by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

FPS = 30
"""Frames per second of clips, where a layout knows no other rate; clip lengths are whole numbers of these frames."""


class Segment(NamedTuple):
    """One stretch ``[start_s, end_s)`` of key step 1..K; times in seconds."""

    start_s: float
    end_s: float
    key_step: int


@dataclass(frozen=True)
class Timeline:
    """Ground truth of one clip: sorted segments without overlap in ``[0, duration_s)``, else background."""

    duration_s: float
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Statistics:
    """Foreground F, missing M, repeated R and order variation tau of one task."""

    foreground: float
    missing: float
    repeated: float
    order_distance: float


def kendall_distance(first: Sequence[int], second: Sequence[int]) -> float:
    """Share of discordant pairs among the steps both orders contain.

    Parameters
    ----------
    first, second
        Key steps in order of first occurrence, each at most once.

    Returns
    -------
    float
        In [0, 1]: 0 for the same order, 1 for the reverse, NaN when fewer than two steps are shared.

    Examples
    --------
    >>> kendall_distance([1, 2, 3], [1, 3, 2, 7])
    0.3333333333333333
    """
    rank = {step: place for place, step in enumerate(second)}
    places = [rank[step] for step in first if step in rank]
    pairs = list(combinations(places, 2))
    if not pairs:
        return float("nan")
    return sum(earlier > later for earlier, later in pairs) / len(pairs)


def statistics(tables: Sequence[Sequence[Segment]], durations: Sequence[float], K: int) -> Statistics:
    """Measure F, M, R and tau of one task.

    With u distinct steps and g segments in a video: F is the mean share of a video that steps cover, M is
    1 - sum(u) / (K N), R is 1 - sum(u) / sum(g) over all N videos together, and tau is the mean normalised
    Kendall distance between the orders of first occurrence, over pairs of videos and the steps both contain.

    Parameters
    ----------
    tables
        Per video its segments ``(start_s, end_s, key_step)``, in any order; overlaps are counted once in F.
    durations
        Per video its length in seconds.
    K
        Number of key steps of the task.

    Returns
    -------
    Statistics
        ``order_distance`` is NaN when no two videos share two steps.

    Raises
    ------
    ValueError
        If the numbers of tables and durations differ, or no video has a segment.
    """
    if len(tables) != len(durations):
        raise ValueError(f"found {len(tables)} segment tables and {len(durations)} durations; expected one each")
    ordered = [sorted(Segment(*row) for row in table) for table in tables]
    total = sum(len(table) for table in ordered)
    if total == 0:
        raise ValueError("found no segment in any video; expected at least one")
    shares, orders = [], []
    for table, duration in zip(ordered, durations, strict=True):
        covered = reached = 0.0
        for start, end, _ in table:
            covered += max(0.0, end - max(start, reached))
            reached = max(reached, end)
        shares.append(covered / duration)
        orders.append(list(dict.fromkeys(segment.key_step for segment in table)))
    distinct = sum(len(order) for order in orders)
    return Statistics(
        foreground=float(np.mean(shares)),
        missing=1.0 - distinct / (K * len(ordered)),
        repeated=1.0 - distinct / total,
        order_distance=mean_distance(orders),
    )


def mean_distance(orders: Sequence[Sequence[int]]) -> float:
    """Mean of `kendall_distance` over pairs of orders that share two steps; NaN when there is none."""
    distances = np.array([kendall_distance(a, b) for a, b in combinations(orders, 2)])
    distances = distances[~np.isnan(distances)]
    return float(distances.mean()) if distances.size else float("nan")


def whole_frames(seconds: float) -> float:
    """Round a length in seconds to whole frames, at least one."""
    return max(1, round(seconds * FPS)) / FPS


def floor_ms(seconds: float) -> float:
    """Round down to milliseconds, the grid of the annotation files."""
    return int(seconds * 1000.0 + 1e-6) / 1000.0
