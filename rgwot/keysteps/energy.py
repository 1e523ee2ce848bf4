"""The energy of a labelling of the temporal chain, shared by every solver (methods 5.1).

E(l) = sum_t w_u (1 - u_{t, l_t}) + sum_t w_t d(l_t, l_{t+1})

with d(a, b) = [a != b] (``potts``) or |a - b| (``linear``, the public code) and w_t = pairwise / K. The
linear metric reads the arbitrary index of a cluster as a distance; Potts is invariant to relabelling. Several
videos are one chain with w_t = 0 where one video ends and the next begins: nothing happens between the last
frame of one video and the first of another, so no edge may pull them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Metric = Literal["potts", "linear"]


def label_distance(K: int, metric: Metric) -> NDArray[np.int64]:
    """Return d (K, K) as whole numbers: [a != b] for ``potts``, |a - b| for ``linear``."""
    steps = np.abs(np.subtract.outer(np.arange(K), np.arange(K)))
    if metric == "potts":
        return (steps > 0).astype(np.int64)
    if metric == "linear":
        return steps.astype(np.int64)
    raise ValueError(f"metric: found {metric!r}, expected 'potts' or 'linear'")


def unary_weight(unary: float, per: Literal["second", "sample"], features_fps: float) -> float:
    """Return w_u per sample: ``unary`` itself, or ``unary`` per second divided by the samples per second.

    Per second, the smoothing does not depend on how densely a video was sampled: 3.0 per second is the
    published 0.2 per sample at 15 samples per second.
    """
    if per == "sample":
        return unary
    if per != "second":
        raise ValueError(f"unary_per: found {per!r}, expected 'second' or 'sample'")
    if not features_fps > 0:
        raise ValueError(f"features_fps: found {features_fps}, expected samples per second above 0")
    return unary / features_fps


def unary_costs(memberships: NDArray[Any], weight: float) -> NDArray[np.float64]:
    """Return the cost weight (1 - u) (T, K) of giving each sample each label."""
    return weight * (1 - np.asarray(memberships, dtype=np.float64))


def edge_weights(lengths: Sequence[int], weight: float) -> NDArray[np.float64]:
    """Return w (T - 1,): ``weight`` between neighbours in one video, 0 across the border of two videos.

    Parameters
    ----------
    lengths
        Samples of each video, in the order in which they stand in the chain; at least 1 each.
    weight
        Cost of one step of label distance.

    Examples
    --------
    >>> edge_weights([2, 3], 0.5)
    array([0.5, 0. , 0.5, 0.5])
    """
    if not lengths or min(lengths) < 1:
        raise ValueError(f"lengths: found {list(lengths)}, expected at least one video with at least one sample each")
    weights = np.full(sum(lengths) - 1, float(weight))
    weights[np.cumsum(lengths)[:-1] - 1] = 0
    return weights


def check_problem(unary: NDArray[Any], weights: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return unary costs (T, K) and edge weights (T - 1,) as float64, or say what is wrong with them."""
    costs, edges = np.asarray(unary, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if costs.ndim != 2 or costs.size == 0:
        raise ValueError(f"unary: found shape {costs.shape}, expected (T, K) with T, K >= 1")
    if edges.shape != (len(costs) - 1,):
        raise ValueError(f"edge weights: found shape {edges.shape}, expected ({len(costs) - 1},), one for each edge")
    if not np.isfinite(costs).all() or not np.isfinite(edges).all() or (edges < 0).any():
        raise ValueError("energy: found infinite, NaN or negative terms, expected finite unary and weights >= 0")
    return costs, edges


def energy(labels: NDArray[Any], unary: NDArray[Any], weights: NDArray[Any], distance: NDArray[Any]) -> float:
    """Return E(labels) = sum_t unary[t, l_t] + sum_t weights[t] distance[l_t, l_{t+1}].

    Parameters
    ----------
    labels
        (T,) in 0..K-1.
    unary, weights, distance
        (T, K), (T - 1,) and (K, K).
    """
    costs, edges = check_problem(unary, weights)
    chosen = np.asarray(labels)
    if chosen.shape != (len(costs),):
        raise ValueError(f"labels: found shape {chosen.shape}, expected ({len(costs)},)")
    data = costs[np.arange(len(costs)), chosen].sum()
    return float(data + (edges * distance[chosen[:-1], chosen[1:]]).sum())
