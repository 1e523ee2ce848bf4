"""A key step without a label is reported; time that is merely unlabelled is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import rgwot
from rgwot.diagnostics import UncoveredFacts
from rgwot.embedding.interface import EmbeddedTask, EmbeddedVideo
from rgwot.keysteps.interface import Given
from rgwot.keysteps.settings import Kmeans
from rgwot.keysteps.uncovered import uncovered
from rgwot.reporting.show import procedure_lines
from rgwot.stages.decode import decode_task, seldom_found

V, EACH, K = 5, 12, 5


@pytest.fixture(scope="module")
def recordings() -> tuple[EmbeddedTask, dict[str, NDArray[np.int64]]]:
    """Return a task and its labels: videos with five key steps in their own orders, with key step K never at an end."""
    generator = np.random.default_rng(0)
    centres = generator.normal(size=(K, 16))
    videos, labels = {}, {}
    for v in range(V):
        first, *rest = generator.permutation(K - 1)
        order = [first, *generator.permutation([*rest[:-1], K - 1]), rest[-1]]
        labels[f"v{v}"] = np.repeat(order, EACH) + 1
        x = centres[labels[f"v{v}"] - 1] + 0.4 * generator.normal(size=(K * EACH, 16))
        videos[f"v{v}"] = EmbeddedVideo(x, np.arange(K * EACH) / 2, K * EACH / 2, 2.0)
    return EmbeddedTask(videos, (), 2.0, "whitened"), labels


def given(labels: Mapping[str, NDArray[np.int64]], **more: Any) -> Given:
    """Return the labels of three videos."""
    return Given({name: labels[name] for name in list(labels)[:3]}, {}, K, **more)


def test_a_step_that_nobody_labelled_is_reported_with_its_share(recordings: Any) -> None:
    task, labels = recordings
    hidden = {name: np.where(own == K, -1, own) for name, own in labels.items()}
    assert uncovered(task, given(hidden)) == UncoveredFacts(share=1 / K, videos=["v0", "v1", "v2"])
    # A step that is labelled as background is covered.
    assert uncovered(task, given({name: np.maximum(own, 0) for name, own in hidden.items()})) is None
    # An interruption in a single video is not a step.
    assert uncovered(task, given({**labels, "v0": hidden["v0"]})) is None


def test_unlabelled_time_that_looks_like_labelled_steps_is_covered(recordings: Any) -> None:
    task, labels = recordings
    assert uncovered(task, given(labels)) is None
    partly = {name: own.copy() for name, own in labels.items()}
    for place, name in enumerate(("v0", "v1", "v2"), 1):
        partly[name][place * EACH : (place + 1) * EACH] = -1
    assert uncovered(task, given(partly)) is None
    # Marks label only moments, and leave other time of their key step unlabelled.
    sparse = {name: np.where(np.arange(len(own)) % EACH == 5, own, -1) for name, own in labels.items()}
    marks = {name: own >= 0 for name, own in sparse.items()}
    assert uncovered(task, given(sparse, marks=marks)) is None


def test_an_uncovered_step_is_a_warning_of_the_result(recordings: Any, tmp_path: Path) -> None:
    task, labels = recordings
    videos = {name: video.embedding for name, video in task.videos.items()}
    hidden = {name: np.where(labels[name] == K, -1, labels[name]) for name in ("v0", "v1", "v2")}
    result = rgwot.discover(videos, fps=2, labels=hidden)
    assert [text for text in result.warnings if "labelled@extra=1" in text]
    assert result.diagnostics["uncovered"]["videos"] == ["v0", "v1", "v2"]
    shown = procedure_lines(result.save(tmp_path))
    assert [text for text in shown if text.startswith("Warning: 20% of the time between labels")]
    more = result.learn(hidden, decoder="labelled@extra=1")
    assert "uncovered" not in more.diagnostics
    # The new key step is the one that was hidden.
    assert np.mean([(more.labels[name] == K) == (labels[name] == K) for name in videos]) > 0.95


def test_a_step_of_all_teaching_videos_that_few_others_have_is_reported(recordings: Any) -> None:
    task, labels = recordings
    key_steps = decode_task(task, Kmeans(K=2), 0, alone=False, check=False)
    teaching = ("v0", "v1", "v2")
    others = [f"w{number}" for number in range(5)]

    def told(having: int, labelled: Given) -> list[str]:
        tables = {
            name: pd.DataFrame({"start_s": [0.0, 1.0], "end_s": [1.0, 2.0], "key_step": [1, 2 if at < having else 1]})
            for at, name in enumerate([*others, *teaching])
        }
        return seldom_found(replace(key_steps, segments={"task": tables}), labelled)

    every = Given({name: np.array([1, 2, -1]) for name in teaching}, {2: "stir"}, 2)
    (line,) = told(2, every)
    assert line.startswith("key step 2 (stir): in 3 of 3 annotated videos, found in 2 of 5 others; expected it in most")
    # Three of five others, 60 %, are not few.
    assert told(3, every) == []
    # A step that one teaching video lacks may be left out elsewhere, and two teaching videos are too few.
    assert told(0, replace(every, labels={**every.labels, "v1": np.array([1, 1, 0])})) == []
    assert told(0, replace(every, labels={name: every.labels[name] for name in teaching[:2]})) == []


def test_much_background_is_no_reason_to_doubt_if_only_one_step_was_looked_for(recordings: Any) -> None:
    task, labels = recordings
    videos = {name: video.embedding for name, video in task.videos.items()}
    rows = []
    for name in ("v0", "v1", "v2"):
        start_s = float(np.flatnonzero(labels[name] == K)[0]) / 2
        rows.append((name, start_s, start_s + EACH / 2, "pour"))
    table = pd.DataFrame(rows, columns=["video", "start_s", "end_s", "label"])
    result = rgwot.discover(videos, fps=2, labels=table)
    assert np.mean([(result.labels[name] == 1) == (labels[name] == K) for name in videos]) > 0.95
    assert result.warnings == ()
