"""Choices without labels: how well a labelling made from one view of the features foretells another view (methods 5.7).

Two views are the same samples seen through disjoint halves of the channels. A labelling of the first that follows
what people do tells something about the second; one that follows the noise of the first does not, however stable it
is. Each video is foretold by the others, so that what is peculiar to a video counts for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Views = NDArray[np.float64]
"""(2P, T, D): P pairs of views of the same T samples, the two of a pair next to each other."""


def agreement(view: NDArray[Any], labels: NDArray[np.int64], lengths: Sequence[int]) -> float:
    r"""Return how much of a view a labelling foretells in videos that it was not averaged over.

    .. math:: J = \frac{\sum_v \sum_{i \in v} g_i \cdot \mu_{-v}(l_i)}{\sum_i |g_i|^2}

    where :math:`\mu_{-v}(k)` is the mean of the samples labelled k in all videos but v, shrunk towards 0 by two
    samples. Expected to be 0 for labels that know nothing of the view.

    Parameters
    ----------
    view
        g (T, D), samples of all videos one after the other.
    labels
        (T,) labels of the same samples, `BACKGROUND` among them: a label like any other.
    lengths
        Samples of each video; they add up to T.

    Returns
    -------
    float
        At most about 1; 0 for a single video, which nothing foretells, or a view of zeros.
    """
    g = np.asarray(view, dtype=np.float64)
    _, classes = np.unique(labels, return_inverse=True)
    V, K = len(lengths), int(classes.max(initial=0)) + 1
    power = float(np.square(g).sum())
    if V < 2 or power == 0:
        return 0.0
    cells = np.repeat(np.arange(V), lengths) * K + classes
    counts = np.bincount(cells, minlength=V * K).reshape(V, K)
    flat = np.zeros((V * K, g.shape[1]))
    np.add.at(flat, cells, g)
    sums = flat.reshape(V, K, -1)
    others = (sums.sum(axis=0) - sums) / ((counts.sum(axis=0) - counts) + 2.0)[:, :, None]
    return float((sums * others).sum()) / power


def cross_agreement(
    views: Views, lengths: Sequence[int], labelled: Callable[[NDArray[np.float64]], NDArray[np.int64]]
) -> float:
    """Average `agreement` over all pairs of views, each labelled in turn and compared with the other one.

    Parameters
    ----------
    views
        (2P, T, D), see `Views`.
    lengths
        Samples of each video.
    labelled
        One view (T, D) -> labels (T,).
    """
    found = []
    for first, second in zip(views[0::2], views[1::2], strict=True):
        found += [
            agreement(second, labelled(first), lengths),
            agreement(first, labelled(second), lengths),
        ]
    return float(np.mean(found))
