"""Facts that the page says: colours, warnings, where a result stands, and two results side by side."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from page_tree import Task, embedded_data

from rgwot.evaluation.agreement import agreement
from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.paths import DIAGNOSTICS, Run, name_of
from rgwot.reporting.compare import MOST_RESULTS, compare, compare_pairs, parts, read_answer
from rgwot.reporting.page.content import PROTOCOLS_IN_WORDS, _colours, _cut_short, _other_number, ranking
from rgwot.reporting.page.render import write_page
from rgwot.reporting.page.runs import soundness


def shown(steps: list[int], order: tuple[int, ...] = (), **facts: Any) -> Any:
    procedure = (SimpleNamespace(order=order), []) if order else None
    return SimpleNamespace(
        facts={"steps": steps, "kind": "untrained", "given": [], **facts}, procedure=procedure, body={}
    )


def test_colours_follow_the_order_and_results_that_agree_have_the_same() -> None:
    one = {"a": np.array([3, 3, 1, 1, 2, 2]), "b": np.array([3, 1, 1, 2])}
    renamed = {video: np.array([0, 5, 6, 4])[labels] for video, labels in one.items()}
    # Step 7 covers what was half of 3 and half of 1, so it is neither.
    mixed = {"a": np.array([7, 7, 7, 7, 2, 2]), "b": np.array([7, 7, 7, 2])}
    runs = [shown([1, 2, 3], (3, 1, 2)), shown([4, 5, 6], (4, 5, 6)), shown([2, 7], (7, 2))]
    first, second, third = _colours(compare_pairs([one, renamed, mixed]), runs)
    assert first == {"3": 1, "1": 2, "2": 3}
    assert second == {"4": 1, "5": 2, "6": 3}
    assert third["2"] == 3
    assert len({*third.values()}) == 2
    # More steps than any other run has get colours of their own.
    agreements = compare_pairs([{"a": np.ones(4, int)}, {"a": np.array([1, 2, 3, 3])}])
    (_, second) = _colours(agreements, [shown([1]), shown([1, 2, 3])])
    assert len({*second.values()}) == 3


def test_a_video_that_decodes_in_part_is_told() -> None:
    run = shown([1])
    run.body = {"segments": {"0": {"ends": [20000, 49000]}, "1": {"ends": [60000]}, "2": {"many": 2000}}}
    videos = [{"name": name, "duration": duration} for name, duration in (("a", 142.7), ("b", 60.9), ("c", 50.0))]
    (line,) = _cut_short([run], videos)
    assert line.startswith("a: only the first 49.0 of 142.7 s can be decoded")


def test_another_number_of_steps_than_annotated_is_told_once() -> None:
    annotations = pd.DataFrame({"key_step": [*range(1, 13), 3]})
    (line,) = _other_number([shown([1], K=7), shown([1], K=7)], annotations)
    assert line.startswith("7 key steps were asked for, but 12 are annotated")
    assert _other_number([shown([1], K=12)], annotations) == []
    assert _other_number([shown([1], K=7)], annotations.iloc[:0]) == []


def test_scores_of_synthetic_clips_are_not_left_alone(made: Task) -> None:
    page = made.folder / "clips.html"
    said = []
    for root in (made.root, made.folder / "results/synthetic/mine"):
        write_page(made.tree, root, made.runs, page)
        said.append("Recordings of people score far lower" in str(embedded_data(page)["notices"]))
    assert said == [False, True]


def test_background_is_no_key_step() -> None:
    task = {"distinct_labels": 8, "dominant_label_share": 0.46, "background_share": 0.46}
    words = soundness({"K": 7, "task": task})
    assert "7 of 7 key steps occur." in words
    assert "46 % of the frames have no key step." in words
    assert not any("largest" in word for word in words)
    words = soundness({"K": 7, "task": {**task, "distinct_labels": 7, "background_share": 0.0}})
    assert "7 of 7 key steps occur; the largest covers 46% of the frames." in words


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
                f"Seeds 0 and 1 disagree: their adjusted Rand index is {rand:.2f}, "
                "expected 0.6 or more (1: same result, 0: chance); trust only what several seeds have in common."
            )
        assert facts[one]["warnings"] == expected
    # Noisy embeddings deserve it, clear ones and trivial baselines do not.
    assert [bool(run["warnings"]) for run in facts] == [False, False, True, True, False, False]


def test_of_many_results_too_seeds_that_differ_are_told(
    made: Task, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [run["warnings"] for run in embedded_data(page)["runs"]]
    monkeypatch.setattr("rgwot.reporting.compare.MOST_RESULTS", 3)
    many = made.folder / "many.html"
    write_page(made.tree, made.root, made.runs, many)
    assert [run["warnings"] for run in embedded_data(many)["runs"]] == few
    assert any("Seeds 0 and 1 disagree" in warning for warning in few[2])


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


OURS = Run("rgwot", "graphcut", 1)


def row(run: Run, kind: str, values: Mapping[int, tuple[float, float, float, float]]) -> dict[str, object]:
    """One line of the scores: F1 under the four protocols by seed; every other cell would mislead."""

    def cells(four: tuple[float, ...]) -> dict[str, float]:
        own = {f"{name} with exact f1": value for name, value in zip(PROTOCOLS, four, strict=True)}
        return own | {key.replace("exact", "cnc"): 1 - value for key, value in own.items()}

    mean = tuple(sum(column) / len(values) for column in zip(*values.values(), strict=True))
    seeds = [{"seed": seed, "value": cells(four)} for seed, four in values.items()]
    return {"method": run.method, "decoder": run.decoder, "kind": kind, "mean": cells(mean), "seeds": seeds}


def told(*rows: dict[str, object], run: Run = OURS) -> str:
    return " ".join(ranking(run, {"rows": list(rows)}, annotated=True)[1])


RESULT = row(OURS, "trained", {0: (0.9, 0.9, 0.9, 0.9), 1: (0.5, 0.3, 0.4, 0.6)})
ONE = row(Run("none", "one_label", 0), "trivial", {0: (0.65, 0.1, 0.1, 0.3)})
EQUAL = row(Run("none", "uniform@K=gt", 0), "trivial", {0: (0.4, 0.5, 0.25, 0.4)})
RANDOM = row(Run("none", "random", 0), "trivial", {0: (0.1, 0.1, 0.2, 0.2), 1: (0.1, 0.1, 0.6, 0.2)})


def test_what_beats_the_result_comes_first_protocol_by_protocol() -> None:
    """By the seed that is shown, against the mean over seeds of an answer; being equal is not being better."""
    assert told(RESULT, ONE, EQUAL, RANDOM) == (
        "Not better than a trivial baseline under micro_video (50.0 against one label 65.0), "
        "macro_video (30.0 against equal segments (K=gt) 50.0) and macro_task (40.0 against random labels 40.0). "
        "Better than one label, equal segments (K=gt) and random labels under strict_task. "
        f"F1 in percent, with background. {PROTOCOLS_IN_WORDS} "
        "All protocols but strict_task ignore unmatched key steps; under micro_video, one label "
        "scores 65.0, so a high score under micro_video shows nothing."
    )


def test_what_is_better_everywhere_is_said_to_be_and_no_more() -> None:
    text = told(RESULT, ONE, run=Run("rgwot", "graphcut", 0))
    assert "Not better" not in text
    assert text.startswith("Better than one label under micro_video, macro_video, macro_task and strict_task. F1")
    assert text.endswith("under micro_video, one label scores 65.0.")
    assert "a few long segments alone can give a high score under micro_video." in told(RESULT, EQUAL)


def test_in_short_counts_the_scores_that_are_better() -> None:
    def short(*rows: dict[str, object], run: Run = OURS) -> str:
        return ranking(run, {"rows": list(rows)}, annotated=True)[0]

    # Under strict_task alone: 0.6 against 0.3, 0.4 and 0.2.
    assert short(RESULT, ONE, EQUAL, RANDOM) == "Better than trivial baselines by 1 of 4 scores."
    assert short(RESULT, ONE, run=Run("rgwot", "graphcut", 0)) == "Better than trivial baselines by all scores."
    best = row(Run("none", "one_label", 0), "trivial", {0: (0.5, 0.9, 0.9, 0.9)})
    assert short(RESULT, best) == "Better than trivial baselines by none of 4 scores."
    assert short(RESULT, ONE, run=Run("none", "one_label", 0)) == ""
    key = "macro_task without exact order_distance"
    ours = row(OURS, "trained", {1: (0.5, 0.3, 0.4, 0.6)})
    ours["seeds"][0]["value"][key] = 0.1  # type: ignore[index]
    other = row(Run("none", "uniform", 0), "trivial", {0: (0.1, 0.1, 0.1, 0.1)})
    for distance, words in ((0.3, "and by"), (0.11, "but not clearly by"), (0.05, "but not by")):
        other["mean"][key] = distance  # type: ignore[index]
        assert f"{words} order (distance 10" in short(ours, other)


@pytest.mark.parametrize(
    ("run", "rows", "annotated", "words"),
    [
        (OURS, [RESULT], True, "There is no trivial baseline among"),
        (OURS, [ONE], True, "This result is not scored"),
        (OURS, None, True, "This result is not scored"),
        (OURS, None, False, "No video is annotated"),
        (Run("none", "one_label", 0), [RESULT, ONE], True, ""),
    ],
)
def test_what_cannot_be_told_is_said_not_to_be(
    run: Run, rows: list[dict[str, object]] | None, annotated: bool, words: str
) -> None:
    short, said = ranking(run, rows and {"rows": rows}, annotated)
    assert short.startswith(words)
    assert said == ([short] if words else [])
