"""Dynamic time warping, compared with its definition, and labels that it transfers from one video to another."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rgwot.keysteps.interface import UNKNOWN, directions
from rgwot.keysteps.labelled import carry_over
from rgwot.keysteps.warping import ALIGNED, evenly_spaced, warp


def least_cost(apart: NDArray[np.float64]) -> float:
    """Return the cost of the cheapest path, computed cell by cell."""
    sums = np.full((len(apart) + 1, apart.shape[1] + 1), np.inf)
    sums[0, 0] = 0
    for i in range(len(apart)):
        for j in range(apart.shape[1]):
            sums[i + 1, j + 1] = apart[i, j] + min(sums[i, j], sums[i, j + 1], sums[i + 1, j])
    return float(sums[-1, -1])


@pytest.mark.parametrize("P", [1, 300])
def test_the_cheapest_path_of_every_pair(P: int) -> None:
    generator = np.random.default_rng(0)
    one, other = generator.normal(size=(2, P, 9, 3))
    costs, paths = warp(one, other)
    for pair in range(0, P, 37):
        apart = np.square(one[pair][:, None] - other[pair][None]).sum(axis=2)
        i, j = paths[pair][paths[pair][:, 0] >= 0][::-1].T
        assert costs[pair] == pytest.approx(least_cost(apart))
        assert apart[i, j].sum() == pytest.approx(costs[pair])
        assert (i[0], j[0], i[-1], j[-1]) == (0, 0, 8, 8)
        steps = np.stack([np.diff(i), np.diff(j)], axis=1)
        assert set(map(tuple, steps.tolist())) <= {(0, 1), (1, 0), (1, 1)}


def test_labels_follow_the_order_where_two_steps_look_alike() -> None:
    generator = np.random.default_rng(1)
    a, b = generator.normal(size=(2, 8))
    # The first and the last step look the same; the two videos spend different shares of their time on them.
    labels = [np.repeat([0, 1, 2], [40, 50, 30]), np.repeat([0, 1, 2], [20, 30, 90])]
    looks = np.stack([a, b, a])
    x = directions(np.concatenate([looks[label] for label in labels]) + 0.05 * generator.normal(size=(260, 8)))
    lengths = [len(label) for label in labels]
    shown, said = evenly_spaced(x, lengths)[:1], evenly_spaced(np.concatenate(labels), lengths)[:1]
    p = carry_over(x, lengths, shown, said, 3)
    assert p.sum(axis=1) == pytest.approx(np.ones(len(x)))
    assert (p.argmax(axis=1) == np.concatenate(labels)).mean() > 0.97


def test_without_labels_all_classes_are_alike_and_the_nearer_video_counts_more() -> None:
    generator = np.random.default_rng(2)
    x = directions(generator.normal(size=(3 * ALIGNED, 8)))
    x[2 * ALIGNED :] = x[:ALIGNED]
    said = np.zeros((2, ALIGNED), dtype=np.int64)
    said[1] = 1
    said[:, : ALIGNED // 2] = UNKNOWN
    p = carry_over(x, [ALIGNED] * 3, evenly_spaced(x, [ALIGNED] * 3)[:2], said, 3)[2 * ALIGNED :]
    # Class 2 has no label, so it keeps only memberships that cannot be ruled out.
    assert p[:20, 0] == pytest.approx(p[:20, 1])
    assert (p[-20:, 0] > 0.9).all()
    assert (p[-20:, 2] < 1e-6).all()
