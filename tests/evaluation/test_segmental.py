from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgwot.evaluation.protocols import PROTOCOLS, score
from rgwot.evaluation.segmental import (
    edit_score,
    found_segments,
    key_step_runs,
    runs,
    sampled_hits,
    score_segmentation,
)

BACKGROUND = ["with", "without"]
sequences = st.lists(st.integers(0, 3), max_size=9)


def frames(*steps: tuple[int, int]) -> np.ndarray:
    """Return labels (T,) from pairs (label, number of frames)."""
    return np.repeat([label for label, _ in steps], [length for _, length in steps])


def levenshtein(first: list[int], second: list[int]) -> int:
    """Return the edit distance by its definition, with all three edits of the last labels."""
    if not first or not second:
        return len(first) + len(second)
    return min(
        levenshtein(first[:-1], second) + 1,
        levenshtein(first, second[:-1]) + 1,
        levenshtein(first[:-1], second[:-1]) + (first[-1] != second[-1]),
    )


@given(st.lists(st.integers(0, 2), max_size=5), st.lists(st.integers(0, 2), max_size=5))
def test_edit_score_by_definition(first: list[int], second: list[int]) -> None:
    longer = max(len(first), len(second))
    expected = 1 - levenshtein(first, second) / longer if longer else 1.0
    assert edit_score(first, second) == pytest.approx(expected)
    assert edit_score(second, first) == pytest.approx(expected)


def test_a_case_by_hand() -> None:
    """Two videos of 20 frames have steps 1 2 3 and 1 2; clusters 7 8 9 match them, and 5 has no partner."""
    truths = [frames((1, 8), (0, 4), (2, 4), (3, 4)), frames((1, 10), (2, 10))]
    predictions = [frames((7, 10), (8, 6), (9, 4)), frames((7, 6), (5, 2), (7, 2), (8, 10))]
    scores = score_segmentation(truths, predictions, 3, 4, "without")
    # Without background the first video is 8 4 4 frames: 7 7 7 7 7 7 7 7 | 8 8 8 8 | 9 9 9 9, all right.
    assert scores.mof == pytest.approx((16 + 18) / 36)
    assert scores.miou == pytest.approx((16 / 18 + 1 + 1) / 3)
    # In the second video, 7 5 7 8 stands for 1 2, so one label is inserted and one repeated.
    assert scores.edit == pytest.approx((1 + (1 - 2 / 4)) / 2)
    # Of 7 predicted and 5 true segments, 3 + 2 overlap by at least half; in the second video, 6 of 10 frames of step 1
    # and all of step 2.
    assert scores.f1_50 == pytest.approx(2 * 5 / 12)
    assert scores.f1_10 == scores.f1_25 == scores.f1_50
    assert (scores.recall_sampled, scores.precision_sampled) == (1.0, pytest.approx(5 / 6))
    assert scores.f1_sampled == pytest.approx(2 * (5 / 6) / (11 / 6))
    assert scores.n_videos == 2


def test_background_is_a_class_of_frames_and_no_segment() -> None:
    truth = frames((0, 4), (1, 6), (0, 4), (2, 6))
    with_it = score_segmentation([truth], [truth + 3], 2, 3, "with")
    assert set(with_it[:-1]) == {1.0}
    # Frames of background count; in this answer, the two steps cover the background between them.
    bold = frames((1, 10), (2, 10))
    scores = score_segmentation([truth], [bold], 2, 3, "with")
    assert scores.mof == pytest.approx(12 / 20)
    assert scores.miou == pytest.approx((0 + 6 / 10 + 6 / 10) / 3)
    assert (scores.edit, scores.f1_50) == (1.0, 1.0)
    assert score_segmentation([truth], [bold], 2, 3, "without").mof == 1.0


def test_overlap_decides_at_its_limit_and_a_segment_is_found_once() -> None:
    true = runs(frames((1, 10)))
    assert found_segments(true, runs(frames((1, 5), (2, 5))), 0.5).sum() == 1
    assert found_segments(true, runs(frames((1, 4), (2, 6))), 0.5).sum() == 0
    assert found_segments(true, runs(frames((1, 4), (2, 2), (1, 4))), 0.25).sum() == 1
    # A segment matches the segment that it overlaps most, even if that is taken and another one is free.
    two = runs(frames((1, 4), (2, 1), (1, 5)))
    assert found_segments(two, runs(frames((1, 10))), 0.25).sum() == 1


def test_of_a_segment_more_than_half_of_the_frames_are_right() -> None:
    truth = frames((1, 30), (2, 3))
    prediction = truth.copy()
    prediction[:14] = 9
    assert sampled_hits(truth, prediction) == (2, 2)
    prediction[:16] = 9
    assert sampled_hits(truth, prediction) == (1, 2)


def test_runs_interrupted_by_background() -> None:
    assert key_step_runs([0, 1, 1, 0, 1]).starts.tolist() == [1, 4]
    assert runs([]).labels.size == key_step_runs([0, 0]).labels.size == 0


@pytest.mark.parametrize("background", BACKGROUND)
def test_accuracy_of_frames_is_that_of_the_strict_protocol(background: str) -> None:
    rng = np.random.default_rng(0)
    truths = [rng.integers(0, 5, 8).repeat(20) for _ in range(4)]
    predictions = [rng.integers(0, 7, 16).repeat(10) for _ in range(4)]
    expected = score(PROTOCOLS["strict_task"], truths, predictions, 4, 7, background).f1
    assert score_segmentation(truths, predictions, 4, 7, background).mof == pytest.approx(expected)


@pytest.mark.parametrize("background", BACKGROUND)
def test_numbers_of_clusters_mean_nothing(background: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        truths = [rng.integers(0, 4, 6).repeat(5) for _ in range(3)]
        predictions = [rng.integers(0, 5, 10).repeat(3) for _ in range(3)]
        other = rng.permutation(50)[:5]
        first = score_segmentation(truths, predictions, 3, 5, background)
        assert score_segmentation(truths, [other[labels] for labels in predictions], 3, 5, background) == first


@given(st.lists(st.integers(1, 3), min_size=1, max_size=6), st.data())
def test_splitting_a_right_answer_never_raises_the_edit_score(steps: list[int], data: st.DataObject) -> None:
    """For answers in general this is false: 1 against 1 2 1 scores 1/3, and 1 4 1 scores 2/3."""
    true = [step for step, _ in itertools.groupby(steps)]
    answer, before = list(true), 1.0
    for _ in range(3):
        at = data.draw(st.integers(0, len(answer) - 1))
        answer[at : at + 1] = [answer[at], 4, answer[at]]
        after = edit_score(true, answer)
        assert after < before
        before = after
    assert edit_score([1, 2, 1], [1, 4, 1]) > edit_score([1, 2, 1], [1])


def test_nothing_to_score_is_no_score() -> None:
    empty = score_segmentation([[0, 0]], [[1, 2]], 2, 2, "without")
    assert empty.n_videos == 0
    assert all(math.isnan(value) for value in empty[:-1])
    only_background = score_segmentation([[0, 0]], [[1, 1]], 2, 2, "with")
    assert only_background.mof == 1.0
    assert math.isnan(only_background.edit)


def test_an_answer_of_one_label_finds_few_segments() -> None:
    truths = [frames((1, 10), (2, 10), (3, 10), (1, 10))] * 3
    scores = score_segmentation(truths, [np.zeros(40, dtype=int)] * 3, 3, 3, "without")
    assert scores.mof == pytest.approx(0.5)
    assert scores.edit == pytest.approx(1 / 4)
    assert scores.f1_50 == 0.0
