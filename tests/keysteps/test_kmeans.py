from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import cluster
from threadpoolctl import threadpool_info, threadpool_limits

from rgwot.keysteps.kmeans import kmeans


def planted() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    truth = np.repeat(np.arange(5), 40)
    return np.eye(8)[truth] + 0.05 * generator.normal(size=(200, 8)), truth


def test_planted_clusters_are_found_whole() -> None:
    x, truth = planted()
    partition = kmeans(x, 5, np.random.default_rng(0))
    pairs = set(zip(partition.labels.tolist(), truth.tolist(), strict=True))
    assert len(pairs) == 5
    nearest = ((x[:, None] - partition.centres[None]) ** 2).sum(axis=2)
    np.testing.assert_array_equal(partition.labels, nearest.argmin(axis=1))
    assert partition.inertia == pytest.approx(nearest.min(axis=1).sum())


def test_centres_of_many_samples_are_the_means_of_all_their_members() -> None:
    """In mini-batch k-means, centres are not these means, which matters if clusters are hard to separate."""
    x = np.random.default_rng(2).normal(size=(12_000, 3))
    partition = kmeans(x, 4, np.random.default_rng(0))
    members = [x[partition.labels == k].mean(axis=0) for k in range(4)]
    np.testing.assert_allclose(partition.centres, members, atol=0.01)


def test_the_same_seed_gives_the_same_labels() -> None:
    x = np.random.default_rng(1).normal(size=(300, 6))
    first, second = (kmeans(x, 7, np.random.default_rng(3)).labels for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_it_computes_in_one_thread_whatever_the_process_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Often scikit-learn is first imported by the call itself, after the caller has limited the threads."""
    found, fit = [], cluster.KMeans.fit

    def watched(model: cluster.KMeans, x: np.ndarray) -> cluster.KMeans:
        found.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp")
        return fit(model, x)

    monkeypatch.setattr(cluster.KMeans, "fit", watched)
    with threadpool_limits(limits=2):
        kmeans(np.random.default_rng(0).normal(size=(50, 3)), 3, np.random.default_rng(0))
    assert set(found) == {1}


def test_few_or_equal_samples() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(kmeans(np.full((9, 4), 0.1), 7, np.random.default_rng(0)).labels) == {0}
        assert set(kmeans(np.ones((1, 4)), 7, np.random.default_rng(0)).labels) == {0}
        assert len(set(kmeans(np.eye(3), 7, np.random.default_rng(0)).labels)) == 3
        twice = kmeans(np.repeat(np.eye(2), 10, axis=0), 7, np.random.default_rng(0))
    assert len(set(twice.labels[:10])) == len(set(twice.labels[10:])) == 1
    assert twice.labels[0] != twice.labels[-1]
    assert twice.inertia == pytest.approx(0, abs=1e-12)
