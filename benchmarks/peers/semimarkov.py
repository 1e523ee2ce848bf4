"""A hidden semi-Markov model: key steps with durations, in any order (peers 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import poisson

from rgwot.config.extensions import Extension
from rgwot.diagnostics import Facts
from rgwot.keysteps.interface import Decoded, Frames, Learned, Predict, directions
from rgwot.keysteps.kmeans import kmeans
from rgwot.keysteps.settings import Clustering
from rgwot.timing import runs

ROUNDS = 20
"""Largest number of rounds of segmentation and estimation."""

PSEUDOCOUNT = 1.0
"""Added to the count of every transition and of every first key step, so that none is impossible."""

FLOOR = 1e-9
"""Least variance per dimension; otherwise it would be 0 for embeddings that equal their centres."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SemiMarkov:
    """A model of K key steps.

    Attributes
    ----------
    centres
        (K, D) means of the emissions, which are normal with the same variance in every direction.
    variance
        Variance of every dimension, > 0.
    durations
        (K,) mean duration in samples, >= 1; a duration less one is Poisson distributed.
    first
        (K,) probability that each key step is the first of a video.
    transitions
        (K, K), row k: the probabilities of what follows k; 0 on the diagonal.
    """

    centres: Array
    variance: float
    durations: Array
    first: Array
    transitions: Array

    def log_emissions(self, x: Array) -> Array:
        """Return log N(x_t; mu_k, variance I) of samples (T, D), (T, K)."""
        squared = cdist(x, self.centres, "sqeuclidean")
        return np.asarray(-0.5 * (squared / self.variance + x.shape[1] * np.log(2 * np.pi * self.variance)))

    def log_durations(self, T: int) -> Array:
        """Return log p_k(d) of durations d = 1..L, (L, K); beyond L <= T every duration has less than e^-50."""
        mean = self.durations - 1
        longest = int(np.ceil(mean.max() + 10 * np.sqrt(mean.max()) + 50))
        return np.asarray(poisson.logpmf(np.arange(min(T, longest))[:, None], np.maximum(mean, 1e-3)))


def best_segmentation(emissions: Array, durations: Array, first: Array, transitions: Array) -> NDArray[np.int64]:
    """Return the most likely labels of one video.

    max over segments (k_1, d_1), (k_2, d_2), ... that fill the video of
    log first_{k_1} + sum_s [log p_{k_s}(d_s) + the emissions of its samples] + sum_s log transitions_{k_s, k_{s+1}}.

    Parameters
    ----------
    emissions
        (T, K) log likelihoods, finite, T >= 1.
    durations
        (L, K) log p_k(d), d = 1..L, L >= 1; with a single key step, L >= T.
    first, transitions
        (K,) and (K, K) log probabilities; the diagonal of the second is -inf, because no key step follows itself.

    Returns
    -------
    NDArray[np.int64]
        (T,) in 0..K-1.
    """
    T, K = emissions.shape
    summed = np.concatenate([np.zeros((1, K)), np.cumsum(emissions, axis=0)])
    # A segment of k that covers s..t-1 scores entered[s, k] + summed[t, k] - summed[s, k] + durations[t - s - 1, k].
    entered, came_from = np.full((T, K), -np.inf), np.zeros((T, K), dtype=np.int64)
    ended, began = np.full((T + 1, K), -np.inf), np.zeros((T + 1, K), dtype=np.int64)
    entered[0] = first
    own = np.arange(K)
    for t in range(1, T + 1):
        since = max(0, t - len(durations))
        found = (entered - summed[:-1])[since:t] + durations[t - since - 1 :: -1]
        best = found.argmax(axis=0)
        began[t], ended[t] = best + since, found[best, own] + summed[t]
        if t < T:
            through = ended[t][:, None] + transitions
            came_from[t] = through.argmax(axis=0)
            entered[t] = through[came_from[t], own]
    labels = np.empty(T, dtype=np.int64)
    t, k = T, int(ended[T].argmax())
    while t > 0:
        s = int(began[t, k])
        labels[s:t] = k
        t, k = s, int(came_from[s, k])
    return labels


