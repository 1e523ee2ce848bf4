"""The two loops of the chain minimum compiled, operation by operation those of `rgwot.keysteps.chain`.

Imported when a chain is long enough to pay for it: numba takes 0.15 s to import. The machine code is kept beside this
file (or in numba's cache folder), so compiling, a second, is done once per machine.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def _compiled(function: Any) -> Any:
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        # Neither this folder nor the home folder can be written.
        return numba.njit(nogil=True)(function)


def _potts(costs: Floats, edges: Floats) -> Floats:
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


def _linear(costs: Floats, edges: Floats) -> Floats:
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
        slope = weight * (K - 1)
        cheapest = best[t - 1, K - 1] + slope
        for a in range(K - 1, -1, -1):
            slope = weight * a
            cheapest = min(cheapest, best[t - 1, a] + slope)
            best[t, a] = costs[t, a] + min(best[t, a], cheapest - slope)
    return best


def _path(best: Floats, edges: Floats, distance: Floats) -> NDArray[np.int64]:
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
        stay = best[t, following] + edges[t] * distance[following, following]
        labels[t] = following if stay <= cheapest else choice
    return labels


#: By metric: costs (T, K), edges (T - 1,) -> M (T, K).
FORWARD = {"potts": _compiled(_potts), "linear": _compiled(_linear)}
#: M (T, K), edges (T - 1,), distance (K, K) -> labels (T,).
path = _compiled(_path)
