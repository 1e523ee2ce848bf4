"""Embeddings laid out in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Points of the picture; more make it no clearer and t-SNE slow.
MAX_POINTS = 1000
PERPLEXITY = 30.0
FEWEST = 10


def spread(lengths: list[int], most: int = MAX_POINTS) -> list[NDArray[np.int64]]:
    """Choose samples of videos evenly over time, in total at most about ``most``, of every video in proportion.

    Parameters
    ----------
    lengths
        Samples of each video.
    most
        Points in all; every video keeps at least one.
    """
    share = min(1.0, most / max(1, sum(lengths)))
    counts = [max(1, round(share * length)) if length else 0 for length in lengths]
    return [
        (2 * np.arange(count) + 1) * length // (2 * max(1, count))
        for count, length in zip(counts, lengths, strict=True)
    ]


def tsne(x: NDArray[Any], seed: int) -> NDArray[np.float64] | str:
    """Return points (n, 2) of embeddings x (n, D) by t-SNE, scaled to [0, 1], or why there are none.

    On the first 50 principal components, perplexity 30 or a third of the points, started from the principal plane.

    Parameters
    ----------
    x
        Embeddings.
    seed
        The same seed gives the same picture on the same machine.
    """
    if len(x) < FEWEST:
        return f"only {len(x)} frames; t-SNE needs {FEWEST} or more"
    values = np.asarray(x, dtype=np.float64)
    offsets = values - values.mean(axis=0)
    if np.square(offsets).sum(axis=1).mean() <= 1e-12 * np.square(values).sum(axis=1).mean():
        return "all embeddings are the same; there is nothing to lay out"
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        reduced = PCA(min(50, *values.shape), svd_solver="full").fit_transform(values)
        perplexity = min(PERPLEXITY, (len(x) - 1) / 3)
        points = TSNE(perplexity=perplexity, init="pca", random_state=seed, n_jobs=1).fit_transform(reduced)
    low, high = points.min(axis=0), points.max(axis=0)
    scaled: NDArray[np.float64] = ((points - low) / max(float((high - low).max()), 1e-12)).astype(np.float64)
    return scaled
