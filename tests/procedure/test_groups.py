"""Tests between groups of videos, compared with SciPy and with all permutations, and on data with known differences."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control, kruskal, rankdata

from rgwot.procedure import Deviation, Event, Recording
from rgwot.procedure.groups import MEASURES, compare_groups, few_videos, measured, permutation_tests, possible
from rgwot.runtime.errors import RgwotError

VIDEOS = [
    Recording("a", (Event(1, 0, 2), Event(2, 2, 4), Event(1, 6, 9)), 10),
    Recording("b", (Event(2, 0, 2), Event(1, 4, 6)), 20),
    Recording("c", (Event(1, 1, 2), Event(2, 3, 4)), 10),
    Recording("d", (), 10),
]


def test_what_is_measured_by_hand() -> None:
    actual = [Deviation("a", "repeated", 1, 6, 9, 1.0), Deviation("a", "too_late", 1, 6, 9, 1.0)]
    values, successors = measured(VIDEOS, actual)
    # After 1 comes 2 twice (in a and c) and the end twice (in a and b): a tie, which goes to 2.
    assert successors == {1: 2, 2: 1}
    nan = np.nan
    expected = {
        "share": [1, 1, 1, 0], "number": [2, 1, 1, 0], "duration": [5, 2, 1, nan], "deviations": [2, 0, 0, 0],
        # In a, the place is that of the first segment, from 0 to 2 s, which is at least half as long as the longest.
        "place": [0.1, 0.25, 0.15, nan], "transitions": [0.5, 0, 1, nan],
    }  # fmt: skip
    for measure in MEASURES:
        np.testing.assert_allclose(values[1, measure], expected[measure], err_msg=measure)
    np.testing.assert_allclose(values[2, "transitions"], [1, 1, 0, nan])


@pytest.mark.parametrize("decimals", [8, 0], ids=["distinct", "ties"])
def test_statistics_are_those_of_kruskal_and_dunn(decimals: int) -> None:
    rng = np.random.default_rng(0)
    sizes = {"x": 5, "y": 7, "z": 4}
    labels = np.repeat(list(sizes), list(sizes.values()))
    values = np.round(rng.normal(size=(16, 6)), decimals)
    values[rng.random(values.shape) < 0.1] = np.nan
    actual = permutation_tests(values, labels, 50)
    for column in range(values.shape[1]):
        own = {name: (part := values[labels == name, column])[~np.isnan(part)] for name in sizes}
        assert actual[()].statistic[column] == pytest.approx(kruskal(*own.values()).statistic)
        pooled = np.concatenate(list(own.values()))
        ranks, n = rankdata(pooled), len(pooled)
        ties = sum(count**3 - count for count in np.unique(pooled, return_counts=True)[1])
        means = {
            name: part.mean()
            for name, part in zip(own, np.split(ranks, np.cumsum([len(o) for o in own.values()])[:-1]), strict=True)
        }
        for one, other in combinations(sizes, 2):
            spread = (n * (n + 1) / 12 - ties / (12 * (n - 1))) * (1 / len(own[one]) + 1 / len(own[other]))
            expected = abs(means[one] - means[other]) / spread**0.5
            assert actual[one, other].statistic[column] == pytest.approx(expected)


def test_p_is_the_share_of_all_ways_to_form_the_groups() -> None:
    values = np.random.default_rng(1).normal(size=(9, 3)).round(1)
    (found,) = permutation_tests(values, [*"aaaabbbbb"]).values()
    (drawn,) = permutation_tests(values, [*"aaaabbbbb"], 100).values()
    for column in range(3):
        ranks = rankdata(values[:, column])
        apart = [abs(ranks[list(own)].mean() - np.delete(ranks, own).mean()) for own in combinations(range(9), 4)]
        exact = np.mean(np.array(apart) >= apart[0] - 1e-12)
        assert found.p[column] == pytest.approx(exact, abs=1e-12)
        # With 100 draws, p is within three standard errors.
        assert drawn.p[column] == pytest.approx(exact, abs=3 * np.sqrt(exact * (1 - exact) / 100) + 0.01)
    # Because of ties, the least p is 2 of 126, which is below 0.05 / 3.
    np.testing.assert_allclose(found.p_adjusted, false_discovery_control(found.p))


def test_what_cannot_be_starred_takes_no_power_from_the_others() -> None:
    rng = np.random.default_rng(2)
    signal = np.concatenate([rng.normal(0, 1, 12), rng.normal(3, 1, 12)])[:, None]
    alone = np.eye(24)[:, :20]  # each column is nonzero in one video only
    (found,) = permutation_tests(np.hstack([signal, alone, np.ones((24, 2))]), [*"a" * 12, *"b" * 12], 2000).values()
    assert found.p_adjusted[0] == found.p[0] < 0.001
    assert np.isnan(found.p_adjusted[1:]).all()
    assert np.isnan(found.p[-2:]).all()
    assert possible([0.01] * 3).tolist() == [True] * 3
    # A p of 0.01 = 0.05 / 5 can be significant among at most five tests, not among six.
    assert not possible([0.01] * 6).any()


def test_a_pair_is_starred_where_both_tests_are() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(30, 2))
    values[20:, 0] += 3
    found = permutation_tests(values, [*"a" * 10, *"b" * 10, *"c" * 10], 2000)
    assert {pair: test.star.tolist() for pair, test in found.items()} == {
        (): [True, False],
        ("a", "b"): [False, False],
        ("a", "c"): [True, False],
        ("b", "c"): [True, False],
    }


def test_six_studies_in_a_hundred_at_most() -> None:
    # benchmarks/groups.py has 10,000 studies with the measures of videos.
    rng = np.random.default_rng(4)
    labels = [*"a" * 12, *"b" * 12]
    stars, found = 0, 0
    for _ in range(200):
        values = rng.normal(size=(24, 10))
        values[:, 5:] += 0.7 * values[:, :1]
        values[:, 9] = values[:, 9] > 1
        stars += bool(permutation_tests(values, labels, 999)[()].star.any())
        values[12:, 0] += 2
        found += bool(permutation_tests(values, labels, 999)[()].star[0])
    # If 5 % of studies without a difference have a star, more than 20 of 200 do so with a probability of 0.1 %.
    assert stars <= 20
    assert found / 200 >= 0.9


def test_the_table() -> None:
    videos = [
        Recording(f"{group}{at}", (Event(1, 0, 5 + at / 9 + 4 * (group == "b")), Event(2, 10, 12)), 20)
        for group in "abc"
        for at in range(6)
    ]
    groups = {video.video: video.video[0] for video in videos if video.video[0] != "c"}
    table = compare_groups(videos, [], groups, 999)
    assert len(table) == 2 * len(MEASURES)
    row = table[(table["key_step"] == 1) & (table["measure"] == "duration")].iloc[0]
    assert (row["unit"], row["n_a"], row["n_b"], row["star"]) == ("video", 6, 6, "*")
    assert row["test"] == "Kruskal-Wallis, 999 permutations, Benjamini-Hochberg"
    assert row["mean_a"] == pytest.approx(5 + 2.5 / 9)
    assert row["low_a"] < row["mean_a"] < row["high_a"]
    assert table["successor"].dropna().tolist() == [2, 0]
    assert compare_groups(videos, [], groups, 999).equals(table)
    assert not any("c" in column.split("_")[1:] for column in table.columns)
    three = compare_groups(videos, [], {**groups, "c0": "c", "c1": "c"}, 99)
    pairs = three[["group_a", "group_b"]].drop_duplicates().to_numpy().tolist()
    assert pairs == [["", ""], ["a", "b"], ["a", "c"], ["b", "c"]]
    with pytest.raises(RgwotError, match="found 'a' among 18 videos, expected two groups or more; video 'a1' has none"):
        compare_groups(videos, [], {"a0": "a", "b0": ""})
    with pytest.raises(RgwotError, match="groups: 'c' has one video, 'c0'; expected two or more in every group"):
        compare_groups(videos, [], {**groups, "c0": "c"})


def test_no_given_group_is_lost_without_a_message(caplog: pytest.LogCaptureFixture) -> None:
    videos = [Recording(f"p{at:02}", (Event(1, 0, 5 + at),), 20) for at in range(8)]
    groups: dict[str, Any] = {one.video: at % 2 for at, one in enumerate(videos[:5])}
    empty = {"p05": None, "p06": float("nan"), "p07": " "}
    table = compare_groups(videos, [], groups | empty, 9)
    # A group may be called 0.
    assert table[["n_0", "n_1"]].iloc[0].tolist() == [3, 2]
    assert caplog.messages == ["videos without a group are left out: p05, p06, p07"]
    assert compare_groups(videos, [], pd.Series(groups), 9).equals(table)  # type: ignore[arg-type]
    wrong: list[tuple[Any, str]] = [
        (
            groups | {"P05": 1, "x": 0},
            "groups: found 'P05' and 1 more, expected videos of the result; did you mean 'p05'",
        ),
        ("groups.csv", "groups: found str, expected the group of every video, such as {'monday': 'expert'}"),
        (None, "groups: found NoneType, expected"),
        (groups | {"p05": ["a"]}, "groups: video 'p05': found list, expected one group"),
    ]
    for given, said in wrong:
        with pytest.raises(RgwotError, match=re.escape(said)):
            compare_groups(videos, [], given, 9)


def test_a_warning_below_five_videos() -> None:
    assert few_videos({"a": 5, "b": 9}) == ""
    assert few_videos({"a": 4, "b": 9}).endswith("a has 4")
