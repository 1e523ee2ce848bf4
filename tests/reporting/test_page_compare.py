"""Two results side by side on the page: the numbers of `rgwot compare`, and the doubts that follow from them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_tree import Task, embedded_data

from rgwot.evaluation.agreement import agreement
from rgwot.paths import DIAGNOSTICS, name_of
from rgwot.reporting.compare import MOST_RESULTS, compare, compare_pairs, parts, read_answer


def test_any_two_results_have_the_numbers_of_the_command(made: Task, page: Path) -> None:
    found = {tuple(one["pair"]): one for one in embedded_data(page, "comparisons")}  # type: ignore[attr-defined]
    answers = [read_answer(made.tree.keysteps(run)) for run in made.runs]
    assert sorted(found) == list(itertools.combinations(range(len(answers)), 2))
    for (a, b), one in found.items():
        assert (one["videos"], one["alone"], one["seconds"]) == (3, 0, pytest.approx(18, abs=0.5))
        for own, (first, second) in zip(one["sides"], ((a, b), (b, a)), strict=True):
            counted = compare(answers[first], answers[second])
            assert counted is not None
            both = counted.agreement
            numbers = [one["rand"], one["strict"], one["kappa"], one["segments"], own["macro"]]
            expected = [both.adjusted_rand, both.strict_f1, both.kappa, both.segments_f1, both.macro_f1]
            assert numbers == pytest.approx(expected, abs=6e-5)
            assert [part[0] for part in own["parts"]] == [part.key_step for part in parts(both)]
            assert [len(own["split"]), len(own["merged"])] == [len(both.split), len(both.merged)]


def test_the_page_repeats_the_warnings_and_compares_seeds(made: Task, page: Path) -> None:
    facts: Any = embedded_data(page)["runs"]
    found = compare_pairs([read_answer(made.tree.keysteps(run)) for run in made.runs])
    for one, run in enumerate(made.runs):
        own = json.loads((made.tree.keysteps(run) / name_of(DIAGNOSTICS)).read_text()).get("warnings", [])
        expected = [f"{warning[0].upper()}{warning[1:]}." for warning in own]
        # Runs 0 and 1, and 2 and 3, are seeds of one method.
        rand = found[one // 2 * 2, one // 2 * 2 + 1].agreement.adjusted_rand
        if one < 4 and rand < 0.6:
            expected.append(
                f"Seeds 0 and 1 disagree: of 1 (the same answer; 0 is chance) they reach {rand:.2f}, "
                "expected 0.6 or more (adjusted Rand index); trust what several seeds have in common."
            )
        assert facts[one]["warnings"] == expected
    # Noisy embeddings deserve it, clear ones and trivial baselines do not.
    assert [bool(run["warnings"]) for run in facts] == [False, False, True, True, False, False]


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
