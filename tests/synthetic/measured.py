"""The statistics that a task's timelines are judged by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rgwot.synthetic.ground_truth import Segment
from rgwot.synthetic.timelines import mean_distance


@dataclass(frozen=True)
class Statistics:
    """Foreground F, missing M, repeated R and order variation tau of one task."""

    foreground: float
    missing: float
    repeated: float
    order_distance: float


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
