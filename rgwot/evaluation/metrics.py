"""Agreement of two labellings after one-to-one matching of clusters to classes (methods 6.1).

Everything here is a pure function of integer arrays. A labelling is compared through its contingency table,
the classes are matched to the clusters by the Hungarian algorithm, and three sets of scores are read off the
matching: micro, macro and strict.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


class Scores(NamedTuple):
    """Precision, recall and intersection over union of one scoring unit, each in [0, 1]."""

    precision: float
    recall: float
    iou: float


class Matching(NamedTuple):
    """Matched pairs: class ``classes[k]`` goes with cluster ``clusters[k]``; both of shape (min(G, K),)."""

    classes: IntArray
    clusters: IntArray


def contingency(truth: npt.ArrayLike, prediction: npt.ArrayLike, n_classes: int, n_clusters: int) -> IntArray:
    """Count the frames of every class in every cluster.

    ``truth`` (T,) is in 0..G-1 and ``prediction`` (T,) in 0..K-1; all G classes and K clusters have counts,
    whether or not they occur here. The counts (G, K) add up to T.

    Raises
    ------
    ValueError
        When the lengths differ or a label is outside its range.

    Examples
    --------
    >>> contingency([0, 0, 1], [1, 1, 0], 2, 3).tolist()
    [[0, 2, 0], [1, 0, 0]]
    """
    g = np.asarray(truth, dtype=np.int64)
    c = np.asarray(prediction, dtype=np.int64)
    if g.ndim != 1 or g.shape != c.shape:
        raise ValueError(f"labels: got shapes {g.shape} and {c.shape}, expected two of shape (T,)")
    for name, labels, size in (("truth", g, n_classes), ("prediction", c, n_clusters)):
        if labels.size and (labels.min() < 0 or labels.max() >= size):
            limits = f"{labels.min()}..{labels.max()}"
            raise ValueError(f"{name}: got labels {limits}, expected 0..{size - 1}")
    counts = np.bincount(g * n_clusters + c, minlength=n_classes * n_clusters)
    return counts.reshape(n_classes, n_clusters).astype(np.int64)


def match(overlap: npt.ArrayLike) -> Matching:
    """Match classes to clusters one to one so that the total overlap is largest (methods 6.1, step 1).

    There are always min(G, K) pairs, even with an overlap of zero. The choice among several matchings of the same
    largest overlap does not depend on how the clusters are numbered: it takes the classes of lowest index if there are
    more classes than clusters, and the largest clusters if there are more clusters than classes; the counts themselves
    decide the remaining ties.

    ``overlap`` (G, K) counts frames, as from `contingency`. Returns the pairs in order of class.

    Examples
    --------
    >>> match([[4, 0, 0], [0, 0, 0], [0, 0, 1]])
    Matching(classes=array([0, 1, 2]), clusters=array([0, 1, 2]))
    """
    from scipy.optimize import linear_sum_assignment

    counts = np.asarray(overlap, dtype=np.int64)
    n_classes, n_clusters = counts.shape
    # A canonical order of the columns (largest cluster first, then by their counts from class 0 on) makes the
    # result a function of the partition alone: two clusters that still tie have equal columns and are
    # interchangeable.
    canonical = np.lexsort(np.vstack([-counts[::-1], -counts.sum(axis=0)]))
    # Whole numbers, so that the bonuses, the second criterion, can never outweigh one frame, and no rounding decides a
    # tie. Only one of the two bonuses can differ between matchings: the smaller side is always matched completely.
    bonus = (n_classes - 1 - np.arange(n_classes))[:, None] + (n_clusters - 1 - np.arange(n_clusters))[None, :]
    frame = min(n_classes, n_clusters) * (n_classes + n_clusters) + 1
    rows, columns = linear_sum_assignment(counts[:, canonical] * frame + bonus, maximize=True)
    return Matching(rows.astype(np.int64), canonical[columns].astype(np.int64))


def match_as_scipy(overlap: npt.ArrayLike) -> Matching:
    """Match as `match` does, but with SciPy's choice among equal matchings, which depends on the order of clusters."""
    from scipy.optimize import linear_sum_assignment

    counts = np.asarray(overlap, dtype=np.int64)
    rows, columns = linear_sum_assignment(1 - counts / counts.sum())
    return Matching(rows.astype(np.int64), columns.astype(np.int64))


def _ratio(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> npt.NDArray[np.float64]:
    top, bottom = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def _pairs(overlap: npt.ArrayLike, matching: Matching) -> tuple[IntArray, IntArray, IntArray]:
    """Return overlap I, class size n and cluster size m of every matched pair."""
    counts = np.asarray(overlap, dtype=np.int64)
    classes, clusters = matching
    return counts[classes, clusters], counts.sum(axis=1)[classes], counts.sum(axis=0)[clusters]


def micro(overlap: npt.ArrayLike, matching: Matching) -> Scores:
    r"""Score all matched frames together (methods 6.1, A).

    .. math:: P = \sum I / \sum m, \quad R = \sum I / \sum n, \quad IoU = \sum I / (\sum n + \sum m - \sum I)

    over the matched pairs; classes and clusters without a partner are left out altogether, therefore
    IoU = F1 / (2 - F1).
    """
    common, of_class, of_cluster = (int(part.sum()) for part in _pairs(overlap, matching))
    ratios = _ratio([common] * 3, [of_cluster, of_class, of_class + of_cluster - common])
    return Scores(*map(float, ratios))


def macro(overlap: npt.ArrayLike, matching: Matching) -> Scores:
    """Average over the matched classes that occur (methods 6.1, B).

    P is the mean of I/m (0 for an empty cluster), R of I/n, IoU of I/(n + m - I).
    Classes without a partner, and matched classes without a frame, do not enter the mean.
    """
    pairs = _pairs(overlap, matching)
    common, of_class, of_cluster = (part[pairs[1] > 0] for part in pairs)
    ratios = _ratio([common] * 3, [of_cluster, of_class, of_class + of_cluster - common])
    return Scores(*map(float, ratios.mean(axis=1)))


def strict(overlap: npt.ArrayLike, matching: Matching) -> Scores:
    """Score all frames, matched or not: P = R = matched frames / all frames, the accuracy (methods 6.1, D).

    Classes and clusters without a partner stay in the denominators, so IoU = accuracy / (2 - accuracy).
    """
    common = int(_pairs(overlap, matching)[0].sum())
    total = int(np.asarray(overlap).sum())
    return Scores(common / total, common / total, common / (2 * total - common))


def f1(precision: float, recall: float) -> float:
    """Return the harmonic mean 2PR / (P + R), 0 when both are 0.

    >>> f1(0.5, 1.0)
    0.6666666666666666
    """
    total = precision + recall
    return 2 * precision * recall / total if total > 0 else 0.0
