from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import csr_array
from with_defaults import fit_by

from rgwot.baselines.graph import clips_of, most_similar, node_vectors, random_walks, unity_graph
from rgwot.embedding.interface import spatial_means, unit_rows
from rgwot.features.store import FeatureStore
from rgwot.runtime.errors import RgwotError


def angles(*degrees: float) -> np.ndarray:
    """Return unit vectors in the plane."""
    radians = np.radians(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def test_clips_are_means_over_equal_times() -> None:
    times = np.array([0.0, 0.4, 0.8, 1.2, 1.6, 2.0, 2.4])
    means = np.arange(14, dtype=np.float32).reshape(7, 2) + 1
    clips = clips_of(times, means, 1.2)
    np.testing.assert_array_equal(clips.of_sample, [0, 0, 0, 1, 1, 1, 2])
    expected = np.array([[3.0, 4], [9, 10], [13, 14]])
    np.testing.assert_allclose(clips.features, expected / np.linalg.norm(expected, axis=1)[:, None], rtol=1e-6)
    # If clips are shorter than the distance of samples, each has one sample. A sample at 0.3 s is exactly on a border.
    np.testing.assert_array_equal(clips_of(times, means, 0.1).of_sample, range(7))
    np.testing.assert_array_equal(clips_of(np.arange(6) * 0.1, means[:6], 0.3).of_sample, [0, 0, 0, 1, 1, 1])


def test_edges_by_hand() -> None:
    first, second = angles(0, 50, 90), angles(2, 47)
    edges, similarity = unity_graph([first, second], neighbours=1)
    expected = np.zeros((5, 5))
    # Temporal edges are 0-1, 1-2 and 3-4. Clips 0 to 4 are most similar to 3, 4, 4, 0 and 1 of the other video.
    for a, b in [(0, 1), (1, 2), (3, 4), (0, 3), (1, 4), (2, 4)]:
        expected[a, b] = expected[b, a] = 1
    np.testing.assert_array_equal(edges.toarray(), expected)
    np.testing.assert_allclose(similarity, np.cos(np.radians([2, 3, 43, 2, 3])), rtol=1e-5)
    # If the other video has fewer clips than the requested neighbours, all its clips are neighbours.
    assert unity_graph([first, second], neighbours=9)[0].nnz == 2 * (3 + 6)


def test_most_similar_against_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rgwot.baselines.graph.CLIPS_AT_ONCE", 4)
    rng = np.random.default_rng(0)
    x, others = (unit_rows(rng.normal(size=(n, 5)).astype(np.float32)) for n in (10, 30))
    nearest, score = most_similar(x, others, 3)
    cosines = x @ others.T
    for row in range(10):
        best = np.argsort(-cosines[row])[:3]
        assert set(nearest[row]) == set(best)
        assert score[row] == pytest.approx(cosines[row, best].mean(), rel=1e-5)


def test_walks_go_along_edges_and_choose_them_alike() -> None:
    A = np.zeros((4, 4))
    for a, b in [(0, 1), (0, 2), (0, 3), (2, 3)]:
        A[a, b] = A[b, a] = 1
    paths = random_walks(csr_array(A), 400, 6, np.random.default_rng(0))
    assert paths.shape == (1600, 6)
    np.testing.assert_array_equal(np.bincount(paths[:, 0]), 400)
    moves = np.zeros((4, 4))
    np.add.at(moves, (paths[:, :-1].ravel(), paths[:, 1:].ravel()), 1)
    assert (moves[A == 0] == 0).all()
    shares = moves / moves.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(shares, A / A.sum(axis=1, keepdims=True), atol=0.03)


def test_node_vectors_separate_cliques_and_follow_from_the_seed() -> None:
    A = np.kron(np.eye(2), np.ones((8, 8))) - np.eye(16)
    A[7, 8] = A[8, 7] = 1
    paths = random_walks(csr_array(A), 20, 10, np.random.default_rng(0))
    vectors = node_vectors(paths, 16, 3, 5, seed=1)
    assert (vectors.shape, vectors.dtype) == ((16, 16), np.float32)
    cosines = unit_rows(vectors) @ unit_rows(vectors).T
    inside, between = cosines[:8, :8][~np.eye(8, dtype=bool)], cosines[:8, 8:]
    assert inside.mean() > between.mean() + 0.3
    np.testing.assert_array_equal(node_vectors(paths, 16, 3, 5, seed=1), vectors)
    assert not np.array_equal(node_vectors(paths, 16, 3, 5, seed=2), vectors)


def task() -> dict[str, np.ndarray]:
    """Return videos that pass the same four places in different orders; c makes a detour that no other video makes."""
    orders = {"a": [0, 1, 2, 3], "b": [2, 0, 1, 3], "c": [0, 1, 7, 2, 3], "d": [3, 2, 1, 0]}
    rng = np.random.default_rng(0)
    return {
        name: 10 * np.repeat(np.eye(8)[places], 8, axis=0) + 0.3 * rng.normal(size=(8 * len(places), 8))
        for name, places in orders.items()
    }


def settings(**graph: object) -> dict[str, object]:
    # At each place there are eight samples of half a second, that is, four clips of a second.
    keys = {"D": 16, "epochs": 3, "walk_length": 12, "window": 3, **graph}
    return {f"graph.{key}": value for key, value in keys.items()}


def test_clips_of_one_place_come_together_across_videos(write_stores: Callable[..., list[FeatureStore]]) -> None:
    stores = write_stores(task())
    embed = fit_by("gpl", stores, settings(), seed=0)
    actual = [embed(store) for store in stores]
    x = np.concatenate([one.embedding for one in actual])
    assert x.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-5)
    assert all(one.background is None for one in actual)
    # Both samples of a clip have the same embedding.
    np.testing.assert_array_equal(x[::2], x[1::2])
    truth = np.concatenate([np.argmax(spatial_means(store)[:, :8], axis=1) for store in stores])
    cosines = x @ x.T
    same = truth[:, None] == truth
    assert cosines[same].mean() > cosines[~same].mean() + 0.3
    again = np.concatenate([fit_by("gpl", stores, settings(), seed=0)(store).embedding for store in stores])
    np.testing.assert_array_equal(again, x)
    assert not np.array_equal(fit_by("gpl", stores, settings(), seed=1)(stores[0]).embedding, actual[0].embedding)


