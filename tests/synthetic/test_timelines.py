from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timeline_statistics import assert_sound, clips_of, measured, statistics, step_seconds

from rgwot.synthetic.timelines import FPS, MIN_PIECE_S, TimelineSegment, discordance, parametric


def test_statistics_of_a_case_worked_by_hand():
    tables = [
        [TimelineSegment(0.0, 2.0, 1), TimelineSegment(4.0, 6.0, 2), TimelineSegment(7.0, 8.0, 1)],
        [TimelineSegment(10.0, 15.0, 1), TimelineSegment(0.0, 5.0, 2), TimelineSegment(4.0, 6.0, 3)],
    ]
    expected = ((5 / 10 + 11 / 20) / 2, 1 - 5 / 8, 1 - 5 / 6, 1.0)
    assert statistics(tables, [10.0, 20.0], K=4) == pytest.approx(expected)


@given(st.permutations(range(1, 8)), st.permutations(range(1, 8)))
def test_kendall_distance_is_symmetric_and_reverses(first, second):
    distance = discordance(first, second)
    assert distance == pytest.approx(discordance(second, first))
    assert distance == pytest.approx(1.0 - discordance(first, second[::-1]))
    assert discordance(first, first) == 0.0


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("K", "levels"),
    [
        (7, {}),
        (4, {}),
        (12, {}),
        (7, {"foreground": 0.6, "missing": 0.25, "repeated": 0.2, "order_distance": 0.3}),
        (7, {"foreground": 0.25, "missing": 0.0, "repeated": 0.0, "order_distance": 0.0}),
    ],
)
def test_parametric_meets_the_requested_levels(K, levels, seed):
    levels = clips_of(20, 40.0, 90.0, **levels)
    timelines = parametric(K, levels, np.random.default_rng(seed))
    assert_sound(timelines, K)
    expected = (levels.foreground, levels.missing, levels.repeated, levels.order_distance)
    assert measured(timelines, K) == pytest.approx(expected, abs=0.03)
    share = step_seconds(timelines, K)
    assert (share / share.sum()).max() <= max(0.25, 1.1 / K)
    shortest = min(s.end_s - s.start_s for t in timelines for s in t.segments)
    assert shortest >= MIN_PIECE_S * (0.99 if K <= 7 else 0.8)


def test_full_foreground_in_canonical_order():
    levels = clips_of(5, 40.0, 50.0, foreground=1.0, missing=0.0, repeated=0.0, order_distance=0.0)
    for timeline in parametric(7, levels, np.random.default_rng(0)):
        assert [s.key_step for s in timeline.segments] == list(range(1, 8))
        assert timeline.segments[0].start_s == 0.0
        assert timeline.duration_s - timeline.segments[-1].end_s < 0.002
        assert all(a.end_s == b.start_s for a, b in pairwise(timeline.segments))


@given(K=st.integers(4, 17), n_videos=st.integers(1, 3), length=st.floats(4.0, 8.0), seed=st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_clips_of_a_few_seconds_are_sound(K, n_videos, length, seed):
    timelines = parametric(K, clips_of(n_videos, length, length + 1.0), np.random.default_rng(seed))
    assert_sound(timelines, K)
    seen = [sum(any(s.key_step == k for s in t.segments) for t in timelines) for k in range(1, K + 1)]
    if n_videos >= 2:
        assert min(seen) >= 2
    # Every segment is longer than two frames, so that none is missed between sampled frames.
    assert min(s.end_s - s.start_s for t in timelines for s in t.segments) > 2 / FPS
