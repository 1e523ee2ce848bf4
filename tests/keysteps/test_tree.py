"""The tree of key steps: Ward's merges compared with SciPy's, and planted steps in cuts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from tree_cut import cut

from rgwot.keysteps import interface as many
from rgwot.keysteps.tree import LEAVES, grow, ward


def same(one: np.ndarray, other: np.ndarray) -> bool:
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 9))
def test_single_samples_are_merged_as_scipy_does(seed: int, n: int) -> None:
    x = np.random.default_rng(seed).normal(size=(n, 3))
    merges = ward(x, np.arange(n))
    oracle = linkage(x, "ward")
    # SciPy's height is the square root of twice the increase of the sum of squares.
    total = np.square(x - x.mean(axis=0)).sum()
    assert [lost for *_, lost in merges] == pytest.approx((oracle[:, 2] ** 2 / 2 / total).tolist())
    assert sum(lost for *_, lost in merges) == pytest.approx(1)
    for K in range(1, n + 1):
        assert same(cut(merges, n, K), fcluster(oracle, K, "maxclust"))


def test_mass_counts() -> None:
    x = np.array([[0.0]] * 8 + [[1.0]] * 8 + [[2.2]])
    # Merging the two clusters of eight costs 8 * 8 / 16 = 4; the single sample with its neighbour, 8 / 9 * 1.44.
    (first, second) = ward(x, np.repeat([0, 1, 2], [8, 8, 1]))
    assert first[:2] == (1, 2)
    assert first[2] == pytest.approx(8 / 9 * 1.2**2 / np.square(x - x.mean()).sum())
    assert second[:2] == (0, 3)


def planted(K: int, noise: float) -> tuple[np.ndarray, np.ndarray, list[int]]:
    generator = np.random.default_rng(0)
    looks = generator.normal(size=(K, 16))
    labels = np.concatenate([np.repeat(generator.permutation(K), 15) for _ in range(6)])
    return looks[labels] + noise * generator.normal(size=(len(labels), 16)), labels, [15 * K] * 6


@pytest.mark.parametrize("K", [3, 6, 9])
def test_cut_at_their_number_the_planted_steps_are_found(K: int) -> None:
    x, labels, lengths = planted(K, 0.3)
    tree = grow(x, lengths, np.random.default_rng(1))
    n = len(tree.merges) + 1
    assert set(tree.leaves.tolist()) == set(range(n))
    assert K <= n <= LEAVES
    found = cut(tree.merges, n, K)[tree.leaves]
    assert same(found, labels)


def test_of_many_videos_those_that_were_not_segmented_are_cut_at_the_planted_steps_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, labels, lengths = planted(6, 0.3)
    monkeypatch.setattr(many, "MOST_LEARNED", 270)
    assert len(many.learned_from(lengths)) == 3
    tree = grow(x, lengths, np.random.default_rng(1))
    assert tree.leaves.shape == (len(x),)
    assert tree.places.shape[0] == len(x)
    assert same(cut(tree.merges, len(tree.merges) + 1, 6)[tree.leaves], labels)


def test_leaves_are_drawn_without_crossing_and_early_ones_first() -> None:
    x, _, lengths = planted(6, 0.5)
    tree = grow(x, lengths, np.random.default_rng(2))
    n = len(tree.merges) + 1
    members = {k: [k] for k in range(n)}
    times = np.concatenate([np.arange(length) / length for length in lengths])
    for new, (a, b, lost) in enumerate(tree.merges, start=n):
        above, below = sorted((members.pop(a), members.pop(b)))
        assert above[-1] + 1 == below[0]
        early, late = (times[np.isin(tree.leaves, own)].mean() for own in (above, below))
        assert early <= late
        assert lost > 0
        members[new] = above + below
    # Every cluster of a finer cut is a part of a cluster of the coarser cut.
    for K in range(1, n):
        pairs = set(zip(cut(tree.merges, n, K + 1).tolist(), cut(tree.merges, n, K).tolist(), strict=True))
        assert len(pairs) == K + 1


def test_the_same_seed_gives_the_same_tree_and_samples_that_are_alike_one_leaf() -> None:
    x, _, lengths = planted(4, 0.5)
    one, other = (grow(x, lengths, np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(one.leaves, other.leaves)
    assert one.merges == other.merges
    for few in (np.ones((7, 3)), np.zeros((1, 2))):
        alike = grow(few, [len(few)], np.random.default_rng(0))
        assert (alike.merges, set(alike.leaves.tolist())) == ((), {0})
    two = grow(np.array([[1.0, 0.0], [0.0, 1.0]]), [1, 1], np.random.default_rng(0))
    assert len(two.merges) + 1 == len(set(two.leaves.tolist()))
