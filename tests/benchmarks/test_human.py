"""Clips that follow timelines of real people: their statistics, and which recipes are rendered."""

from __future__ import annotations

import numpy as np
import pytest
from human import Rendered, from_human, read_recipe, recipes, rendered, videos_of
from timeline_statistics import assert_sound, clips_of, measured, step_seconds

from rgwot.runtime.errors import RgwotError
from rgwot.synthetic.timelines import FPS


def test_human_clips_have_the_published_statistics():
    actual = []
    for recipe in recipes():
        clips = read_recipe(recipe)
        settings = clips_of(len(clips), 40.0, 90.0)
        actual.append(measured(from_human(7, settings, np.random.default_rng(0), clips, "plain"), 7))
    assert len(actual) == 24
    assert np.mean(actual, axis=0) == pytest.approx([0.50, 0.03, 0.03, 0.13], abs=0.006)


def test_human_clips_at_egoprocel_levels():
    actual = []
    for recipe in recipes():
        clips = read_recipe(recipe)
        timelines = from_human(7, clips_of(len(clips), 40.0, 90.0), np.random.default_rng(recipe), clips, "published")
        assert_sound(timelines, 7)
        actual.append(measured(timelines, 7))
        share = step_seconds(timelines, 7)
        assert (share / share.sum()).max() < 0.25
    assert np.mean(actual, axis=0) == pytest.approx([0.38, 0.12, 0.49, 0.13], abs=0.01)


def test_human_order_is_kept_and_lengths_are_mapped():
    clips = read_recipe(17)
    settings = clips_of(len(clips), 20.0, 45.0, missing=0.0)
    plain = from_human(7, settings, np.random.default_rng(0), clips, "plain")
    levelled = from_human(7, settings, np.random.default_rng(0), clips, "published")
    for clip, short, changed in zip(clips, plain, levelled, strict=True):
        order = list(dict.fromkeys(s.key_step for s in clip.segments))
        assert list(dict.fromkeys(s.key_step for s in short.segments)) == order
        assert list(dict.fromkeys(s.key_step for s in changed.segments)) == order
        assert short.duration_s == pytest.approx(clip.duration_s / 2, abs=1 / FPS)
        assert short.segments[0].start_s == pytest.approx(clip.segments[0].start_s / 2, abs=0.02)


def test_recipes_that_are_not_there_or_too_small_are_named() -> None:
    videos, settings = videos_of(Rendered("tea", 17, "published", 0), n_videos=8)
    assert len(videos) == settings.n_videos == 8
    with pytest.raises(RgwotError, match="recipe 6: not in the CaptainCook4D timelines"):
        videos_of(Rendered("tea", 6, "published", 0))
    with pytest.raises(RgwotError, match="recipe 10: has 12 recordings, expected 13"):
        videos_of(Rendered("tea", 10, "published", 0), n_videos=13)


def test_no_two_benchmark_tasks_have_the_same_recipe() -> None:
    parts = {name: about.recipe for name, about in rendered().items() if name.startswith(("bench_", "dev_", "once_"))}
    assert len(set(parts.values())) == len(parts)
