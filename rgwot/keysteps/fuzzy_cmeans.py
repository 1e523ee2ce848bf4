"""Fuzzy C-means with memberships in the log domain and its collapse detected (methods 5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rgwot.config.settings import DecodeSettings
from rgwot.keysteps.collapse import UNIFORM_MEMBERSHIP, membership_contrast
from rgwot.keysteps.fuzzifier import centred

# Distance of two centres, relative to the spread of the samples, below which they are one centre.
SAME_CENTRE = 1e-2


@dataclass(frozen=True)
class FuzzyCMeans:
    """A fuzzy partition of T samples into K clusters: what the start with the smallest objective ended with.

    Attributes
    ----------
    memberships, centres
        u (T, K), whose rows add up to 1, and c (K, D).
    objective
        J = sum_t sum_k u_tk^m |x_t - c_k|^2.
    iterations, converged
        Number of updates, and whether |U - U_old| (Frobenius) fell to the tolerance.
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
    x: NDArray[Any], K: int, m: float, generator: np.random.Generator, settings: DecodeSettings
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
    settings
        It ends after ``max_iterations`` updates or once |U - U_old| (Frobenius) is at most the ``tolerance``. Of
        ``restarts`` starts the one with the smallest J is kept. Four, because below m = 2 the objective has the local
        minima of k-means, and a seed should not decide the score; each start costs what one run costs. ``start`` is
        ``far_apart``: each takes K samples far apart (k-means++) as centres; or ``random``: random normalised
        memberships, as in the public code (methods 5.1).

    Notes
    -----
    The weighted means of random memberships all lie within about spread/sqrt(T) of the overall mean, that is, in
    the collapsed state, which they cannot leave where it attracts (m above 1/(1 - 2 lambda_1)) however good another
    partition may be. Started far apart, seven tight clusters are found even at m = 2, where random memberships
    collapse; loose ones collapse from any start, which is what ``auto`` is for.
    """
    offsets, mean = centred(x)
    if not offsets.any():
        u, centres = np.full((len(offsets), K), 1 / K, dtype=offsets.dtype), np.tile(mean, (K, 1))
        return FuzzyCMeans(u, centres, 0.0, 0, True, distinct_centres=1, collapsed=K > 1)

    def first() -> NDArray[Any]:
        if settings.start == "far_apart":
            return memberships(offsets, _far_apart(offsets, K, generator), m, rounding(offsets))
        u = generator.random((len(offsets), K)).astype(offsets.dtype)
        return np.asarray(u / u.sum(axis=1, keepdims=True))

    limits = settings.max_iterations, settings.tolerance
    found = (alternate(offsets, mean, first(), m, *limits) for _ in range(settings.restarts))
    return min(found, key=lambda partition: partition.objective)


def rounding(offsets: NDArray[Any]) -> float:
    """Return the rounding of |x|^2 - 2 x.c + |c|^2 for samples less their mean (T, D), below which it means nothing."""
    return float(np.finfo(offsets.dtype).eps) * float(np.mean(np.einsum("td,td->t", offsets, offsets)))


def memberships(x: NDArray[Any], centres: NDArray[Any], m: float, floor: float = 0.0) -> NDArray[Any]:
    """Return u (T, K) = softmax_k(-log |x_t - c_k|^2 / (m - 1)).

    Of samples (T, D) and centres (K, D), best with the overall mean subtracted from both. Rows do not depend on each
    other, so any number of samples can be done in pieces. The power |x - c|^(-2/(m - 1)) itself overflows for m near
    1, its logarithm does not. Squared distances below ``floor`` count as it: a sample on a centre gets membership 1
    there, and equal shares when several centres coincide.
    """
    return _softmax(squared_distances(x, centres, floor), m)


def frame_of(seen: NDArray[Any]) -> tuple[NDArray[Any], float]:
    """Return the origin of distances, the mean (D,) of samples (T', D), and their smallest value."""
    offsets, mean = centred(seen)
    return mean, rounding(offsets)


def memberships_in(x: NDArray[Any], centres: NDArray[Any], mean: NDArray[Any], floor: float, m: float) -> NDArray[Any]:
    """Return the memberships u (T, K) of samples (T, D) that the centres (K, D) were not made from.

    Mean and floor are what `frame_of` says of the others; a new sample that is the same as one of these gets the same.
    """
    return memberships(np.asarray(x, dtype=mean.dtype) - mean, centres - mean, m, floor)


def alternate(
    x: NDArray[Any], mean: NDArray[Any], u: NDArray[Any], m: float, max_iterations: int, tolerance: float
) -> FuzzyCMeans:
    """Alternate the two updates from memberships u (T, K) of samples x (T, D) less their mean; see `fuzzy_cmeans`."""
    floor, K = rounding(x), u.shape[1]
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
    spread = float(np.sqrt(np.mean(np.einsum("td,td->t", x, x))))
    distinct = _distinct(centres, SAME_CENTRE * spread)
    uniform = distinct == 1 or membership_contrast(u) < UNIFORM_MEMBERSHIP
    objective = float(np.sum(u**m * squared, dtype=np.float64))
    return FuzzyCMeans(u, centres + mean, objective, iterations, converged, distinct, K > 1 and uniform)


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


def _far_apart(x: NDArray[Any], K: int, generator: np.random.Generator) -> NDArray[Any]:
    """Draw K samples, each with probability proportional to its squared distance from those before it."""
    floor = rounding(x)
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
