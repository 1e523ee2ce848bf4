"""Recordings far longer than the others (left running, or done slowly) are labelled as well as the others."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

import rgwot
from rgwot.embedding.pace import at_usual_pace, nearest_of

STEPS, SAMPLES = 5, 60


def take(seed: int) -> NDArray[np.float32]:
    """Return a take of five steps in order, (60, 12)."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(99).normal(size=(STEPS, 12))
    return (np.repeat(means, SAMPLES // STEPS, axis=0) + 0.3 * rng.normal(size=(SAMPLES, 12))).astype(np.float32)


def idle(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a take that was left running: it is four times as long, and ends with noise around its last samples."""
    rng = np.random.default_rng(7)
    return np.concatenate([x, x[-6:].mean(axis=0) + 0.02 * rng.normal(size=(3 * len(x), 12)).astype(np.float32)])


def slow(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a take that takes four times as long."""
    return np.repeat(x, 4, axis=0)


def test_idle_time_is_left_out_and_slow_time_is_thinned() -> None:
    x = take(0)
    chosen = at_usual_pace(idle(x), SAMPLES)
    assert chosen is not None
    assert (chosen < SAMPLES).mean() > 0.7
    even = at_usual_pace(np.arange(240.0)[:, None], SAMPLES)
    assert even is not None
    np.testing.assert_allclose(np.diff(even[5:-5]), 4, atol=1)
    assert len(even) == SAMPLES


def test_only_far_longer_recordings_are_thinned() -> None:
    x = np.arange(179.0)[:, None]
    assert at_usual_pace(x, 60) is None
    assert at_usual_pace(x, float("nan")) is None
    assert at_usual_pace(np.arange(180.0)[:, None], 60) is not None
    still = at_usual_pace(np.zeros((240, 3)), 60)
    assert still is not None
    assert len(still) == 60
    np.testing.assert_array_equal(nearest_of(still, 240)[still], np.arange(60))


@pytest.mark.parametrize("longer", [idle, slow])
@pytest.mark.parametrize("labelled", [False, True], ids=["no labels", "taught"])
def test_a_longer_recording_neither_suffers_nor_spoils_the_others(longer: object, labelled: bool) -> None:
    takes = {f"v{seed}": take(seed) for seed in range(6)}
    labels = {f"v{seed}": np.repeat(np.arange(1, STEPS + 1), SAMPLES // STEPS) for seed in (0, 1)} if labelled else None
    keys = {"labels": labels} if labelled else {"K": STEPS, "decoder": "meanfield"}
    result = rgwot.discover({**takes, "v3": longer(takes["v3"])}, fps=2, **keys)  # type: ignore[operator]
    truth = np.repeat(np.arange(STEPS), SAMPLES // STEPS)
    for name in takes:
        key_steps = result.labels[name]
        if name == "v3":
            assert len(key_steps) == 4 * SAMPLES
            key_steps = key_steps[:SAMPLES] if longer is idle else key_steps[::4]
        assert adjusted_rand_score(truth, key_steps) > (0.7 if name == "v3" else 0.9), name
    # A new recording is thinned to the pace of the recordings that were learned from.
    (new,) = result.predict([longer(take(9))]).values()  # type: ignore[operator]
    assert adjusted_rand_score(truth, new[:SAMPLES] if longer is idle else new[::4]) > 0.7
