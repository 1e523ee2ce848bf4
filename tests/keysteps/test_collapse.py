from __future__ import annotations

import math

import numpy as np
import pytest

from rgwot.keysteps.collapse import (
    combine,
    diagnose,
    dominant_share,
    mean_max_membership,
    mean_pairwise_cosine,
    membership_contrast,
    membership_entropy,
    relative_variance,
)

UNIFORM = np.full((140, 7), 1 / 7)
BALANCED = np.repeat(np.arange(7), 20)
HARD = np.eye(7)[BALANCED]


def sound() -> np.ndarray:
    """Return 20 samples around each of seven places on the unit sphere of 16 dimensions."""
    x = np.eye(16)[BALANCED] + 0.05 * np.random.default_rng(0).normal(size=(140, 16))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def constant_with_noise() -> np.ndarray:
    x = np.ones((140, 16)) / 4 + 0.002 * np.random.default_rng(0).normal(size=(140, 16))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def test_mean_pairwise_cosine_against_all_pairs() -> None:
    x = np.random.default_rng(0).normal(size=(12, 5)) + 0.5
    pairs = [x[i] @ x[j] / np.linalg.norm(x[i]) / np.linalg.norm(x[j]) for i in range(12) for j in range(12) if i != j]
    assert mean_pairwise_cosine(x) == pytest.approx(np.mean(pairs), rel=1e-12)


def test_mean_pairwise_cosine_of_opposite_equal_and_single_samples() -> None:
    assert mean_pairwise_cosine(np.array([[1.0, 0], [-2, 0]])) == -1
    assert mean_pairwise_cosine(np.full((4, 3), 0.3)) == pytest.approx(1)
    assert math.isnan(mean_pairwise_cosine(np.ones((1, 3))))
    assert math.isnan(mean_pairwise_cosine(np.array([[0.0, 0.0], [1.0, 0.0]])))


def test_relative_variance_of_unit_vectors_is_one_minus_the_mean_cosine() -> None:
    x = sound()
    assert relative_variance(x) == pytest.approx(1 - np.mean(x @ x.T), rel=1e-9)
    assert relative_variance(np.zeros((5, 2))) == 0


def test_entropy_and_largest_membership() -> None:
    assert membership_entropy(UNIFORM) == pytest.approx(1)
    assert membership_entropy(HARD) == 0
    assert membership_entropy(np.array([[0.5, 0.5, 0, 0]])) == pytest.approx(0.5)
    assert mean_max_membership(UNIFORM) == pytest.approx(1 / 7)
    assert mean_max_membership(HARD) == 1
    assert membership_contrast(UNIFORM) == pytest.approx(0, abs=1e-12)
    assert membership_contrast(HARD) == 1
    assert membership_entropy(np.ones((3, 1))) == 0


def test_the_most_frequent_label_dominates() -> None:
    assert dominant_share(np.array([3, 3, 1])) == pytest.approx(2 / 3)


@pytest.mark.parametrize("x", [np.full((140, 16), 0.25), constant_with_noise()], ids=["identical", "nearly"])
def test_a_constant_embedding_is_the_cause_whatever_the_decoder_makes_of_it(x: np.ndarray) -> None:
    for labels, memberships in ((BALANCED, HARD), (np.zeros(140, dtype=int), UNIFORM)):
        assert diagnose(x, labels, 7, memberships) == "embedding"


@pytest.mark.parametrize(
    ("labels", "memberships"),
    [(BALANCED, UNIFORM + 1e-4 * (HARD - 1 / 7)), (np.r_[1, 2, np.zeros(138, dtype=int)], HARD)],
    ids=["uniform memberships", "one label nearly everywhere"],
)
def test_a_decoder_that_says_one_thing_of_a_sound_embedding_is_the_cause(
    labels: np.ndarray, memberships: np.ndarray
) -> None:
    assert diagnose(sound(), labels, 7, memberships) == "decoder"


def test_sound_results_are_not_marked() -> None:
    assert diagnose(sound(), BALANCED, 7, HARD) is None
    soft = 0.7 * UNIFORM + 0.3 * HARD
    assert diagnose(sound(), BALANCED, 7, soft) is None
    # Much background in one cluster is not a collapse, nor are nearly parallel features that differ.
    assert diagnose(sound(), np.repeat([0, 1, 2], [112, 14, 14]), 7, HARD) is None
    assert diagnose(sound() + 4, BALANCED, 7, HARD) is None


def test_what_cannot_show_collapse_is_not_marked() -> None:
    assert diagnose(np.ones((1, 4)), np.zeros(1, dtype=int), 7, np.full((1, 7), 1 / 7)) is None
    assert diagnose(sound(), np.zeros(140, dtype=int), 1, np.ones((140, 1))) is None
    assert diagnose(np.eye(3), np.zeros(3, dtype=int), 7, None) is None


def test_many_videos_are_degenerate_from_one_half_on() -> None:
    assert combine([None, None, "decoder"]) is None
    assert combine([None, "decoder"]) == "decoder"
    assert combine(["decoder", "decoder", "embedding"]) == "decoder"
    assert combine(["decoder", "embedding"]) == "embedding"
    assert combine([None]) is None
