from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from rgwot.timing import (
    frame_times,
    parse_rate,
    predicted_labels,
    scoring_frames,
    truth_labels,
)

NTSC = Fraction(30000, 1001)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30", Fraction(30)),
        ("30.0", Fraction(30)),
        ("30000/1001", NTSC),
        (29.97002997002997, NTSC),
        ("59.94005994005994", Fraction(60000, 1001)),
        ("12.5", Fraction(25, 2)),
        ("29.97", Fraction(2997, 100)),
        (Fraction(24), Fraction(24)),
    ],
)
def test_rates_are_exact(text, expected):
    assert parse_rate(text) == expected


@pytest.mark.parametrize("text", ["", "fast", "0", "-25", "30/0", "nan"])
def test_unusable_rates_are_refused(text):
    with pytest.raises(ValueError, match="fps: got"):
        parse_rate(text)


def test_scoring_times_are_every_second_native_frame_below_the_duration():
    frames = scoring_frames(10.0, Fraction(30), 2)
    assert frames.tolist() == list(range(0, 300, 2))
    # 300 frames at 29.97 last 10.01 s exactly: frame 300 is no longer part of the video.
    assert scoring_frames(10.01, NTSC, 2)[-1] == 298
    assert scoring_frames(10.0101, NTSC, 2)[-1] == 300
    assert len(scoring_frames(3600.0, Fraction(60000, 1001), 2)) == 107893
    assert scoring_frames(0.01, Fraction(30), 2).tolist() == [0]
    # A duration that is itself a rounded multiple of the frame time must not gain a frame.
    for n in range(2, 400, 2):
        assert scoring_frames(n / 9, Fraction(9), 2)[-1] == n - 2
    assert scoring_frames(1.0, Fraction(10), stride=3).tolist() == [0, 3, 6, 9]


def test_frame_times_equal_the_decimals_they_are():
    assert frame_times([2326], Fraction(25))[0] == 93.04
    assert frame_times([300], NTSC)[0] == 10.01
    assert frame_times([0, 2], Fraction(30)).tolist() == [0.0, 2 / 30]


def test_exact_rule_is_half_open_and_cnc_includes_both_ends():
    frames = scoring_frames(3.0, Fraction(30), 2)
    exact = truth_labels([1.0], [2.0], [1], frames, Fraction(30), "exact")
    cnc = truth_labels([1.0], [2.0], [1], frames, Fraction(30), "cnc")
    assert frames[exact == 1].tolist() == list(range(30, 60, 2))
    assert frames[cnc == 1].tolist() == list(range(30, 61, 2))


def test_cnc_cuts_the_rate_to_a_whole_number():
    fps = Fraction(60000, 1001)
    frames = scoring_frames(120.0, fps, 2)
    times = frame_times(frames, fps)
    exact = times[truth_labels([100.0], [110.0], [1], frames, fps, "exact") == 1]
    cnc = frames[truth_labels([100.0], [110.0], [1], frames, fps, "cnc") == 1]
    assert 100.0 <= exact[0] < 100.0 + 2 / fps
    assert exact[-1] < 110.0
    # floor(100 * 59) = 5900, which is 98.4 s on the clock of the video.
    assert (cnc[0], cnc[-1]) == (5900, 6490)


def test_later_segments_win_and_empty_ones_differ_by_rule():
    frames = np.arange(0, 60, 2)
    labels = truth_labels([0.0, 0.5], [1.5, 1.0], [2, 3], frames, Fraction(30), "exact")
    assert labels.tolist() == [2] * 8 + [3] * 7 + [2] * 8 + [0] * 7
    assert truth_labels([1.0], [1.0], [4], frames, Fraction(30), "exact").sum() == 0
    assert frames[truth_labels([1.0], [1.0], [4], frames, Fraction(30), "cnc") == 4].tolist() == [30]


def test_predicted_labels_hold_from_start_to_below_end():
    times = np.array([0.0, 0.99, 1.0, 2.49, 2.5, 3.9])
    labels = predicted_labels([1.0, 0.0, 2.5], [2.5, 1.0, 4.0], [0, 5, 2], times)
    assert labels.tolist() == [5, 5, 0, 0, 2, 2]


def test_what_comes_after_the_last_segment_is_background():
    assert predicted_labels([0.0, 1.0], [1.0, 3.0], [1, 2], np.array([0.5, 2.9, 3.0 + 5e-7, 3.5])).tolist() == [
        1,
        2,
        2,
        0,
    ]


@pytest.mark.parametrize(
    ("starts", "ends", "message"),
    [
        ([], [], "got none"),
        ([0.5], [4.0], "first start at 0.5 s"),
        ([0.0, 2.0], [1.0, 4.0], "got 1.0 s followed by 2.0 s"),
        ([0.0, 1.0], [2.0, 4.0], "got 2.0 s followed by 1.0 s"),
    ],
)
def test_predictions_that_do_not_cover_the_video_are_refused(starts, ends, message):
    with pytest.raises(ValueError, match=message):
        predicted_labels(starts, ends, [1] * len(starts), np.array([0.0, 3.5]))
