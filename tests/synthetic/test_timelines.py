from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rgwot.config.synthetic import SynthSettings
from rgwot.synthetic.ground_truth import FPS, Segment, Timeline, read_recipe, recipes
from rgwot.synthetic.timelines import discordance, from_human, mean_distance, parametric


def clips_of(n_videos: int, min_s: float, max_s: float, **changes: object) -> SynthSettings:
    return SynthSettings(n_videos=n_videos, min_s=min_s, max_s=max_s, **changes)


def statistics(tables: Sequence[Sequence[Segment]], durations: Sequence[float], K: int) -> tuple[float, ...]:
    """Return foreground F, missing M, repeated R and order variation tau of a task.

    With u distinct steps and g segments in a video: F is the mean share of a video that steps cover, M is
    1 - sum(u) / (K N), R is 1 - sum(u) / sum(g) over all N videos together, and tau is the mean normalised
    Kendall distance between the orders of first occurrence, over pairs of videos and the steps both contain.
    """
    shares, orders = [], []
    for table, duration in zip(map(sorted, tables), durations, strict=True):
        covered = reached = 0.0
        for start, end, _ in table:
            covered += max(0.0, end - max(start, reached))
            reached = max(reached, end)
        shares.append(covered / duration)
        orders.append(list(dict.fromkeys(segment.key_step for segment in table)))
    distinct, total = sum(map(len, orders)), sum(map(len, tables))
    return np.mean(shares), 1 - distinct / (K * len(tables)), 1 - distinct / total, mean_distance(orders)


def measured(timelines: list[Timeline], K: int) -> tuple[float, ...]:
    return statistics([t.segments for t in timelines], [t.duration_s for t in timelines], K)


def step_seconds(timelines: list[Timeline], K: int) -> np.ndarray:
    rows = [s for t in timelines for s in t.segments]
    return np.bincount([s.key_step for s in rows], weights=[s.end_s - s.start_s for s in rows], minlength=K + 1)[1:]


def assert_sound(timelines: list[Timeline], K: int) -> None:
    for timeline in timelines:
        assert (timeline.duration_s * FPS) == pytest.approx(round(timeline.duration_s * FPS), abs=1e-9)
        assert timeline.segments[0].start_s >= 0.0
        assert timeline.segments[-1].end_s <= timeline.duration_s
        for segment in timeline.segments:
            assert segment.end_s > segment.start_s
            assert 1 <= segment.key_step <= K
        for earlier, later in pairwise(timeline.segments):
            assert earlier.end_s <= later.start_s
            if earlier.key_step == later.key_step:
                assert earlier.end_s < later.start_s, "a repeat without a pause is no repeat"


def test_statistics_of_a_case_worked_by_hand():
    tables = [
        [Segment(0.0, 2.0, 1), Segment(4.0, 6.0, 2), Segment(7.0, 8.0, 1)],
        [Segment(10.0, 15.0, 1), Segment(0.0, 5.0, 2), Segment(4.0, 6.0, 3)],
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
    assert shortest >= levels.min_piece_s * (0.99 if K <= 7 else 0.8)


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
    # Two frames: nothing falls between the frames that are looked at.
    assert min(s.end_s - s.start_s for t in timelines for s in t.segments) > 2 / FPS


def test_human_clips_have_the_published_statistics():
    found = []
    for recipe in recipes():
        clips = read_recipe(recipe)
        settings = clips_of(len(clips), 40.0, 90.0, levels="plain")
        found.append(measured(from_human(clips, 7, settings, np.random.default_rng(0)), 7))
    assert len(found) == 24
    assert np.mean(found, axis=0) == pytest.approx([0.50, 0.03, 0.03, 0.13], abs=0.006)


def test_human_clips_at_egoprocel_levels():
    found = []
    for recipe in recipes():
        clips = read_recipe(recipe)
        timelines = from_human(clips, 7, clips_of(len(clips), 40.0, 90.0), np.random.default_rng(recipe))
        assert_sound(timelines, 7)
        found.append(measured(timelines, 7))
        share = step_seconds(timelines, 7)
        assert (share / share.sum()).max() < 0.25
    assert np.mean(found, axis=0) == pytest.approx([0.38, 0.12, 0.49, 0.13], abs=0.01)


def test_human_order_is_kept_and_lengths_are_mapped():
    clips = read_recipe(17)
    settings = clips_of(len(clips), 20.0, 45.0, missing=0.0)
    plain = from_human(clips, 7, settings.model_copy(update={"levels": "plain"}), np.random.default_rng(0))
    levelled = from_human(clips, 7, settings, np.random.default_rng(0))
    for clip, short, changed in zip(clips, plain, levelled, strict=True):
        order = list(dict.fromkeys(s.key_step for s in clip.segments))
        assert list(dict.fromkeys(s.key_step for s in short.segments)) == order
        assert list(dict.fromkeys(s.key_step for s in changed.segments)) == order
        assert short.duration_s == pytest.approx(clip.duration_s / 2, abs=1 / FPS)
        assert short.segments[0].start_s == pytest.approx(clip.segments[0].start_s / 2, abs=0.02)
