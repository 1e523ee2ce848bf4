"""Signal tasks are equal for equal seeds, and have the documented steps, shares and background."""

from __future__ import annotations

import numpy as np
import pytest
from signals import RECIPES, Task, make_task


def shares(task: Task) -> np.ndarray:
    labels = np.concatenate(task.labels)
    return np.bincount(labels, minlength=task.K + 1) / len(labels)


def segments(labels: np.ndarray) -> np.ndarray:
    return labels[np.flatnonzero(np.r_[True, np.diff(labels) != 0])]


@pytest.mark.parametrize("name", RECIPES)
def test_a_task_is_a_function_of_its_name_and_seed(name: str) -> None:
    first, again, other = make_task(name, 0), make_task(name, 0), make_task(name, 1)
    for a, b in zip(first.features + first.labels, again.features + again.labels, strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(first.features) == len(first.labels) == RECIPES[name].recordings
    for x, y in zip(first.features, first.labels, strict=True):
        assert x.dtype == np.float32
        assert x.shape == (len(y), first.features[0].shape[1])
        assert np.isfinite(x).all()
        assert (x.std(axis=0) > 0).all()
    assert [len(y) for y in first.labels] != [len(y) for y in other.labels]
    assert first.K == len(RECIPES[name].durations) == max(int(y.max()) for y in first.labels)


@pytest.mark.parametrize(("name", "background"), [(name, None) for name in RECIPES] + [("signal_ordered", 0.5)])
def test_background_is_there_where_it_is_asked_for_and_nowhere_else(name: str, background: float | None) -> None:
    actual = np.mean([shares(make_task(name, seed, background))[0] for seed in range(3)])
    expected = RECIPES[name].background if background is None else background
    assert actual == 0 if expected == 0 else abs(actual - expected) < 0.05


def test_steps_come_in_order_or_again_and_some_are_rare() -> None:
    for seed in range(3):
        for labels in make_task("signal_ordered", seed).labels:
            assert len(segments(labels)) == len(set(labels))
        for name in ("signal_repeating", "signal_rare"):
            times = [len(segments(labels)) / len(set(labels)) for labels in make_task(name, seed).labels]
            assert 1.5 < np.mean(times) < 3.2
        for name in ("signal_ordered", "signal_rare"):
            assert 0 < shares(make_task(name, seed))[1:].min() < 0.03
