"""The ways in which this field scores key steps, as data and as one function (methods 6.1 to 6.3).

Published rows come from different protocols and must not be compared with each other: RGWOT and VAOT are
scored by ``micro_video``, OPEL by ``macro_video``, CnC by ``macro_task``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rgwot.evaluation.metrics import (
    IntArray,
    Matching,
    Scores,
    contingency,
    f1,
    macro,
    match,
    match_as_scipy,
    micro,
    strict,
)


def mean_positions(labels: npt.ArrayLike, positions: npt.ArrayLike) -> dict[int, tuple[int, int]]:
    """Return for every label the sum of its frames' positions and their number.

    The mean position is kept as a fraction so that two steps tie only when they truly do. Frames are evenly
    spaced in time, so ordering by mean position is ordering by mean normalised time.

    >>> mean_positions([4, 4, 2], [0, 2, 5])
    {2: (5, 1), 4: (2, 2)}
    """
    values, where = np.asarray(labels, dtype=np.int64), np.asarray(positions, dtype=np.int64)
    return {
        int(label): (int(where[values == label].sum()), int((values == label).sum())) for label in np.unique(values)
    }


def _compare(first: tuple[int, int] | None, second: tuple[int, int] | None) -> int:
    """Compare two means, each a sum and a count: -1 if the first is smaller, 1 if larger, 0 if equal or missing."""
    if first is None or second is None:
        return 0
    difference = first[0] * second[1] - second[0] * first[1]
    return (difference > 0) - (difference < 0)


def kendall_distance(true: Mapping[int, tuple[int, int]], predicted: Mapping[int, tuple[int, int]]) -> float:
    """Return the normalised Kendall distance of two orders of the true steps.

    Every pair of true steps that the truth orders counts 0 if the prediction has the same order, 1 if it has the
    reverse order, and 1/2 if it has none, because a step is missing or both have the same mean (Fagin et al.,
    "Comparing top k lists", 2003, with p = 1/2). The distance is the mean: 0 for the same order, 0.5 for no
    information, 1 for the reverse order. Without the 1/2, an answer with a single step would look perfect.

    Arguments map a step to (sum, count) of its frame positions, as from `mean_positions`; predicted steps that are not
    true steps are ignored. NaN when the truth orders no pair.

    Examples
    --------
    >>> kendall_distance({1: (0, 1), 2: (5, 1), 3: (9, 1)}, {2: (1, 1), 1: (2, 1), 3: (3, 1)})
    0.3333333333333333
    >>> kendall_distance({1: (0, 1), 2: (5, 1)}, {1: (0, 1)})
    0.5
    """
    penalties = []
    for a, b in combinations(sorted(true), 2):
        expected = _compare(true[a], true[b])
        if expected:
            predicted_order = _compare(predicted.get(a), predicted.get(b))
            penalties.append((1 - expected * predicted_order) / 2)
    return float(np.mean(penalties)) if penalties else float("nan")


def order_distance(
    truths: Sequence[npt.ArrayLike],
    predictions: Sequence[npt.ArrayLike],
    n_key_steps: int,
    n_clusters: int,
    background: str = "with",
) -> float:
    """Return the mean over videos of the Kendall distance between predicted and true order of the key steps.

    Clusters become key steps by one matching over all videos of the task. Within a video, steps are ordered
    by the mean normalised time of their frames. Background has no place in an order. Without background only
    the frames with a key step count, in the matching and in the means.

    Arguments are the same as for `rgwot.evaluation.protocols.score` with a protocol of scope ``task``. Returns a value
    in [0, 1]: 0 same order, 0.5 no information, 1 reversed; NaN when no video has two true steps.
    """
    pairs = kept_frames(truths, predictions, background)
    if not any(len(g) for g, _, _ in pairs):
        return float("nan")
    step_of = pooled_matching(pairs, n_key_steps, n_clusters, background)
    distances = []
    for truth_labels, prediction_labels, positions in pairs:
        true = {step: mean for step, mean in mean_positions(truth_labels, positions).items() if step > 0}
        predicted_places = mean_positions(prediction_labels, positions)
        predicted = {step_of[label]: mean for label, mean in predicted_places.items() if label in step_of}
        distances.append(kendall_distance(true, predicted))
    finite = [distance for distance in distances if not np.isnan(distance)]
    return float(np.mean(finite)) if finite else float("nan")


BACKGROUNDS = ("with", "without")


@dataclass(frozen=True)
class ScoringProtocol:
    """One protocol: the clustering that it scores, the unit, and the ratio.

    ``scope`` is ``video`` (one clustering per video, every video a scoring unit) or ``task`` (one clustering for all
    videos, pooled into one unit). With ``f1_of_means`` the F1 of a dataset is computed from the mean precision and
    recall of its tasks, otherwise it is the mean of their F1.
    """

    name: str
    letter: str
    scope: str
    score: Callable[[npt.ArrayLike, Matching], Scores]
    description: str
    matching: Callable[[npt.ArrayLike], Matching] = match
    backgrounds: tuple[str, ...] = BACKGROUNDS
    f1_of_means: bool = False


PROTOCOLS: Mapping[str, ScoringProtocol] = {
    protocol.name: protocol
    for protocol in (
        ScoringProtocol("micro_video", "A", "video", micro, "per video, all matched frames together"),
        ScoringProtocol("macro_video", "B", "video", macro, "per video, mean over the key steps"),
        ScoringProtocol("macro_task", "C", "task", macro, "videos pooled, mean over the key steps"),
        ScoringProtocol("strict_task", "D", "task", strict, "videos pooled, every frame counts: accuracy"),
    )
}
#: Protocols that are scored where ``evaluation.also`` names them.
ALSO: Mapping[str, ScoringProtocol] = {
    "hiero": ScoringProtocol(
        "hiero",
        "E",
        "video",
        macro,
        "as macro_video, SciPy's choice among equal matchings, F1 of the mean P and R of the tasks; as HiERO",
        match_as_scipy,
        ("with",),
        f1_of_means=True,
    )
}

#: The protocol of `rgwot.evaluation.segmental`, which has metrics of its own.
SEGMENTATION = "segmentation"
#: The protocol of procedures (`rgwot.procedure.scores`), which also has metrics of its own.
GRAPH = "graph"
DESCRIPTIONS: Mapping[str, str] = {
    **{protocol.name: protocol.description for protocol in (*PROTOCOLS.values(), *ALSO.values())},
    SEGMENTATION: "videos pooled, every frame counts; segments of key steps found, and their order",
    GRAPH: "videos pooled; the task graph that was learned, one order for all, and what deviates",
}


class ProtocolScores(NamedTuple):
    """Scores of one task under one protocol, each in [0, 1]; NaN throughout when no video has a frame to score."""

    precision: float
    recall: float
    f1: float
    iou: float
    n_videos: int


def unit(
    truth: IntArray, prediction: IntArray, n_key_steps: int, n_clusters: int, background: str = "with"
) -> tuple[IntArray, IntArray, int, int]:
    """Return class and cluster of every frame of a scoring unit, from 0, and how many classes and clusters exist.

    With background, class 0 is a class like any other and G = K_gt + 1. Without, G = K_gt, and no frame has the true
    label 0 (`kept_frames`). Classes that do not occur count, too. Predicted labels may be any whole numbers, at most
    ``n_clusters`` different ones.

    Parameters
    ----------
    truth, prediction
        (T,) true key steps, 0 background, 1..K_gt; and predicted labels, where 0 is an ordinary cluster.
    n_key_steps, n_clusters
        K_gt, and K, the clusters the decoder could use.
    background
        ``with`` or ``without``.
    """
    first = 0 if background == "with" else 1
    columns = np.unique(prediction, return_inverse=True)[1].astype(np.int64)
    return truth - first, columns, n_key_steps + 1 - first, n_clusters


def score(
    protocol: ScoringProtocol,
    truths: Sequence[npt.ArrayLike],
    predictions: Sequence[npt.ArrayLike],
    n_key_steps: int,
    n_clusters: int,
    background: str = "with",
) -> ProtocolScores:
    """Score the videos of one task under one protocol.

    Precision, recall and IoU are averaged over the units; F1 = 2PR/(P+R) is computed from the averaged P and
    R, not averaged itself (methods 6.1). Videos without a frame to score (no key step at all, without
    background) are left out and do not count in ``n_videos``. If videos are pooled and no frame is background,
    background is not a class, so that the scores are those without it.

    Parameters
    ----------
    truths, predictions
        One array (T_v,) per video, labels as in `unit`. For protocols of scope ``task`` the predicted labels
        mean the same thing in all videos.
    n_key_steps, n_clusters, background
        As in `unit`.

    Examples
    --------
    >>> score(PROTOCOLS["micro_video"], [[0, 0, 1, 1]], [[5, 5, 5, 2]], n_key_steps=1, n_clusters=2)
    ProtocolScores(precision=0.75, recall=0.75, f1=0.75, iou=0.6, n_videos=1)
    """
    scored = [(g, c) for g, c, _ in kept_frames(truths, predictions, background) if len(g)]
    if not scored:
        return ProtocolScores(float("nan"), float("nan"), float("nan"), float("nan"), 0)
    groups = scored
    if protocol.scope == "task":
        # Background that is not annotated is not scored: a useless cluster would be matched with it, and drop out of
        # the mean.
        background = background if any((g == 0).any() for g, _ in scored) else "without"
        groups = [(np.concatenate([g for g, _ in scored]), np.concatenate([c for _, c in scored]))]
    values = []
    for truth, prediction in groups:
        overlap = contingency(*unit(truth, prediction, n_key_steps, n_clusters, background))
        values.append(protocol.score(overlap, protocol.matching(overlap)))
    precision, recall, iou = (float(value) for value in np.mean(values, axis=0))
    return ProtocolScores(precision, recall, f1(precision, recall), iou, len(scored))


#: Protocols of key steps that people named, where nothing has to be matched.
BY_NAME = ("macro_task", "strict_task")


def score_named(
    protocol: ScoringProtocol,
    truths: Sequence[npt.ArrayLike],
    predictions: Sequence[npt.ArrayLike],
    n_key_steps: int,
    background: str = "with",
) -> ProtocolScores:
    """Score the videos of one task where a predicted label k *is* key step k, and 0 background.

    Arguments are the same as for `score` with a protocol of scope ``task``; labels above ``n_key_steps`` are always
    wrong.

    Examples
    --------
    >>> score_named(PROTOCOLS["strict_task"], [[1, 1, 2, 0]], [[2, 1, 2, 2]], n_key_steps=2, background="without").f1
    0.6666666666666666
    """
    scored = [(g, c) for g, c, _ in kept_frames(truths, predictions, background) if len(g)]
    if not scored:
        return ProtocolScores(float("nan"), float("nan"), float("nan"), float("nan"), 0)
    truth, prediction = _pool([g for g, _ in scored]), _pool([c for _, c in scored])
    overlap = contingency(truth, prediction, n_key_steps + 1, max(n_key_steps, int(prediction.max())) + 1)
    numbers = np.arange(n_key_steps + 1)
    precision, recall, iou = protocol.score(overlap, Matching(numbers, numbers))
    return ProtocolScores(precision, recall, f1(precision, recall), iou, len(scored))


ScoredFrames = tuple[IntArray, IntArray, IntArray]
"""Frames of one video that are scored: true key steps, predicted labels, and positions in the video, (T,) each."""


def kept_frames(
    truths: Sequence[npt.ArrayLike], predictions: Sequence[npt.ArrayLike], background: str = "with"
) -> list[ScoredFrames]:
    """Return the scored frames of every video: all frames or, without background, the frames with a key step.

    Raises
    ------
    ValueError
        If a video has unequal numbers of true and predicted labels, or ``background`` is not in `BACKGROUNDS`.
    """
    if background not in BACKGROUNDS:
        raise ValueError(f"background: got {background!r}, expected one of {BACKGROUNDS}")
    pairs: list[ScoredFrames] = []
    for truth, prediction in zip(truths, predictions, strict=True):
        g, c = np.asarray(truth, dtype=np.int64), np.asarray(prediction, dtype=np.int64)
        if g.ndim != 1 or g.shape != c.shape:
            raise ValueError(f"labels: got shapes {g.shape} and {c.shape}, expected two of shape (T,)")
        frames = np.arange(len(g)) if background == "with" else np.flatnonzero(g > 0)
        pairs.append((g[frames], c[frames], frames))
    return pairs


def pooled_matching(
    pairs: Sequence[ScoredFrames], n_key_steps: int, n_clusters: int, background: str = "with"
) -> dict[int, int]:
    """Match labels with key steps over all videos at once; return the key step (or 0, background) of matched labels.

    ``pairs`` come from `kept_frames` and have at least one frame in total.
    """
    truth, prediction = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    names = np.unique(prediction)
    classes, clusters = match(contingency(*unit(truth, prediction, n_key_steps, n_clusters, background)))
    first = 0 if background == "with" else 1
    return {int(names[k]): int(g) + first for g, k in zip(classes, clusters, strict=True) if k < len(names)}


class Detection(NamedTuple):
    """Precision, recall and F1 of a detection, each in [0, 1]; NaN if undefined."""

    precision: float
    recall: float
    f1: float


def detection(true: npt.ArrayLike, predicted: npt.ArrayLike) -> Detection:
    """Score which frames are found: P = TP / (TP + FP), R = TP / (TP + FN), F1 = 2TP / (2TP + FP + FN).

    Both arguments are (T,) bool. Precision is NaN if nothing is predicted, recall if nothing is true. F1 is 0 in either
    case, so that missing everything scores 0, and NaN only if both are empty.

    Examples
    --------
    >>> detection([True, True, False, False], [True, False, False, False])
    Detection(precision=1.0, recall=0.5, f1=0.6666666666666666)
    >>> detection([True, False], [False, False])
    Detection(precision=nan, recall=0.0, f1=0.0)
    """
    is_true, is_predicted = np.asarray(true, dtype=np.bool_), np.asarray(predicted, dtype=np.bool_)
    return counted(int(is_true.sum()), int(is_predicted.sum()), int((is_true & is_predicted).sum()))


def counted(n_true: int, n_found: int, both: int) -> Detection:
    """Return the scores if ``both`` of ``n_found`` predictions are among the ``n_true`` true items."""
    nan = float("nan")
    return Detection(
        both / n_found if n_found else nan,
        both / n_true if n_true else nan,
        2 * both / (n_true + n_found) if n_true + n_found else nan,
    )


def background_detection(
    truths: Sequence[npt.ArrayLike], predictions: Sequence[npt.ArrayLike], says_background: bool
) -> Detection:
    """Score key step 0 against true background, the frames of all videos together.

    Background means the same in every video, so videos are pooled whether or not their clusters mean the same.

    Parameters
    ----------
    truths, predictions
        One array (T_v,) per video: true key steps (0 background) and predicted labels.
    says_background
        Whether key step 0 means background. If not, a predicted 0 is an ordinary cluster, and no frame is called
        background.
    """
    truth, prediction = _pool(truths), _pool(predictions)
    return detection(truth == 0, (prediction == 0) & says_background)


def match_fixed(overlap: npt.ArrayLike) -> Matching:
    """Match class 0 with cluster 0, and the others one to one so that their total overlap is largest.

    ``overlap`` (G, K + 1) counts frames, G >= 2, K >= 1; row 0 is true background, column 0 key step 0. Returns
    min(G - 1, K) + 1 pairs in order of class.

    Examples
    --------
    Key step 0 covers step 1 better than background, and stays with background:

    >>> match_fixed([[1, 5, 0], [6, 0, 2]])
    Matching(classes=array([0, 1]), clusters=array([0, 2]))
    """
    classes, clusters = match(np.asarray(overlap)[1:, 1:])
    return Matching(np.r_[0, classes + 1].astype(np.int64), np.r_[0, clusters + 1].astype(np.int64))


def score_fixed(
    protocol: ScoringProtocol,
    truths: Sequence[npt.ArrayLike],
    predictions: Sequence[npt.ArrayLike],
    n_key_steps: int,
    n_clusters: int,
    says_background: bool,
) -> ProtocolScores:
    """Score the videos of one task with background, where key step 0 is background and the K clusters are steps.

    An answer that never says background gets nothing for background: under ``macro_task`` its class counts 0,
    under ``strict_task`` all its frames are wrong.

    Parameters
    ----------
    protocol
        A protocol of scope ``task``; its ratios are used, but its matching is replaced by `match_fixed`.
    truths, predictions, says_background
        As in `background_detection`.
    n_key_steps, n_clusters
        K_gt and K, both without background.

    Examples
    --------
    >>> from rgwot.evaluation.protocols import PROTOCOLS
    >>> strict = PROTOCOLS["strict_task"]
    >>> score_fixed(strict, [[0, 0, 0, 1]], [[0, 0, 4, 4]], n_key_steps=1, n_clusters=1, says_background=True).f1
    0.75
    >>> score_fixed(strict, [[0, 0, 0, 1]], [[4, 4, 4, 4]], n_key_steps=1, n_clusters=1, says_background=False).f1
    0.25
    """
    truth, prediction = _pool(truths), _pool(predictions)
    background = (prediction == 0) & says_background
    names, clusters = np.unique(prediction[~background], return_inverse=True)
    columns = np.zeros(truth.shape, dtype=np.int64)
    columns[~background] = clusters + 1
    overlap = contingency(truth, columns, n_key_steps + 1, n_clusters + 1)
    precision, recall, iou = protocol.score(overlap, match_fixed(overlap))
    return ProtocolScores(precision, recall, f1(precision, recall), iou, len(truths))


def _pool(labels: Sequence[npt.ArrayLike]) -> IntArray:
    return np.concatenate([np.asarray(part, dtype=np.int64) for part in labels])
