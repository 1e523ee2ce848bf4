"""Classifiers that label a video after learning from others, against scikit-learn and hand-worked numbers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from rgwot.keysteps.common_time import with_time
from rgwot.keysteps.consensus import SAY, Classifier, in_context, refine, together
from rgwot.keysteps.interface import Frames


def samples(T: int = 300, D: int = 6, K: int = 4, noise: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    labels = np.arange(T) % K
    return generator.normal(size=(K, D))[labels] + noise * generator.normal(size=(T, D)), labels


@pytest.mark.parametrize("K", [2, 4])
def test_the_classifier_is_linear_discriminant_analysis(K: int) -> None:
    z, labels = samples(K=K)
    expected = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(z, labels).predict_proba(z)
    np.testing.assert_allclose(Classifier.fit(z, labels, K).probabilities(z), expected, atol=1e-9)


def test_a_class_without_samples_is_never_the_answer() -> None:
    z, labels = samples(K=3)
    actual = Classifier.fit(z, np.where(labels == 1, 3, labels), 4).probabilities(z)
    assert (actual[:, 1] == 0).all()
    np.testing.assert_allclose(actual.sum(axis=1), 1)


def test_a_single_class_is_certain() -> None:
    found = Classifier.fit(np.ones((5, 2)), np.full(5, 1), 3).probabilities(np.zeros((2, 2)))
    assert (found == [[0, 1, 0]] * 2).all()


def test_context_stays_in_its_video_and_time_comes_last() -> None:
    x = np.concatenate([np.full((100, 1), 1.0), np.full((20, 1), -1.0)])
    lengths = (100, 20)
    plain = in_context(Frames(x, lengths, 2.0))
    assert plain.shape == (120, 5)
    assert (plain[:100] == 1).all()
    assert (plain[100:] == -1).all()
    ramp = in_context(Frames(np.arange(100.0)[:, None], (100,), 2.0))
    assert ramp[50].tolist() == [45, 48, 50, 52, 55]
    assert ramp[0].tolist() == [0, 0, 0, 2, 5]
    timed = in_context(Frames(with_time(x, lengths, 0.03), lengths, 2.0, place=2))
    assert timed.shape == (120, 6)
    np.testing.assert_allclose(timed[[0, 99, 100], 5], [-0.495, 0.495, -0.475])


def test_own_and_others_are_weighed_by_logarithms() -> None:
    own, others = np.array([[0.8, 0.2]]), np.array([[0.1, 0.9]])
    actual = together(own, others, (1,))
    expected = own ** (1 - SAY) * others**SAY
    np.testing.assert_allclose(actual, expected / expected.sum())


def test_a_video_has_no_say_in_its_own_labels() -> None:
    """Labels of a video that contradict those of all others for the same samples are corrected."""
    z, labels = samples(T=40, noise=0.1)
    x, V = np.tile(z, (6, 1)), 6
    own = np.tile(labels, V)
    own[:40] = (labels + 1) % 4
    unsure = 0.55 * np.eye(4)[own] + 0.45 * np.eye(4)[np.tile(labels, V)]
    # The class changes from sample to sample, so nothing may be averaged over time.
    found, _ = refine(Frames(x, (40,) * V, 2.0), unsure, 1)
    assert (found[:40].argmax(axis=1) == labels).all()


def test_no_rounds_and_a_single_video_change_nothing() -> None:
    z, labels = samples(T=40)
    p = np.eye(4)[labels]
    assert (refine(Frames(z, (20, 20), 2.0), p, 0)[0] == p).all()
    assert (refine(Frames(z, (40,), 2.0), p, 3)[0] == p).all()


def test_the_classifier_that_is_kept_takes_samples_in_context() -> None:
    z, labels = samples(noise=0.1)
    frames = Frames(z, (150, 150), 2.0)
    kept = refine(frames, np.eye(4)[labels], 0)[1]
    assert (kept.probabilities(in_context(frames)).argmax(axis=1) == labels).mean() > 0.95
