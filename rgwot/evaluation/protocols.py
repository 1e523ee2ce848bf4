"""The ways in which this field scores key steps, as data and as one function (methods 6.1 to 6.3).

Published rows come from different protocols and must not be compared with each other: RGWOT and VAOT are
scored by ``micro_video``, OPEL by ``macro_video``, CnC by ``macro_task``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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

BACKGROUNDS = ("with", "without")


@dataclass(frozen=True)
class Protocol:
    """How one protocol scores: on which clustering, in which unit, by which ratio.

    ``scope`` is ``video`` (one clustering per video, every video a scoring unit) or ``task`` (one clustering
    for all videos, pooled into one unit). With ``f1_of_means`` the F1 of a dataset is that of the mean precision and
    recall of its tasks, else the mean of theirs.
    """

    name: str
    letter: str
    scope: str
    score: Callable[[npt.ArrayLike, Matching], Scores]
    description: str
    matching: Callable[[npt.ArrayLike], Matching] = match
    backgrounds: tuple[str, ...] = BACKGROUNDS
    f1_of_means: bool = False


PROTOCOLS: Mapping[str, Protocol] = {
    protocol.name: protocol
    for protocol in (
        Protocol("micro_video", "A", "video", micro, "per video, all matched frames together"),
        Protocol("macro_video", "B", "video", macro, "per video, mean over the key steps"),
        Protocol("macro_task", "C", "task", macro, "videos pooled, mean over the key steps"),
        Protocol("strict_task", "D", "task", strict, "videos pooled, every frame counts: accuracy"),
    )
}
#: Protocols that are scored where ``evaluation.also`` names them.
ALSO: Mapping[str, Protocol] = {
    "hiero": Protocol(
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

#: The protocol of `rgwot.evaluation.segmental`, whose metrics are others.
SEGMENTATION = "segmentation"
#: The protocol of `rgwot.procedure.scoring`, likewise.
GRAPH = "graph"
DESCRIPTIONS: Mapping[str, str] = {
    **{protocol.name: protocol.description for protocol in (*PROTOCOLS.values(), *ALSO.values())},
    SEGMENTATION: "videos pooled, every frame counts; segments of key steps found, and their order",
    GRAPH: "videos pooled; the task graph that was learned, one order for all, and what deviates",
}


class ProtocolScores(NamedTuple):
    """Scores of one task under one protocol; NaN throughout when no video has a frame to score."""

    precision: float
    recall: float
    f1: float
    iou: float
    n_videos: int


class Unit(NamedTuple):
    """One scoring unit: classes of its frames from 0, their clusters from 0, and both universe sizes."""

    truth: IntArray
    prediction: IntArray
    n_classes: int
    n_clusters: int


def unit(truth: IntArray, prediction: IntArray, n_key_steps: int, n_clusters: int, background: str = "with") -> Unit:
    """Prepare the frames of one scoring unit.

    With background, class 0 is a class like any other and G = K_gt + 1. Without, G = K_gt, and no frame has the true
    label 0 (`kept_frames`). Classes that do not occur stay in the universe. Predicted labels may be any whole numbers;
    at most ``n_clusters`` different ones.

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
    return Unit(truth - first, columns, n_key_steps + 1 - first, n_clusters)


def score(
    protocol: Protocol,
    truths: Sequence[npt.ArrayLike],
    predictions: Sequence[npt.ArrayLike],
    n_key_steps: int,
    n_clusters: int,
    background: str = "with",
) -> ProtocolScores:
    """Score the videos of one task under one protocol.

    Precision, recall and IoU are averaged over the units; F1 = 2PR/(P+R) is computed from the averaged P and
    R, not averaged itself (methods 6.1). Videos without a frame to score (no key step at all, without
    background) are left out and do not count in ``n_videos``.

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
        groups = [(np.concatenate([g for g, _ in scored]), np.concatenate([c for _, c in scored]))]
    values = []
    for truth, prediction in groups:
        overlap = contingency(*unit(truth, prediction, n_key_steps, n_clusters, background))
        values.append(protocol.score(overlap, protocol.matching(overlap)))
    precision, recall, iou = (float(value) for value in np.mean(values, axis=0))
    return ProtocolScores(precision, recall, f1(precision, recall), iou, len(scored))


Kept = tuple[IntArray, IntArray, IntArray]
"""Frames of one video that are scored: true key steps, predicted labels, and positions in the video, (T,) each."""


def kept_frames(
    truths: Sequence[npt.ArrayLike], predictions: Sequence[npt.ArrayLike], background: str = "with"
) -> list[Kept]:
    """Return the frames of every video that are scored: all of them, or without background those of a key step.

    Raises
    ------
    ValueError
        When a video has more labels of one kind than of the other, or ``background`` is neither with nor without.
    """
    if background not in BACKGROUNDS:
        raise ValueError(f"background: got {background!r}, expected one of {BACKGROUNDS}")
    pairs: list[Kept] = []
    for truth, prediction in zip(truths, predictions, strict=True):
        g, c = np.asarray(truth, dtype=np.int64), np.asarray(prediction, dtype=np.int64)
        if g.ndim != 1 or g.shape != c.shape:
            raise ValueError(f"labels: got shapes {g.shape} and {c.shape}, expected two of shape (T,)")
        kept = np.arange(len(g)) if background == "with" else np.flatnonzero(g > 0)
        pairs.append((g[kept], c[kept], kept))
    return pairs


def pooled_matching(
    pairs: Sequence[Kept], n_key_steps: int, n_clusters: int, background: str = "with"
) -> dict[int, int]:
    """Return the key step (or 0, background) of every predicted label that has one, by one matching over all videos.

    ``pairs`` are those of `kept_frames`, with at least one frame in all.
    """
    truth, prediction = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    names = np.unique(prediction)
    classes, clusters = match(contingency(*unit(truth, prediction, n_key_steps, n_clusters, background)))
    first = 0 if background == "with" else 1
    return {int(names[k]): int(g) + first for g, k in zip(classes, clusters, strict=True) if k < len(names)}
