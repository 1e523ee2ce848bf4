"""The hidden semi-Markov model: its best segmentation among all segmentations, its estimates, and its decoder."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from semimarkov import FLOOR, SemiMarkov, best_segmentation, estimate
from with_defaults import decode_by, predict_by

from rgwot.keysteps.interface import Frames
from rgwot.timing import runs


def never(x: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(x))


@pytest.mark.parametrize("seed", range(12))
def test_the_best_segmentation_is_the_best_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    T, K, longest = 6, 3, 4
    emissions = 2 * rng.normal(size=(T, K))
    durations, first = np.log(rng.dirichlet(np.ones(longest), size=K).T), np.log(rng.dirichlet(np.ones(K)))
    transitions = rng.random((K, K)) * ~np.eye(K, dtype=bool)
    transitions = never(transitions / transitions.sum(axis=1, keepdims=True))
    score = {}
    for labels in product(range(K), repeat=T):
        steps, starts, ends = runs(np.array(labels))
        lengths = ends - starts
        if lengths.max() <= longest:
            score[labels] = (
                first[steps[0]]
                + sum(durations[length - 1, step] for step, length in zip(steps, lengths, strict=True))
                + sum(transitions[a, b] for a, b in zip(steps, steps[1:], strict=False))
                + emissions[np.arange(T), labels].sum()
            )
    assert tuple(best_segmentation(emissions, durations, first, transitions)) == max(score, key=score.__getitem__)


def test_estimates_by_hand() -> None:
    x = np.array([[0.0], [2.0], [5.0], [7.0], [9.0]])
    model = estimate(x, [np.array([0, 0, 1]), np.array([1, 0])], np.array([[8.0], [8.0], [8.0]]))
    np.testing.assert_allclose(model.centres, [[11 / 3], [6.0], [8.0]])
    offsets = [11 / 3, 5 / 3, 1.0, 1.0, 16 / 3]
    np.testing.assert_allclose(model.variance, np.mean(np.square(offsets)))
    # Runs of 0 have lengths 2 and 1, runs of 1 have 1 and 1; 2 does not occur and takes the mean of all four.
    np.testing.assert_allclose(model.durations, [1.5, 1.0, 1.25])
    np.testing.assert_allclose(model.first, np.array([2, 2, 1]) / 5)
    np.testing.assert_allclose(model.transitions, [[0, 2 / 3, 1 / 3], [2 / 3, 0, 1 / 3], [0.5, 0.5, 0]])


def test_emissions_and_durations_are_distributions() -> None:
    model = SemiMarkov(np.array([[0.0], [3.0]]), 0.5, np.array([1.0, 12.0]), np.full(2, 0.5), 1 - np.eye(2))
    grid = np.linspace(-30, 30, 20001)[:, None]
    np.testing.assert_allclose(np.exp(model.log_emissions(grid)).sum(axis=0) * 60 / 20000, 1, rtol=1e-6)
    durations = np.exp(model.log_durations(10_000))
    np.testing.assert_allclose(durations.sum(axis=0), 1, rtol=1e-9)
    np.testing.assert_allclose(np.arange(1, len(durations) + 1) @ durations, [1.001, 12.0], rtol=1e-9)
    assert len(model.log_durations(7)) == 7


def test_steps_in_any_order_and_again_are_found_in_noise() -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4, 32))
    orders = ([0, 1, 2, 3], [2, 0, 3, 1], [0, 1, 0, 3], [3, 1, 2, 0])
    truth = np.concatenate([np.repeat(order, 20) for order in orders])
    x = centres[truth] + 1.0 * rng.normal(size=(len(truth), 32))
    decoded = decode_by("semimarkov", Frames(x, (80,) * 4, 2.0), 4, {}, rng)
    assert len(set(zip(truth.tolist(), decoded.labels.tolist(), strict=True))) == 4
    assert decoded.facts["semimarkov"].converged
    np.testing.assert_allclose(sorted(decoded.facts["semimarkov"].mean_durations_s), [10.0] * 4)
    predict = predict_by("semimarkov", decoded, 4, {})
    np.testing.assert_array_equal(predict(Frames(x[80:160], (80,), 2.0)).labels, decoded.labels[80:160])


@pytest.mark.parametrize("K", [1, 3])
def test_identical_samples_are_one_key_step(K: int) -> None:
    decoded = decode_by("semimarkov", Frames(np.ones((30, 4)), (20, 10), 2.0), K, {}, np.random.default_rng(0))
    assert set(decoded.labels.tolist()) == {0}
    assert estimate(np.ones((3, 4)), [np.zeros(3, dtype=np.int64)], np.ones((1, 4))).variance == FLOOR
