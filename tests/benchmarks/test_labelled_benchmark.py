"""The benchmark of annotated videos: given labels, drawn videos, and scores of the other videos alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import labelled
import numpy as np
import pandas as pd
import pytest
from labelled import (
    CLASSIFIER,
    COLUMNS,
    NUMBERS,
    OURS,
    PLUS,
    TAUGHT,
    UNTAUGHT,
    Seen,
    cells,
    drawn,
    measure,
    numbers_of,
    printed,
    said,
)
from recordings import Recording, Task

from rgwot.keysteps.interface import NO_CLUSTER, UNKNOWN, Frames


@pytest.fixture
def seen() -> Seen:
    """Return six recordings of three steps that channels separate; background is after the first and at the ends."""
    rng = np.random.default_rng(0)
    labels = [np.repeat([0, 1, 0, 2, 3, 0], [4, n, 5, 2 * n, n, 4]) for n in (20, 22, 24, 26, 28, 30)]
    x = [(np.eye(4)[y] + 0.1 * rng.normal(size=(len(y), 4))).astype(np.float32) for y in labels]
    task = Task([Recording(Path(str(number)), one) for number, one in enumerate(x)], labels, 3, 2.0)
    frames = Frames(np.concatenate(x).astype(np.float64), tuple(map(len, x)), 2.0)
    return Seen(task, frames, frames, lambda seed: np.zeros(len(frames.x), dtype=np.int64))


def test_nothing_is_said_outside_the_segments() -> None:
    assert said(np.array([0, 0, 2, 0, 1, 0])).tolist() == [UNKNOWN, UNKNOWN, 1, NO_CLUSTER, 0, UNKNOWN]
    assert said(np.zeros(2, dtype=np.int64)).tolist() == [UNKNOWN] * 2


def test_draws_repeat_and_tasks_have_the_numbers_that_leave_enough_to_score(seen: Seen) -> None:
    assert drawn(9, 3, 1) == drawn(9, 3, 1) != drawn(9, 3, 2)
    assert len(set(drawn(9, 8, 0))) == 8
    assert [numbers_of(V) for V in (3, 14, 15, 24)] == [[1, 2], [1, 2, 3], [1, 2, 3, 5], [1, 2, 3, 5, 8]]
    assert cells(seen, [OURS], 2) == [(OURS, n, draw) for n in (1, 2, 3) for draw in (0, 1)]


def test_labels_of_given_videos_are_not_scored(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that only repeats its labels gets nothing right."""
    monkeypatch.setitem(TAUGHT, CLASSIFIER, lambda seen, given, videos, draw: np.where(given == UNKNOWN, -1, given))
    assert measure(seen, CLASSIFIER, 3, 0)["f1"] == 0
    monkeypatch.setitem(UNTAUGHT, "RGWOT+", lambda seen, seed: np.concatenate(seen.task.labels) % 3)
    assert measure(seen, "RGWOT+", 0, 0)["f1"] == pytest.approx(100)


@pytest.mark.parametrize("method", [name for name in TAUGHT if "HMM" not in name and "DTW" not in name])
def test_two_videos_teach_an_easy_task(seen: Seen, method: str) -> None:
    statistics = measure(seen, method, 2, 0)
    assert statistics["f1"] > 85


@pytest.mark.parametrize("method", [name for name in TAUGHT if "HMM" in name or "DTW" in name])
def test_peers_that_need_other_libraries(seen: Seen, method: str) -> None:
    pytest.importorskip("hmmlearn" if "HMM" in method else "dtaidistance")
    assert measure(seen, method, 2, 0)["f1"] > 85


def test_a_line_of_means_has_the_same_tasks_throughout() -> None:
    rows = [
        ("a", task, OURS, n, draw, 10.0 * n + 20 * (task == "small"), 50.0, 1.0)
        for task, most in (("large", 8), ("small", 5))
        for n in NUMBERS
        if n <= most
        for draw in range(2)
    ]
    rows += [("a", task, PLUS, 0, 0, 5.0, 0.0, 2.0) for task in ("large", "small")]
    texts = printed(pd.DataFrame(rows, columns=list(COLUMNS))).split("\n\n")
    assert texts[0].startswith("Mean over 2 tasks")
    every, late = (text.splitlines() for text in (texts[1], texts[3]))
    assert every[0] == "| method | n = 0 | n = 1 | n = 2 | n = 3 | n = 5 |"
    assert every[-1] == f"| {OURS} |  | 20.0 ± 0.0 | 30.0 ± 0.0 | 40.0 ± 0.0 | 60.0 ± 0.0 |"
    assert texts[2] == "Mean over the 1 of them that have every number, up to n = 8:"
    assert late[-1] == f"| {OURS} |  | 10.0 | 20.0 | 30.0 | 50.0 | 80.0 |"


def test_samples_of_every_video_are_found_again(seen: Seen) -> None:
    n = 50
    few = seen.few(np.concatenate(seen.task.labels), n)
    for video, own in enumerate(few):
        assert len(own) == n
        assert np.mean(seen.full(own, video) == seen.task.labels[video]) > 0.9
    other = replace(seen)
    assert labelled.equal_segments(other, 0).max() == 2
