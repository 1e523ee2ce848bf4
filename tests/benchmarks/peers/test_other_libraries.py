"""Decoders of other libraries label every sample, and recover steps that are far apart."""

from __future__ import annotations

import numpy as np
import pytest
from decoder_task import task
from hmm import Hmm, decode_hmm
from sklearn.metrics import adjusted_rand_score
from ticc import _filled, decode_ticc


def test_the_markov_model_finds_steps_that_are_far_apart() -> None:
    pytest.importorskip("hmmlearn")
    frames, truth = task(noise=0.2)
    actual = [decode_hmm(frames, 4, np.random.default_rng(0), Hmm()).labels for _ in range(2)]
    np.testing.assert_array_equal(*actual)
    assert adjusted_rand_score(truth, actual[0]) > 0.95


def test_ticc_labels_every_sample() -> None:
    pytest.importorskip("fast_ticc")
    frames, truth = task(noise=0.2)
    labels = decode_ticc(frames, 4, np.random.default_rng(0)).labels
    assert labels.shape == truth.shape
    assert labels.min() >= 0
    assert labels.max() < 4


def test_samples_without_a_window_have_the_nearest_label() -> None:
    assert _filled(np.array([2, -1, -1, 1, -1]), 7).tolist() == [2, 2, 1, 1, 1, 1, 1]
    assert _filled(np.array([-1]), 2).tolist() == [0, 0]
