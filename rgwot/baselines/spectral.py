"""Spectral clustering of directions, with the affinity of HiERO (methods 4.10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rgwot.baselines.settings import Spectral
from rgwot.diagnostics import Facts
from rgwot.keysteps.collapse import centred
from rgwot.keysteps.interface import Decoded, Frames, Learned, Predict, directions
from rgwot.keysteps.kmeans import decode_kmeans, kmeans, nearest_centre, restore_kmeans

SCALE = 0.5
"""A_st = exp(cos(x_s, x_t) / SCALE), as in HiERO."""

LANDMARKS = 2000
"""If there are more samples, this many of them are landmarks of the affinity: a matrix of 32 MB, a second of work."""

SAME_POINT = float(np.exp(1 / SCALE)) * (1 - 1e-12)
SAMPLES_AT_ONCE = 8192


def affinity(x: NDArray[np.floating], y: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return exp(cos(x_s, y_t) / 0.5) of samples (S, D) and (T, D), (S, T); a zero vector has cosine 0 to all."""
    return np.asarray(np.exp(directions(x) @ directions(y).T / SCALE))


@dataclass(frozen=True)
class _SpectralMap:
    """Coordinates in which samples lie close together if random walks on the affinity connect them.

    ``coordinates`` (L, K) of the ``landmarks`` (L, D) are eigenvectors psi of the walk P = diag(A 1)^-1 A on them (no
    walk stays where it is), by descending ``eigenvalues`` (K,) in [-1, 1]; the first one is constant.
    """

    landmarks: NDArray[np.float64]
    coordinates: NDArray[np.float64]
    eigenvalues: NDArray[np.float64]

    def coordinates_of(self, x: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the coordinates (T, K) of other samples (T, D): psi(x) = sum_l P(x, l) psi_l / lambda (Nystroem).

        Coordinates with an eigenvalue of 0 say nothing about other samples and are 0.
        """
        scale = np.where(self.eigenvalues > 1e-12, self.eigenvalues, np.inf)
        parts = []
        for start in range(0, len(x), SAMPLES_AT_ONCE):
            walk = affinity(x[start : start + SAMPLES_AT_ONCE], self.landmarks)
            # The walks of a landmark do not stay at it. A sample with the direction of a landmark is treated alike: its
            # walks do not go to this landmark.
            rows, nearest = np.arange(len(walk)), walk.argmax(axis=1)
            coincident = walk[rows, nearest] > SAME_POINT
            walk[rows[coincident], nearest[coincident]] = 0
            parts.append(walk @ self.coordinates / walk.sum(axis=1, keepdims=True) / scale)
        return np.concatenate(parts) if parts else np.zeros((0, self.coordinates.shape[1]))


def spectral_map(landmarks: NDArray[np.floating], K: int, seed: int) -> _SpectralMap:
    """Embed landmarks (L, D) by the K leading eigenvectors of their affinity, 1 <= K < L.

    scikit-learn's spectral clustering uses the same coordinates (Laplacian eigenmaps with symmetric normalisation,
    including the constant eigenvector).
    """
    from sklearn.manifold import spectral_embedding

    A = affinity(landmarks, landmarks)
    np.fill_diagonal(A, 0)
    psi = spectral_embedding(A, n_components=K, drop_first=False, eigen_solver="arpack", random_state=seed)
    degrees = A.sum(axis=1)
    # The solver returns no eigenvalues; the eigenvalue of an eigenvector is its Rayleigh quotient.
    eigenvalues = np.einsum("lk,lk->k", psi, A @ psi) / np.einsum("lk,l,lk->k", psi, degrees, psi)
    return _SpectralMap(np.asarray(landmarks, dtype=np.float64), psi, eigenvalues)


@dataclass(frozen=True, kw_only=True)
class _SpectralFacts(Facts):
    """The number of landmarks, and the eigenvalues of their affinity."""

    landmarks: int
    eigenvalues: Sequence[float]


def decode_spectral(frames: Frames, K: int, generator: np.random.Generator, settings: Spectral) -> Decoded:
    """Cluster a graph of all samples: the decoder ``spectral``, which has no settings but K.

    It is k-means in the K leading eigenvectors of the affinity. The matrix has T^2 entries, so if there are more than
    2,000 samples, only 2,000 landmarks, evenly spaced over all videos, are clustered in this way; the Nystroem formula
    gives the coordinates of the other samples and of held-out videos. If there are at most K + 1 samples, or all
    samples are alike, there is no graph to cut, and k-means on the embeddings decides.
    """
    x = frames.x
    if K < 2 or len(x) <= K + 1 or not centred(x)[0].any():
        return decode_kmeans(frames, K, generator, settings)
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), LANDMARKS)).round().astype(np.int64))
    embedding = spectral_map(x[chosen], K, int(generator.integers(2**31 - 1)))
    clusters = kmeans(embedding.coordinates, K, generator)
    labels = np.empty(len(x), dtype=np.int64)
    labels[chosen] = clusters.labels
    others = np.setdiff1d(np.arange(len(x)), chosen)
    labels[others] = nearest_centre(embedding.coordinates_of(x[others]), clusters.centres)
    facts = _SpectralFacts(landmarks=len(chosen), eigenvalues=embedding.eigenvalues.tolist())
    learned = {**vars(embedding), "centres": clusters.centres}
    return Decoded(labels, facts={"spectral": facts}, learned=learned)


def restore_spectral(learned: Learned, K: int, settings: Spectral) -> Predict:
    """Return the function that places other samples among the landmarks and labels them by the nearest mean."""
    if "landmarks" not in learned:
        return restore_kmeans(learned, K, settings)
    embedding = _SpectralMap(learned["landmarks"], learned["coordinates"], learned["eigenvalues"])
    return lambda others: Decoded(nearest_centre(embedding.coordinates_of(others.x), learned["centres"]))
