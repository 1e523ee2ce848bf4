"""The energy of a labelling of the temporal chain, and its exact minimum (methods 5.1).

E(l) = sum_t w_u (1 - u_{t, l_t}) + sum_t w_t d(l_t, l_{t+1})

with d(a, b) = [a != b] (``potts``) or |a - b| (``linear``, the public code) and w_t = pairwise / K. The
linear metric reads the arbitrary index of a cluster as a distance; Potts is invariant to relabelling. Several
videos are one chain with w_t = 0 where one video ends and the next begins: nothing happens between the last
frame of one video and the first of another, so no edge may pull them together. (The public code has that edge.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Metric = Literal["potts", "linear"]
UnaryPer = Literal["second", "sample", "frame_pair"]
Floats = NDArray[np.float64]

COMPILED_FROM = 350_000
"""Costs (T K) from which the loops are compiled, which saves a microsecond each and takes half a second.

Nothing else decides, so a problem is solved by the same code whatever the process did before.
"""


def label_distance(K: int, metric: Metric) -> NDArray[np.int64]:
    """Return d (K, K) as whole numbers: [a != b] for ``potts``, |a - b| for ``linear``."""
    steps = np.abs(np.subtract.outer(np.arange(K), np.arange(K)))
    return (steps > 0 if metric == "potts" else steps).astype(np.int64)


def unary_weight(unary: float, per: UnaryPer, features_fps: float, native_fps: float) -> float:
    """Return w_u of one sample of a video.

    Per second, or per two native frames (the public code cuts every second frame), the smoothing does not depend on how
    densely a video was sampled: 3.0 per second is the published 0.2 per two frames of a video with 30 a second.
    ``unary`` is the weight of what ``per`` names; the rates are samples and frames per second of the video, > 0.
    """
    if per == "sample":
        return unary
    return unary / features_fps if per == "second" else unary * native_fps / 2 / features_fps


def unary_costs(memberships: NDArray[Any], weight: NDArray[Any]) -> Floats:
    """Return the cost weight (1 - u) (T, K) of giving each sample each label, from weights (T,)."""
    return np.asarray(weight[:, None] * (1 - np.asarray(memberships, dtype=np.float64)))


def edge_weights(lengths: Sequence[int], weight: float, joined: bool) -> Floats:
    """Return w (T - 1,): ``weight`` between neighbours in one video, 0 across the border of two unless ``joined``.

    ``lengths`` are the samples of each video in the order of the chain, at least 1 each.

    Examples
    --------
    >>> edge_weights([2, 3], 0.5, joined=False)
    array([0.5, 0. , 0.5, 0.5])
    """
    weights = np.full(sum(lengths) - 1, float(weight))
    if not joined:
        weights[np.cumsum(lengths)[:-1] - 1] = 0
    return weights


def check_problem(unary: NDArray[Any], weights: NDArray[Any]) -> tuple[Floats, Floats]:
    """Return unary costs (T, K) and edge weights (T - 1,) as contiguous float64, or say what is wrong with them."""
    costs, edges = (np.ascontiguousarray(part, dtype=np.float64) for part in (unary, weights))
    if costs.ndim != 2 or costs.size == 0 or edges.shape != (len(costs) - 1,):
        raise ValueError(f"energy: found shapes {costs.shape} and {edges.shape}, expected (T, K) and (T - 1,)")
    if not np.isfinite(costs).all() or not np.isfinite(edges).all() or (edges < 0).any():
        raise ValueError("energy: found infinite, NaN or negative terms, expected finite unary and weights >= 0")
    return costs, edges


def energy(labels: NDArray[Any], unary: NDArray[Any], weights: NDArray[Any], distance: NDArray[Any]) -> float:
    """Return E(labels) = sum_t unary[t, l_t] + sum_t weights[t] distance[l_t, l_{t+1}].

    ``labels`` (T,) lie in 0..K-1; the other shapes are (T, K), (T - 1,) and (K, K).
    """
    costs, edges = check_problem(unary, weights)
    chosen = np.asarray(labels)
    data = costs[np.arange(len(costs)), chosen].sum()
    return float(data + (edges * distance[chosen[:-1], chosen[1:]]).sum())


def minimise_chain(unary: NDArray[Any], weights: NDArray[Any], metric: Metric) -> NDArray[np.int64]:
    """Return labels (T,) of smallest energy sum_t unary[t, l_t] + sum_t weights[t] d(l_t, l_{t+1}).

    M_0 = unary_0, M_t[a] = unary_t[a] + min_b (M_{t-1}[b] + w_{t-1} d(b, a)), then back from the best last
    label. The inner minimum is taken for all a at once, so the whole costs O(T K). Of equally good labellings, in
    0..K-1, one is returned that switches late and to the smallest label.

    Parameters
    ----------
    unary
        (T, K) finite costs.
    weights
        (T - 1,) edge weights >= 0; 0 cuts the chain (see `edge_weights`).
    metric
        ``potts`` or ``linear``.
    """
    costs, edges = check_problem(unary, weights)
    distance = label_distance(costs.shape[1], metric).astype(np.float64)
    forward, back = _forward_potts if metric == "potts" else _forward_linear, _back
    if costs.size >= COMPILED_FROM:
        forward, back = _compiled(forward), _compiled(back)
    return np.asarray(back(forward(costs, edges), edges, distance), dtype=np.int64)


# The loops below are plain Python that numba can compile.


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    import numba

    try:
        # The machine code is kept next to this file or in numba's cache folder.
        return numba.njit(cache=True, nogil=True)(function)  # type: ignore[no-any-return]
    except RuntimeError:
        # Neither this folder nor the home folder can be written.
        return numba.njit(nogil=True)(function)  # type: ignore[no-any-return]


def _forward_potts(costs: Floats, edges: Floats) -> Floats:
    T, K = costs.shape
    best = np.empty_like(costs)
    best[0] = costs[0]
    for t in range(1, T):
        switch = best[t - 1, 0]
        for b in range(1, K):
            switch = min(switch, best[t - 1, b])
        switch += edges[t - 1]
        for a in range(K):
            best[t, a] = costs[t, a] + min(best[t - 1, a], switch)
    return best


def _forward_linear(costs: Floats, edges: Floats) -> Floats:
    """Take the cheapest source at or below each label, then at or above it (a distance transform)."""
    T, K = costs.shape
    best = np.empty_like(costs)
    best[0] = costs[0]
    for t in range(1, T):
        weight = edges[t - 1]
        cheapest = best[t - 1, 0]
        for a in range(K):
            slope = weight * a
            cheapest = min(cheapest, best[t - 1, a] - slope)
            best[t, a] = min(cheapest + slope, best[t - 1, a])
        cheapest = best[t - 1, K - 1] + weight * (K - 1)
        for a in range(K - 1, -1, -1):
            slope = weight * a
            cheapest = min(cheapest, best[t - 1, a] + slope)
            best[t, a] = costs[t, a] + min(best[t, a], cheapest - slope)
    return best


def _back(best: Floats, edges: Floats, distance: Floats) -> NDArray[np.int64]:
    T, K = best.shape
    labels = np.empty(T, dtype=np.int64)
    labels[T - 1] = np.argmin(best[T - 1])
    for t in range(T - 2, -1, -1):
        following = labels[t + 1]
        choice, cheapest = 0, best[t, 0] + edges[t] * distance[0, following]
        for a in range(1, K):
            via = best[t, a] + edges[t] * distance[a, following]
            if via < cheapest:
                choice, cheapest = a, via
        # Staying wins a tie, so that equal costs do not make segments.
        stay = best[t, following] + edges[t] * distance[following, following]
        labels[t] = following if stay <= cheapest else choice
    return labels
