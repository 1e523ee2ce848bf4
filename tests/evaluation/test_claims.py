from __future__ import annotations

import numpy as np
import pytest

from rgwot.evaluation.claims import FAILS, HOLDS, UNKNOWN, judge


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
    one = judge(values, [("a", "c"), ("b", "a")])
    assert (one.verdict, one.of, one.over) == (FAILS, "b", "a")
    # Intervals of several comparisons are wider, so that together they miss as rarely as one.
    alone, among = judge(values, [("a", "b")]), judge(values, [("a", "b"), ("a", "c"), ("b", "c")])
    same = judge(values, [("a", "b"), ("a", "b")])
    assert same.high - same.low > alone.high - alone.low
    assert among.verdict == HOLDS


def test_as_good_as_has_a_margin() -> None:
    values = {"all": scores(0.50), "two": scores(0.49, seed=1)}
    assert judge(values, [("two", "all")]).verdict != HOLDS
    assert judge(values, [("two", "all")], margin=0.03).verdict == HOLDS


def test_where_nothing_differs_nothing_is_told() -> None:
    values = {"with": scores(0.5), "without": scores(0.5)}
    found = judge(values, [("with", "without")])
    assert (found.effect, found.low, found.high, found.verdict) == (0, 0, 0, UNKNOWN)


def test_ratio_is_that_of_the_means() -> None:
    values = {"fast": [[10.0]] * 4, "slow": [[11.0]] * 4}
    found = judge(values, [("fast", "slow")], margin=0.1, ratio=True)
    assert found.effect == pytest.approx(10 / 11 - 1)
    assert found.verdict == HOLDS


def test_two_tasks_say_nothing() -> None:
    values = {"a": scores(0.9, tasks=2), "b": scores(0.1, tasks=2, seed=1)}
    assert judge(values, [("a", "b")]).verdict == UNKNOWN
    with pytest.raises(ValueError, match="expected at least one pair"):
        judge(values, [])
