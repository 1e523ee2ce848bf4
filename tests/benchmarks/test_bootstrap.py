"""The paired bootstrap over tasks and seeds on cases with known results, and the three verdicts on claims."""

from __future__ import annotations

import numpy as np
import pytest
from bootstrap import FAILS, HOLDS, UNKNOWN, compare, judge, task_mean

VALUES = [[0.5, 0.7, 0.6], [0.3, 0.2, 0.4], [0.9, 0.8, 0.7]]


def test_identical_methods_have_a_ratio_of_exactly_one_and_no_difference():
    assert compare(VALUES, VALUES) == (1.0, 1.0, 1.0)
    assert compare(VALUES, VALUES, difference=True) == (0.0, 0.0, 0.0)
    others = [[0.4, 0.3, 0.5]] * 3
    assert compare(VALUES, others) == compare(VALUES, others)


def test_tasks_weigh_the_same_however_many_seeds_they_have():
    assert task_mean([[1.0, 1.0, 1.0], [0.0]]) == 0.5
    assert compare([[1.0, 1.0, 1.0], [0.0]], [[0.5], [0.5]]).value == 1.0


def test_ratio_is_one_of_means_and_not_a_mean_of_ratios():
    comparison = compare([[0.8], [0.2]], [[0.4], [0.4]])
    assert comparison.value == pytest.approx(1.25)
    # In half of the draws, one of the two tasks is drawn twice, which gives a ratio of 2 or 1/2.
    assert (comparison.low, comparison.high) == pytest.approx((0.5, 2.0))


def test_tasks_are_paired():
    # Tasks differ by a factor of nine, but the ratio of the methods is the same in every task and so in every draw.
    hard_and_easy = [np.array([0.1]), np.array([0.9]), np.array([0.5])]
    comparison = compare(hard_and_easy, [2 / 3 * of_task for of_task in hard_and_easy])
    assert comparison == pytest.approx((1.5, 1.5, 1.5))


def test_seeds_are_paired_where_there_are_as_many_and_not_where_there_are_not():
    first = [[0.4, 0.8]] * 4
    paired = compare(first, [[0.2, 0.4]] * 4)
    assert paired == pytest.approx((2.0, 2.0, 2.0))
    alone = compare(first, [[0.3]] * 4)
    assert alone.value == pytest.approx(2.0)
    assert alone.low < 1.9 < 2.1 < alone.high


def test_wider_with_fewer_tasks_and_narrower_at_a_lower_level():
    rng = np.random.default_rng(3)
    a, b = rng.uniform(0.3, 0.9, (40, 3)), rng.uniform(0.2, 0.8, (40, 3))
    many, few = compare(a, b), compare(a[:8], b[:8])
    assert few.high - few.low > many.high - many.low
    narrow = compare(a, b, level=0.5)
    assert many.low < narrow.low < narrow.high < many.high


@pytest.mark.parametrize(("difference", "truth"), [(False, 1.3), (True, 0.12)])
def test_interval_covers_the_truth_about_as_often_as_it_says(difference, truth):
    rng = np.random.default_rng(11)
    covered = 0
    trials = 200
    for _ in range(trials):
        # 20 tasks of different difficulty around 0.4, with 3 seeds; the first method is better by 0.12 on average.
        difficulty = rng.normal(0.4, 0.1, 20)
        second = difficulty[:, None] + rng.normal(0, 0.03, (20, 3))
        first = difficulty[:, None] + rng.normal(0.12, 0.08, 20)[:, None] + rng.normal(0, 0.03, (20, 3))
        comparison = compare(first, second, difference=difference, draws=400)
        covered += comparison.low <= truth <= comparison.high
    # Percentile intervals cover the truth in 95 % of trials with many tasks, and slightly less often with 20 tasks.
    assert 0.88 * trials <= covered <= 0.99 * trials


def test_a_reference_of_zero_is_infinitely_worse():
    assert compare([[0.5]], [[0.0]]).value == float("inf")


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="found 1 and 2, expected the same tasks"):
        compare([[0.5]], [[0.5], [0.5]])
    with pytest.raises(ValueError, match="one without a seed"):
        compare([[0.5], []], [[0.5], [0.5]])


def scores(mean: float, spread: float = 0.01, tasks: int = 8, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [mean + 0.1 * np.sin(task) + spread * rng.normal(size=3) for task in range(tasks)]


def test_three_verdicts() -> None:
    values = {"a": scores(0.5), "b": scores(0.4, seed=1), "c": scores(0.5, spread=0.1, seed=2)}
    above = judge(values, [("a", "b")])
    assert above.verdict == HOLDS
    assert above.low < above.effect < above.high
    assert above.effect == pytest.approx(0.1, abs=0.02)
    assert judge(values, [("b", "a")]).verdict == FAILS
    assert judge(values, [("a", "c")]).verdict == UNKNOWN


def test_a_claim_of_several_pairs_needs_all_of_them_and_falls_with_one() -> None:
    values = {name: scores(mean, seed=at) for at, (name, mean) in enumerate(zip("abc", (0.5, 0.4, 0.3), strict=True))}
    chain = judge(values, [("a", "b"), ("b", "c")])
    assert chain.verdict == HOLDS
    verdict = judge(values, [("a", "c"), ("b", "a")])
    assert (verdict.verdict, verdict.of, verdict.over) == (FAILS, "b", "a")
    # Intervals of several comparisons are wider, so that the risk that any of them misses stays the same.
    alone, among = judge(values, [("a", "b")]), judge(values, [("a", "b"), ("a", "c"), ("b", "c")])
    same = judge(values, [("a", "b"), ("a", "b")])
    assert same.high - same.low > alone.high - alone.low
    assert among.verdict == HOLDS


def test_as_good_as_has_a_margin() -> None:
    values = {"all": scores(0.50), "two": scores(0.49, seed=1)}
    assert judge(values, [("two", "all")]).verdict != HOLDS
    assert judge(values, [("two", "all")], margin=0.03).verdict == HOLDS


def test_equal_methods_get_no_verdict() -> None:
    values = {"with": scores(0.5), "without": scores(0.5)}
    verdict = judge(values, [("with", "without")])
    assert (verdict.effect, verdict.low, verdict.high, verdict.verdict) == (0, 0, 0, UNKNOWN)


def test_ratio_is_that_of_the_means() -> None:
    values = {"fast": [[10.0]] * 4, "slow": [[11.0]] * 4}
    verdict = judge(values, [("fast", "slow")], margin=0.1, ratio=True)
    assert verdict.effect == pytest.approx(10 / 11 - 1)
    assert verdict.verdict == HOLDS


def test_two_tasks_give_no_verdict() -> None:
    values = {"a": scores(0.9, tasks=2), "b": scores(0.1, tasks=2, seed=1)}
    assert judge(values, [("a", "b")]).verdict == UNKNOWN
    with pytest.raises(ValueError, match="expected at least one pair"):
        judge(values, [])
