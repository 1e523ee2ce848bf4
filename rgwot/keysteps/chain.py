"""The exact minimum of the chain energy by dynamic programming (methods 5.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.energy import Metric, check_problem, label_distance

Message = Callable[[NDArray[np.float64], float], NDArray[np.float64]]

COMPILED_FROM = 50_000
"""Samples from which the compiled loops save more (3 microseconds each) than importing numba costs.

Nothing else decides, so a problem is solved by the same loops whatever the process did before.
"""


def minimise_chain(unary: NDArray[Any], weights: NDArray[Any], metric: Metric | NDArray[Any]) -> NDArray[np.int64]:
    """Return labels (T,) of smallest energy sum_t unary[t, l_t] + sum_t weights[t] d(l_t, l_{t+1}).

    M_0 = unary_0, M_t[a] = unary_t[a] + min_b (M_{t-1}[b] + w_{t-1} d(b, a)), then back from the best last
    label.

    Parameters
    ----------
    unary
        (T, K) finite costs.
    weights
        (T - 1,) edge weights >= 0; 0 cuts the chain (see `rgwot.keysteps.energy.edge_weights`).
    metric
        ``potts`` or ``linear``: O(T K), the inner minimum over b taken for all a at once. Or any distance (K,
        K), O(T K^2).

    Returns
    -------
    NDArray[np.int64]
        In 0..K-1. Of equally good labellings one that switches late and to the smallest label.
    """
    costs, edges = check_problem(unary, weights)
    T, K = costs.shape
    if isinstance(metric, str):
        distance = label_distance(K, metric).astype(np.float64)
        if T >= COMPILED_FROM:
            return _compiled(costs, edges, metric, distance)
        message = _potts if metric == "potts" else _linear(K)
    else:
        distance = np.asarray(metric, dtype=np.float64)
        if distance.shape != (K, K):
            raise ValueError(f"distance: found shape {distance.shape}, expected ({K}, {K})")
        message = _generic(distance)
    best = np.empty_like(costs)
    best[0] = costs[0]
    for t in range(1, T):
        best[t] = costs[t] + message(best[t - 1], edges[t - 1])
    labels = np.empty(T, dtype=np.int64)
    labels[-1] = np.argmin(best[-1])
    for t in range(T - 2, -1, -1):
        following = labels[t + 1]
        via = best[t] + edges[t] * distance[:, following]
        choice = np.argmin(via)
        # Staying wins a tie, so that equal costs do not make segments.
        labels[t] = following if via[following] <= via[choice] else choice
    return labels


def _compiled(
    costs: NDArray[np.float64], edges: NDArray[np.float64], metric: Metric, distance: NDArray[np.float64]
) -> NDArray[np.int64]:
    from rgwot.keysteps import chain_compiled

    best = chain_compiled.FORWARD[metric](np.ascontiguousarray(costs), np.ascontiguousarray(edges))
    return np.asarray(chain_compiled.path(best, np.ascontiguousarray(edges), distance), dtype=np.int64)


def _potts(costs: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
    return np.asarray(np.minimum(costs, costs.min() + weight))


def _linear(K: int) -> Message:
    steps = np.arange(K, dtype=np.float64)

    def message(costs: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
        # Distance transform: the cheapest source at or below each label, and at or above it.
        slope = weight * steps
        below = np.minimum.accumulate(costs - slope) + slope
        above = np.minimum.accumulate((costs + slope)[::-1])[::-1] - slope
        return np.asarray(np.minimum(np.minimum(below, above), costs))

    return message


def _generic(distance: NDArray[np.float64]) -> Message:
    def message(costs: NDArray[np.float64], weight: float) -> NDArray[np.float64]:
        return np.asarray((costs[:, None] + weight * distance).min(axis=0))

    return message
