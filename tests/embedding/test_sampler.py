"""Draws of pairs, frames and context: ranges, uniformity, order and independence."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgwot.embedding.sampler import (
    Stream,
    context_offsets,
    draw_frames,
    draw_pair,
    draw_videos,
    generator,
    with_context,
)


@given(length=st.integers(1, 80), n=st.integers(1, 40), seed=st.integers(0, 1000))
def test_frames_are_sorted_in_range_and_distinct_where_possible(length: int, n: int, seed: int) -> None:
    frames = draw_frames(length, n, np.random.default_rng(seed))
    assert len(frames) == n
    assert frames.min() >= 0
    assert frames.max() < length
    assert (np.diff(frames) >= 0).all()
    assert len(np.unique(frames)) == min(n, length)


def test_every_frame_is_equally_likely() -> None:
    rng = np.random.default_rng(0)
    counts = np.bincount(np.concatenate([draw_frames(10, 4, rng) for _ in range(5000)]), minlength=10)
    # In 5000 draws of 4 of 10, a count has mean 2000 and standard deviation sqrt(5000 * 0.4 * 0.6) = 35.
    assert np.abs(counts - 2000).max() < 4.5 * 35


def test_pairs_are_ordered_distinct_and_uniform() -> None:
    rng = np.random.default_rng(0)
    lengths = np.array([5, 9, 7])
    drawn = [draw_pair(lengths, 4, rng) for _ in range(6000)]
    counts = Counter((first, second) for (first, _), (second, _) in drawn)
    assert set(counts) == {(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)}
    assert max(abs(count - 1000) for count in counts.values()) < 4.5 * np.sqrt(6000 * 5 / 36)
    for pair in drawn[:200]:
        for video, frames in pair:
            assert frames.max() < lengths[video]


def test_draws_depend_on_seed_stream_and_iteration_only() -> None:
    lengths = np.array([50, 60, 70])
    late = draw_pair(lengths, 8, generator(1, Stream.PAIRS, 7))
    for iteration in range(8):
        pair = draw_pair(lengths, 8, generator(1, Stream.PAIRS, iteration))
    for (video, frames), (late_video, late_frames) in zip(pair, late, strict=True):
        assert video == late_video
        np.testing.assert_array_equal(frames, late_frames)
    values = {generator(*key).integers(2**60) for key in [(1, 2, 7), (1, 3, 7), (2, 2, 7), (1, 2, 8)]}
    assert len(values) == 4


def test_training_videos_are_nested_and_change_with_the_seed() -> None:
    chosen = [set(draw_videos(10, n, seed=3).tolist()) for n in range(1, 11)]
    assert all(len(videos) == n for n, videos in enumerate(chosen, 1))
    assert all(few < many for few, many in zip(chosen, chosen[1:], strict=False))
    assert len({tuple(draw_videos(10, 3, seed)) for seed in range(20)}) > 10


@pytest.mark.parametrize(
    ("c", "context_s", "fps", "side", "expected"),
    [
        (1, 0.5, 2.0, "after", [0]),
        (2, 0.5, 2.0, "after", [0, 1]),  # 15 frames at 30 fps
        (2, 0.5, 2.0, "before", [-1, 0]),
        (2, 0.5, 2.0, "both", [0, 1]),
        (3, 0.5, 30.0, "both", [-15, 0, 15]),
        (3, 0.5, 30.0, "before", [-30, -15, 0]),
        (4, 0.25, 2.0, "after", [0, 1, 2, 3]),  # 0.5, 1 and 1.5 frames: at least k frames away
        (4, 0.3, 5.0, "both", [-2, 0, 2, 3]),
    ],
)
def test_context_offsets(c: int, context_s: float, fps: float, side: str, expected: list[int]) -> None:
    assert context_offsets(c, context_s, fps, side).tolist() == expected


def test_context_stays_in_the_video_and_in_order_of_time() -> None:
    stacks = with_context(np.array([0, 3, 9]), np.array([-2, 0, 2]), 10)
    assert stacks.tolist() == [[0, 0, 2], [1, 3, 5], [7, 9, 9]]
