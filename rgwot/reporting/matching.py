"""Which annotated step a found key step stands for, so that one colour and one name mean one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rgwot.evaluation.metrics import IntArray, contingency, match
from rgwot.timing import frame_times, parse_rate, predicted_labels, scoring_frames, truth_labels

if TYPE_CHECKING:
    import pandas as pd

STRIDE = 2
"""Pages and figures match by every second native frame, whatever ``evaluation.stride`` is."""


def partners(truth: IntArray, prediction: IntArray, n_classes: int, n_clusters: int) -> dict[int, int]:
    """Return the class of every cluster that has one, from the labels (T,) of common frames (methods 6.1, step 1)."""
    overlap = contingency(truth, prediction, n_classes, n_clusters)
    classes, clusters = match(overlap)
    # A pair without a common frame is a tie broken by index: it says nothing.
    shared = overlap[classes, clusters] > 0
    return dict(zip(clusters[shared].tolist(), classes[shared].tolist(), strict=True))


def match_to_steps(videos: pd.DataFrame, annotations: pd.DataFrame, predicted: pd.DataFrame) -> dict[int, int]:
    """Match found key steps to annotated ones by their common frames over all videos of a task.

    One to one, as protocol ``macro_task`` does it with background as a class (methods 6.1). All three are tables as of
    `rgwot.records`: the annotated videos, of which those without a prediction are left out, their annotated segments,
    and the segments found, of scope ``task``.

    Returns
    -------
    dict
        Found key step to annotated step, 0 for background. A key step without a partner is left out.
    """
    truths, guesses = [], []
    truth_of, found_of = (dict(list(table.groupby("video", sort=False))) for table in (annotations, predicted))
    for video in videos.to_dict("records"):
        if video["video"] not in found_of:
            continue
        fps = parse_rate(video["fps"])
        frames = scoring_frames(float(video["duration_s"]), fps, STRIDE)
        own, mine = truth_of.get(video["video"], annotations.iloc[:0]), found_of[video["video"]]
        truths.append(truth_labels(own.start_s, own.end_s, own.key_step, frames, fps, "exact"))
        guesses.append(predicted_labels(mine.start_s, mine.end_s, mine.key_step, frame_times(frames, fps)))
    if not truths:
        return {}
    truth, guess = np.concatenate(truths), np.concatenate(guesses)
    return partners(truth, guess, int(truth.max()) + 1, int(guess.max()) + 1)
