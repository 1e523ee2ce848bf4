"""Agreement of a labelling with another view, the choices made by it, and relative time as a part of embeddings."""

from __future__ import annotations

import numpy as np
import pytest

from rgwot.config.settings import Settings, build
from rgwot.keysteps import choices
from rgwot.keysteps.choices import (
    KEEPS,
    KEY_STEPS,
    ORDERED,
    SAME_ORDER,
    TIME_SHARES,
    agreement,
    choose,
    disturbed,
    filled,
    largest_share,
    number_of,
    with_time,
)
from rgwot.runtime.errors import RgwotError


def test_is_the_inner_product_with_the_means_of_the_other_videos() -> None:
    view = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [0.0, 1.0]])
    labels = np.array([0, 1, 0, 1])
    # Two videos of two samples: the other video has one sample per label, shrunk by two: a third of it.
    expected = (1 * 3 / 3 + 2 * 1 / 3 + 3 * 1 / 3 + 1 * 2 / 3) / (1 + 4 + 9 + 1)
    assert agreement(view, labels, (2, 2)) == pytest.approx(expected, rel=1e-12)


def test_what_one_video_has_alone_counts_for_nothing() -> None:
    view = np.array([[5.0], [0.0], [0.0], [0.0]])
    assert agreement(view, np.array([0, 1, 1, 1]), (2, 2)) == 0.0


def test_expects_nothing_of_labels_without_relation() -> None:
    generator = np.random.default_rng(0)
    view, labels = generator.normal(size=(6000, 8)), generator.integers(0, 7, 6000)
    assert abs(agreement(view, labels, (1000,) * 6)) < 0.005


def test_numbering_and_order_of_videos_change_nothing() -> None:
    generator = np.random.default_rng(1)
    view, labels = generator.normal(size=(30, 3)), generator.integers(-1, 3, 30)
    swapped = np.r_[10:30, 0:10]
    renamed = np.array([2, 0, 1, 5])[labels]
    assert agreement(view, labels, (10, 20)) == pytest.approx(agreement(view, renamed, (10, 20)))
    assert agreement(view, labels, (10, 20)) == pytest.approx(agreement(view[swapped], labels[swapped], (20, 10)))


def test_a_single_video_or_an_empty_view_says_nothing() -> None:
    assert agreement(np.ones((3, 2)), np.zeros(3, dtype=int), (3,)) == 0.0
    assert agreement(np.zeros((4, 2)), np.zeros(4, dtype=int), (2, 2)) == 0.0


def test_features_that_never_change_leave_nothing_to_choose() -> None:
    found = choose(
        np.zeros((20, 3)), [np.zeros((4, 10, 3))] * 2, (10, 10), settings(K="auto", time="auto", surplus="auto"), seed=0
    )
    assert (found.time, found.surplus) == (0.0, 0)
    assert all(np.isfinite(list(fact["agreement"].values())).all() for fact in found.facts.values())


