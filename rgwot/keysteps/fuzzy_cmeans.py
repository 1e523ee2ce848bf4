"""Fuzzy C-means with memberships in the log domain and its collapse detected (methods 5.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rgwot.evaluation.collapse import UNIFORM_MEMBERSHIP, membership_contrast
from rgwot.keysteps.fuzzifier import centred

# Distance of two centres, relative to the spread of the samples, below which they are one centre.
SAME_CENTRE = 1e-2


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
        Updates made by the start that was kept.
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
    max_iterations: int = 150,
    tolerance: float = 1e-5,
    restarts: int = 4,
    start: Literal["far_apart", "random"] = "far_apart",
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
        Starts; the one with the smallest J is kept. Four, because below m = 2 the objective has the local
        minima of k-means, and a seed should not decide the score; each start costs what one run costs.
    start
        ``far_apart``: each start takes K samples far apart (k-means++) as centres. ``random``: random normalised
        memberships, as in the public code (methods 5.1).
    initial
        Memberships (T, K) to start from, once; replaces the restarts.

    Returns
    -------
    FuzzyCMeans

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
    offsets, mean = centred(x)
    if initial is not None and np.shape(initial) != (len(offsets), K):
        raise ValueError(f"initial memberships: found shape {np.shape(initial)}, expected ({len(offsets)}, {K})")
    if not offsets.any():
        return _identical(offsets, mean, K)
    floor = _rounding(offsets)
    if initial is not None:
        starts = iter([np.asarray(initial, dtype=offsets.dtype)])
    elif start == "random":
        drawn = (generator.random((len(offsets), K)).astype(offsets.dtype) for _ in range(restarts))
        starts = (u / u.sum(axis=1, keepdims=True) for u in drawn)
    else:
        far_apart = (_far_apart(offsets, K, generator, floor) for _ in range(restarts))
        starts = (memberships(offsets, centres, m, floor) for centres in far_apart)
    found = (_run(offsets, u, m, floor, max_iterations, tolerance) for u in starts)
    best = min(found, key=lambda partition: partition.objective)
    return replace(best, centres=best.centres + mean)


def memberships(x: NDArray[Any], centres: NDArray[Any], m: float, floor: float = 0.0) -> NDArray[Any]:
    """Return u (T, K) = softmax_k(-log |x_t - c_k|^2 / (m - 1)).

    Rows do not depend on each other, so any number of samples can be done in pieces.

    Parameters
    ----------
    x, centres
        (T, D) and (K, D), best with the overall mean subtracted from both.
    m
        Fuzzifier, above 1. The power |x - c|^(-2/(m - 1)) itself overflows for m near 1, its logarithm does
        not.
    floor
        Squared distances below it count as it. A sample on a centre gets membership 1 there, and equal shares
        when several centres coincide.
    """
    return _softmax(squared_distances(x, centres, floor), m)


def unseen_memberships(x: NDArray[Any], seen: NDArray[Any], clusters: FuzzyCMeans, m: float) -> NDArray[Any]:
    """Return the memberships u (T, K) of samples that the centres were not made from.

    Parameters
    ----------
    x
        New samples (T, D).
    seen
        Samples (T', D) of which ``clusters`` is the partition; where new ones are the same, so are memberships.
    clusters, m
        Result and fuzzifier of `fuzzy_cmeans`.
    """
    offsets, mean = centred(seen)
    floor = _rounding(offsets)
    return memberships(np.asarray(x, dtype=offsets.dtype) - mean, clusters.centres - mean, m, floor)


def _rounding(offsets: NDArray[Any]) -> float:
    """Return the rounding of |x|^2 - 2 x.c + |c|^2: smaller distances are indistinguishable from none."""
    power = float(np.mean(np.einsum("td,td->t", offsets, offsets)))
    return float(np.finfo(offsets.dtype).eps) * power


def _run(
    x: NDArray[Any], u: NDArray[Any], m: float, floor: float, max_iterations: int, tolerance: float
) -> FuzzyCMeans:
    K = u.shape[1]
    centres = np.zeros((K, x.shape[1]), dtype=x.dtype)
    converged = False
    iterations = 0
    while iterations < max_iterations and not converged:
        weights = u**m
        totals = weights.sum(axis=0)
        # A centre so far from everything that its weights vanish has no mean to move to and stays.
        filled = totals > np.finfo(x.dtype).tiny / np.finfo(x.dtype).eps
        centres[filled] = (weights.T @ x)[filled] / totals[filled, None]
        squared = squared_distances(x, centres, floor)
        updated = _softmax(squared, m)
        converged = bool(np.linalg.norm(updated - u) <= tolerance)
        u = updated
        iterations += 1
    distinct = _distinct(centres, SAME_CENTRE * float(np.sqrt(np.mean(np.einsum("td,td->t", x, x)))))
    return FuzzyCMeans(
        memberships=u,
        centres=centres,
        objective=float(np.sum(u**m * squared, dtype=np.float64)),
        iterations=iterations,
        converged=converged,
        distinct_centres=distinct,
        collapsed=K > 1 and (distinct == 1 or membership_contrast(u) < UNIFORM_MEMBERSHIP),
    )


def _identical(offsets: NDArray[Any], mean: NDArray[Any], K: int) -> FuzzyCMeans:
    return FuzzyCMeans(
        memberships=np.full((len(offsets), K), 1 / K, dtype=offsets.dtype),
        centres=np.tile(mean, (K, 1)),
        objective=0.0,
        iterations=0,
        converged=True,
        distinct_centres=1,
        collapsed=K > 1,
    )


def squared_distances(x: NDArray[Any], centres: NDArray[Any], floor: float = 0.0) -> NDArray[Any]:
    """Return |x_t - c_k|^2 (T, K), at least ``floor`` and above 0; x (T, D) and c (K, D) best near the origin."""
    squared = np.einsum("td,td->t", x, x)[:, None] - 2 * (x @ centres.T)
    squared += np.einsum("kd,kd->k", centres, centres)
    smallest = max(floor, float(np.finfo(squared.dtype).tiny))
    return np.asarray(np.maximum(squared, smallest, out=squared))


def _softmax(squared: NDArray[Any], m: float) -> NDArray[Any]:
    logits = np.log(squared) / (1 - m)
    logits -= logits.max(axis=1, keepdims=True)
    u = np.exp(logits, out=logits)
    u /= u.sum(axis=1, keepdims=True)
    return np.asarray(u)


def _far_apart(x: NDArray[Any], K: int, generator: np.random.Generator, floor: float) -> NDArray[Any]:
    """Draw K samples, each with probability proportional to its squared distance from those before it."""
    chosen = [int(generator.integers(len(x)))]
    nearest = np.full(len(x), np.inf)
    while len(chosen) < K:
        squared = squared_distances(x, x[chosen[-1:]], floor)[:, 0].astype(np.float64)
        nearest = np.minimum(nearest, np.where(squared > 4 * floor, squared, 0.0))
        total = nearest.sum()
        # With fewer different samples than centres some sample has to serve twice.
        chosen.append(int(generator.choice(len(x), p=nearest / total) if total > 0 else generator.integers(len(x))))
    return x[chosen]


def _distinct(centres: NDArray[Any], radius: float) -> int:
    kept: list[NDArray[Any]] = []
    for centre in centres:
        if all(np.linalg.norm(centre - other) > radius for other in kept):
            kept.append(centre)
    return len(kept)
