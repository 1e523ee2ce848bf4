from __future__ import annotations

from dataclasses import replace

import numpy as np

from rgwot.synthetic.appearance import (
    EXTENT,
    HUE_JITTER,
    SHAPES,
    TEXTURES,
    colour,
    draw_object,
    step_names,
    task_look,
    varied,
)
from rgwot.synthetic.timelines import Timeline, TimelineSegment
from rgwot.synthetic.videos import Scene, bouts_of

TIMELINE = Timeline(
    12.0,
    (
        TimelineSegment(1.0, 3.0, 1),
        TimelineSegment(3.0, 5.0, 2),
        TimelineSegment(7.0, 8.0, 1),
        TimelineSegment(9.0, 11.0, 3),
    ),
)


def test_a_frame_is_a_pure_function():
    look = task_look(3, 5)
    one, two = Scene(look, TIMELINE, 1), Scene(look, TIMELINE, 1)
    two.frame(300, 10.0)
    frame = one.frame(60, 2.0)
    assert frame.shape == (240, 320, 3)
    assert frame.dtype == np.uint8
    np.testing.assert_array_equal(frame, two.frame(60, 2.0))
    assert not np.array_equal(frame, Scene(look, TIMELINE, 2).frame(60, 2.0))
    assert not np.array_equal(frame, Scene(task_look(3, 6), TIMELINE, 1).frame(60, 2.0))


def test_steps_of_a_task_differ_in_hue_and_videos_differ_little():
    look = task_look(7, 0)
    hues = np.sort([step.hue % 1.0 for step in look.steps])
    assert np.diff(np.append(hues, hues[0] + 1.0)).min() > 4 * HUE_JITTER / 2
    assert len({(step.shape, step.texture) for step in look.steps}) == 7
    assert len(set(step_names(look))) == 7
    rng = np.random.default_rng(0)
    for step in look.steps:
        shown = varied(step, rng)
        assert abs(shown.hue - step.hue) <= HUE_JITTER
        assert shown != step
        assert replace(shown, shape="disc") == replace(shown, shape="disc")
        assert (shown.shape, shown.texture, shown.motion) == (step.shape, step.texture, step.motion)


def test_the_object_of_a_step_is_large_and_moves():
    look, timeline = task_look(3, 5), Timeline(12.0, (TimelineSegment(0.0, 12.0, 1),))
    empty = Timeline(12.0, (TimelineSegment(11.9, 12.0, 1),))
    scene = Scene(look, timeline, 1)
    first, later = (scene.frame(0, t).astype(int) for t in (1.0, 1.3))
    assert np.abs(first - later).max(axis=2).mean() > 3.0
    background = Scene(look, empty, 1)
    changed = np.abs(first - background.frame(0, 1.0).astype(int)).max(axis=2) > 40
    assert changed.mean() > 0.04


def test_bouts_follow_the_timeline_and_background_varies():
    rng = np.random.default_rng(0)
    timeline = Timeline(
        100.0, (TimelineSegment(30.0, 40.0, 2), TimelineSegment(40.0, 45.0, 1), TimelineSegment(70.0, 80.0, 2))
    )
    bouts = bouts_of(timeline, 3, 4, 2, rng)
    starts = [bout.start_s for bout in bouts]
    assert starts == sorted(starts)
    assert starts[0] == 0.0
    steps = [(bout.start_s, bout.activity) for bout in bouts if bout.activity is not None and bout.activity < 3]
    assert steps == [(30.0, 1), (40.0, 0), (70.0, 1)]
    others = {bout.activity for bout in bouts} - {0, 1, 2}
    assert None in others
    assert len(others) >= 5
    assert any(bout.away != (0.0, 0.0) for bout in bouts)
    assert {45.0, 80.0} < set(starts)


def test_objects_fill_their_sprite_without_leaving_it():
    first, second = colour(0.1, 1, 1), colour(0.6, 1, 0.3)
    drawn = set()
    for shape in SHAPES:
        for texture in range(len(TEXTURES)):
            sprite = draw_object(shape, texture, first, second, 1.8, 0.3)
            alpha = sprite[..., 3]
            assert 0.2 < (alpha > 128).mean() * (2 * EXTENT) ** 2 / np.pi < 1.1
            border = np.concatenate([alpha[0], alpha[-1], alpha[:, 0], alpha[:, -1]])
            assert border.max() == 0
            drawn.add(sprite.tobytes())
    assert len(drawn) == len(SHAPES) * len(TEXTURES)
