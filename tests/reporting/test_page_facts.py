"""Facts that the page says: colours by the consensus order, videos cut short, background, another number of steps."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from rgwot.reporting.compare import compare_pairs
from rgwot.reporting.page.content import _colours, _cut_short, _other_number
from rgwot.reporting.page.runs import soundness


def shown(steps: list[int], order: tuple[int, ...] = (), **facts: Any) -> Any:
    procedure = (SimpleNamespace(order=order), []) if order else None
    return SimpleNamespace(
        facts={"steps": steps, "kind": "untrained", **facts}, procedure=procedure, body={}, found=order
    )


def test_colours_follow_the_order_and_results_that_agree_have_the_same() -> None:
    one = {"a": np.array([3, 3, 1, 1, 2, 2]), "b": np.array([3, 1, 1, 2])}
    renamed = {video: np.array([0, 5, 6, 4])[labels] for video, labels in one.items()}
    # Step 7 covers what was half of 3 and half of 1, so it is neither.
    mixed = {"a": np.array([7, 7, 7, 7, 2, 2]), "b": np.array([7, 7, 7, 2])}
    runs = [shown([1, 2, 3], (3, 1, 2)), shown([4, 5, 6], (4, 5, 6)), shown([2, 7], (7, 2))]
    first, second, third = _colours(compare_pairs([one, renamed, mixed]), runs)
    assert first == {"3": 1, "1": 2, "2": 3}
    assert second == {"4": 1, "5": 2, "6": 3}
    assert third["2"] == 3
    assert len({*third.values()}) == 2
    # More steps than any other run has get colours of their own.
    agreements = compare_pairs([{"a": np.ones(4, int)}, {"a": np.array([1, 2, 3, 3])}])
    (_, second) = _colours(agreements, [shown([1]), shown([1, 2, 3])])
    assert len({*second.values()}) == 3


def test_corrections_leave_colours_and_what_they_made_comes_last() -> None:
    run = shown([1, 2, 3], (4, 1, 3))
    run.found = (3, 1, 2)
    (colours,) = _colours({}, [run])
    assert colours == {"3": 1, "1": 2, "2": 3, "4": 4}


def test_a_video_that_decodes_in_part_is_told() -> None:
    run = shown([1])
    run.body = {"segments": {"0": {"ends": [20000, 49000]}, "1": {"ends": [60000]}, "2": {"many": 2000}}}
    videos = [{"name": name, "duration": duration} for name, duration in (("a", 142.7), ("b", 60.9), ("c", 50.0))]
    (line,) = _cut_short([run], videos)
    assert line.startswith("a: only the first 49.0 of 142.7 s decode")


def test_another_number_of_steps_than_annotated_is_told_once() -> None:
    annotations = pd.DataFrame({"key_step": [*range(1, 13), 3]})
    (line,) = _other_number([shown([1], K=7), shown([1], K=7)], annotations)
    assert line.startswith("7 key steps were looked for, 12 are annotated")
    assert _other_number([shown([1], K=12)], annotations) == []
    assert _other_number([shown([1], K=7)], annotations.iloc[:0]) == []


def test_background_is_no_key_step() -> None:
    task = {"distinct_labels": 8, "dominant_label_share": 0.46, "background_share": 0.46}
    words = soundness({"K": 7, "task": task})
    assert "7 of 7 key steps occur." in words
    assert "46% of the frames are background." in words
    assert not any("largest" in word for word in words)
    words = soundness({"K": 7, "task": {**task, "distinct_labels": 7, "background_share": 0.0}})
    assert "7 of 7 key steps occur; the largest holds 46% of the frames." in words
