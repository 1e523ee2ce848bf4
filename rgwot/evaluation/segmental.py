"""The protocol of unsupervised action segmentation, and scores of segments instead of frames (methods 6.6).

There is one matching for all videos of a task, as under ``macro_task``; the scores are accuracy of frames, overlap of
classes, and whether the segments of every video are found, in their order. None of them is comparable with the four
protocols of `rgwot.evaluation.protocols`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rgwot.evaluation.metrics import IntArray, f1
from rgwot.evaluation.protocols import kept_frames, pooled_matching
from rgwot.timing import Segments, runs

#: Intersection over union from which a segment counts as found (names of metrics have it in percent).
OVERLAPS = (0.10, 0.25, 0.50)
#: Number of frames sampled in each true segment.
SAMPLED = 15


class _SegmentalScores(NamedTuple):
    """Scores of one task, each in [0, 1]; NaN throughout when no video has a frame to score."""

    mof: float
    miou: float
    precision_sampled: float
    recall_sampled: float
    f1_sampled: float
    f1_10: float
    f1_25: float
    f1_50: float
    edit: float
    n_videos: int


def key_step_runs(labels: npt.ArrayLike) -> Segments:
    """Return the runs of labels (T,) other than 0: background interrupts key steps and is not a segment itself."""
    every = runs(labels)
    is_step = every.labels != 0
    return Segments(*(part[is_step] for part in every))


def edit_score(true: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """Return 1 minus the edit distance of two sequences of labels over the length of the longer one.

    The Levenshtein distance counts insertions, deletions and replacements. Two empty sequences score 1.

    Examples
    --------
    >>> edit_score([1, 2, 3], [1, 3])
    0.6666666666666667
    """
    first, second = np.asarray(true, dtype=np.int64), np.asarray(predicted, dtype=np.int64)
    short, long = sorted((first, second), key=len)
    if not len(long):
        return 1.0
    steps = np.arange(len(long) + 1)
    distance = steps
    for row, label in enumerate(short):
        # A label of the shorter sequence is kept, replaced or deleted; insertions then run from left to right.
        best = np.minimum(distance[:-1] + (long != label), distance[1:] + 1)
        distance = np.minimum.accumulate(np.append(row + 1, best) - steps) + steps
    return float(1 - distance[-1] / len(long))


def found_segments(true: Segments, predicted: Segments, overlap: float) -> npt.NDArray[np.bool_]:
    """Return which true segments are found: those that overlap best with a predicted segment of the same label.

    In order of time, every predicted segment is compared with the true segment of its label with which it has the
    largest intersection over union. The true segment is found if this is at least ``overlap``, unless it was found
    before.

    Returns
    -------
    ndarray
        (n,) of the true segments: found segments are true positives, all others false negatives, and predicted segments
        that find no segment are false positives.
    """
    found = np.zeros(len(true.labels), dtype=np.bool_)
    for label, start, end in zip(*predicted, strict=True):
        common = np.minimum(end, true.ends) - np.maximum(start, true.starts)
        union = np.maximum(end, true.ends) - np.minimum(start, true.starts)
        # Segments that do not meet have a negative intersection, so they do not match.
        ratio = np.where(true.labels == label, common / union, -1.0)
        best = int(ratio.argmax()) if len(ratio) else -1
        if best >= 0 and ratio[best] >= overlap and not found[best]:
            found[best] = True
    return found


def segmental_f1(segments: Sequence[tuple[Segments, Segments]], overlap: float) -> float:
    """Return 2 TP / (2 TP + FP + FN) of the true and predicted segments of all videos; NaN without segments."""
    n = sum(len(true.labels) + len(predicted.labels) for true, predicted in segments)
    return 2 * sum(int(found_segments(*pair, overlap).sum()) for pair in segments) / n if n else float("nan")


def sampled_hits(truth: IntArray, prediction: IntArray) -> tuple[int, int]:
    """Return the numbers of true segments with more than half of the sampled frames right, and of all true segments.

    `SAMPLED` frames of each segment are looked at, evenly spaced (ours; published: drawn at random).
    """
    _, starts, ends = key_step_runs(truth)
    spread = (np.arange(SAMPLED) + 0.5) / SAMPLED
    frames = starts[:, None] + np.floor(spread * (ends - starts)[:, None]).astype(np.int64)
    right = prediction[frames] == truth[frames]
    return int((right.sum(axis=1) > SAMPLED / 2).sum()), len(starts)


def score_segmentation(
    truths: Sequence[npt.ArrayLike],
    predictions: Sequence[npt.ArrayLike],
    n_key_steps: int,
    n_clusters: int,
    background: str = "with",
) -> _SegmentalScores:
    """Score the videos of one task as unsupervised action segmentation does, and by their segments.

    The arguments are as in `rgwot.evaluation.protocols.score` for a protocol of scope ``task``. Only key steps have
    segments; with background, clusters matched to background have none, too.

    Returns
    -------
    _SegmentalScores
        ``mof``: frames labelled right. ``miou``: intersection over union, mean over the classes that occur.
        ``precision_sampled``: segments hit (`sampled_hits`) over videos x K_gt, at most 1; ``recall_sampled``: over
        true segments. ``f1_10`` and so on: of all segments of all videos (`found_segments`). ``edit``: mean over the
        videos with a key step (`edit_score`).

    Examples
    --------
    >>> score_segmentation([[1, 1, 2, 2]], [[7, 7, 7, 5]], 2, 2, "without").edit
    1.0
    """
    pairs = kept_frames(truths, predictions, background)
    if not any(len(g) for g, _, _ in pairs):
        nan = float("nan")
        return _SegmentalScores(nan, nan, nan, nan, nan, nan, nan, nan, nan, 0)
    step_of = pooled_matching(pairs, n_key_steps, n_clusters, background)
    names = np.unique(np.concatenate([c for _, c, _ in pairs]))
    # A cluster without a partner gets a number that no key step has, and is right nowhere.
    steps = np.array([step_of.get(int(name), n_key_steps + 1 + at) for at, name in enumerate(names)])
    labelled = [(g, steps[np.searchsorted(names, c)]) for g, c, _ in pairs if len(g)]

    truth, prediction = (np.concatenate([pair[side] for pair in labelled]) for side in (0, 1))
    classes = np.unique(truth)
    ious = [((truth == k) & (prediction == k)).sum() / ((truth == k) | (prediction == k)).sum() for k in classes]
    hits, n_true = (sum(counts) for counts in zip(*(sampled_hits(g, c) for g, c in labelled), strict=True))
    segments = [(key_step_runs(g), key_step_runs(c)) for g, c in labelled]
    precision, recall = min(1.0, hits / (len(labelled) * n_key_steps)), hits / n_true if n_true else float("nan")
    f1_10, f1_25, f1_50 = (segmental_f1(segments, overlap) for overlap in OVERLAPS)
    edits = [edit_score(true.labels, predicted.labels) for true, predicted in segments if len(true.labels)]
    return _SegmentalScores(
        mof=float((truth == prediction).mean()),
        miou=float(np.mean(ious)),
        precision_sampled=precision,
        recall_sampled=recall,
        f1_sampled=f1(precision, recall) if n_true else float("nan"),
        f1_10=f1_10,
        f1_25=f1_25,
        f1_50=f1_50,
        edit=float(np.mean(edits)) if edits else float("nan"),
        n_videos=len(labelled),
    )
