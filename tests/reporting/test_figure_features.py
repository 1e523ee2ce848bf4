"""Concentration of features with known spectra, and reduction of features to two dimensions."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from rgwot.features.store import StoreWriter, open_store
from rgwot.keysteps.collapse import mean_pairwise_cosine
from rgwot.reporting.figures.teaser import two_dimensions
from rgwot.reporting.figures.tsne import effective_rank, embed_2d, pooled_features


@pytest.mark.parametrize("dimensions", [1, 2, 5])
def test_effective_rank_counts_equally_strong_directions(dimensions: int) -> None:
    corners = np.vstack([np.eye(dimensions), -np.eye(dimensions)])
    assert effective_rank(corners) == pytest.approx(dimensions)
    # A shift, a scale, or further dimensions without variance do not change the rank.
    padded = np.hstack([3 * corners + 7, np.full((2 * dimensions, 4), 2.0)])
    assert effective_rank(padded) == pytest.approx(dimensions)


def test_effective_rank_of_a_spectrum_of_three_to_one() -> None:
    # Eigenvalues 3 and 1: the entropy of (3/4, 1/4).
    x = np.array([[math.sqrt(3), 0], [-math.sqrt(3), 0], [0, 1], [0, -1]])
    assert effective_rank(x) == pytest.approx(math.exp(-0.75 * math.log(0.75) - 0.25 * math.log(0.25)))
    assert effective_rank(np.ones((5, 3))) == 1.0


def test_cosine_distance_over_pairs_of_different_frames() -> None:
    assert 1 - mean_pairwise_cosine(np.eye(4)) == pytest.approx(1.0)
    # The three pairs are (a, a), (a, -a) and (a, -a), with distances 0, 2 and 2.
    assert 1 - mean_pairwise_cosine(np.array([[1.0, 0], [2.0, 0], [-3.0, 0]])) == pytest.approx(4 / 3)


def test_features_are_averaged_over_space_and_thinned_evenly(tmp_path: Path) -> None:
    maps = np.zeros((10, 1024, 2, 2))
    maps[:, 0] = np.arange(10)[:, None, None] + np.array([[0, 1], [2, 5]])
    writer = StoreWriter(tmp_path / "v.zarr", np.arange(10) / 2.0, 2)
    writer.write(0, maps)
    writer.finish(10, {"status": "ok", "reason": ""})
    store = open_store(tmp_path / "v.zarr")
    assert pooled_features(store, 1500)[0][:, 0].tolist() == (np.arange(10) + 2).tolist()
    thin, times = pooled_features(store, 5)
    assert times.tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert thin[:, 0].tolist() == [3, 5, 7, 9, 11]


def test_two_far_groups_stay_apart_and_the_picture_repeats() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(0, 0.05, (40, 20)) + np.repeat([[0.0], [5.0]], 20, axis=0)
    points, perplexity = embed_2d(x, 0)
    assert perplexity == pytest.approx(13.0)
    first, second = points[:20], points[20:]
    spread = max(np.ptp(first, axis=0).max(), np.ptp(second, axis=0).max())
    assert np.linalg.norm(first.mean(0) - second.mean(0)) > spread
    assert np.array_equal(points, embed_2d(x, 0)[0])


def test_principal_directions_keep_distances_of_a_plane() -> None:
    generator = np.random.default_rng(1)
    plane = generator.normal(size=(12, 2))
    basis, _ = np.linalg.qr(generator.normal(size=(6, 2)))
    points = two_dimensions(plane @ basis.T + 3)
    apart = np.linalg.norm(plane[:, None] - plane[None], axis=2)
    assert np.linalg.norm(points[:, None] - points[None], axis=2) == pytest.approx(apart)
    assert two_dimensions(np.array([[1.0], [3.0]]))[:, 1].tolist() == [0.0, 0.0]
