"""Clusters in a fixed order of time, found in every video by a Viterbi path: the decoder of CTE (methods 4.9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from rgwot.baselines.settings import Viterbi
from rgwot.diagnostics import Facts
from rgwot.keysteps.interface import NO_CLUSTER, Decoded, Frames, Learned, Predict
from rgwot.keysteps.kmeans import kmeans

RIDGE = 1e-4
"""Added to the diagonal of every covariance; public code."""

SAMPLES_PER_BLOCK = 4096


@dataclass(frozen=True)
class _Gaussians:
    """One normal distribution per cluster; clusters are sorted by their mean relative time.

    ``means`` (K, D), ``factors`` (K, D, D), lower Cholesky factors of the covariances, and ``times`` (K,), increasing.
    """

    means: NDArray[np.float64]
    factors: NDArray[np.float64]
    times: NDArray[np.float64]

    def log_likelihoods(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log N(x_t; mu_k, S_k) of samples (T, D), (T, K)."""
        T, D = x.shape
        log_p = np.empty((T, len(self.means)))
        for k, (mean, factor) in enumerate(zip(self.means, self.factors, strict=True)):
            constant = 2 * np.log(np.diagonal(factor)).sum() + D * np.log(2 * np.pi)
            for start in range(0, T, SAMPLES_PER_BLOCK):
                white = solve_triangular(factor, (x[start : start + SAMPLES_PER_BLOCK] - mean).T, lower=True)
                log_p[start : start + SAMPLES_PER_BLOCK, k] = -0.5 * (np.einsum("dt,dt->t", white, white) + constant)
        return log_p


def relative_times(lengths: Sequence[int]) -> NDArray[np.float64]:
    """Return i / T of every sample i = 0..T-1 of videos one after the other, (sum of T,)."""
    return np.concatenate([np.arange(length) / length for length in lengths])


def ordered_gaussians(x: NDArray[np.float64], labels: NDArray[np.int64], times: NDArray[np.float64]) -> _Gaussians:
    """Fit a full covariance (maximum likelihood, plus the ridge) to each cluster that has samples.

    Samples x (T, D) have clusters ``labels`` (T,) and relative times (T,), which order the clusters.
    """
    present = np.unique(labels)
    means = np.array([times[labels == k].mean() for k in present])
    order = np.argsort(means, kind="stable")
    centres, factors = [], []
    for k in present[order]:
        samples = x[labels == k]
        centres.append(samples.mean(axis=0))
        offsets = samples - centres[-1]
        covariance = offsets.T @ offsets / len(samples) + RIDGE * np.eye(x.shape[1])
        factors.append(cholesky(covariance, lower=True))
    return _Gaussians(np.stack(centres), np.stack(factors), means[order])


def ordered_path(log_likelihoods: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return the path of largest likelihood that goes through all clusters in their order.

    argmax_l sum_t L[t, l_t] with l_1 = 0, l_T = K - 1 and every step 0 or 1: each cluster has one piece of at least
    one sample. (Equal probabilities of staying and going on, as in the public code, add the same to every path.) In a
    video with fewer samples than clusters, the path may begin and end anywhere and skip clusters, but not go back.

    L (T, K) is finite, T and K >= 1. Of equally likely paths (T,), one that moves on early is returned.

    Examples
    --------
    >>> ordered_path(np.array([[0.0, -9.0], [-1.0, -2.0], [-9.0, 0.0]]))
    array([0, 0, 1])
    """
    L = np.asarray(log_likelihoods, dtype=np.float64)
    T, K = L.shape
    free = T < K
    best = L[0].copy()
    if not free:
        best[1:] = -np.inf
    came_from = np.empty((T, K), dtype=np.int64)
    states = np.arange(K)
    for t in range(1, T):
        if free:
            top = np.maximum.accumulate(best)
            # The last cluster up to k that reaches the maximum: staying wins a tie.
            source = np.maximum.accumulate(np.where(best >= top, states, 0))
        else:
            step = np.concatenate([[False], best[:-1] > best[1:]])
            source = states - step
            top = best[source]
        came_from[t] = source
        best = top + L[t]
    labels = np.empty(T, dtype=np.int64)
    labels[-1] = int(best.argmax()) if free else K - 1
    for t in range(T - 1, 0, -1):
        labels[t - 1] = came_from[t, labels[t]]
    return labels


@dataclass(frozen=True, kw_only=True)
class _ViterbiFacts(Facts):
    """The number of clusters, and their ascending mean relative times (0 to 1)."""

    clusters: int
    mean_times: Sequence[float]


def decode_viterbi(frames: Frames, K: int, generator: np.random.Generator, settings: Viterbi) -> Decoded:
    """Cluster, order the clusters in time, and find the path of every video through them: the decoder ``viterbi``.

    k-means clusters the samples; the clusters are numbered by the mean relative time of their samples and become one
    Gaussian each; every video follows its best path (`ordered_path`). So all videos have one order, and no step is left
    out or repeated.

    With ``settings.background`` q, k-means and the Gaussians see samples 0, s, 2s... of every video, s =
    ``settings.stride``. The limit of a cluster is a percentile of the likelihoods of all T samples under it: the
    likelihood at index floor(q T / 100), from 0, in ascending order. A sample below the limits of all clusters is
    background, and the path goes through the other samples.
    """
    percentage, stride = settings.background, settings.stride
    chosen = np.ones(len(frames.x), dtype=np.bool_)
    if percentage is not None:
        chosen = np.concatenate([np.arange(length) % stride == 0 for length in frames.lengths])
    clusters = kmeans(frames.x[chosen], K, generator)
    gaussians = ordered_gaussians(frames.x[chosen], clusters.labels, relative_times(frames.lengths)[chosen])
    likelihoods = gaussians.log_likelihoods(frames.x)
    limits = np.full(likelihoods.shape[1], -np.inf)
    if percentage is not None:
        limits = np.sort(likelihoods, axis=0)[int(Fraction(str(percentage)) * len(likelihoods) / 100)]
    facts = _ViterbiFacts(clusters=len(gaussians.times), mean_times=[float(time) for time in gaussians.times])
    labels = _follow(likelihoods, frames.lengths, limits)
    learned = {**vars(gaussians), "limits": limits}
    return Decoded(labels, facts={"viterbi": facts}, learned=learned)


def restore_viterbi(learned: Learned, K: int, settings: Viterbi) -> Predict:
    """Return the function that labels other videos with the learned clusters, in the learned order."""
    gaussians = _Gaussians(learned["means"], learned["factors"], learned["times"])
    return lambda others: Decoded(_follow(gaussians.log_likelihoods(others.x), others.lengths, learned["limits"]))


def _follow(
    log_likelihoods: NDArray[np.float64], lengths: Sequence[int], limits: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the best paths of videos with log likelihoods (T, K); samples below all limits (K,) are background."""
    labels = np.full(len(log_likelihoods), NO_CLUSTER, dtype=np.int64)
    likely = np.asarray((log_likelihoods >= limits).any(axis=1), dtype=np.bool_)
    start = 0
    for length in lengths:
        places = start + np.flatnonzero(likely[start : start + length])
        if len(places):
            labels[places] = ordered_path(log_likelihoods[places])
        start += length
    return labels
