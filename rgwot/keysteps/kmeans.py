"""K-means without temporal smoothing (methods 5.2)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from rgwot.diagnostics import Facts
from rgwot.keysteps.collapse import centred
from rgwot.keysteps.fuzzy_cmeans import squared_distances
from rgwot.keysteps.interface import Decoded, Frames, Learned, Predict
from rgwot.keysteps.settings import Clustering

RESTARTS = 4


@dataclass(frozen=True)
class KMeans:
    """A hard partition of T samples: labels (T,) in 0..K-1, centres (<= K, D), inertia = sum |x_t - c|^2."""

    labels: NDArray[np.int64]
    centres: NDArray[np.floating]
    inertia: float
    iterations: int


def kmeans(x: NDArray[np.floating], K: int, generator: np.random.Generator, restarts: int = RESTARTS) -> KMeans:
    """Minimise sum_t |x_t - c_{l_t}|^2 from several k-means++ starts, and keep the best result.

    If fewer than K of the samples (T, D) differ, there are as many clusters as different samples. Every pass uses all
    samples: on recordings of more than 10,000 samples, the mini-batches of the public code cost up to 24 points of F1,
    with a standard deviation of 12 points over seeds.
    """
    offsets, mean = centred(x)
    if not offsets.any():
        return KMeans(np.zeros(len(offsets), dtype=np.int64), mean[None], 0.0, 0)

    from sklearn import cluster
    from sklearn.exceptions import ConvergenceWarning

    model = cluster.KMeans(
        n_clusters=min(K, len(offsets)),
        init="k-means++",
        n_init=restarts,
        random_state=int(generator.integers(2**31 - 1)),
    )
    # A caller's limit does not hold for threads of scikit-learn if scikit-learn was not imported yet. Several threads
    # change the rounding of sums, and on a busy machine they wait for each other, and take ten times as long as one.
    with warnings.catch_warnings(), _pools().limit(limits=1):
        # There may be fewer distinct samples than clusters (see the docstring), so the warning about this is ignored.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(offsets)
    labels, centres = model.labels_.astype(np.int64), model.cluster_centers_ + mean
    return KMeans(labels, centres, float(model.inertia_), int(model.n_iter_))


@cache
def _pools() -> ThreadpoolController:
    """Return the thread pools of all imported libraries, including scikit-learn; cached."""
    return ThreadpoolController()


def nearest_centre(x: NDArray[np.floating], centres: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return the index (T,) of the centre (K, D) nearest to each sample (T, D); on a tie the first."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(x, centres).argmin(axis=1), dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class _KMeansFacts(Facts):
    """The sum of squared distances to the nearest mean, and the number of iterations."""

    inertia: float
    iterations: int


def decode_kmeans(frames: Frames, K: int, generator: np.random.Generator, settings: Clustering) -> Decoded:
    """Label every sample by its nearest of K means: the decoder ``kmeans``, which has no settings but K."""
    clusters = kmeans(frames.x, K, generator)
    facts = _KMeansFacts(inertia=clusters.inertia, iterations=clusters.iterations)
    return Decoded(
        clusters.labels, facts={"k_means": facts}, learned={"centres": clusters.centres, "mean": frames.x.mean(axis=0)}
    )


def restore_kmeans(learned: Learned, K: int, settings: Clustering) -> Predict:
    """Return the function that labels samples of other videos by the nearest of the means."""
    centres, mean = learned["centres"], learned["mean"]
    # Sums of squares cancel when all embeddings point almost the same way, so distances are taken from the mean.
    return lambda others: Decoded(squared_distances(others.x - mean, centres - mean).argmin(axis=1).astype(np.int64))
