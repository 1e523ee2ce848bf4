"""Relative and common time as parts of embeddings, the choice of their share, and the agreement of labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import uniform_filter1d

from rgwot.keysteps.common_time import (
    HINT,
    ONE_ORDER,
    SAME_ORDER,
    choose_share,
    common_times,
    explained_share,
    references,
    with_time,
)
from rgwot.keysteps.extended import TIME_REFERENCES, extended, restored
from rgwot.keysteps.interface import Frames
from rgwot.keysteps.meanfield import decode_meanfield, restore_meanfield
from rgwot.keysteps.settings import MeanfieldSettings


def test_the_explained_share_is_the_inner_product_with_the_means_of_the_other_videos() -> None:
    x = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [0.0, 1.0]])
    labels = np.array([0, 1, 0, 1])
    # Each of the two videos has one sample per label. A mean of n samples is shrunk by n / (n + 2), here 1/3.
    expected = (1 * 3 / 3 + 2 * 1 / 3 + 3 * 1 / 3 + 1 * 2 / 3) / (1 + 4 + 9 + 1)
    assert explained_share(x, labels, (2, 2)) == pytest.approx(expected, rel=1e-12)


def test_what_one_video_has_alone_counts_for_nothing() -> None:
    x = np.array([[5.0], [0.0], [0.0], [0.0]])
    assert explained_share(x, np.array([0, 1, 1, 1]), (2, 2)) == 0.0


def test_unrelated_labels_explain_nothing() -> None:
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
    share, common, facts = choose_share(np.zeros((20, 3)), (10, 10), 5, MeanfieldSettings(), seed=0)
    assert share == facts.chosen == facts.agreement == 0
    assert common is None


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


def test_common_time_is_chosen_where_steps_come_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rgwot.keysteps.common_time.STARTS", 3)
    found = {}
    for order in ("once", "any", "again"):
        x, lengths = made_task(np.random.default_rng(2), order)
        found[order], common, facts = choose_share(x, lengths, 5, MeanfieldSettings(), seed=0)
        assert facts.chosen == found[order]
        assert (facts.concordance >= SAME_ORDER) == (common is not None) == (order == "once")
        again = choose_share(x, lengths, 5, MeanfieldSettings(), seed=0)
        assert (again[0], again[2]) == (found[order], facts)
    assert found == {"once": ONE_ORDER, "any": HINT, "again": HINT}


def test_common_time_is_taken_only_if_labels_with_it_predict_other_videos(monkeypatch: pytest.MonkeyPatch) -> None:
    # Every second video has two of six steps exchanged, which a large weight of time would split.
    generator, orders = np.random.default_rng(5), [list(range(6)) for _ in range(8)]
    looks = generator.normal(size=(6, 24))
    for video in range(1, 8, 2):
        first = video % 4
        orders[video][first], orders[video][first + 2] = orders[video][first + 2], orders[video][first]
    labels = np.concatenate([np.repeat(order, 15) for order in orders])
    x = looks[labels] + 2.5 * generator.normal(size=(len(labels), 24))
    x, lengths = np.concatenate([uniform_filter1d(video, 5, axis=0) for video in np.split(x, 8)]), (90,) * 8
    share, common, facts = choose_share(x, lengths, 6, MeanfieldSettings(), seed=0)
    assert facts.concordance >= SAME_ORDER
    assert facts.kept < 0.9
    assert facts.differ > 0.1
    for limit, chosen in ((0.9, HINT), (0.1, ONE_ORDER)):
        monkeypatch.setattr("rgwot.keysteps.common_time.KEPT_SHARE", limit)
        share, common, again = choose_share(x, lengths, 6, MeanfieldSettings(), seed=0)
        assert (share, common is not None) == (chosen, chosen == ONE_ORDER)
        assert again == replace(facts, chosen=chosen)


def test_the_length_of_embeddings_and_the_order_of_channels_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rgwot.keysteps.common_time.STARTS", 2)
    x, lengths = made_task(np.random.default_rng(3), "once", V=4)
    share, _, facts = choose_share(x, lengths, 5, MeanfieldSettings(), seed=0)
    lengthened, _, same = choose_share(4 * x[:, ::-1], lengths, 5, MeanfieldSettings(), seed=0)
    assert lengthened == share
    assert same.agreement == pytest.approx(facts.agreement)


def paced(generator: np.random.Generator, durations: tuple[int, ...]) -> np.ndarray:
    """Return samples (T, 24) of five steps in one order, with the given numbers of samples."""
    looks = np.random.default_rng(0).normal(size=(5, 24))
    return np.repeat(looks, durations, axis=0) + generator.normal(scale=0.3, size=(sum(durations), 24))


def test_common_time_is_the_same_in_the_same_step_at_any_pace() -> None:
    generator = np.random.default_rng(5)
    paces = (20, 20, 20, 20, 20), (60, 10, 10, 10, 10), (10, 10, 10, 10, 60)
    lengths = tuple(map(sum, paces))
    x = np.concatenate([paced(generator, durations) for durations in paces])
    common = references(x, lengths)
    times = np.split(common_times(x, lengths, common), np.cumsum(lengths)[:-1])
    ends = [np.cumsum(durations) for durations in paces]
    for video, own in enumerate(times):
        assert (np.diff(own) >= 0).all()
        assert 0 <= own[0] < own[-1] <= 1
        # In common time, a step that ends at 20 % of one video and 60 % of another ends at the mean in both.
        expected = np.mean([end / T for end, T in zip(ends, lengths, strict=True)], axis=0)
        np.testing.assert_allclose(own[ends[video][:-1]], expected[:-1], atol=0.03)
    # The length of embeddings does not matter.
    np.testing.assert_allclose(common_times(7 * x, lengths, common), np.concatenate(times))


def test_of_many_videos_each_is_aligned_with_few(monkeypatch: pytest.MonkeyPatch) -> None:
    x, lengths = made_task(np.random.default_rng(6), "once")
    assert len(references(x, lengths)) == 12
    monkeypatch.setattr("rgwot.keysteps.common_time.MOST_ALIGNED", 36)
    assert len(references(x, lengths)) == 3
    monkeypatch.setattr("rgwot.keysteps.common_time.MOST_ALIGNED", 5)
    assert len(references(x, lengths)) == 1


def test_other_videos_have_the_common_time_of_those_that_were_learned_from() -> None:
    x, lengths = made_task(np.random.default_rng(7), "once", V=6)
    common, chain = references(x, lengths), MeanfieldSettings()

    def rule(frames: Frames, K: int, generator: np.random.Generator) -> object:
        return decode_meanfield(frames, K, generator, chain)

    made = extended(rule, 0.5, 0, common)(Frames(x, lengths, 2.0), 5, np.random.default_rng(0))  # type: ignore[arg-type]
    assert made.learned is not None
    learned = made.learned
    np.testing.assert_array_equal(learned[TIME_REFERENCES], common)
    other, own = made_task(np.random.default_rng(7), "once", V=2)
    again = restored(lambda *arrays: restore_meanfield(*arrays, chain), learned, 5, 0.5, 0)(Frames(other, own, 2.0))
    timed = Frames(with_time(other, own, 0.5, common), own, 2.0, place=2)
    expected = restore_meanfield({name: learned[name] for name in ("centres", "shares")}, 5, chain)(timed)
    np.testing.assert_array_equal(again.labels, expected.labels)
    relative = restored(
        lambda *arrays: restore_meanfield(*arrays, chain),
        {k: v for k, v in learned.items() if k != TIME_REFERENCES},
        5,
        0.5,
        0,
    )(Frames(other, own, 2.0))
    assert (relative.memberships != again.memberships).any()


def test_of_a_single_video_nothing_is_chosen() -> None:
    x, _ = made_task(np.random.default_rng(4), "once", V=1)
    share, common, facts = choose_share(x, (90,), 5, MeanfieldSettings(), 0)
    assert share == facts.chosen == 0
    assert common is None
    assert "only one video" in facts.why


def test_lengths_stay_one_and_inner_products_are_shared_out() -> None:
    x = np.random.default_rng(0).normal(size=(7, 3))
    timed = with_time(x, (3, 4), 0.2)
    assert np.linalg.norm(timed, axis=1) == pytest.approx(1.0)
    directions = x / np.linalg.norm(x, axis=1, keepdims=True)
    # Samples 1 (of three) and 5 (third of four) have relative times 1/2 and 5/8, an eighth of half a circle apart.
    expected = 0.8 * directions[1] @ directions[5] + 0.2 * np.cos(np.pi / 8)
    assert timed[1] @ timed[5] == pytest.approx(expected)


def test_the_ends_of_a_long_video_are_opposite() -> None:
    timed = with_time(np.zeros((1000, 2)), (1000,), 0.5)
    assert timed[0] @ timed[-1] == pytest.approx(-0.5, abs=1e-4)


def test_no_share_changes_nothing() -> None:
    x = np.random.default_rng(1).normal(size=(5, 2))
    assert (with_time(x, (5,), 0.0) == x).all()