def estimate(x: Array, videos: Sequence[NDArray[np.int64]], centres: Array) -> SemiMarkov:
    """Estimate a model from samples x (T, D) of all videos and the labels 0..K-1 of each.

    A key step without samples keeps its previous centre, from ``centres`` (K, D), and takes the mean duration.
    """
    labels, K = np.concatenate(videos), len(centres)
    counts = np.bincount(labels, minlength=K)
    sums = np.zeros_like(centres)
    np.add.at(sums, labels, x)
    centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
    variance = max(float(((x - centres[labels]) ** 2).mean()), FLOOR)
    segments = [runs(video) for video in videos]
    names, starts, ends = (np.concatenate(part) for part in zip(*segments, strict=True))
    lengths = ends - starts
    number = np.bincount(names, minlength=K)
    durations = np.where(number > 0, np.bincount(names, lengths, minlength=K) / np.maximum(number, 1), lengths.mean())
    first = np.full(K, PSEUDOCOUNT)
    transitions = np.full((K, K), PSEUDOCOUNT)
    for steps, _, _ in segments:
        first[steps[0]] += 1
        np.add.at(transitions, (steps[:-1], steps[1:]), 1)
    np.fill_diagonal(transitions, 0)
    total = np.maximum(transitions.sum(axis=1, keepdims=True), FLOOR)
    return SemiMarkov(centres, variance, durations, first / first.sum(), transitions / total)


def _follow(model: SemiMarkov, x: Array, lengths: Sequence[int]) -> list[NDArray[np.int64]]:
    if len(model.centres) == 1:
        return [np.zeros(length, dtype=np.int64) for length in lengths]
    with np.errstate(divide="ignore"):
        first, transitions = np.log(model.first), np.log(model.transitions)
    emissions = model.log_emissions(x)
    return [
        best_segmentation(part, model.log_durations(len(part)), first, transitions)
        for part in np.split(emissions, np.cumsum(lengths)[:-1])
    ]


@dataclass(frozen=True, kw_only=True)
class SemimarkovFacts(Facts):
    """The rounds of learning, whether they were enough, and mean durations of key steps in seconds."""

    rounds: int
    converged: bool
    mean_durations_s: Sequence[float]


def decode_semimarkov(frames: Frames, K: int, generator: np.random.Generator, settings: Clustering) -> Decoded:
    """Fit a hidden semi-Markov model and label every video by its most likely segmentation: the decoder ``semimarkov``.

    Starting from the k-means clusters of x / |x|, segmentation of all videos and estimation of the model take
    turns (Viterbi training) until the labels no longer change. Any key step may follow any other, any number of times:
    the model only contains how often one step was followed by another.
    """
    x = directions(frames.x)
    start = kmeans(x, K, generator)
    videos = np.split(start.labels, np.cumsum(frames.lengths)[:-1])
    centres, rounds, settled = start.centres, 0, False
    while not settled and rounds < ROUNDS:
        model = estimate(x, videos, centres)
        found = _follow(model, x, frames.lengths)
        settled = all(np.array_equal(old, new) for old, new in zip(videos, found, strict=True))
        videos, centres, rounds = found, model.centres, rounds + 1
    facts = SemimarkovFacts(
        rounds=rounds,
        converged=settled,
        mean_durations_s=[float(duration / frames.features_fps) for duration in model.durations],
    )
    learned = {name: np.asarray(value) for name, value in vars(model).items()}
    return Decoded(np.concatenate(videos), facts={"semimarkov": facts}, learned=learned)


def restore_semimarkov(learned: Learned, K: int, settings: Clustering) -> Predict:
    """Label other videos by their most likely segmentation under the same model."""
    model = SemiMarkov(**{**learned, "variance": float(learned["variance"])})  # type: ignore[arg-type]
    return lambda others: Decoded(np.concatenate(_follow(model, directions(others.x), others.lengths)))


class SemiMarkovDecoder(Clustering):
    """A hidden semi-Markov model, key steps in any order."""

    NAME = "semimarkov"
    FUNCTION = decode_semimarkov
    RESTORE = restore_semimarkov
    SOURCE = "ours; a textbook model"
    SLOW = True


EXTENSION = Extension(decoders=[SemiMarkovDecoder])
