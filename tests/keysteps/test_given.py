"""Labels of samples from segments and marks, and how time without a segment is read."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rgwot.embedding.interface import EmbeddedTask, EmbeddedVideo
from rgwot.keysteps.given import labels_of_rows
from rgwot.keysteps.interface import NO_CLUSTER, UNKNOWN, Decoded, Frames
from rgwot.keysteps.labelling import labelling_of
from rgwot.runtime.errors import RgwotError
from rgwot.stages.decode import given_of

TIMES = np.arange(10.0)

#: Segments of key steps 2 and 1 with a gap between.
SEGMENTS = [(2.0, 4.0, 2), (6.0, 8.0, 1)]


def table(rows: list[tuple[float, float, int]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["start_s", "end_s", "key_step"])


def labels_at(
    rows: list[tuple[float, float, int]], silence: str | None = None, **also: Any
) -> tuple[list[int], list[int]]:
    """Return the labels at `TIMES` and the samples that are marked."""
    labels, marked = labels_of_rows("here", table(rows), TIMES, 10.0, silence, **also)
    return labels.tolist(), np.flatnonzero(marked).tolist()


@pytest.mark.parametrize(
    ("silence", "expected"),
    [
        (None, [-1, -1, 2, 2, 0, 0, 1, 1, -1, -1]),
        ("throughout", [0, 0, 2, 2, 0, 0, 1, 1, 0, 0]),
        ("only", [0, 0, 2, 2, 0, 0, 1, 1, 0, 0]),
        ("until", [0, 0, 2, 2, 0, 0, 1, 1, -1, -1]),
    ],
)
def test_time_without_a_segment_is_read_as_silence_says(silence: str | None, expected: list[int]) -> None:
    assert labels_at(SEGMENTS, silence) == (expected, [])
    # Time between marks stays unlabelled, whatever the setting.
    alone = [-1, 2, -1, -1, -1, 0, -1, -1, -1, -1]
    assert labels_at([(1.2, 1.2, 2), (5.0, 5.0, 0)], silence) == (alone, [1, 5])


def test_a_mark_labels_its_sample_and_makes_its_gap_unknown() -> None:
    # The gap from 4 to 6 s has a key step with unknown ends; other unlabelled time keeps its meaning.
    assert labels_at([*SEGMENTS, (5.1, 5.1, 3)], "throughout") == ([0, 0, 2, 2, -1, 3, 1, 1, 0, 0], [5])
    assert labels_at([*SEGMENTS, (9.0, 9.0, 3)], "until") == ([0, 0, 2, 2, 0, 0, 1, 1, -1, 3], [9])
    # A mark adds nothing inside a segment of its own step, or if it marks background in time that is background.
    assert labels_at([*SEGMENTS, (2.9, 2.9, 2), (5.0, 5.0, 0)]) == labels_at(SEGMENTS)
    assert labels_at([*SEGMENTS, (9.0, 9.0, 0)]) == ([-1, -1, 2, 2, 0, 0, 1, 1, -1, 0], [9])


def test_marks_near_one_sample_get_a_sample_each() -> None:
    # Both marks are nearest to the sample at 5 s, and the nearer mark gets it.
    assert labels_at([(5.1, 5.1, 1), (5.4, 5.4, 2)])[0][4:8] == [-1, 1, 2, -1]
    assert labels_at([(5.1, 5.1, 1), (5.2, 5.2, 1)]) == ([-1] * 5 + [1] + [-1] * 4, [5])
    # The sample at 4 s is nearest to the mark, but belongs to the segment.
    assert labels_at([(2.0, 4.2, 2), (4.3, 4.3, 1)])[0][3:6] == [2, 2, 1]
    with pytest.raises(RgwotError, match="a mark at 5.3 s, whose nearest samples have labels of other key steps"):
        labels_at([(5.1, 5.1, 1), (5.3, 5.3, 3), (5.9, 5.9, 2)])
    # At 0.2 samples per second no mark is lost.
    labels, marked = labels_of_rows(
        "here", table([(7.0, 7.0, 1), (8.0, 8.0, 2)]), np.array([0.0, 5.0, 10.0]), 12.0, None
    )
    assert (labels.tolist(), marked.tolist()) == ([-1, 1, 2], [False, True, True])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(10.5, 10.5, 1)], "a mark at 10.5 s of a video of 10 s"),
        ([(-1.0, -1.0, 1)], "a mark at -1 s of a video of 10 s"),
        ([(3.0, 3.0, 1), (3.0, 3.0, 2)], "marks of key steps 1 and 2 at 3 s"),
        ([(3.0, 3.0, 0), (3.0, 3.0, 2)], "marks of key steps 0 and 2 at 3 s"),
        ([*SEGMENTS, (3.0, 3.0, 1)], "a mark of key step 1 at 3 s, inside a segment of key step 2"),
    ],
)
def test_marks_that_contradict_are_refused_in_one_line(
    rows: list[tuple[float, float, int]], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(RgwotError, match=f"^here: found {message}") as error:
        labels_at(rows)
    assert "\n" not in str(error.value)
    labels_at(rows, lenient=True)
    assert f"here: found {message}" in caplog.text


def annotated(rows: list[tuple[Any, ...]], silence: list[str] | None = None) -> pd.DataFrame:
    made_table = pd.DataFrame(rows, columns=["video", "start_s", "end_s", "key_step", "name"])
    return made_table if silence is None else made_table.assign(silence=silence)


def task(*videos: str) -> EmbeddedTask:
    return EmbeddedTask({name: EmbeddedVideo(np.ones((10, 2)), TIMES, 10.0, 30) for name in videos}, (), 1.0, "raw")


def test_labels_of_a_table_of_annotations(caplog: pytest.LogCaptureFixture) -> None:
    rows = [("a", 2.0, 4.0, 1, "pour"), ("a", 6.0, 8.0, 2, "stir"), ("b", 3.0, 3.0, 3, "sip"), ("c", 1.0, 1.0, 0, "")]
    with caplog.at_level(logging.INFO):
        given = given_of(task("a", "b", "c", "d"), annotated(rows))
    assert (given.K, given.names, dict(given.silence)) == (3, {1: "pour", 2: "stir", 3: "sip"}, {"a": "between"})
    # A video with marks of background alone counts as annotated, too.
    assert list(given.labels) == ["a", "b", "c"]
    assert {name: np.flatnonzero(marked).tolist() for name, marked in given.marks.items()} == {"b": [3], "c": [1]}
    assert "silence: time between the first and the last segment is background" in caplog.text
    told = given_of(task("a", "b"), annotated(rows[:3], ["until", "until", ""]))
    assert told.labels["a"].tolist() == [0, 0, 1, 1, 0, 0, 2, 2, -1, -1]
    assert dict(told.silence) == {"a": "until"}


def test_one_key_step_alone_is_the_only_one_looked_for(caplog: pytest.LogCaptureFixture) -> None:
    given = given_of(task("a", "b"), annotated([("a", 2.0, 4.0, 1, "lick")]))
    assert (given.labels["a"].tolist(), dict(given.silence)) == ([0, 0, 1, 1, 0, 0, 0, 0, 0, 0], {"a": "only"})
    assert "silence: only one key step is annotated, so other time is not that step" in caplog.text
    until = given_of(task("a", "b"), annotated([("a", 2.0, 4.0, 1, "lick")], ["until"]))
    assert until.labels["a"].tolist() == [0, 0, 1, 1, -1, -1, -1, -1, -1, -1]


def test_marks_of_background_alone_are_refused() -> None:
    with pytest.raises(RgwotError, match="annotations: found marks of background alone, expected at least one"):
        given_of(task("a"), annotated([("a", 3.0, 3.0, 0, "")]))


def test_the_decoder_gets_the_marks_of_the_samples_it_sees() -> None:
    seen: list[Frames] = []

    def decoder(frames: Frames) -> Decoded:
        seen.append(frames)
        return Decoded(np.zeros(len(frames.x), dtype=np.int64))

    first = EmbeddedVideo(
        np.eye(4), np.arange(4.0), 4.0, 30, background=np.array([True, False, False, False]),
        given=np.array([UNKNOWN, 0, UNKNOWN, NO_CLUSTER]), marked=np.array([False, True, False, False]),
    )  # fmt: skip
    labelling_of([first, EmbeddedVideo(np.eye(4)[:2], np.arange(2.0), 2.0, 30)], 1.0, 2, decoder)
    (frames,) = seen
    assert frames.marked is not None
    assert frames.marked.tolist() == [True, False, False, False, False]
    part = frames.of([1])
    assert part.marked is not None
    assert part.marked.tolist() == [False, False]
