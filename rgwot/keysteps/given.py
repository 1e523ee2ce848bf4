"""Labels of samples from annotations: segments, marks, and the meaning of time that neither covers.

A *mark* is a row whose start and end are equal: it gives the key step (0 for background) of one moment, and says
nothing about the time around it. Time without a segment has the meaning that the word for *silence* gives it
(`SILENCES`).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot.keysteps.interface import Given
from rgwot.runtime.errors import RgwotError
from rgwot.timing import BACKGROUND, SILENCES, given_labels, labels_at

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)

BETWEEN = "between"
"""Meaning of silence by default: time between the first and the last segment is background, the rest unknown."""

_TOLERANCE_S = 1e-6


class SampleLabels(NamedTuple):
    """Key steps (T,) of samples, 0 for background and -1 if unlabelled, and whether each comes from a mark (T,)."""

    labels: NDArray[np.int64]
    marked: NDArray[np.bool_]


def check_silence(where: str, word: object) -> None:
    """Raise RgwotError for an unknown word for silence."""
    if word not in SILENCES:
        raise RgwotError(f"{where}: found {word!r}, expected one of {', '.join(SILENCES)}")


def lasting(rows: pd.DataFrame) -> pd.Series[bool]:
    """Return whether each row of a table ``start_s,end_s`` is a segment; the other rows are marks."""
    return rows["end_s"] > rows["start_s"]


def placed_marks(
    where: str, rows: pd.DataFrame, duration_s: float, *, lenient: bool = False
) -> list[tuple[float, int]]:
    """Return the marks that add to the segments of a video, as times in seconds and key steps, in order of time.

    ``rows`` has the columns ``start_s``, ``end_s`` and ``key_step``. A mark inside a segment of its own key step is
    left out and, if ``lenient``, so is a mark that would otherwise be an error.

    Raises
    ------
    RgwotError
        For a mark outside the video or inside a segment of another key step, or two key steps marked at one moment.
    """
    marks = rows[~lasting(rows)]
    segments = rows[lasting(rows)]
    placed: dict[float, int] = {}
    for time_s, step in sorted(zip(marks["start_s"].tolist(), marks["key_step"].tolist(), strict=True)):
        over = segments[(segments["start_s"] <= time_s) & (time_s < segments["end_s"])]["key_step"].tolist()
        fault = ""
        if not -_TOLERANCE_S <= time_s <= duration_s + _TOLERANCE_S:
            fault = (
                f"a mark at {time_s:g} s of a video of {duration_s:g} s; expected marks inside the video; correct it"
            )
        elif over:
            fault = (
                ""
                if over[-1] == step
                else (
                    f"a mark of key step {step} at {time_s:g} s, inside a segment of key step {over[-1]}; expected one "
                    "key step per moment; delete the mark or correct the segment"
                )
            )
        elif placed.setdefault(time_s, step) != step:
            fault = (
                f"marks of key steps {placed[time_s]} and {step} at {time_s:g} s; expected one key step per moment; "
                "delete one"
            )
        if fault and not lenient:
            raise RgwotError(f"{where}: found {fault}")
        if fault:
            log.warning("%s: found %s; left out", where, fault.partition(";")[0])
    return list(placed.items())


def labels_of_rows(
    where: str,
    rows: pd.DataFrame,
    times: NDArray[np.float64],
    duration_s: float,
    silence: str | None,
    *,
    lenient: bool = False,
) -> SampleLabels:
    """Return the labels of a video's samples at ``times`` (T,) in seconds.

    A mark labels the nearest sample, or the second nearest if a segment or another mark has the nearest one. Time
    around a mark of a key step, up to the next segments, is unknown, because the mark does not show where the step
    begins and ends. In a video with marks alone, all other samples are unknown. Otherwise ``silence`` (one of
    `SILENCES`, or None for `BETWEEN`) says what time without a segment means.

    Raises
    ------
    RgwotError
        As from `placed_marks`, and for a mark whose nearest samples have labels of other key steps.
    """
    marks, segments = placed_marks(where, rows, duration_s, lenient=lenient), rows[lasting(rows)]
    labels, marked = given_labels(segments, times, silence), np.zeros(len(times), dtype=bool)
    starts, ends = (segments[name].to_numpy(dtype=np.float64) for name in ("start_s", "end_s"))
    covered = labels_at(segments.assign(key_step=1), times) > 0
    for time_s, step in marks:
        if step != BACKGROUND:
            before, after = max(ends[ends <= time_s], default=-math.inf), min(starts[starts > time_s], default=math.inf)
            labels[(times >= before) & (times < after) & ~covered] = -1
    of_segments = labels_at(segments, times)
    # The nearest mark has the first choice of a sample.
    for time_s, step in sorted(marks, key=lambda mark: float(np.abs(times - mark[0]).min(initial=math.inf))):
        after = int(np.searchsorted(times, time_s))
        near = sorted(
            {min(max(at, 0), len(times) - 1) for at in (after - 1, after)}, key=lambda at: abs(times[at] - time_s)
        )
        free = (at for at in near if (of_segments[at] == step if covered[at] else not marked[at] or labels[at] == step))
        sample = next(free, None)
        if sample is None:
            fault = f"a mark at {time_s:g} s, whose nearest samples have labels of other key steps"
            if not lenient:
                raise RgwotError(
                    f"{where}: found {fault}; expected a sample for each mark; raise the rate of the features or "
                    "delete the mark"
                )
            log.warning("%s: found %s; left out", where, fault)
        elif labels[sample] != step:
            labels[sample], marked[sample] = step, True
    return SampleLabels(labels, marked)


def taken_silences(
    rows: Mapping[str, pd.DataFrame], words: Mapping[str, str | None], n_key_steps: int
) -> dict[str, str]:
    """Return what silence means in every video with segments, and log it in one line.

    ``rows`` are the annotations of the task by video, and ``words`` the words for silence, where they are given. In a
    video without a word, all other time is not the key step (``only``) if ``n_key_steps`` of the whole task is 1.
    """
    chosen = {}
    for video, table in rows.items():
        if lasting(table).any():
            chosen[video] = words.get(video) or ("only" if n_key_steps == 1 else BETWEEN)
    guessed = [video for video in chosen if not words.get(video)]
    if guessed and n_key_steps == 1:
        log.warning(
            "silence: only one key step is annotated, so other time is not that step (silence: only); if it "
            "is unknown, label it -1, or mark moments instead of segments"
        )
    elif guessed:
        log.info("silence: time between the first and the last segment is background, and time outside is unknown")
    for word in dict.fromkeys(word for video, word in chosen.items() if video not in guessed):
        log.info("silence: %s in %d videos", word, list(chosen.values()).count(word))
    return chosen


def given_of_rows(
    rows: Mapping[str, pd.DataFrame],
    times: Mapping[str, NDArray[np.float64]],
    durations: Mapping[str, float],
    names: Mapping[int, str],
    K: int,
    words: Mapping[str, str | None],
) -> Given:
    """Return the labels of the annotated videos of a task.

    Parameters
    ----------
    rows
        Tables ``start_s,end_s,key_step`` by video. Rows that contradict each other are left out with a warning.
    times, durations
        Sample times (T,) and lengths of videos in seconds; other videos are left out.
    names, K
        Names of key steps, and the largest number of a key step.
    words
        Words for silence by video, as far as they are given.

    Raises
    ------
    RgwotError
        If only background is marked.
    """
    every = [table["key_step"].to_numpy() for table in rows.values()]
    steps = np.unique(np.concatenate(every)) if every else np.array([], dtype=np.int64)
    if len(steps) and not (steps > 0).any() and not any(lasting(table).any() for table in rows.values()):
        raise RgwotError("annotations: found marks of background alone, expected at least one of a key step; mark one")
    silences = taken_silences(rows, words, int((steps > 0).sum()))
    labels_of, marks_of = {}, {}
    for video, table in rows.items():
        # From a video with background alone, something is learned only if the background is marked.
        if video not in times or not ((table["key_step"] > 0) | ~lasting(table)).any():
            continue
        word = silences.get(video, BETWEEN)
        made = labels_of_rows(
            f"annotations: video {video!r}", table, times[video], durations[video],
            None if word == BETWEEN else word, lenient=True,
        )  # fmt: skip
        if not (made.labels >= BACKGROUND).any():
            continue
        labels_of[video] = made.labels
        if made.marked.any():
            marks_of[video] = made.marked
    return Given(labels_of, names, K, marks_of, {video: silences[video] for video in labels_of if video in silences})
