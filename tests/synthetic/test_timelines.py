from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measured import statistics

from rgwot.config.synthetic import SynthSettings
from rgwot.runtime.errors import RgwotError
from rgwot.synthetic import human
from rgwot.synthetic.ground_truth import FPS, Segment, Timeline
from rgwot.synthetic.timelines import discordance, from_human, parametric


def clips_of(n_videos: int, min_s: float, max_s: float, **changes: object) -> SynthSettings:
    return SynthSettings(n_videos=n_videos, min_s=min_s, max_s=max_s, **changes)


def measured(timelines: list[Timeline], K: int) -> tuple[float, float, float, float]:
    found = statistics([t.segments for t in timelines], [t.duration_s for t in timelines], K)
    return found.foreground, found.missing, found.repeated, found.order_distance


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
    found = statistics(tables, [10.0, 20.0], K=4)
    assert found.foreground == pytest.approx((5 / 10 + 11 / 20) / 2)
    assert found.missing == pytest.approx(1 - 5 / 8)
    assert found.repeated == pytest.approx(1 - 5 / 6)
    assert found.order_distance == pytest.approx(1.0)


def test_statistics_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="1 segment tables and 2 durations"):
        statistics([[Segment(0.0, 1.0, 1)]], [1.0, 2.0], 1)
    with pytest.raises(ValueError, match="no segment"):
        statistics([[]], [1.0], 1)


@given(st.permutations(range(1, 8)), st.permutations(range(1, 8)))
def test_kendall_distance_is_symmetric_and_reverses(first, second):
    distance = discordance(first, second)
    assert distance == pytest.approx(discordance(second, first))
    assert distance == pytest.approx(1.0 - discordance(first, second[::-1]))
    assert discordance(first, first) == 0.0


def test_kendall_distance_needs_two_shared_steps():
    assert math.isnan(discordance([1, 2], [2, 3]))


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


@pytest.mark.parametrize("seed", range(6))
def test_demo_setting_keeps_the_floor_and_no_step_holds_a_quarter(seed):
    timelines = parametric(7, clips_of(10, 40.0, 70.0), np.random.default_rng(seed))
    share = step_seconds(timelines, 7)
    assert (share / share.sum()).max() < 0.25
    assert min(s.end_s - s.start_s for t in timelines for s in t.segments) >= 0.799


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


def test_timelines_depend_on_the_generator_only():
    first, again, other = (parametric(7, clips_of(4, 40.0, 60.0), np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_parametric_refuses_a_single_step():
    with pytest.raises(ValueError, match="K = 1"):
        parametric(1, clips_of(2, 40.0, 60.0), np.random.default_rng(0))


def test_human_clips_have_the_published_statistics():
    found = []
    for recipe in human.recipes():
        clips = human.read_recipe(recipe)
        settings = clips_of(len(clips), 40.0, 90.0, levels="plain")
        found.append(measured(from_human(clips, 7, settings, np.random.default_rng(0)), 7))
    assert len(found) == 24
    assert np.mean(found, axis=0) == pytest.approx([0.50, 0.03, 0.03, 0.13], abs=0.006)


def test_human_clips_at_egoprocel_levels():
    found = []
    for recipe in human.recipes():
        clips = human.read_recipe(recipe)
        timelines = from_human(clips, 7, clips_of(len(clips), 40.0, 90.0), np.random.default_rng(recipe))
        assert_sound(timelines, 7)
        found.append(measured(timelines, 7))
        share = step_seconds(timelines, 7)
        assert (share / share.sum()).max() < 0.25
    assert np.mean(found, axis=0) == pytest.approx([0.38, 0.12, 0.49, 0.13], abs=0.01)


def test_human_order_is_kept_and_lengths_are_mapped():
    clips = human.read_recipe(17)
    settings = clips_of(len(clips), 20.0, 45.0, missing=0.0)
    plain = from_human(clips, 7, settings.model_copy(update={"levels": "plain"}), np.random.default_rng(0))
    levelled = from_human(clips, 7, settings, np.random.default_rng(0))
    for clip, short, changed in zip(clips, plain, levelled, strict=True):
        order = list(dict.fromkeys(s.key_step for s in clip.segments))
        assert list(dict.fromkeys(s.key_step for s in short.segments)) == order
        assert list(dict.fromkeys(s.key_step for s in changed.segments)) == order
        assert short.duration_s == pytest.approx(clip.duration_s / 2, abs=1 / FPS)
        assert short.segments[0].start_s == pytest.approx(clip.segments[0].start_s / 2, abs=0.02)


def test_an_unknown_recipe():
    with pytest.raises(RgwotError, match="synth.recipe: recipe 6: .* known: 1, 2, 3"):
        human.read_recipe(6)
