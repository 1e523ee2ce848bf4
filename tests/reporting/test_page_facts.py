"""Facts on the page: colours, warnings, how a result compares with others, and two results side by side."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from page_tree import Task, embedded_data

from rgwot import paths
from rgwot.diagnostics import Choices, Diagnostics, LeftOutFacts, ScopeFacts, Split, TimeChoice
from rgwot.evaluation.agreement import agreement
from rgwot.keysteps.warnings import COMPETE, OTHER_SEED, briefly, doubts, seeds_compete
from rgwot.paths import DIAGNOSTICS, Run, name_of
from rgwot.reporting.compare import MOST_RESULTS, Answer, compare, compare_pairs, parts, read_answer
from rgwot.reporting.page.content import (
    _colours,
    _cut_short,
    _other_number,
    _seeds_that_differ,
    against_trivial,
    frames_right,
)
from rgwot.reporting.page.render import write_page
from rgwot.reporting.page.runs import _caution, _other_answers, _without_command, about_number, as_sentence, soundness
from rgwot.reporting.page.shell import in_window


def shown(steps: list[int], order: tuple[int, ...] = (), **facts: Any) -> Any:
    procedure = (SimpleNamespace(order=order), []) if order else None
    own = SimpleNamespace(**{"steps": steps, "kind": "untrained", "given": [], **facts})
    return SimpleNamespace(facts=own, procedure=procedure, body={})


def test_colours_follow_the_order_and_results_that_agree_have_the_same() -> None:
    one = {"a": np.array([3, 3, 1, 1, 2, 2]), "b": np.array([3, 1, 1, 2])}
    renamed = {video: np.array([0, 5, 6, 4])[labels] for video, labels in one.items()}
    # Step 7 covers half of 3 and half of 1, so it is matched with neither.
    mixed = {"a": np.array([7, 7, 7, 7, 2, 2]), "b": np.array([7, 7, 7, 2])}
    runs = [shown([1, 2, 3], (3, 1, 2)), shown([4, 5, 6], (4, 5, 6)), shown([2, 7], (7, 2))]
    first, second, third = _colours(compare_pairs([Answer(part, part) for part in (one, renamed, mixed)]), runs)
    assert first == {"3": 1, "1": 2, "2": 3}
    assert second == {"4": 1, "5": 2, "6": 3}
    assert third["2"] == 3
    assert len({*third.values()}) == 2
    # Steps beyond the number of any other run get colours of their own.
    agreements = compare_pairs([Answer(part, part) for part in ({"a": np.ones(4, int)}, {"a": np.array([1, 2, 3, 3])})])
    (_, second) = _colours(agreements, [shown([1]), shown([1, 2, 3])])
    assert len({*second.values()}) == 3


def test_a_video_that_decodes_in_part_is_reported() -> None:
    run = shown([1])
    run.body = {"segments": {"0": {"ends": [20000, 49000]}, "1": {"ends": [60000]}, "2": {"many": 2000}}}
    videos: Any = [SimpleNamespace(name=n, duration=seconds) for n, seconds in (("a", 142.7), ("b", 60.9), ("c", 50.0))]
    (line,) = _cut_short([run], videos)
    assert line.startswith("a: only the first 49.0 of 142.7 s can be decoded")


def test_a_number_of_steps_other_than_annotated_is_reported_once() -> None:
    annotations = pd.DataFrame({"key_step": [*range(1, 13), 3]})
    (line,) = _other_number([shown([1], K=7), shown([1], K=7)], annotations)
    assert line.startswith("7 key steps were asked for, but 12 are annotated")
    assert _other_number([shown([1], K=12)], annotations) == []
    assert _other_number([shown([1], K=7)], annotations.iloc[:0]) == []


def test_scores_of_synthetic_clips_are_not_left_alone(page_task: Task) -> None:
    page = page_task.folder / "clips.html"
    said = []
    for root in (page_task.root, page_task.folder / "results/synthetic/mine"):
        write_page(page_task.tree, root, page_task.runs, page)
        said.append("Recordings of people score far lower" in str(embedded_data(page)["notices"]))
    assert said == [False, True]


def test_background_is_not_a_key_step() -> None:
    task = ScopeFacts(distinct_labels=8, dominant_label_share=0.46, background_share=0.46)
    assert soundness(Diagnostics(K=7, task=task)) == {
        "Collapsed": "no", "Key steps found": "7 of 7", "Background": "46 % of the frames",
    }  # fmt: skip
    assert soundness(Diagnostics(K=7, task=replace(task, distinct_labels=7, background_share=0.0))) == {
        "Collapsed": "no", "Key steps found": "7 of 7", "Largest key step": "46 % of the frames",
    }  # fmt: skip


def test_a_collapse_has_its_cause_and_a_warning_on_a_setting_is_a_note() -> None:
    diagnostics = Diagnostics(
        K=7, degenerate=True, degenerate_cause="decoder", warnings=["decode.time: only just", "another"],
        notes=["one note"], split=Split(train=["a"], test=["b", "c"]),
        videos_without_frames=["d"], video=ScopeFacts(degenerate_videos=["a", "b"]),
    )  # fmt: skip
    assert soundness(diagnostics) == {
        "Collapsed": "decoder", "Videos that collapse alone": "2", "Videos without frames": "1", "Held-out videos": "2",
        "Notes": "One note. decode.time: only just.",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("choice", "cell"),
    [
        (
            TimeChoice(chosen=0.03, agreement=0.1, concordance=0.4),
            "Time counts little (3 %): the orders of the videos, before time was used, agreed too weakly (0.40; 0.47 "
            "needed).",
        ),
        # Nearly enough, and better predictions alone do not suffice.
        (
            TimeChoice(chosen=0.03, agreement=0.1, concordance=0.466, kept=0.96, differ=0.1),
            "Time counts little (3 %): the orders of the videos, before time was used, agreed too weakly (0.466; 0.47 "
            "needed).",
        ),
        (
            TimeChoice(chosen=0.03, agreement=0.1, concordance=0.6, kept=0.55, differ=0.1),
            "Time counts little (3 %): the orders of the videos, before time was used, agreed (0.60; 0.47 needed), but "
            "key steps found with time predicted those of other videos too poorly (0.55 times as well as without time; "
            "0.7 needed).",
        ),
        (
            TimeChoice(chosen=0.5, agreement=0.1, concordance=0.6, kept=0.96, differ=0.1),
            "Time counts much (50 %): the orders of the videos, before time was used, agreed (0.60; 0.47 needed), and "
            "key steps found with time predicted those of other videos (0.96 times as well as without time; 0.7 "
            "needed).",
        ),
        (
            TimeChoice(chosen=0.0, agreement=-0.1, concordance=0.2),
            "Time does not count (0 %): key steps found without time predict nothing of other videos.",
        ),
        (
            TimeChoice(chosen=0.0, why="a <b>single</b> video"),
            "Time does not count (0 %): a <b>single</b> video.",
        ),
        (None, None),
    ],
)
def test_a_weight_of_time_that_was_chosen_has_its_evidence(choice: TimeChoice | None, cell: str | None) -> None:
    assert soundness(Diagnostics(K=7, choices=Choices(time=choice))).get("Weight of time") == cell


def test_any_two_results_have_the_numbers_of_the_command(page_task: Task, page: Path) -> None:
    actual = {tuple(one["pair"]): one for one in embedded_data(page, "comparisons")}  # type: ignore[attr-defined]
    answers = [read_answer(page_task.tree.keysteps(run)) for run in page_task.runs]
    assert sorted(actual) == list(itertools.combinations(range(len(answers)), 2))
    for (a, b), one in actual.items():
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


def test_the_page_repeats_the_warnings_and_compares_seeds(page_task: Task, page: Path) -> None:
    facts: Any = embedded_data(page)["runs"]
    actual = compare_pairs([read_answer(page_task.tree.keysteps(run)) for run in page_task.runs])
    for one, run in enumerate(page_task.runs):
        own = json.loads((page_task.tree.keysteps(run) / name_of(DIAGNOSTICS)).read_text()).get("warnings", [])
        # Runs 0 and 1, and 2 and 3, are seeds of one method, so the page need not guess what another seed would find.
        expected = [f"{line[0].upper()}{line[1:]}." for line in own if one > 3 or not line.startswith(OTHER_SEED)]
        differ = 1 - actual[one // 2 * 2, one // 2 * 2 + 1].agreement.same
        if one < 4 and differ > COMPETE:
            expected.append(as_sentence(seeds_compete(differ, f"look at try {1 - one % 2}, too, under Result")))
            # The first sentences say so, without what to do.
            assert f"{briefly(expected[-1])} (see Trust)." in page.read_text(encoding="utf-8")
        assert facts[one]["warnings"] == expected
    # Noisy embeddings get the warning; clear ones and trivial baselines do not.
    assert [bool(run["warnings"]) for run in facts] == [False, False, True, True, False, False]


def test_seeds_that_differ_are_reported_also_among_many_results(
    page_task: Task, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [run["warnings"] for run in embedded_data(page)["runs"]]
    monkeypatch.setattr("rgwot.reporting.compare.MOST_RESULTS", 3)
    many = page_task.folder / "many.html"
    write_page(page_task.tree, page_task.root, page_task.runs, many)
    assert [run["warnings"] for run in embedded_data(many)["runs"]] == few
    assert any("try 1" in warning for warning in few[2])


def test_a_swapped_comparison_equals_one_made_in_this_order() -> None:
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
    labels = [{"v": np.arange(20) % (2 + at % 3)} for at in range(MOST_RESULTS + 1)]
    answers = [Answer(part, part) for part in labels]
    assert len(compare_pairs(answers[:MOST_RESULTS])) == MOST_RESULTS * (MOST_RESULTS - 1) // 2
    assert list(compare_pairs(answers)) == [(0, at) for at in range(1, MOST_RESULTS + 1)]
    # Without a video in common there is nothing to compare.
    other = {"w": np.arange(5)}
    assert list(compare_pairs([answers[0], Answer(other, other), answers[1]])) == [(0, 2)]


OURS = Run("rgwot", "graphcut", 1)
SCORES = {
    Run("rgwot", "graphcut", 0): 0.9, OURS: 0.4, Run("none", "one_label", 0): 0.1, Run("none", "uniform@K=gt", 0): 0.25,
    Run("none", "random", 0): 0.2, Run("none", "random", 1): 0.6, Run("whitened", "kmeans", 0): 0.99,
}  # fmt: skip


def test_the_score_stands_beside_that_of_the_best_trivial_baseline() -> None:
    """The score of the shown seed is compared with the mean over seeds of each baseline."""
    (said,) = against_trivial(OURS, SCORES, annotated=True, labelled=False)
    assert said == (
        "of the annotated videos, 40 of 100 frames are right, against 40 in the best answer that ignores the videos "
        "(random)"
    )
    alone = {run: score for run, score in SCORES.items() if run.method != "none"}
    (said,) = against_trivial(OURS, alone, annotated=True, labelled=False)
    assert said.endswith("40 of 100 frames are right, and no answer that ignores the videos is scored for comparison")


@pytest.mark.parametrize(
    ("annotated", "labelled", "words"),
    [
        # Marks score nothing, but a video that has some is annotated.
        (False, False, ["this result was compared with no labels, so its key steps may not be the true ones"]),
        (True, False, ["this result is not scored"]),
        # How well annotated videos label each other is said instead.
        (True, True, []),
    ],
)
def test_a_score_that_cannot_be_compared_says_so(annotated: bool, labelled: bool, words: list[str]) -> None:
    assert against_trivial(OURS, {}, annotated, labelled) == words


@pytest.mark.parametrize(
    ("videos", "left_out", "words"),
    [
        (["a", "b"], None, "it takes 3 annotated videos"),
        (["a", "b", "c"], None, "is not checked yet"),
        (
            ["a", "b", "c"], LeftOutFacts(videos=["a", "b", "c"], frames_right=0.85, shares=[0.7, 0.9, 0.95]),
            "right in 85 of 100 frames (70 to 95)",
        ),
    ],
)  # fmt: skip
def test_a_result_that_learned_says_how_well_or_that_it_is_not_known(
    videos: list[str], left_out: LeftOutFacts | None, words: str
) -> None:
    assert words in _caution(videos, left_out)


def test_the_number_of_key_steps_is_compared_with_the_annotated_ones(page_task: Task) -> None:
    run, made = Run("rgwot-plus", "consensus@decode.surplus=1", 0), Diagnostics(K=7)
    said, command = about_number(page_task.tree, run, made)
    assert said == "7 key steps is the default; the videos do not say how many (see How many?)."
    assert "/consensus@K=8,decode.surplus=1/" in command
    assert "How many" not in about_number(page_task.tree, run, made, tree=False)[0]
    said, command = about_number(page_task.tree, run, made, 12)
    assert said == "7 key steps is the default, but 12 are annotated."
    assert "/consensus@K=12,decode.surplus=1/" in command
    assert about_number(page_task.tree, run, made, 7)[0] == ""


def test_other_answers_have_their_commands_under_scores_and_not_in_the_warning(page_task: Task) -> None:
    choice = TimeChoice(chosen=0.03, agreement=0.1, concordance=0.461, kept=0.9, differ=0.3)
    warnings = doubts(7, {"a": 7}, 0.0, time=choice, seeds_differ=0.4)
    run = Run("rgwot-plus", "consensus@K=9", 0)
    made = Diagnostics(K=9, choices=Choices(time=choice), warnings=warnings)
    others = replace(run, seed=1), replace(run, decoder="consensus@K=9,time=0.5")
    for command, other in zip(_other_answers(page_task.tree, run, made), others, strict=True):
        path = page_task.tree.at(paths.SEGMENTS, other)
        assert command.endswith(f': rgwot run "{path}", then rgwot show "{path}"')
    assert _other_answers(page_task.tree, run, Diagnostics(K=9)) == []
    said = list(map(_without_command, warnings))
    assert all(text.endswith("under Scores") for text in said)
    assert ["Compare with another try" in in_window(text) for text in said] == [True, False]
    assert _without_command("another warning") == "another warning"


def test_the_frames_that_are_right_are_the_accuracy(page_task: Task) -> None:
    right = frames_right(page_task.tree, page_task.runs)
    rows = {(row["method"], row["decoder"]): row for row in embedded_data(page_task.page())["scores"]["rows"]}
    assert right
    for run, share in right.items():
        seeds = {seed["seed"]: seed["value"] for seed in rows[run.method, run.decoder]["seeds"]}
        assert share == pytest.approx(seeds[run.seed]["strict_task with exact f1"], abs=1e-5)


def test_of_several_competing_seeds_the_farthest_one_is_named() -> None:
    shown: Any = [SimpleNamespace(run=Run("rgwot-plus", "consensus", seed)) for seed in (0, 1, 2)]
    same = {(0, 1): 0.8, (0, 2): 0.7, (1, 2): 0.95}
    seeds: Any = {pair: SimpleNamespace(agreement=SimpleNamespace(same=share)) for pair, share in same.items()}
    first, second, third = _seeds_that_differ(shown, seeds)
    assert "30 of 100" in first[0]
    assert "try 2" in first[0]
    assert ("20 of 100" in second[0], "30 of 100" in third[0]) == (True, True)
    assert [len(first), len(second), len(third)] == [1, 1, 1]
    assert _seeds_that_differ(shown, {(1, 2): seeds[1, 2]}) == [[], [], []]
