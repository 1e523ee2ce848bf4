"""The order of key steps in a video, and the procedures of a task ranked by frequency (methods 3.9)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Order = tuple[int, ...]


def video_order(key_steps: NDArray[Any], positions: NDArray[Any], weights: NDArray[Any] | None = None) -> Order:
    """Return the key steps present in a video, sorted by their mean normalised time.

    Of equal means the smaller key step comes first.

    Parameters
    ----------
    key_steps
        (T,) key step of each sample or segment, T >= 1.
    positions
        (T,) normalised time in [0, 1]: time (or middle of a segment) over duration.
    weights
        (T,) weight of each entry, such as the length of its segment; default 1.

    Examples
    --------
    >>> video_order(np.array([2, 2, 1]), np.array([0.0, 0.3, 0.6]))
    (2, 1)
    """
    steps, times = np.asarray(key_steps), np.asarray(positions, dtype=np.float64)
    shares = np.ones(len(steps)) if weights is None else np.asarray(weights, dtype=np.float64)
    if steps.ndim != 1 or len(steps) == 0 or not steps.shape == times.shape == shares.shape:
        raise ValueError(
            f"order: found shapes {steps.shape}, {times.shape}, {shares.shape}, expected (T,) each, T >= 1"
        )
    present = np.unique(steps)
    means = {int(step): float(np.average(times[steps == step], weights=shares[steps == step])) for step in present}
    return tuple(sorted(means, key=lambda step: (means[step], step)))


def order_of_segments(segments: pd.DataFrame) -> Order:
    """Return the order of a video's key steps by the mean time of each; ``0`` where all is background."""
    steps = segments[segments["key_step"] > 0]
    if steps.empty:
        return (0,)
    middles = (steps["start_s"] + steps["end_s"]) / 2 / segments["end_s"].max()
    return video_order(steps["key_step"].to_numpy(), middles.to_numpy(), (steps["end_s"] - steps["start_s"]).to_numpy())


def format_order(order: Sequence[int]) -> str:
    """Write an order as it stands in files.

    >>> format_order((3, 1, 2))
    '3>1>2'
    """
    return ">".join(str(step) for step in order)


def mean_ranks(orders: Sequence[Order]) -> dict[int, float]:
    """Return the mean rank (first is 1) of each key step over the orders in which it occurs."""
    ranks: dict[int, list[int]] = defaultdict(list)
    for order in orders:
        for rank, step in enumerate(order, start=1):
            ranks[step].append(rank)
    return {step: sum(found) / len(found) for step, found in ranks.items()}


def rank_procedures(orders: Mapping[str, Order]) -> pd.DataFrame:
    """Rank the different orders of a task by the number of videos that follow them.

    Ties go by the mean rank vector: each order is read as the mean ranks, over all videos of the task, of its
    key steps in turn, and the lexicographically smaller vector comes first: the procedure that starts with
    what usually comes first. What is then still tied goes by the order as text.

    Returns a table ``rank,order,n_videos,share``; ranks from 1, shares add up to 1.
    """
    if not orders:
        raise ValueError("procedures: found no video, expected at least one")
    means = mean_ranks(list(orders.values()))
    counts = Counter(orders.values())

    def place(order: Order) -> tuple[int, tuple[float, ...], str]:
        return -counts[order], tuple(means[step] for step in order), format_order(order)

    ranked = sorted(counts, key=place)
    return pd.DataFrame(
        {
            "rank": range(1, len(ranked) + 1),
            "order": [format_order(order) for order in ranked],
            "n_videos": [counts[order] for order in ranked],
            "share": [counts[order] / len(orders) for order in ranked],
        }
    )
