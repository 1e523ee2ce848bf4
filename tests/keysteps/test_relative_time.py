"""Relative time as a part of embeddings, the share of it that is chosen, and the agreement it is chosen by."""

from __future__ import annotations

import numpy as np
import pytest

from rgwot.keysteps import extended
from rgwot.keysteps.extended import (
    HINT,
    KEEPS,
    SAME_ORDER,
    SHARES,
    choose_share,
    explained_share,
    largest_share,
    with_time,
)
from rgwot.keysteps.settings import MeanfieldSettings


def test_is_the_inner_product_with_the_means_of_the_other_videos() -> None:
    x = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [0.0, 1.0]])
    labels = np.array([0, 1, 0, 1])
    # Two videos of two samples: the other video has one sample per label, shrunk by two: a third of it.
    expected = (1 * 3 / 3 + 2 * 1 / 3 + 3 * 1 / 3 + 1 * 2 / 3) / (1 + 4 + 9 + 1)
    assert explained_share(x, labels, (2, 2)) == pytest.approx(expected, rel=1e-12)


def test_what_one_video_has_alone_counts_for_nothing() -> None:
    x = np.array([[5.0], [0.0], [0.0], [0.0]])
    assert explained_share(x, np.array([0, 1, 1, 1]), (2, 2)) == 0.0


def test_expects_nothing_of_labels_without_relation() -> None:
    generator = np.random.default_rng(0)
    x, labels = generator.normal(size=(6000, 8)), generator.integers(0, 7, 6000)
    assert abs(explained_share(x, labels, (1000,) * 6)) < 0.005


def test_numbering_and_order_of_videos_change_nothing() -> None:
    generator = np.random.default_rng(1)
    x, labels = generator.normal(size=(30, 3)), generator.integers(-1, 3, 30)
    swapped = np.r_[10:30, 0:10]
    renamed = np.array([2, 0, 1, 5])[labels]
    assert explained_share(x, labels, (10, 20)) == pytest.approx(explained_share(x, renamed, (10, 20)))
    assert explained_share(x, labels, (10, 20)) == pytest.approx(explained_share(x[swapped], labels[swapped], (20, 10)))


def test_a_single_video_or_samples_of_zeros_say_nothing() -> None:
    assert explained_share(np.ones((3, 2)), np.zeros(3, dtype=int), (3,)) == 0.0
    assert explained_share(np.zeros((4, 2)), np.zeros(4, dtype=int), (2, 2)) == 0.0


def test_features_that_never_change_leave_nothing_to_choose() -> None:
    share, facts = choose_share(np.zeros((20, 3)), (10, 10), 5, MeanfieldSettings(), seed=0)
    assert share == facts["chosen"] == 0
    assert np.isfinite(list(facts["agreement"].values())).all()


def made_task(generator: np.random.Generator, order: str, V: int = 12) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return samples (90 V, 24) of V videos that do five steps once in order, once in any order, or again and again."""
    looks, videos = generator.normal(size=(5, 24)), []
    for _ in range(V):
        steps = {
            "once": np.arange(5),
            "any": generator.permutation(5),
            "again": generator.integers(0, 5, 15),
        }[order]
        labels = np.repeat(steps, 90 // len(steps))
        videos.append(looks[labels] + generator.normal(scale=2.0, size=(90, 24)))
    return np.concatenate(videos), (90,) * V


def test_time_is_chosen_where_steps_come_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extended, "STARTS", 3)
    found = {}
    for order in ("once", "any", "again"):
        x, lengths = made_task(np.random.default_rng(2), order)
        found[order], facts = choose_share(x, lengths, 5, MeanfieldSettings(), seed=0)
        assert facts["chosen"] == found[order]
        assert (facts["concordance"] >= SAME_ORDER) == (order == "once")
        J = list(facts["agreement"].values())
        assert list(facts["agreement"]) == [str(share) for share in SHARES][: len(J)]
        # What is tried ends with the first share that costs too much, but not before an order can be seen.
        costs = [value < KEEPS * J[0] for value in J]
        assert costs[-1] or len(J) == len(SHARES)
        assert not any(costs[2:-1])
        again = choose_share(x, lengths, 5, MeanfieldSettings(), seed=0)
        assert again == (found[order], facts)
    assert found["once"] >= 0.15
    assert found["any"] == found["again"] == HINT


def test_the_length_of_embeddings_and_the_order_of_channels_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extended, "STARTS", 2)
    x, lengths = made_task(np.random.default_rng(3), "once", V=4)
    share, facts = choose_share(x, lengths, 5, MeanfieldSettings(), seed=0)
    lengthened, same = choose_share(4 * x[:, ::-1], lengths, 5, MeanfieldSettings(), seed=0)
    assert lengthened == share
    assert same["agreement"] == pytest.approx(facts["agreement"])


def test_time_is_a_hint_where_videos_differ_in_their_order() -> None:
    J = {0.0: 0.1, 0.03: 0.1, 0.08: 0.1, 0.15: 0.1, 0.4: 0.02}
    assert largest_share(J, SAME_ORDER) == 0.15
    assert largest_share(J, SAME_ORDER - 0.01) == 0.03
    assert largest_share({**J, 0.0: 0.0}, 1.0) == 0.0


def test_of_a_single_video_nothing_is_chosen() -> None:
    x, _ = made_task(np.random.default_rng(4), "once", V=1)
    share, facts = choose_share(x, (90,), 5, MeanfieldSettings(), 0)
    assert share == facts["chosen"] == 0
    assert "single video" in facts["why"]


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
