"""Statistics by which recordings and signal tasks are compared, on data with known values."""

from __future__ import annotations

import numpy as np
import pytest
from recordings import signal
from task_statistics import explained, slope, statistics


def test_variance_between_steps_is_a_share_without_background() -> None:
    labels = np.array([1, 1, 2, 2, 0])
    # In the first channel, steps have means -1 and 1, so the variance is 1 between steps and 1 within them. In the
    # second channel, the means are equal.
    x = np.array([[-2.0, 1.0], [0.0, -1.0], [0.0, 1.0], [2.0, -1.0], [99.0, 99.0]])
    assert explained([x[:3], x[3:]], labels) == pytest.approx([0.5, 0.0])


@pytest.mark.parametrize(("order", "expected"), [(0, 0.0), (1, -2.0)])
def test_slope_of_white_noise_and_of_a_random_walk(order: int, expected: float) -> None:
    noise = np.random.default_rng(0).normal(size=(4000, 20))
    walk = np.cumsum(noise, axis=0) if order else noise
    assert slope(walk - walk.mean(axis=0), 20.0) == pytest.approx(expected, abs=0.15)


def test_signal_tasks_resemble_the_recordings() -> None:
    """Check roughly the statistics of benchmarks/task_statistics.py, so that changes of the generator keep them."""
    found = statistics(signal("signal_repeating", 0))
    assert found["background, %"] == [0]
    assert 1.5 < found["times that a key step comes"][0] < 2.2
    assert -1.6 < found["slope of the spectrum"][0] < -1.0
    assert 3 < found["J of the annotation, whitened, and with speed, %"][0] < 10
    assert found["share of the rarest and the commonest key step, %"][0] < 6
