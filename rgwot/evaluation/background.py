"""Background as the class it is: how well key step 0 finds it, and scores with the two tied together.

The four protocols match key step 0 like any other cluster, so that it may stand for a step, and a cluster for
background. Here it stands for background and nothing else (methods 6.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rgwot.evaluation.metrics import IntArray, Matching, contingency, f1, match
from rgwot.evaluation.protocols import Protocol


class Detection(NamedTuple):
    """Precision, recall and F1 of what was found, each in [0, 1]; NaN where there is nothing to divide by."""

    precision: float
    recall: float
    f1: float


class FixedResult(NamedTuple):
    """Scores with key step 0 tied to background, each in [0, 1]."""

    precision: float
    recall: float
    f1: float
    iou: float


def detection(true: npt.ArrayLike, predicted: npt.ArrayLike) -> Detection:
    """Score which frames are found: P = TP / (TP + FP), R = TP / (TP + FN), F1 = 2TP / (2TP + FP + FN).

    Of (T,) bool each. Precision is NaN where nothing is predicted, recall where nothing is true. F1 is 0 in either
    case, and NaN only where both are so: whoever finds nothing of what is there scores 0.

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
    """Return the scores of ``n_found`` of which ``both`` are among the ``n_true`` that there are."""
    nan = float("nan")
    return Detection(
        both / n_found if n_found else nan,
        both / n_true if n_true else nan,
        2 * both / (n_true + n_found) if n_true + n_found else nan,
    )


def background_detection(
    truths: Sequence[npt.ArrayLike], predictions: Sequence[npt.ArrayLike], said: bool
) -> Detection:
    """Score key step 0 against true background, the frames of all videos together.

    Background means the same in every video, so videos are pooled whether or not their clusters mean the same.

    Parameters
    ----------
    truths, predictions
        One array (T_v,) per video: true key steps (0 background) and predicted labels.
    said
        Whether key step 0 means background. Where it does not, a predicted 0 is an ordinary cluster, and no
        frame is called background.
    """
    truth, prediction = _pool(truths), _pool(predictions)
    return detection(truth == 0, (prediction == 0) & said)


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
    protocol: Protocol,
    truths: Sequence[npt.ArrayLike],
    predictions: Sequence[npt.ArrayLike],
    n_key_steps: int,
    n_clusters: int,
    said: bool,
) -> FixedResult:
    """Score the videos of one task with background, key step 0 being background and the K clusters steps.

    An answer that never says background gets nothing for background: under ``macro_task`` its class counts 0,
    under ``strict_task`` all its frames are wrong.

    Parameters
    ----------
    protocol
        Of scope ``task``; its ratios are taken, its matching is replaced by `match_fixed`.
    truths, predictions, said
        As in `background_detection`.
    n_key_steps, n_clusters
        K_gt and K, both without background.

    Examples
    --------
    >>> from rgwot.evaluation.protocols import PROTOCOLS
    >>> strict = PROTOCOLS["strict_task"]
    >>> score_fixed(strict, [[0, 0, 0, 1]], [[0, 0, 4, 4]], n_key_steps=1, n_clusters=1, said=True).f1
    0.75
    >>> score_fixed(strict, [[0, 0, 0, 1]], [[4, 4, 4, 4]], n_key_steps=1, n_clusters=1, said=False).f1
    0.25
    """
    truth, prediction = _pool(truths), _pool(predictions)
    background = (prediction == 0) & said
    names, clusters = np.unique(prediction[~background], return_inverse=True)
    columns = np.zeros(truth.shape, dtype=np.int64)
    columns[~background] = clusters + 1
    overlap = contingency(truth, columns, n_key_steps + 1, n_clusters + 1)
    precision, recall, iou = protocol.score(overlap, match_fixed(overlap))
    return FixedResult(precision, recall, f1(precision, recall), iou)


def _pool(labels: Sequence[npt.ArrayLike]) -> IntArray:
    return np.concatenate([np.asarray(part, dtype=np.int64) for part in labels])
