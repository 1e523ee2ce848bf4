from __future__ import annotations

import math

import pytest
from planted import recording

from rgwot.procedure import Event, Recording, deviations, learn
from rgwot.procedure.differences import score_videos, surprise

USUAL = [recording(f"v{number}", 1, 2, 3, 4) for number in range(12)]


@pytest.fixture(scope="module")
def usual():
    return learn(USUAL)


def found_in(procedure, video):
    return [(one.kind, one.key_step, one.start_s, one.end_s) for one in deviations(procedure, [video])]


def test_nothing_to_say_of_a_video_like_the_others(usual):
    assert deviations(usual, USUAL) == []
    assert score_videos(usual, USUAL) == {video.video: 0.0 for video in USUAL}
    # Nor of one without a key step, which has no score.
    empty = Recording("empty", (), 4.0)
    assert deviations(usual, [empty]) == []
    assert math.isnan(score_videos(usual, [empty])["empty"])


def test_a_step_left_out_is_due_between_its_neighbours(usual):
    # 2 ends at 8 s, 4 begins at 10 s.
    video = Recording("new", (Event(1, 0, 3), Event(2, 4, 8), Event(4, 10, 12)), 20)
    assert found_in(usual, video) == [("missing", 3, 8, 10)]
    last = Recording("new", (Event(1, 0, 3), Event(2, 4, 8), Event(3, 8, 9)), 20)
    assert found_in(usual, last) == [("missing", 4, 9, 20)]
    first = Recording("new", (Event(2, 4, 8), Event(3, 8, 9), Event(4, 9, 10)), 20)
    assert found_in(usual, first) == [("missing", 1, 0, 4)]


def test_a_step_left_out_where_its_neighbours_overlap_is_due_at_one_moment(usual):
    video = Recording("new", (Event(1, 0, 3), Event(2, 4, 12), Event(4, 10, 13)), 20)
    assert found_in(usual, video) == [("missing", 3, 10, 10)]


def test_too_early_and_too_late(usual):
    video = recording("new", 1, 3, 2, 4)
    assert found_in(usual, video) == [("too_early", 3, 10, 18), ("too_late", 2, 20, 28)]
    # 2 comes before 1 that it needs, and after 3 that needs it.
    both = recording("new", 3, 2, 1, 4)
    assert [(kind, step) for kind, step, *_ in found_in(usual, both)] == [
        ("too_early", 3), ("too_early", 2), ("too_late", 2), ("too_late", 1)
    ]  # fmt: skip


def test_added_and_repeated(usual):
    video = recording("new", 1, 2, 9, 2, 3, 4)
    assert found_in(usual, video) == [("added", 9, 20, 28), ("repeated", 2, 30, 38)]


def test_what_most_repeat_is_no_deviation():
    videos = [recording(f"v{number}", 1, 2, 1, 3) for number in range(5)]
    assert deviations(learn(videos), videos) == []


def test_a_step_of_few_is_added_and_one_of_most_is_missing():
    few = [recording("v0", 1, 2, 3), *(recording(f"v{number}", 1, 3) for number in range(1, 6))]
    assert found_in(learn(few), few[0]) == [("added", 2, 10, 18)]
    assert found_in(learn(few), few[1]) == []


def test_surprise_by_hand(usual):
    # None of twelve did it: -log2(0.5 / 13).
    (one,) = deviations(usual, [Recording("new", (Event(1, 0, 1), Event(2, 1, 2), Event(3, 2, 3)), 9)])
    assert one.surprise == pytest.approx(math.log2(26)) == surprise(0, 12)
    early, late = deviations(usual, [recording("new", 1, 3, 2, 4)])
    assert early.surprise == late.surprise == pytest.approx(math.log2(26))
    assert score_videos(usual, [recording("new", 1, 3, 2, 4)]) == {"new": pytest.approx(2 * math.log2(26))}


def test_a_need_in_doubt_is_not_held_against_anybody():
    # Two videos: confidence 1 / (1 + exp(0.5 - 0.9 log 3)) = 0.62.
    procedure = learn([recording("a", 1, 2), recording("b", 1, 2)])
    assert [need.confidence < 2 / 3 for need in procedure.needs] == [True]
    assert found_in(procedure, recording("new", 2, 1)) == []


def test_a_fragment_is_repeated_and_not_too_early(usual):
    video = Recording("new", (Event(3, 0, 1), Event(1, 1, 9), Event(2, 10, 18), Event(3, 20, 28), Event(4, 30, 38)), 40)
    assert found_in(usual, video) == [("repeated", 3, 0, 1)]
