from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rgwot.keysteps.graphcut import (
    LabelMetric,
    edge_weights,
    energy,
    label_distance,
    minimise_chain,
    unary_weight,
)

Array = NDArray[Any]
METRICS: list[LabelMetric] = ["potts", "linear"]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("T", "K"), [(1, 3), (2, 4), (5, 3), (6, 2), (7, 3), (4, 5)])
def test_against_every_labelling(metric: LabelMetric, T: int, K: int) -> None:
    distance = label_distance(K, metric)
    for seed in range(6):
        generator = np.random.default_rng(seed)
        unary = generator.random((T, K))
        weights = generator.random(T - 1) * generator.choice([0.0, 0.3, 1.0])
        everything = itertools.product(range(K), repeat=T)
        smallest = min(energy(np.array(labels), unary, weights, distance) for labels in everything)
        actual = energy(minimise_chain(unary, weights, metric), unary, weights, distance)
        assert actual == pytest.approx(smallest, rel=1e-12)


def by_definition(unary: Array, weights: Array, metric: LabelMetric) -> Array:
    """Return the labels of least energy by the textbook recursion, O(T K^2)."""
    distance = label_distance(unary.shape[1], metric)
    best = [unary[0]]
    for cost, weight in zip(unary[1:], weights, strict=True):
        best.append(cost + (best[-1][:, None] + weight * distance).min(axis=0))
    labels = [int(best[-1].argmin())]
    for before, weight in zip(best[-2::-1], weights[::-1], strict=True):
        via = before + weight * distance[:, labels[-1]]
        labels.append(labels[-1] if via[labels[-1]] <= via.min() else int(via.argmin()))
    return np.array(labels[::-1])


@settings(max_examples=60, deadline=None)
@given(T=st.integers(1, 40), K=st.integers(1, 9), seed=st.integers(0, 999), metric=st.sampled_from(METRICS))
def test_the_energy_is_that_of_the_recursion(T: int, K: int, seed: int, metric: LabelMetric) -> None:
    generator = np.random.default_rng(seed)
    unary, weights = generator.random((T, K)), generator.random(T - 1)
    distance = label_distance(K, metric)
    found, expected = minimise_chain(unary, weights, metric), by_definition(unary, weights, metric)
    assert energy(found, unary, weights, distance) == pytest.approx(
        energy(expected, unary, weights, distance), rel=1e-12
    )


@pytest.mark.parametrize("metric", METRICS)
def test_ties_go_as_in_the_recursion(metric: LabelMetric) -> None:
    for seed in range(60):
        generator = np.random.default_rng(seed)
        T, K = int(generator.integers(1, 60)), int(generator.integers(1, 9))
        # Multiples of 1/4 make ties, and differences without rounding errors.
        unary, weights = np.round(4 * generator.random((T, K))) / 4, np.round(4 * generator.random(T - 1)) / 4
        actual = minimise_chain(unary, weights, metric)
        np.testing.assert_array_equal(actual, by_definition(unary, weights, metric))
        assert actual.dtype == np.int64


def test_hand_case_a_switch_pays_only_when_it_is_cheap() -> None:
    unary = np.array([[0.0, 1], [0, 1], [1, 0], [1, 0]])
    np.testing.assert_array_equal(minimise_chain(unary, np.full(3, 1.9), "potts"), [0, 0, 1, 1])
    assert len(set(minimise_chain(unary, np.full(3, 2.1), "potts"))) == 1


def test_ties_do_not_make_segments() -> None:
    assert set(minimise_chain(np.full((9, 4), 0.3), np.zeros(8), "potts")) == {0}


@pytest.mark.parametrize("metric", METRICS)
def test_videos_of_one_chain_are_not_coupled(metric: LabelMetric) -> None:
    generator = np.random.default_rng(7)
    lengths = [4, 1, 9, 6]
    unary = generator.random((sum(lengths), 5))
    together = minimise_chain(unary, edge_weights(lengths, 0.4, joined=False), metric)
    pieces = np.split(unary, np.cumsum(lengths)[:-1])
    apart = [minimise_chain(piece, edge_weights([len(piece)], 0.4, joined=False), metric) for piece in pieces]
    np.testing.assert_array_equal(together, np.concatenate(apart))


def test_potts_does_not_depend_on_how_clusters_are_numbered() -> None:
    generator = np.random.default_rng(1)
    unary, weights = generator.random((50, 6)), np.full(49, 0.4)
    permutation = generator.permutation(6)
    plain, renamed = (
        minimise_chain(unary, weights, "potts"),
        minimise_chain(unary[:, permutation], weights, "potts"),
    )
    np.testing.assert_array_equal(permutation[renamed], plain)


def test_linear_is_unchanged_when_clusters_are_numbered_backwards() -> None:
    generator = np.random.default_rng(2)
    unary, weights = generator.random((50, 6)), np.full(49, 0.1)
    plain, backwards = (
        minimise_chain(unary, weights, "linear"),
        minimise_chain(unary[:, ::-1], weights, "linear"),
    )
    np.testing.assert_array_equal(5 - backwards, plain)


def test_time_reversal_keeps_the_minimum() -> None:
    generator = np.random.default_rng(3)
    unary, weights, distance = generator.random((60, 4)), generator.random(59), label_distance(4, "potts")
    forward = energy(minimise_chain(unary, weights, "potts"), unary, weights, distance)
    reverse = minimise_chain(unary[::-1], weights[::-1], "potts")[::-1]
    assert energy(reverse, unary, weights, distance) == pytest.approx(forward, rel=1e-12)


def test_energy_by_hand() -> None:
    unary = np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]])
    labels = np.array([0, 2, 1])
    assert energy(labels, unary, np.array([2.0, 3.0]), label_distance(3, "linear")) == pytest.approx(1.5 + 4 + 3)
    assert energy(labels, unary, np.array([2.0, 3.0]), label_distance(3, "potts")) == pytest.approx(1.5 + 2 + 3)


def test_weights_are_those_of_the_published_energy() -> None:
    assert unary_weight(0.2, "sample", 15.0, 30.0) == 0.2
    assert unary_weight(3.0, "second", 15.0, 30.0) == pytest.approx(0.2)
    # At 30 frames per second, 0.2 for every other frame makes 3 per second, or 1.5 for each of two samples per second.
    assert unary_weight(0.2, "frame_pair", 15.0, 30.0) == pytest.approx(0.2)
    assert unary_weight(0.2, "frame_pair", 2.0, 30.0) == pytest.approx(1.5)
    assert unary_weight(0.2, "frame_pair", 2.0, 60.0) == pytest.approx(3.0)
    np.testing.assert_array_equal(edge_weights([1, 2, 1], 5 / 7, joined=False), [0, 5 / 7, 0])
    np.testing.assert_array_equal(edge_weights([1, 2, 1], 5 / 7, joined=True), [5 / 7, 5 / 7, 5 / 7])
