from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgwot.timing import label_segments


def test_borders_lie_at_midpoints_and_neighbours_merge() -> None:
    table = label_segments(np.array([0.0, 0.5, 1.0, 1.5]), np.array([2, 2, 1, 2]), 1.9)
    assert table.to_dict("list") == {
        "start_s": [0.0, 0.75, 1.25],
        "end_s": [0.75, 1.25, 1.9],
        "key_step": [2, 1, 2],
    }


def test_one_sample_covers_the_video() -> None:
    assert label_segments(np.array([0.0]), np.array([5]), 0.2).to_numpy().tolist() == [[0.0, 0.2, 5.0]]


@given(
    labels=st.lists(st.integers(1, 4), min_size=1, max_size=60),
    fps=st.sampled_from([0.5, 2.0, 5.0, 30000 / 1001]),
    rest=st.floats(0.01, 1.0),
)
def test_segments_cover_without_gaps_and_give_every_sample_its_label(
    labels: list[int], fps: float, rest: float
) -> None:
    times = np.arange(len(labels)) / fps
    duration = times[-1] + rest / fps
    table = label_segments(times, np.array(labels), duration)
    assert table.start_s.iloc[0] == 0
    assert table.end_s.iloc[-1] == duration
    assert (table.start_s < table.end_s).all()
    assert (table.start_s.to_numpy()[1:] == table.end_s.to_numpy()[:-1]).all()
    assert (np.diff(table.key_step) != 0).all()
    at = np.searchsorted(table.start_s, times, side="right") - 1
    assert table.key_step.to_numpy()[at].tolist() == labels


def test_segments_end_where_the_samples_of_a_truncated_video_do() -> None:
    times = np.arange(98) / 2  # 48.5 of 142.7 s decode
    table = label_segments(times, np.repeat([1, 2], 49), 142.7)
    assert table.end_s.tolist() == [24.25, 49.0]
    # A second or a percent may be missing at the end without a message.
    assert label_segments(times, np.repeat([1, 2], 49), 49.9).end_s.tolist() == [24.25, 49.9]
    assert label_segments(times, np.repeat([1, 2], 49), 50.1).end_s.tolist() == [24.25, 49.0]


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="one label per sample"):
        label_segments(np.array([0.0, 1.0]), np.array([1]), 2.0)
    with pytest.raises(ValueError, match="increasing times"):
        label_segments(np.array([0.0, 0.0]), np.array([1, 1]), 2.0)
    with pytest.raises(ValueError, match="increasing times"):
        label_segments(np.array([0.0, 2.0]), np.array([1, 1]), 2.0)
