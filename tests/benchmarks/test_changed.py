"""The benchmark of changed orders: changes of videos, parts that must stay, and the samples that are counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from changed import (
    COLUMNS,
    FREE,
    HMM,
    MOVED,
    OURS,
    SHAM,
    TEACHERS,
    block_changed,
    changed,
    cut,
    printed,
    right,
    segments,
    shuffled,
)
from labelled import Seen
from recordings import Recording, Task

from rgwot.keysteps.interface import Frames

Y = np.repeat([1, 0, 2, 3, 5, 4, 2], [6, 4, 8, 10, 3, 8, 3])
X = np.arange(len(Y), dtype=np.float32)[:, None]


def test_seams_are_blended_and_nothing_else_changes() -> None:
    x, y = cut(X, Y, (10, 18), (0, 10), (18, len(Y)))
    assert y.tolist() == [*Y[10:18], *Y[:10], *Y[18:]]
    assert x[:5, 0].tolist() == list(range(10, 15))
    # Three samples on each side of the cut lie on a line.
    assert np.allclose(np.diff(x[5:11, 0], n=2), 0, atol=1e-5)
    assert x[11:15, 0].tolist() == list(range(3, 7))


def test_segments_in_random_order_keep_their_samples() -> None:
    x, y = shuffled(X, Y, np.random.default_rng(0))
    assert [b - a for a, b, _ in segments(Y)] == [6, 4, 8, 10, 3, 8, 3]
    assert np.array_equal(np.bincount(y), np.bincount(Y))
    assert y.tolist() != Y.tolist()
    assert x.shape == X.shape


@pytest.mark.parametrize("seed", range(8))
def test_a_moved_step_passes_two_others(seed: int) -> None:
    (_, y), step = block_changed(X, Y, MOVED, np.random.default_rng(seed)) or pytest.fail("nothing was moved")
    assert step in (1, 3, 4, 5)
    before, after = ([k for *_, k in segments(part)] for part in (Y, y))
    assert abs(before.index(step) - after.index(step)) >= 2
    rest_before, rest_after = (part[part != step].tolist() for part in (Y, y))
    assert rest_before == rest_after


@pytest.mark.parametrize("seed", range(4))
def test_a_sham_keeps_the_order(seed: int) -> None:
    (_, y), step = block_changed(X, Y, SHAM, np.random.default_rng(seed)) or pytest.fail("nothing was changed")
    assert [k for *_, k in segments(y)] == [k for *_, k in segments(Y)]
    assert y[y != step].tolist() == Y[step != Y].tolist()


def test_teachers_are_not_changed() -> None:
    labels = [np.repeat([1, 2, 3, 4], [5 + n, 6, 7, 5]) for n in range(8)]
    stores = [Recording(Path(str(n)), np.random.default_rng(n).normal(size=(len(y), 2))) for n, y in enumerate(labels)]
    task = Task(stores, labels, 4, 1.0)
    for change in (FREE, MOVED, SHAM):
        made = changed(task, change, 0)
        assert len(made.teachers) == TEACHERS
        same = [np.array_equal(a.x, b.x) for a, b in zip(task.stores, made.task.stores, strict=True)]
        assert all(same[v] for v in made.teachers)
        assert [v for v, one in enumerate(same) if not one] == (
            sorted(made.blocks) if change != FREE else [v for v in range(8) if v not in made.teachers]
        )
        assert len(made.blocks) == (2 if change != FREE else 0)


def test_samples_of_the_block_are_counted_by_step() -> None:
    labels = [np.array([1, 1, 2, 2]), np.array([2, 1, 1, 1])]
    frames = Frames(np.zeros((8, 1)), (4, 4), 1.0)
    seen = Seen(Task([], labels, 2, 1.0), frames, frames, lambda seed: np.zeros(8, dtype=np.int64))
    assert right(seen, np.array([1, 1, 1, 0, 1, 0, 0, -1]), {0: 2, 1: 1}) == [True, False, True, True, False]


def test_shares_are_pooled_over_samples() -> None:
    rows: list[tuple[object, ...]] = [("a", "a", FREE, OURS, 0, 70.0, *(None,) * 3, 1.0)]
    rows += [("a", "a", FREE, HMM, 0, 60.0, *(None,) * 3, 1.0)]
    rows += [
        ("a", name, MOVED, OURS, 0, 70.0, right_, 90.0, n, 1.0) for name, right_, n in (("a", 50, 10), ("b", 80, 30))
    ]
    text = printed(pd.DataFrame(rows, columns=list(COLUMNS)))
    assert "| mean over tasks | 70.0 | 60.0 |" in text
    assert f"| moved, {OURS}, pooled | 90.0 | 72.5 | 40 |" in text
