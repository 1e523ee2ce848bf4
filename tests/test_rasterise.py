from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgwot.timing import truth_labels

NTSC60 = Fraction(60000, 1001)
RATES = st.sampled_from([Fraction(12), Fraction(24), Fraction(24000, 1001), Fraction(30), NTSC60])
CENTISECONDS = st.integers(0, 2000)


def test_ten_minutes_at_59_94_stay_within_a_frame() -> None:
    n_frames = int(600 * NTSC60)
    starts = np.arange(0.25, 599, 1.0)
    for rule, tolerated in (("exact", 1.0), ("cnc", np.inf)):
        labels = truth_labels(starts, starts + 0.5, np.arange(1, len(starts) + 1), np.arange(n_frames), NTSC60, rule)
        last = np.flatnonzero(labels == len(starts))
        drift = np.abs(np.array([last[0], last[-1] + 1]) - np.array([starts[-1], starts[-1] + 0.5]) * float(NTSC60))
        assert drift.max() < tolerated
        if rule == "cnc":
            # The published rule loses 0.94 frames per second, about ten seconds in ten minutes.
            assert drift[0] / float(NTSC60) == pytest.approx(599 * (1 - 59 / float(NTSC60)), abs=0.2)


@given(st.lists(st.tuples(CENTISECONDS, CENTISECONDS, st.integers(1, 9)), max_size=8), RATES)
def test_exact_is_the_definition(rows: list[tuple[int, int, int]], fps: Fraction) -> None:
    n_frames = int(15 * fps)
    segments = [(min(a, b), max(a, b), step) for a, b, step in rows]
    expected = np.zeros(n_frames, dtype=np.int64)
    for frame in range(n_frames):
        time = frame / fps
        covering = [step for a, b, step in segments if Fraction(a, 100) <= time < Fraction(b, 100)]
        expected[frame] = covering[-1] if covering else 0
    starts, ends, steps = ([row[column] for row in segments] for column in range(3))
    labels = truth_labels(np.array(starts) / 100, np.array(ends) / 100, steps, np.arange(n_frames), fps, "exact")
    np.testing.assert_array_equal(labels, expected)


def test_a_decimal_border_is_the_decimal_the_annotator_wrote() -> None:
    # As doubles, 1.1 lies above 33/30 and 0.1 * 3 above 9/30.
    assert truth_labels([0.0], [1.1], [1], np.arange(60), Fraction(30), "exact").sum() == 33
    assert truth_labels([1.1], [2.0], [1], np.arange(60), Fraction(30), "exact").sum() == 27


def test_no_segment_is_all_background() -> None:
    assert truth_labels([], [], [], np.arange(5), Fraction(30), "exact").tolist() == [0] * 5
