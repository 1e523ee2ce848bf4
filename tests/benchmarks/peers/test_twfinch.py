"""TW-FINCH, compared with a direct implementation of its definition; and its decoder of several videos."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from twfinch import twfinch
from with_defaults import decode_by, predict_by

from rgwot.keysteps.interface import Frames

Array = NDArray[np.float64]


def unit(x: Array) -> Array:
    return np.asarray(x / np.linalg.norm(x, axis=-1, keepdims=True))


def distances(x: Array, times: Array) -> Array:
    d = (1 - unit(x) @ unit(x).T) * np.abs(times[:, None] - times)
    np.fill_diagonal(d, np.inf)
    return np.asarray(d)


def directly(x: Array, K: int) -> list[set[int]]:
    """Follow the definition, with whole matrices, sets and no bookkeeping."""
    T = len(x)
    clusters = [{i} for i in range(T)]

    def means() -> tuple[Array, Array]:
        members = [sorted(cluster) for cluster in clusters]
        return np.array([x[member].mean(axis=0) for member in members]), np.array(
            [np.mean(member) / T for member in members]
        )

    first = True
    while len(clusters) > K or first:
        kappa = distances(*means()).argmin(axis=1)
        joined: list[set[int]] = []
        for i in range(len(clusters)):
            near = {j for j in range(len(clusters)) if kappa[i] == j or kappa[j] == i or kappa[i] == kappa[j]} | {i}
            touching = [group for group in joined if group & near]
            joined = [group for group in joined if not group & near] + [near.union(*touching)]
        if len(joined) < K and not first:
            break
        first = False
        clusters = [set().union(*(clusters[i] for i in group)) for group in joined]
    while len(clusters) > K:
        d = distances(*means())
        i, j = sorted(np.unravel_index(d.argmin(), d.shape))
        clusters[i] |= clusters.pop(j)
    return clusters


def scene(rng: np.random.Generator, lengths: tuple[int, ...], noise: float) -> Array:
    centres = rng.normal(size=(len(lengths), 8))
    loud = np.exp(rng.normal(size=(sum(lengths), 1)))
    return np.asarray(loud * (np.repeat(centres, lengths, axis=0) + noise * rng.normal(size=(sum(lengths), 8))))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("K", [1, 2, 5, 9])
def test_it_is_its_definition(seed: int, K: int) -> None:
    rng = np.random.default_rng(seed)
    x = scene(rng, (7, 12, 5, 16), noise=0.2 + 0.3 * seed)
    labels = twfinch(x, K)
    found = {frozenset(np.flatnonzero(labels == k).tolist()) for k in range(labels.max() + 1)}
    assert found == {*map(frozenset, directly(x, K))}


def test_clusters_are_numbered_as_they_appear() -> None:
    labels = twfinch(scene(np.random.default_rng(0), (9, 4, 7), noise=0.1), 3)
    assert labels.tolist() == [0] * 9 + [1] * 4 + [2] * 7


def test_more_clusters_than_the_first_round_leaves_give_the_first_round() -> None:
    # 0 and 1 are nearest neighbours, and 2 and 3; the nearest neighbour of 4 is 3.
    x = np.array([[1, 0, 0.0], [1, 0.1, 0], [0, 1, 0], [0, 1, 0.1], [0, 0.9, 0.3]])
    assert twfinch(x, 4).tolist() == twfinch(x, 9).tolist() == [0, 0, 1, 1, 1]
    assert twfinch(np.ones((1, 2)), 5).tolist() == [0]


def test_a_cluster_is_at_the_mean_of_features_not_of_directions() -> None:
    """The long second sample turns the first pair to 45 degrees; the second pair is 85 from it and 95 from the third.

    With a mean of directions, the first pair would be at 25 degrees, and the second pair would join the third.
    """
    angles = np.deg2rad([0, 50, 130, 130, 225, 225])
    x = np.array([1, 9, 1, 1, 1, 1])[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert twfinch(x, 3).tolist() == [0, 0, 1, 1, 2, 2]
    assert twfinch(x, 2).tolist() == [0, 0, 0, 0, 1, 1]
    assert twfinch(unit(x), 2).tolist() == [0, 0, 1, 1, 1, 1]


def test_the_same_look_far_away_in_time_is_another_cluster_until_nothing_else_is_left() -> None:
    a, b = np.array([[1.0, 0.0]]), np.array([[0.8, 0.6]])
    x = np.concatenate([np.repeat(part, 10, axis=0) for part in (a, b, a)])
    x = x + 1e-3 * np.random.default_rng(0).normal(size=x.shape)
    assert len(np.unique(twfinch(x, 3)[[0, 10, 20]])) == 3


def test_the_decoder_names_the_same_look_the_same_in_all_videos() -> None:
    rng = np.random.default_rng(4)
    centres = 4 * rng.normal(size=(4, 8))
    orders = ([0, 1, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0])
    truth = np.concatenate([np.repeat(order, 12) for order in orders])
    x = centres[truth] + 0.1 * rng.normal(size=(len(truth), 8))
    decoded = decode_by("twfinch", Frames(x, (48, 48, 48), 2.0), 4, {}, rng)
    assert len(set(zip(truth.tolist(), decoded.labels.tolist(), strict=True))) == 4
    predict = predict_by("twfinch", decoded, 4, {})
    np.testing.assert_array_equal(predict(Frames(x[48:96], (48,), 2.0)).labels, decoded.labels[48:96])


def test_the_decoder_of_one_video_is_the_method_itself() -> None:
    x = scene(np.random.default_rng(5), (9, 14, 6), noise=0.5)
    decoded = decode_by("twfinch", Frames(x, (29,), 2.0), 3, {}, np.random.default_rng(0))
    np.testing.assert_array_equal(decoded.labels, twfinch(x, 3))
