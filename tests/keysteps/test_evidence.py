"""Omitted or swapped key steps are reported, although the decoder finds key steps at their usual times."""

from __future__ import annotations

import numpy as np
import pytest

from rgwot import discover
from rgwot.keysteps.evidence import appearance, usual_samples, without_lookalikes

USUAL = [1, 2, 3, 4, 5]


def videos(orders: list[list[int]], n: int, seed: int) -> list[np.ndarray]:
    """Return key steps of ``n`` samples whose means are 3 standard deviations apart, or more."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(5, 16))
    apart = min(np.linalg.norm(means[a] - means[b]) for a in range(5) for b in range(a))
    return [
        np.concatenate([means[step - 1] + rng.normal(scale=apart / 3, size=(n, 16)) for step in order])
        for order in orders
    ]


@pytest.mark.parametrize(
    ("third", "n", "kinds"),
    [
        ([1, 2, 4, 5], 12, {("missing", 3)}),
        ([1, 2, 4, 5], 25, {("missing", 3)}),
        ([1, 4, 5], 12, {("missing", 2), ("missing", 3)}),
        ([1, 3, 2, 4, 5], 12, {("too_early", 3)}),
        (USUAL, 12, set()),
    ],
)
def test_what_one_of_nine_videos_does_differently_is_found(third: list[int], n: int, kinds: set) -> None:
    result = discover(videos([USUAL, USUAL, third, *[USUAL] * 6], n, 0), fps=2, K=5)
    told = result.deviations
    assert {(row.video, row.kind, row.key_step) for row in told.itertuples()} == {("2", *kind) for kind in kinds}
    assert (told["sureness"] >= 0.5).all()


def test_segments_fall_to_the_neighbours_that_explain_them() -> None:
    """Of four samples of 1, two look like 0 and two like 2; the last sample looks like 0, which is not next to it."""
    labels = np.array([0, 0, 1, 1, 1, 1, 2, 2, -1, 2])
    look = np.array([0, 0, 0, 0, 2, 2, 2, 2, 0, 0])
    said = np.where(look[:, None] == np.arange(3), 0.0, -9.0)
    assert without_lookalikes(labels, said, {}).tolist() == [0, 0, 1, 1, 1, 1, 2, 2, -1, 2]
    assert without_lookalikes(labels, said, {1: 8}).tolist() == [0, 0, 0, 0, 2, 2, 2, 2, -1, 2]
    # Key step 1 is nearly as long as usual, so it is kept.
    assert without_lookalikes(labels, said, {1: 5}).tolist() == labels.tolist()
    # Nothing is known about a key step that no other video has.
    said[:, 1] = np.nan
    assert without_lookalikes(labels, said, {1: 8}).tolist() == labels.tolist()


def test_appearance_is_learned_from_other_videos_alone() -> None:
    rng = np.random.default_rng(0)
    labels = np.tile(np.repeat([0, 1], 10), 3)
    x = labels[:, None] * 6.0 + rng.normal(size=(60, 4))
    swapped = labels.copy()
    swapped[:20] = 1 - swapped[:20]
    said = appearance(x, swapped, [20] * 3, 2)
    # The samples of the first video look like those of the others, whatever its labels.
    assert (said[:20].argmax(axis=1) == labels[:20]).all()
    alone = appearance(x[:20], labels[:20], [20], 2)
    assert np.isnan(alone).all()


def test_usual_lengths_are_counted_in_samples() -> None:
    assert usual_samples([np.array([0, 0, 0, -1, 1]), np.array([0, 0, 0, 0, 0])]) == {0: 4, 1: 1}
