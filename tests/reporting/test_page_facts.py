"""Facts that the page says: colours, warnings, where a result stands, and two results side by side."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from rgwot.reporting.compare import compare_pairs
from rgwot.reporting.page.content import _colours, _cut_short


def shown(steps: list[int], order: tuple[int, ...] = (), **facts: Any) -> Any:
    procedure = (SimpleNamespace(order=order), []) if order else None
    own = SimpleNamespace(**{"steps": steps, "kind": "untrained", "given": [], **facts})
    return SimpleNamespace(facts=own, procedure=procedure, body={})


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


def test_a_video_that_decodes_in_part_is_told() -> None:
    run = shown([1])
    run.body = {"segments": {"0": {"ends": [20000, 49000]}, "1": {"ends": [60000]}, "2": {"many": 2000}}}
    videos: Any = [SimpleNamespace(name=n, duration=seconds) for n, seconds in (("a", 142.7), ("b", 60.9), ("c", 50.0))]
    (line,) = _cut_short([run], videos)
