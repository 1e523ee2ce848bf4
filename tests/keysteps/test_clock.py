"""Relative time as a part of embeddings."""

from __future__ import annotations

import numpy as np
import pytest

from rgwot.keysteps.choices import with_time


def test_lengths_stay_one_and_inner_products_are_shared_out() -> None:
    x = np.random.default_rng(0).normal(size=(7, 3))
    timed = with_time(x, (3, 4), 0.2)
    assert np.linalg.norm(timed, axis=1) == pytest.approx(1.0)
    directions = x / np.linalg.norm(x, axis=1, keepdims=True)
    # Second of three and third of four samples: relative times 1/2 and 5/8, an eighth of half a circle apart.
    expected = 0.8 * directions[1] @ directions[5] + 0.2 * np.cos(np.pi / 8)
    assert timed[1] @ timed[5] == pytest.approx(expected)


def test_the_ends_of_a_long_video_are_opposite() -> None:
    timed = with_time(np.zeros((1000, 2)), (1000,), 0.5)
    assert timed[0] @ timed[-1] == pytest.approx(-0.5, abs=1e-4)


def test_no_share_changes_nothing() -> None:
    x = np.random.default_rng(1).normal(size=(5, 2))
    assert (with_time(x, (5,), 0.0) == x).all()
