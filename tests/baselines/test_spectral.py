from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score
from with_defaults import decode_by, predict_by

from rgwot.baselines import spectral
from rgwot.baselines.spectral import affinity, spectral_map
from rgwot.keysteps.interface import Frames


def blocks(T: int, K: int, noise: float = 0.1, seed: int = 0) -> tuple[Frames, np.ndarray]:
    """Return samples around K orthogonal directions, with very different norms, and the true clusters."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(K), T // K)
    x = np.eye(K + 3)[truth] + noise * rng.normal(size=(len(truth), K + 3))
    return Frames(x * rng.uniform(0.1, 10, size=(len(truth), 1)), (len(truth),), 2.0), truth


def test_affinity() -> None:
    A = affinity(np.array([[2.0, 0], [0, 0]]), np.array([[5.0, 0], [0, 1], [-1, 0]]))
    np.testing.assert_allclose(A, [[np.exp(2), 1, np.exp(-2)], [1, 1, 1]], rtol=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_the_same_clusters_as_scikit_learn(seed: int) -> None:
    frames, truth = blocks(150, 5, noise=0.35, seed=seed)
    x = frames.x / np.linalg.norm(frames.x, axis=1, keepdims=True)
    theirs = SpectralClustering(5, affinity="precomputed", random_state=0).fit_predict(np.exp(x @ x.T / 0.5))
    decoded = decode_by("spectral", frames, 5, {}, np.random.default_rng(seed))
    assert adjusted_rand_score(theirs, decoded.labels) == 1
    assert 0.5 < adjusted_rand_score(truth, decoded.labels) < 1  # in an easy case, any two methods would agree


def test_eigenvectors_of_the_random_walk_and_their_values() -> None:
    frames, _ = blocks(40, 4, noise=0.4)
    walk_map = spectral_map(frames.x, 4, 0)
    A = affinity(frames.x, frames.x)
    np.fill_diagonal(A, 0)
    P = A / A.sum(axis=1, keepdims=True)
    expected = np.sort(np.linalg.eigvals(P).real)[::-1][:4]
    np.testing.assert_allclose(walk_map.eigenvalues, expected, atol=1e-9)
    np.testing.assert_allclose(P @ walk_map.coordinates, walk_map.coordinates * walk_map.eigenvalues, atol=1e-9)


def test_old_samples_are_placed_where_they_are_and_new_ones_by_the_formula() -> None:
    frames, _ = blocks(40, 4, noise=0.4)
    walk_map = spectral_map(frames.x, 4, 0)
    np.testing.assert_allclose(walk_map.coordinates_of(7 * frames.x), walk_map.coordinates, atol=1e-9)
    new = np.random.default_rng(5).normal(size=(3, 7))
    walks = affinity(new, frames.x)
    expected = walks / walks.sum(axis=1, keepdims=True) @ walk_map.coordinates / walk_map.eigenvalues
    np.testing.assert_allclose(walk_map.coordinates_of(new), expected, rtol=1e-9)
    assert walk_map.coordinates_of(new[:0]).shape == (0, 4)


def test_landmarks_stand_for_many_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    frames, truth = blocks(600, 4)
    monkeypatch.setattr(spectral, "LANDMARKS", 50)
    decoded = decode_by("spectral", frames, 4, {}, np.random.default_rng(0))
    assert decoded.facts["spectral"].landmarks == 50
    assert adjusted_rand_score(truth, decoded.labels) == 1
    new, expected = blocks(80, 4, seed=9)
    predict = predict_by("spectral", decoded, 4, {})
    names = {int(truth[i]): int(decoded.labels[i]) for i in range(0, 600, 150)}
    np.testing.assert_array_equal(predict(new).labels, [names[int(t)] for t in expected])


@pytest.mark.parametrize("T", [1, 2, 5, 7, 8, 9])
def test_few_samples_each_a_cluster(T: int) -> None:
    x = np.eye(12)[:T]
    decoded = decode_by("spectral", Frames(x, (T,), 2.0), 7, {}, np.random.default_rng(0))
    assert len(set(decoded.labels)) == min(T, 7)