def test_a_video_held_out_is_put_beside_its_nearest_nodes(write_stores: Callable[..., list[FeatureStore]]) -> None:
    stores = write_stores(task())
    embed = fit_by("gpl", stores[:3], settings(), seed=0)
    known = [clips_of(store.time_s, spatial_means(store), 1.0) for store in stores]
    nodes = np.concatenate([embed(store).embedding[::2] for store in stores[:3]])
    features = np.concatenate([clips.features for clips in known[:3]])
    nearest = np.argsort(-(known[3].features @ features.T), axis=1)[:, :5]
    expected = unit_rows(nodes[nearest].mean(axis=1))[known[3].of_sample]
    np.testing.assert_allclose(embed(stores[3]).embedding, expected, atol=1e-6)
    # The embedding of a known video does not change when another video is embedded.
    alone = fit_by("gpl", stores[:3], settings(), seed=0)
    np.testing.assert_array_equal(alone(stores[0]).embedding, embed(stores[0]).embedding)


def test_without_node2vec_a_node_is_the_mean_of_its_neighbourhood(
    write_stores: Callable[..., list[FeatureStore]],
) -> None:
    stores = write_stores(task())
    block = settings(update="mean", neighbours=2)
    embed = fit_by("gpl", stores[:3], block, seed=0)
    clips = [clips_of(store.time_s, spatial_means(store), 1.0).features for store in stores]
    known = np.concatenate(clips[:3])
    edges = unity_graph(clips[:3], 2)[0].toarray()
    expected = unit_rows(((edges + np.eye(len(edges))) @ known).astype(np.float32))
    np.testing.assert_allclose(embed(stores[0]).embedding[::2], expected[: len(clips[0])], atol=1e-6)
    new = clips[3]
    rows = []
    for i in range(len(new)):
        nearest = np.argsort(-(known @ new[i]))[:2]
        rows.append(new[max(i - 1, 0) : i + 2].sum(axis=0) + known[nearest].sum(axis=0))
    np.testing.assert_allclose(embed(stores[3]).embedding[::2], unit_rows(np.array(rows, dtype=np.float32)), atol=1e-6)


def test_what_no_other_video_shows_is_background(write_stores: Callable[..., list[FeatureStore]]) -> None:
    stores = write_stores(task())
    # The 4 clips of the detour, of 68 in four videos, are the lowest 6 percent.
    block = settings(background=0.05, update="mean")
    embed = fit_by("gpl", stores, block, seed=0)
    detour = np.zeros(40, dtype=bool)
    detour[16:24] = True
    marks = {store.video: embed(store).background for store in stores}
    np.testing.assert_array_equal(marks.pop("c"), detour)
    for found in marks.values():
        assert found is not None
        assert not found.any()
    # The embedding is that without the filter, and the limit of the training videos holds for others.
    plain = fit_by("gpl", stores, settings(update="mean"), seed=0)
    np.testing.assert_array_equal(plain(stores[2]).embedding, embed(stores[2]).embedding)
    others = fit_by("gpl", [stores[0], stores[1], stores[3]], block, seed=0)
    found = others(stores[2]).background
    assert found is not None
    assert found[detour].all()


def test_the_share_of_background_is_the_one_asked_for(write_stores: Callable[..., list[FeatureStore]]) -> None:
    stores = write_stores(task())
    embed = fit_by("gpl", stores, settings(background=0.5, update="mean"), seed=0)
    marks = [embed(store).background for store in stores]
    assert np.concatenate([mark for mark in marks if mark is not None]).mean() == pytest.approx(0.5, abs=0.02)


def test_one_video_gives_no_graph(write_stores: Callable[..., list[FeatureStore]]) -> None:
    with pytest.raises(RgwotError, match="graph: videos with features: found 1, expected at least 2"):
        fit_by("gpl", write_stores({"a": np.ones((4, 2))}), {}, seed=0)
