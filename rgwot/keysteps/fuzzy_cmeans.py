"""Fuzzy C-means with memberships in the log domain and its collapse detected (methods 5.1).

A long sequence is gone through in pieces that stay in the cache, and its starts first go most of their way on a few
thousand evenly spaced samples, since all it takes from there is a better estimate of the same means. Every end is a
fixed point over all samples, to the tolerance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.collapse import UNIFORM_MEMBERSHIP, membership_contrast
from rgwot.keysteps.fuzzifier import Offsets, middle

SAME_CENTRE = 1e-2
"""Distance of two centres, relative to the spread of the samples, below which they are one centre."""

SKETCH = 4096
"""Evenly spaced samples on which starts are moved near their ends first, where there are four times as many."""

NEAR = 1e-5
"""Root mean square change of the memberships of a sample of the sketch from which on all samples are used."""


@dataclass(frozen=True)
class FuzzyCMeans:
    """A fuzzy partition of T samples into K clusters.

    Attributes
    ----------
    memberships
        u (T, K), rows add up to 1.
    centres
        c (K, D).
    objective
        J = sum_t sum_k u_tk^m |x_t - c_k|^2.
    iterations
        Updates over all samples made by the start that was kept.
    converged
        Whether |U - U_old| (Frobenius) fell to the tolerance.
    distinct_centres
        Centres further apart than `SAME_CENTRE` times the spread of the samples.
    collapsed
        Whether all K > 1 centres coincide, or memberships are as good as 1/K: the partition then says
        nothing.
    """

    memberships: NDArray[Any]
    centres: NDArray[Any]
    objective: float
    iterations: int
    converged: bool
    distinct_centres: int
    collapsed: bool


def fuzzy_cmeans(
    x: NDArray[Any],
    K: int,
    m: float,
    generator: np.random.Generator,
    max_iterations: int,
    tolerance: float,
    restarts: int,
    start: Literal["far_apart", "random"],
    initial: NDArray[Any] | None = None,
) -> FuzzyCMeans:
    """Minimise J(U, C) = sum_t sum_k u_tk^m |x_t - c_k|^2 subject to sum_k u_tk = 1.

    Alternates c_k = sum_t u_tk^m x_t / sum_t u_tk^m and u_t = softmax_k(-log |x_t - c_k|^2 / (m - 1)), which
    never raises J.

    Parameters
    ----------
    x
        Embeddings (T, D), T >= 1; float32 is computed in float32, anything else in float64. Over many samples
        only float64 can meet an absolute tolerance of 1e-5, since the rounding of all memberships adds up.
    K
        Number of clusters. May exceed T: centres then coincide and share the memberships.
    m
        Fuzzifier, above 1; towards 1 the partition becomes that of k-means.
    generator
        Source of the starts.
    max_iterations, tolerance
        Ends after so many updates or once |U - U_old| (Frobenius) is at most the tolerance.
    restarts
        Starts; the one with the smallest J is kept. Below m = 2 the objective has the local minima of k-means, and a
        seed should not decide the score.
    start
        ``far_apart``: each start takes K samples far apart (k-means++) as centres. ``random``: random normalised
        memberships, as in the public code (methods 5.1).
    initial
        Memberships (T, K) to start from, once; replaces the restarts.

    Raises
    ------
    ValueError
        For a wrong shape, K < 1, m <= 1, or samples that are not finite.

    Notes
    -----
    The weighted means of random memberships all lie within about spread/sqrt(T) of the overall mean, that is, in
    the collapsed state, which they cannot leave where it attracts (m above 1/(1 - 2 lambda_1)) however good another
    partition may be. Started far apart, seven tight clusters are found even at m = 2, where random memberships
    collapse; loose ones collapse from any start, which is what ``auto`` is for.
    """
    if K < 1 or restarts < 1 or max_iterations < 1:
        raise ValueError(
            f"K, restarts, max_iterations: found {K}, {restarts}, {max_iterations}, expected at least 1 each"
        )
    if not m > 1:
        raise ValueError(f"fuzzifier m: found {m}, expected a value above 1")
    given, mean, identical = middle(x)
    T = len(given)
    if initial is not None and np.shape(initial) != (T, K):
        raise ValueError(f"initial memberships: found shape {np.shape(initial)}, expected ({T}, {K})")
    if identical:
        return FuzzyCMeans(np.full((T, K), 1 / K, dtype=given.dtype), np.tile(mean, (K, 1)), 0.0, 0, True, 1, K > 1)
    samples = Offsets(given, mean)
    sketched = T >= 4 * SKETCH
    # Single precision is enough for drawing samples, and for the sketch.
    dtype = np.float32 if sketched else given.dtype
    drawn = Offsets(np.concatenate([piece.astype(dtype, copy=False) for _, piece in samples]))
    sketch = Offsets(drawn.x[:: T // SKETCH]) if sketched else None
    radius = SAME_CENTRE * float(np.sqrt(np.mean(samples.power)))
    ends: list[NDArray[Any]] = []
    best: _Run | None = None
    for _ in range(restarts if initial is None else 1):
        centres = u = None
        if initial is not None:
            u = np.array(initial, dtype=given.dtype)
        elif start == "random":
            u = generator.random((T, K)).astype(given.dtype)
            u /= u.sum(axis=1, keepdims=True)
        else:
            centres = _far_apart(drawn, K, generator)
        if sketch is not None:
            if centres is None:
                centres = _Run(samples, m, u=u).means()
            near = _Run(sketch, m, centres).until(max_iterations // 2, NEAR * math.sqrt(len(sketch.x)))
            centres, u = near.centres, None
            if any(_same(centres, other, radius) for other in ends):
                continue
            ends.append(centres)
        run = _Run(samples, m, centres, u).until(max_iterations, tolerance)
        if best is None or run.objective < best.objective:
            best = run
    assert best is not None
    distinct = _distinct(best.centres, radius)
    return FuzzyCMeans(
        memberships=best.u,
        centres=best.centres + mean,
        objective=best.objective,
        iterations=best.iterations,
        converged=best.change <= tolerance,
        distinct_centres=distinct,
        collapsed=K > 1 and (distinct == 1 or membership_contrast(best.u) < UNIFORM_MEMBERSHIP),
    )


def memberships(x: NDArray[Any], centres: NDArray[Any], m: float, floor: float = 0.0) -> NDArray[Any]:
    """Return u (T, K) = softmax_k(-log |x_t - c_k|^2 / (m - 1)).

    Of samples (T, D) and centres (K, D), best with the overall mean subtracted from both. Rows do not depend on each
    other, so any number of samples can be done in pieces. The power |x - c|^(-2/(m - 1)) itself overflows for m near
    1, its logarithm does not. Squared distances below ``floor`` count as it: a sample on a centre gets membership 1
    there, and equal shares when several centres coincide.
    """
    return _softmax(squared_distances(x, centres, floor), m)


def unseen_memberships(x: NDArray[Any], seen: NDArray[Any], clusters: FuzzyCMeans, m: float) -> NDArray[Any]:
    """Return the memberships u (T, K) of samples x (T, D) that the centres were not made from.

    ``clusters`` is the partition of the samples ``seen`` (T', D); where new ones are the same, so are memberships.
    """
    samples, mean, identical = middle(seen)
    floor = 0.0 if identical else Offsets(samples, mean).floor
    return memberships(np.asarray(x, dtype=samples.dtype) - mean, clusters.centres - mean, m, floor)


class _Run:
    """One start: memberships u (T, K), centres (K, D), and how far they have come.

    It begins with either of the two. ``sums`` (K, D) and ``totals`` (K,) are those of the samples weighted by u^m,
    from which the next centres follow.
    """

    def __init__(
        self, samples: Offsets, m: float, centres: NDArray[Any] | None = None, u: NDArray[Any] | None = None
    ) -> None:
        self.samples, self.m, self.floor = samples, m, samples.floor
        (T, D), dtype = samples.x.shape, samples.x.dtype
        self.iterations, self.change, self.objective = 0, math.inf, math.inf
        if u is not None:
            self.u, self.centres = u, np.zeros((u.shape[1], D), dtype=dtype)
            self._pass(update=False)
        elif centres is not None:
            self.u, self.centres = np.zeros((T, len(centres)), dtype=dtype), centres.astype(dtype)
            self._pass(update=True)

    def means(self) -> NDArray[Any]:
        """Return the weighted means (K, D); a centre whose weights vanish, far from everything, stays."""
        dtype = self.centres.dtype
        centres = self.centres.copy()
        filled = self.totals > np.finfo(dtype).tiny / np.finfo(dtype).eps
        centres[filled] = self.sums[filled] / self.totals[filled, None]
        return centres

    def until(self, max_iterations: int, tolerance: float) -> Self:
        """Alternate updates of centres and memberships."""
        while self.iterations < max_iterations and not self.change <= tolerance:
            self.centres = self.means()
            self.change = self._pass(update=True)
            self.iterations += 1
        return self

    def _pass(self, update: bool) -> float:
        """Add up weighted samples, after an update of their memberships if wanted; return |U - U_old|."""
        self.sums, self.totals = np.zeros(self.centres.shape), np.zeros(len(self.centres))
        self.objective = 0.0
        changes = []
        for rows, x in self.samples:
            if update:
                squared = squared_distances(x, self.centres, self.floor, self.samples.power[rows])
                u = _softmax(squared, self.m)
                changes.append(float(np.linalg.norm(u - self.u[rows])))
                self.u[rows] = u
                weights = u**self.m
                self.objective += float(np.sum(weights * squared, dtype=np.float64))
            else:
                weights = self.u[rows] ** self.m
            self.totals += weights.sum(axis=0)
            self.sums += weights.T @ x
        return math.hypot(*changes)


def squared_distances(
    x: NDArray[Any], centres: NDArray[Any], floor: float = 0.0, power: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Return |x_t - c_k|^2 (T, K), at least ``floor`` and above 0; x (T, D) and c (K, D) best near the origin.

    ``power`` (T,) is |x_t|^2 for those who have it.
    """
    if power is None:
        power = np.einsum("td,td->t", x, x)
    squared = power[:, None] - 2 * (x @ centres.T)
    squared += np.einsum("kd,kd->k", centres, centres)
    smallest = max(floor, float(np.finfo(squared.dtype).tiny))
    return np.asarray(np.maximum(squared, smallest, out=squared))


def _softmax(squared: NDArray[Any], m: float) -> NDArray[Any]:
    logits = np.log(squared) / (1 - m)
    logits -= logits.max(axis=1, keepdims=True)
    u = np.exp(logits, out=logits)
    u /= u.sum(axis=1, keepdims=True)
    return np.asarray(u)


def _far_apart(samples: Offsets, K: int, generator: np.random.Generator) -> NDArray[Any]:
    """Draw K samples, each with probability proportional to its squared distance from those before it."""
    x, floor = samples.x, samples.floor
    chosen = [int(generator.integers(len(x)))]
    nearest = np.full(len(x), np.inf)
    while len(chosen) < K:
        squared = squared_distances(x, x[chosen[-1:]], floor, samples.power)[:, 0].astype(np.float64)
        nearest = np.minimum(nearest, np.where(squared > 4 * floor, squared, 0.0))
        total = nearest.sum()
        # With fewer different samples than centres some sample has to serve twice.
        chosen.append(int(generator.choice(len(x), p=nearest / total) if total > 0 else generator.integers(len(x))))
    return x[chosen]


def _same(centres: NDArray[Any], others: NDArray[Any], radius: float) -> bool:
    """Return whether two sets of centres (K, D) are one but for their order."""
    near = np.linalg.norm(centres[:, None] - others, axis=2) <= radius
    return bool(near.any(axis=0).all() and near.any(axis=1).all())


def _distinct(centres: NDArray[Any], radius: float) -> int:
    kept: list[NDArray[Any]] = []
    for centre in centres:
        if all(np.linalg.norm(centre - other) > radius for other in kept):
            kept.append(centre)
    return len(kept)
