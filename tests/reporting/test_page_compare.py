"""Two results side by side on the page: the numbers of `rgwot compare`, for any two of the results."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from page_tree import Task, embedded_data

from rgwot.evaluation.agreement import agreement
from rgwot.reporting.compare import MOST_RESULTS, compare_pairs, compare_results


def test_any_two_results_have_the_numbers_of_the_command(made: Task, page: Path) -> None:
    found = {tuple(one["pair"]): one for one in embedded_data(page, "comparisons")}  # type: ignore[attr-defined]
    n = len(made.runs)
    assert sorted(found) == [(a, b) for a in range(n) for b in range(a + 1, n)]
    for (a, b), one in found.items():
        for side, (first, second) in enumerate(((a, b), (b, a))):
            own = one["sides"][side]
            lines = compare_results(*(made.tree.keysteps(made.runs[run]) for run in (first, second)))
            assert f"{one['videos']} videos, {one['seconds']:.0f} s" == lines[2]
            rand, macro, strict = map(float, re.findall(r"-?\d+\.\d+", lines[3]))
            assert one["rand"] == pytest.approx(rand, abs=0.0051)
            assert [100 * own["macro"], 100 * one["strict"]] == pytest.approx([macro, strict], abs=0.051)
            kappa, segments = re.findall(r"-?\d+\.\d+", lines[4])
            assert one["kappa"] == pytest.approx(float(kappa), abs=0.0051)
            assert 100 * one["segments"] == pytest.approx(float(segments), abs=0.051)
            told = [
                f"  {called(step)} of A, {seconds:.0f} s: in B "
                + ", ".join(f"{100 * share:.0f} % {called(other)}" for other, share in shares)
                + (
                    f" (kappa {of_step:.2f}"
                    if found_f1 is None
                    else f" (kappa {of_step:.2f}, segments {100 * found_f1:.1f}"
                )
                + ")"
                for step, seconds, shares, of_step, found_f1 in own["parts"]
            ]
            assert [re.sub(r"\d+ %|-?\d\.\d\d|\d+\.\d\b", "", line) for line in told] == [
                re.sub(r"\d+ %|-?\d\.\d\d|\d+\.\d\b", "", one) for one in lines[5 : 5 + len(told)]
            ]
            assert len(own["split"]) + len(own["merged"]) == len(lines) - 5 - len(told)


def called(step: int) -> str:
    return f"key step {step}" if step else "background"


def test_the_other_way_round_is_what_it_would_be_counted_anew() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        one, other = rng.integers(0, 5, 200), rng.integers(0, 4, 200)
        swapped, counted = agreement([one], [other]).swapped(), agreement([other], [one])
        assert swapped.adjusted_rand == pytest.approx(counted.adjusted_rand)
        assert (swapped.split, swapped.merged, swapped.n_frames) == (counted.split, counted.merged, 200)
        assert swapped.strict_f1 == pytest.approx(counted.strict_f1)
        assert swapped.macro_f1 == pytest.approx(counted.macro_f1, abs=0.02)
        np.testing.assert_array_equal(swapped.overlap, counted.overlap)


def test_of_many_results_the_first_is_compared_with_every_other() -> None:
    answers = [{"v": np.arange(20) % (2 + at % 3)} for at in range(MOST_RESULTS + 1)]
    assert len(compare_pairs(answers[:MOST_RESULTS])) == MOST_RESULTS * (MOST_RESULTS - 1) // 2
    assert list(compare_pairs(answers)) == [(0, at) for at in range(1, MOST_RESULTS + 1)]
    # Without a video in common there is nothing to compare.
    assert list(compare_pairs([answers[0], {"w": np.arange(5)}, answers[1]])) == [(0, 2)]
