"""Which annotated step a found key step stands for, so that one colour and one name mean one step."""

from __future__ import annotations

import numpy as np
import pandas as pd

from rgwot.evaluation.metrics import contingency, match
from rgwot.timing import frame_times, parse_rate, predicted_labels, scoring_frames, truth_labels


def match_to_steps(videos: pd.DataFrame, annotations: pd.DataFrame, predicted: pd.DataFrame) -> dict[int, int]:
    """Match found key steps to annotated ones by their common frames over all videos of a task.

    One to one, as protocol ``macro_task`` does it with background as a class (methods 6.1).

    Parameters
    ----------
    videos
        ``video, duration_s, fps`` of the annotated videos; those without a prediction are left out.
    annotations
        Annotated segments: ``video, start_s, end_s, key_step``.
    predicted
        Found segments of scope ``task``: ``video, start_s, end_s, key_step``.

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
        frames = scoring_frames(float(video["duration_s"]), fps)
        own, mine = truth_of.get(video["video"], annotations.iloc[:0]), found_of[video["video"]]
        truths.append(truth_labels(own.start_s, own.end_s, own.key_step, frames, fps, "exact"))
        guesses.append(predicted_labels(mine.start_s, mine.end_s, mine.key_step, frame_times(frames, fps)))
    if not truths:
        return {}
    truth, guess = np.concatenate(truths), np.concatenate(guesses)
    overlap = contingency(truth, guess, int(truth.max()) + 1, int(guess.max()) + 1)
    classes, clusters = match(overlap)
    # A pair without a common frame is a tie broken by index: it says nothing.
    shared = overlap[classes, clusters] > 0
    return dict(zip(clusters[shared].tolist(), classes[shared].tolist(), strict=True))