def made_task(
    generator: np.random.Generator,
    ordered: bool,
    V: int = 12,
    T: int = 90,
    K: int = 5,
    background: int = 0,
    noise: float = 2.0,
) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return two views (2, V T, D) of V videos that do K steps, in order or again and again, among other activities."""
    looks = generator.normal(size=(2, K + background, 12))
    views = []
    for _ in range(V):
        steps = np.arange(K) if ordered else generator.integers(0, K, 3 * K)
        activities: list[int] = []
        for step in steps:
            activities.append(int(step))
            if background:
                activities.append(K + int(generator.integers(background)))
        labels = np.repeat(activities, -(-T // len(activities)))[:T]
        views.append(looks[:, labels] + generator.normal(scale=noise, size=(2, T, 12)))
    together = np.concatenate(views, axis=1)
    return together / np.linalg.norm(together, axis=2, keepdims=True), (T,) * V


def apart(views: np.ndarray, lengths: tuple[int, ...]) -> tuple[np.ndarray, list[np.ndarray], tuple[int, ...]]:
    """Return samples, which are both views of them side by side, the views of each video, and the lengths."""
    return np.concatenate(list(views), axis=1), np.split(views, np.cumsum(lengths)[:-1], axis=1), lengths


def settings(**decode: object) -> Settings:
    return build({f"decode.{key}": value for key, value in decode.items()}, "test")


def test_time_is_chosen_where_steps_come_once_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choices, "TIME_STARTS", 3)
    generator = np.random.default_rng(2)
    ordered = choose(*apart(*made_task(generator, ordered=True)), settings(K=5, time="auto"), seed=0)
    again = choose(*apart(*made_task(generator, ordered=False)), settings(K=5, time="auto"), seed=0)
    assert ordered.time >= 0.15 > again.time
    assert ordered.facts["time"]["concordance"] >= SAME_ORDER
    found = [float(J) for J in again.facts["time"]["agreement"].values()]
    assert list(again.facts["time"]["agreement"]) == [str(share) for share in TIME_SHARES][: len(found)]
    # What is tried ends with the first share that costs too much, but not before an order can be seen.
    costs = [KEEPS * found[0] > J for J in found]
    assert costs[-1]
    assert not any(costs[2:-1])


def test_time_is_a_hint_where_videos_differ_in_their_order() -> None:
    J = {0.0: 0.1, 0.03: 0.1, 0.08: 0.1, 0.15: 0.1, 0.4: 0.02}
    assert largest_share(J, SAME_ORDER) == 0.15
    assert largest_share(J, SAME_ORDER - 0.01) == 0.03
    assert largest_share({**J, 0.0: 0.0}, 1.0) == 0.0


@pytest.mark.parametrize(
    ("ordered", "background", "surplus"),
    [(True, 3, 2), (True, 0, 0), (False, 0, 0), (False, 3, 0)],
)
def test_background_is_what_holds_and_is_not_foreseen_where_time_presses(
    ordered: bool, background: int, surplus: int
) -> None:
    views, lengths = made_task(np.random.default_rng(3), ordered, background=background)
    found = choose(*apart(views, lengths), settings(K=5, surplus="auto"), seed=0)
    # Time itself is set, to none.
    assert (found.surplus, found.time) == (surplus, 0.0)
    fact = found.facts["surplus"]
    assert disturbed(fact["evidence"]) == bool(surplus)
    # Where it is left to the data, background takes the share of time that it was found to be worth most with.
    timed = choose(*apart(views, lengths), settings(K=5, surplus="auto", time="auto"), seed=0)
    assert timed.surplus == surplus
    assert timed.time == ORDERED or not surplus


def test_without_views_or_with_one_video_nothing_is_chosen() -> None:
    wanted = settings(K=5, time="auto", surplus="auto")
    views, lengths = made_task(np.random.default_rng(4), ordered=True, V=2)
    for found in (choose(views[0], None, lengths, wanted, 0), choose(*apart(views[:, :90], (90,)), wanted, 0)):
        assert (found.time, found.surplus, found.K) == (0.0, 0, 5)
        assert "why" in found.facts


def test_what_is_set_stays_as_set() -> None:
    found = choose(np.ones((10, 2)), None, (5, 5), settings(K=5, time=0.25, surplus=3), seed=0)
    assert (found.time, found.surplus, found.K, found.facts) == (0.25, 3, 5, {})


def test_the_number_of_activities_is_chosen_by_views_that_make_the_same_of_them() -> None:
    generator = np.random.default_rng(5)
    views, lengths = made_task(generator, ordered=False, V=10, T=120, K=6, noise=1.0)
    found = choose(*apart(views, lengths), settings(K="auto"), seed=0)
    assert abs(found.K - 6) <= 1
    assert (found.facts["K"]["chosen"], found.facts["K"]["by"]) == (found.K, "views")


def test_the_number_of_activities_is_what_videos_fill_where_views_disagree() -> None:
    generator = np.random.default_rng(6)
    # Views of nothing but noise, and samples of four steps that half of the videos do with the one hand, half with the
    # other: eight clusters, of which a video fills four.
    steps = np.concatenate([np.repeat(np.arange(4) + 4 * (video % 2), 20) for video in range(8)])
    x = np.eye(8)[steps] + 0.1 * generator.normal(size=(640, 8))
    found = choose(x, [generator.normal(size=(2, 80, 4)) for _ in range(8)], (80,) * 8, settings(K="auto"), seed=0)
    fact = found.facts["K"]
    assert (fact["by"], sorted(map(int, fact["agreement"]))) == ("filled", list(KEY_STEPS))
    assert 3.9 < fact["agreement"]["8"] < 4.1
    assert number_of({12: fact["agreement"]["12"]}) == found.K
    assert found.K < 7


def test_views_do_not_agree_because_both_see_the_same_time() -> None:
    generator = np.random.default_rng(7)
    x, views = generator.normal(size=(160, 8)), [generator.normal(size=(2, 40, 8)) for _ in range(4)]
    found = choose(x, views, (40,) * 4, settings(K="auto", time=0.8), seed=0)
    assert found.facts["K"]["by"] == "filled"


def test_labels_that_a_video_fills_are_counted_by_their_shares() -> None:
    # One video of shares 1/2, 1/4, 1/4, one of a single label: 2 sqrt 2 and 1.
    labels = np.array([0, 0, 1, 2, 5, 5])
    assert filled(labels, (4, 2)) == pytest.approx((2 * np.sqrt(2) + 1) / 2)
    assert number_of({12: 12.0}) == 10
    assert number_of({12: 1.0}) == 3


def test_k_cannot_be_chosen_without_views() -> None:
    with pytest.raises(RgwotError, match="an embedding without views"):
        choose(np.ones((10, 2)), None, (5, 5), settings(K="auto"), seed=0)
    with pytest.raises(RgwotError, match="a single video"):
        choose(np.ones((5, 2)), [np.ones((2, 5, 2))], (5,), settings(K="auto"), seed=0)


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
