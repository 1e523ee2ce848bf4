"""TW-FINCH: in each video, every sample joins the sample that is nearest in appearance and time (peers 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from rgwot.baselines.graph import means_of
from rgwot.config.extensions import Extension
from rgwot.diagnostics import Facts
from rgwot.keysteps.interface import Decoded, Frames, Learned, Predict, directions
from rgwot.keysteps.kmeans import kmeans, nearest_centre
from rgwot.keysteps.settings import Clustering

BLOCK = 1024


def nearest(x: NDArray[np.float64], times: NDArray[np.float64], rows: NDArray[np.int64]) -> tuple[Any, Any]:
    """Return the nearest other sample of each row and its distance (1 - x_i . x_j) |t_i - t_j|; the first one in a tie.

    Samples x (n, D) have length 1 and times (n,), n >= 2; ``rows`` (R,) are indices into both, the answers (R,) each.
    """
    found, distance = np.empty(len(rows), dtype=np.int64), np.empty(len(rows))
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        d = np.maximum(1 - x[block] @ x.T, 0) * np.abs(times[block, None] - times)
        d[np.arange(len(block)), block] = np.inf
        found[start : start + BLOCK] = d.argmin(axis=1)
        distance[start : start + BLOCK] = d.min(axis=1)
    return found, distance


def twfinch(x: NDArray[Any], K: int) -> NDArray[np.int64]:
    """Segment one video into K clusters by time-weighted first neighbours.

    Two samples belong together if one is the nearest neighbour of the other, or if both have the same nearest
    neighbour, by the distance (1 - cos(x_i, x_j)) |t_i - t_j| / T. The connected components become samples of the next
    round, at the mean of their members' features and times, until another round would leave fewer than K; then the
    closest two are merged until there are K. If the first round leaves fewer than K, there are fewer clusters.

    Parameters
    ----------
    x
        Samples (T, D) of one video, T >= 1, in order of time.
    K
        Number of clusters, >= 1.

    Returns
    -------
    NDArray[np.int64]
        (T,) in 0..K-1, numbered as the clusters first appear.

    Examples
    --------
    >>> twfinch(np.repeat(np.eye(3), 4, axis=0), 3)
    array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    """
    samples = np.asarray(x, dtype=np.float64)
    T = len(samples)
    relative = np.arange(T) / T
    labels = np.arange(T, dtype=np.int64)
    while (n := int(labels.max()) + 1) > 1:
        means, times = directions(means_of(samples, labels)), means_of(relative, labels)
        kappa, _ = nearest(means, times, np.arange(n))
        # Two samples with the same neighbour are both linked to this neighbour.
        links = coo_array((np.ones(n), (np.arange(n), kappa)), shape=(n, n))
        n_joined, joined = connected_components(links, directed=False)
        if n_joined < K and n < T:
            labels = merged(samples, relative, labels, K)
            break
        labels = joined[labels].astype(np.int64)
        if n_joined <= K:
            break
    _, first, compact = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[compact], dtype=np.int64)


def merged(
    samples: NDArray[np.float64], relative: NDArray[np.float64], labels: NDArray[np.int64], K: int
) -> NDArray[np.int64]:
    """Merge the two clusters closest to each other, one pair at a time, until there are K."""
    labels, counts = labels.copy(), np.bincount(labels).astype(np.float64)
    sums, times = means_of(samples, labels) * counts[:, None], means_of(relative, labels) * counts
    near = distance = np.empty(0)
    while len(counts) > K:
        means, middle = directions(sums), times / counts
        if not len(near):
            near, distance = nearest(means, middle, np.arange(len(counts)))
        one = int(distance.argmin())
        kept, gone = sorted((one, int(near[one])))
        for total in (sums, times, counts):
            total[kept] += total[gone]
        sums, times, counts = (np.delete(total, gone, axis=0) for total in (sums, times, counts))
        labels[labels == gone] = kept
        labels[labels > gone] -= 1
        # Only clusters whose neighbour was merged need a new neighbour; all others are compared with the new cluster.
        stale = np.isin(near, (kept, gone))
        stale[kept] = True
        near, distance, stale = np.delete(near, gone), np.delete(distance, gone), np.delete(stale, gone)
        near[near > gone] -= 1
        means, middle = directions(sums), times / counts
        to_kept = np.maximum(1 - means @ means[kept], 0) * np.abs(middle - middle[kept])
        closer = to_kept < distance
        near[closer], distance[closer] = kept, to_kept[closer]
        rows = np.flatnonzero(stale)
        near[rows], distance[rows] = nearest(means, middle, rows) if len(counts) > 1 else (0, np.inf)
    return labels


@dataclass(frozen=True, kw_only=True)
class FinchFacts(Facts):
    """The clusters of a single video, or the segments of several and their sum of squared distances to the means."""

    clusters: int | None = None
    segments: int | None = None
    inertia: float | None = None


def decode_twfinch(frames: Frames, K: int, generator: np.random.Generator, settings: Clustering) -> Decoded:
    """Segment every video by itself, then cluster the segments' means over all videos: the decoder ``twfinch``.

    The method labels single videos, and the labels of two videos are unrelated. If there are several videos, we cluster
    the means of their segments by k-means into K, so scores that pool videos do not judge the published method.
    """
    single = len(frames.lengths) == 1
    labels, means = _segments(frames, K)
    if single:
        return Decoded(labels, facts={"twfinch": FinchFacts(clusters=len(means))})
    clusters = kmeans(means, K, generator)
    facts = FinchFacts(segments=len(means), inertia=clusters.inertia)
    return Decoded(clusters.labels[labels], facts={"twfinch": facts}, learned={"centres": clusters.centres})


def restore_twfinch(learned: Learned, K: int, settings: Clustering) -> Predict:
    """Segment every other video by itself, and label its segments by the nearest mean."""

    def predict(others: Frames) -> Decoded:
        parts, of_parts = _segments(others, K)
        return Decoded(nearest_centre(of_parts, learned["centres"])[parts])

    return predict


def _segments(frames: Frames, K: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the clusters of every video, numbered through all videos, and the directions of their mean features."""
    parts: list[NDArray[np.int64]] = []
    begun = 0
    for x in np.split(frames.x, np.cumsum(frames.lengths)[:-1]):
        parts.append(twfinch(x, K) + begun)
        begun = int(parts[-1].max()) + 1
    labels = np.concatenate(parts)
    return labels, directions(means_of(np.asarray(frames.x, dtype=np.float64), labels))


class TwFinch(Clustering):
    """First neighbours in looks and time, joined video by video."""

    NAME = "twfinch"
    FUNCTION = decode_twfinch
    RESTORE = restore_twfinch
    SOURCE = "TW-FINCH, Sarfraz et al., CVPR 2021"


EXTENSION = Extension(decoders=[TwFinch])
