"""Fuzzy C-means with memberships in the log domain, and detection of its collapse (methods 5.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.collapse import UNIFORM_MEMBERSHIP, centred, membership_contrast

PAPER_FUZZIFIER = 2.0
# Only embeddings that are all identical have no direction at all and reach this bound; a fuzzifier of 1 would divide by
# zero.
SMALLEST_FUZZIFIER = 1.001


def largest_fuzzifier(lambda_1: float) -> float:
    """Return 1 / (1 - 2 lambda_1), the fuzzifier at which "all centres at the mean" becomes stable.

    A centre that is a small delta away from the mean is 2 m lambda_1 / (m - 1) times delta away after one update. The
    collapsed state attracts if this factor is below 1, that is, if m is above the returned value. If lambda_1 >= 1/2,
    it never attracts, and the value is infinite.
    """
    remainder = 1 - 2 * lambda_1
    return 1 / remainder if remainder > 0 else math.inf


def auto_fuzzifier(lambda_1: float) -> float:
    """Return the fuzzifier ``auto``: the paper's 2 if lambda_1 allows it, otherwise half way to the limit.

    m = 2 if 2 < 1/(1 - 2 lambda_1), else min(2, 1 + (1/(1 - 2 lambda_1) - 1)/2). It is half way, because at the limit
    itself the update neither leaves nor enters the collapsed state, and 1 would be plain k-means.

    >>> auto_fuzzifier(0.3), auto_fuzzifier(0.2)
    (2.0, 1.3333333333333335)
    """
    limit = largest_fuzzifier(lambda_1)
    if limit > PAPER_FUZZIFIER:
        return PAPER_FUZZIFIER
    return max(SMALLEST_FUZZIFIER, min(PAPER_FUZZIFIER, 1 + (limit - 1) / 2))


# Distance of two centres, relative to the spread of the samples, below which they count as one.
SAME_CENTRE = 1e-2


@dataclass(frozen=True)
class FuzzyCMeans:
    """A fuzzy partition of T samples into K clusters, the best result over several starts.

    Attributes
    ----------
    memberships, centres
        u (T, K), whose rows add up to 1, and c (K, D).
    objective
        J = sum_t sum_k u_tk^m |x_t - c_k|^2.
    iterations, converged
        Number of updates, and whether |U - U_old| (Frobenius) fell to the tolerance.
    distinct_centres
        Number of centres further apart than `SAME_CENTRE` times the spread of the samples.
    collapsed
        Whether all K > 1 centres coincide, or all memberships are nearly 1/K; the partition is then
        meaningless.
    """

    memberships: NDArray[Any]
    centres: NDArray[np.floating]
    objective: float
    iterations: int
    converged: bool
    distinct_centres: int
    collapsed: bool


def fuzzy_cmeans(
    x: NDArray[np.floating],
    K: int,
    m: float,
    generator: np.random.Generator,
    max_iterations: int,
    tolerance: float,
    restarts: int,
    start: Literal["far_apart", "random"],
) -> FuzzyCMeans:
    """Minimise J(U, C) = sum_t sum_k u_tk^m |x_t - c_k|^2 subject to sum_k u_tk = 1.

    It alternates c_k = sum_t u_tk^m x_t / sum_t u_tk^m and u_t = softmax_k(-log |x_t - c_k|^2 / (m - 1)), which never
    raises J.

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
        The iteration ends after this many updates, or once |U - U_old| (Frobenius) is at most the tolerance.
    restarts
        Number of starts; the result is the one with the smallest J. The default is four, because below m = 2 the
        objective has the local minima of k-means, and a seed should not decide the score; each start costs a whole run.
    start
        ``far_apart``: each start takes K samples far apart (k-means++) as centres. ``random``: random normalised
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

    def first() -> NDArray[np.floating]:
        if start == "far_apart":
            return memberships(offsets, _far_apart(offsets, K, generator), m, rounding(offsets))
        u = generator.random((len(offsets), K)).astype(offsets.dtype)
        return np.asarray(u / u.sum(axis=1, keepdims=True))

    fits = (alternate(offsets, mean, first(), m, max_iterations, tolerance) for _ in range(restarts))
    return min(fits, key=lambda partition: partition.objective)


def rounding(offsets: NDArray[np.floating]) -> float:
    """Return the rounding of |x|^2 - 2 x.c + |c|^2 of centred samples (T, D); smaller values are meaningless."""
    return float(np.finfo(offsets.dtype).eps) * float(np.mean(np.einsum("td,td->t", offsets, offsets)))


def memberships(
    x: NDArray[np.floating], centres: NDArray[np.floating], m: float, floor: float = 0.0
) -> NDArray[np.floating]:
    """Return u (T, K) = softmax_k(-log |x_t - c_k|^2 / (m - 1)).

    Samples are (T, D) and centres (K, D); the result is most precise with the overall mean subtracted from both. Rows
    do not depend on each other, so any number of samples can be done in pieces. The power |x - c|^(-2/(m - 1)) itself
    overflows for m near 1; its logarithm does not. Squared distances below ``floor`` count as ``floor``: a sample on a
    centre gets a membership of almost 1 there, or equal shares if several centres coincide.
    """
    return _softmax(squared_distances(x, centres, floor), m)


def frame_of(samples: NDArray[np.floating]) -> tuple[NDArray[np.floating], float]:
    """Return the mean (D,) of samples (T', D), which is the origin for distances, and the floor of their squares."""
    offsets, mean = centred(samples)
    return mean, rounding(offsets)


def memberships_in(
    x: NDArray[np.floating], centres: NDArray[np.floating], mean: NDArray[np.floating], floor: float, m: float
) -> NDArray[Any]:
    """Return the memberships u (T, K) of new samples (T, D), from which the centres (K, D) were not computed.

    Mean and floor are those of `frame_of` for the samples of the centres; a new sample that equals one of them gets the
    same memberships.
    """
    return memberships(np.asarray(x, dtype=mean.dtype) - mean, centres - mean, m, floor)


def alternate(
    x: NDArray[np.floating],
    mean: NDArray[np.floating],
    u: NDArray[np.floating],
    m: float,
    max_iterations: int,
    tolerance: float,
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


def squared_distances(
    x: NDArray[np.floating], centres: NDArray[np.floating], floor: float = 0.0
) -> NDArray[np.floating]:
    """Return |x_t - c_k|^2 (T, K), at least ``floor`` and above 0; most precise for x (T, D) and c (K, D) near 0."""
    squared = np.einsum("td,td->t", x, x)[:, None] - 2 * (x @ centres.T)
    squared += np.einsum("kd,kd->k", centres, centres)
    smallest = max(floor, float(np.finfo(squared.dtype).tiny))
    return np.asarray(np.maximum(squared, smallest, out=squared))


def _softmax(squared: NDArray[np.floating], m: float) -> NDArray[np.floating]:
    logits = np.log(squared) / (1 - m)
    logits -= logits.max(axis=1, keepdims=True)
    u = np.exp(logits, out=logits)
    u /= u.sum(axis=1, keepdims=True)
    return np.asarray(u)


def _far_apart(x: NDArray[np.floating], K: int, generator: np.random.Generator) -> NDArray[np.floating]:
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


def _distinct(centres: NDArray[np.floating], radius: float) -> int:
    distinct: list[NDArray[np.floating]] = []
    for centre in centres:
        if all(np.linalg.norm(centre - other) > radius for other in distinct):
            distinct.append(centre)
    return len(distinct)
