from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from with_defaults import decode_by, predict_by

from rgwot.baselines.viterbi import RIDGE, ordered_gaussians, ordered_path, relative_times
from rgwot.keysteps.interface import NO_CLUSTER, Frames
from rgwot.keysteps.kmeans import kmeans


def paths(T: int, K: int) -> list[tuple[int, ...]]:
    """Return all monotone paths; they visit every cluster if there are enough samples."""
    forward = [p for p in itertools.product(range(K), repeat=T) if all(b >= a for a, b in itertools.pairwise(p))]
    whole = [p for p in forward if p[0] == 0 and p[-1] == K - 1 and all(b - a <= 1 for a, b in itertools.pairwise(p))]
    return whole if T >= K else forward


@pytest.mark.parametrize(("T", "K"), [(1, 1), (1, 3), (2, 3), (3, 3), (4, 2), (5, 3), (6, 4), (3, 5), (7, 3), (6, 1)])
def test_the_best_of_all_paths(T: int, K: int) -> None:
    every = paths(T, K)
    for seed in range(20):
        L = np.random.default_rng(seed).normal(size=(T, K))
        best = max(every, key=lambda path: L[range(T), path].sum())
        np.testing.assert_array_equal(ordered_path(L), best)


@given(st.integers(1, 6), st.integers(1, 4), st.lists(st.integers(-2, 2), min_size=24, max_size=24))
def test_ties_too_give_a_best_path(T: int, K: int, values: list[int]) -> None:
    L = np.array(values[: T * K], dtype=float).reshape(T, K)
    found = tuple(int(label) for label in ordered_path(L))
    every = paths(T, K)
    assert found in every
    assert L[range(T), found].sum() == max(L[range(T), path].sum() for path in every)


def test_gaussians_by_time_with_a_ridge() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([2, 0, 5], [30, 40, 1])
    x = rng.normal(size=(71, 3)) @ rng.normal(size=(3, 3))
    times = np.repeat([0.5, 0.1, 0.9], [30, 40, 1])
    gaussians = ordered_gaussians(x, labels, times)
    np.testing.assert_allclose(gaussians.times, [0.1, 0.5, 0.9])
    for k, label in enumerate((0, 2, 5)):
        own = x[labels == label]
        covariance = np.cov(own.T, bias=True) if len(own) > 1 else np.zeros((3, 3))
        expected = multivariate_normal(own.mean(axis=0), covariance + RIDGE * np.eye(3)).logpdf(x)
        np.testing.assert_allclose(gaussians.log_likelihoods(x)[:, k], expected, rtol=1e-8)


def task(noise: float = 0.2) -> tuple[Frames, np.ndarray]:
    """Return three videos that visit the places 3, 1, 0, 2 in this order, each at its own speed, and the truth."""
    runs = ([9, 6, 12, 8], [5, 14, 7, 10], [8, 8, 8, 8])
    truth = np.concatenate([np.repeat([3, 1, 0, 2], lengths) for lengths in runs])
    x = np.eye(5)[truth] + noise * np.random.default_rng(0).normal(size=(len(truth), 5))
    return Frames(x, tuple(sum(lengths) for lengths in runs), 2.0), np.concatenate(
        [np.repeat(range(4), lengths) for lengths in runs]
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_common_order_is_found_and_clusters_are_numbered_by_it(seed: int) -> None:
    frames, expected = task()
    decoded = decode_by("viterbi", frames, 4, {}, np.random.default_rng(seed))
    np.testing.assert_array_equal(decoded.labels, expected)
    assert decoded.facts["viterbi"].clusters == 4
    assert np.all(np.diff(decoded.facts["viterbi"].mean_times) > 0)
    # A new video visits the places in the same order, although its first sample looks like the last place.
    predict = predict_by("viterbi", decoded, 4, {})
    new = np.eye(5)[[2, 3, 3, 1, 1, 0, 2, 2]]
    np.testing.assert_array_equal(predict(Frames(new, (8,), 2.0)).labels, [0, 0, 0, 1, 1, 2, 3, 3])


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_samples_unlikely_under_every_cluster_are_background_and_the_path_passes_them(stride: int) -> None:
    frames, _ = task(noise=0.3)
    x = frames.x
    chosen = {"viterbi.background": 80.0, "viterbi.stride": stride}
    decoded = decode_by("viterbi", frames, 4, chosen, np.random.default_rng(0))

    starts = np.cumsum((0, *frames.lengths))
    seen = np.concatenate([np.arange(a, b, stride) for a, b in itertools.pairwise(starts)])
    clusters = kmeans(x[seen], 4, np.random.default_rng(0)).labels
    L = ordered_gaussians(x[seen], clusters, relative_times(frames.lengths)[seen]).log_likelihoods(x)
    below = np.all([L[:, k] < np.sort(L[:, k])[int(0.8 * len(x))] for k in range(4)], axis=0)
    expected = np.full(len(x), NO_CLUSTER)
    for rows in np.split(np.arange(len(x)), np.cumsum(frames.lengths)[:-1]):
        expected[rows[~below[rows]]] = ordered_path(L[rows[~below[rows]]])
    np.testing.assert_array_equal(decoded.labels, expected)
    assert 0.05 < below.mean() < 0.5
    predict = predict_by("viterbi", decoded, 4, chosen)
    np.testing.assert_array_equal(predict(frames).labels, decoded.labels)
    # The limits come from the training samples, so a video whose samples all lie beyond them is entirely background.
    np.testing.assert_array_equal(predict(Frames(np.full((6, 5), 9.0), (6,), 2.0)).labels, NO_CLUSTER)


def test_the_limit_of_a_cluster_is_one_of_its_likelihoods() -> None:
    """Index int(0.75 * 6) = 4 of six in rising order, that is, the fifth; a percentile would lie below it."""
    x = np.array([[0.0], [1.0], [2.5], [4.5], [7.0], [10.0]])
    chosen = {"viterbi.background": 75.0, "viterbi.stride": 1}
    labels = decode_by("viterbi", Frames(x, (6,), 2.0), 1, chosen, np.random.default_rng(0)).labels
    # The mean is 25/6. 4.5 is nearest to it, then 2.5; the limit is the likelihood of 2.5, so only these two reach it.
    np.testing.assert_array_equal(labels, [NO_CLUSTER, NO_CLUSTER, 0, 0, NO_CLUSTER, NO_CLUSTER])


def test_without_background_k_means_sees_every_sample() -> None:
    frames, _ = task()
    made = [
        decode_by("viterbi", frames, 4, {"viterbi.stride": stride}, np.random.default_rng(0)).labels
        for stride in (1, 2)
    ]
    np.testing.assert_array_equal(*made)


@pytest.mark.parametrize(("percentage", "T", "below"), [(29.0, 100, 29), (18.4, 750, 138)])
def test_a_percentage_is_the_decimal_that_it_says(percentage: float, T: int, below: int) -> None:
    """In floating point 29 / 100 * 100 is less than 29, and 18.4 * 750 / 100 less than 138."""
    x = np.random.default_rng(0).normal(size=(T, 1))
    chosen = {"viterbi.background": percentage, "viterbi.stride": 1}
    labels = decode_by("viterbi", Frames(x, (T,), 2.0), 1, chosen, np.random.default_rng(0)).labels
    assert (labels == NO_CLUSTER).sum() == below
