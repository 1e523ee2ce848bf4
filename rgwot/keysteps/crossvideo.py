"""Refine a segmentation by classifiers that are trained on the other videos (methods 5.8).

A cluster is a region of feature space and nothing more. A key step looks the same in videos that took no part in
finding it, has a usual past and future, and often a usual place in a video. So a linear classifier is trained on the
labels of some videos, with the samples before and after each sample in view, and has a say in those of the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from rgwot.embedding.whitened import fit_whitening, smooth
from rgwot.keysteps.interface import Frames, middle_times

CONTEXT = (-0.05, -0.02, 0.0, 0.02, 0.05)
"""Where a classifier looks, in shares of a video's length before (-) and after (+) a sample."""

CONTEXT_COMPONENTS = 96
"""Principal components of a sample with its context, at most; with more, a classifier learns single videos."""

CONTEXT_FLOOR = 1e-4
"""Components below this share of the largest variance are dropped."""

FOLDS = 10
"""Parts the videos are divided into, at most; each is labelled by a classifier that is trained on the others."""

SAY = 0.6
"""Weight of the classifiers; the rest is that of the segmentation. Alone they lose 10 points on synthetic clips."""

WINDOW = 0.01
"""Window over which log probabilities are averaged, as a share of a video's length."""

LEAST_PROBABILITY = 1e-6
"""Probabilities below this count as this much."""

Array = NDArray[np.float64]


class Classifier(NamedTuple):
    r"""Linear discriminant analysis with a shrunken covariance (Ledoit and Wolf, 2004), as one affine map.

    .. math:: p(k \mid z) \propto \exp(w_k \cdot z + b_k), \qquad
              w_k = \Sigma^{-1} \mu_k, \quad b_k = \log \pi_k - \tfrac12 \mu_k \cdot w_k

    Attributes
    ----------
    weights
        w (K, D), 0 for classes without samples.
    offsets
        b (K,), -inf for classes without samples.
    """

    weights: Array
    offsets: Array

    @classmethod
    def fit(cls, z: Array, labels: NDArray[np.int64], K: int) -> Classifier:
        """Fit to samples (T, D) and labels in 0..K-1; too few samples or a single class give shares of the classes."""
        classes, counts = np.unique(labels, return_counts=True)
        weights, offsets = np.zeros((K, z.shape[1])), np.full(K, -np.inf)
        if len(classes) == 1 or len(labels) <= len(classes):
            offsets[classes] = np.log(counts / counts.sum())
            return cls(weights, offsets)

        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        with warnings.catch_warnings():
            # A class of a single sample has no spread of its own, which is right.
            warnings.filterwarnings("ignore", message="Only one sample available")
            made = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(z, labels)
        weights[classes] = np.linalg.lstsq(made.covariance_, made.means_.T, rcond=None)[0].T
        offsets[classes] = np.log(made.priors_) - 0.5 * np.einsum("kd,kd->k", weights[classes], made.means_)
        return cls(weights, offsets)

    def probabilities(self, z: Array) -> Array:
        """Return the probabilities (T, K) of the classes of samples (T, D)."""
        scores = z @ self.weights.T + self.offsets
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def in_context(frames: Frames) -> Array:
    """Return what a classifier sees: every sample (T, D) with those around it, and the relative time less a half.

    (T, 5 D), or (T, 5 D + 1) where the embeddings have relative time. Before its first and after its last sample a
    video goes on as these.
    """
    x = frames.x[:, : frames.x.shape[1] - frames.place]
    found = []
    for video in np.split(x, np.cumsum(frames.lengths)[:-1]):
        places, T = np.arange(len(video)), len(video)
        moved = [np.clip(places + round(share * T), 0, T - 1) for share in CONTEXT]
        found.append(np.concatenate([video[place] for place in moved], axis=1))
    around = np.concatenate(found)
    if not frames.place:
        return around
    return np.concatenate([around, middle_times(frames.lengths)[:, None] - 0.5], axis=1)


def together(own: Array, others: Array, lengths: Sequence[int]) -> Array:
    r"""Return memberships (T, K) that weigh those of a segmentation against probabilities of classifiers.

    .. math:: p_{ik} \propto \exp \operatorname{mean}_{j \in W_i}
              \left[ (1 - s) \log p^\text{own}_{jk} + s \log p^\text{others}_{jk} \right]

    with s = `SAY` and W_i the window of `WINDOW` around sample i, inside its video.
    """
    mixed = sum(w * np.log(np.maximum(p, LEAST_PROBABILITY)) for w, p in ((1 - SAY, own), (SAY, others)))
    videos = np.split(np.asarray(mixed), np.cumsum(lengths)[:-1])
    means = np.concatenate([smooth(video, WINDOW) for video in videos])
    means = np.exp(means - means.max(axis=1, keepdims=True))
    return np.asarray(means / means.sum(axis=1, keepdims=True))


def refine(frames: Frames, memberships: Array, rounds: int) -> tuple[Array, Classifier]:
    """Let classifiers that are trained on the other videos have a say in the labels of every video, several times.

    Parameters
    ----------
    frames
        Samples of V videos.
    memberships
        (T, K) of a segmentation; the largest is the label to begin with.
    rounds
        How often; without any, and with a single video, memberships stay as they are.

    Returns
    -------
    memberships
        (T, K), refined.
    classifier
        Trained on the refined labels of all videos; it takes samples `in_context`.
    """
    K, V = memberships.shape[1], len(frames.lengths)
    seen = in_context(frames)
    # Relative time is taken as it is.
    timed = int(frames.place > 0)
    whitening = fit_whitening([seen[:, : seen.shape[1] - timed]], CONTEXT_COMPONENTS, CONTEXT_FLOOR)
    basis = block_diag(whitening.basis, np.eye(timed))
    mean = np.concatenate([whitening.mean, np.zeros(timed)])
    z = (seen - mean) @ basis
    fold = np.repeat(np.arange(V) % FOLDS, frames.lengths)
    found, others = memberships, np.zeros_like(memberships)
    for _ in range(rounds if V > 1 else 0):
        labels = found.argmax(axis=1)
        for part in np.unique(fold):
            held, rest = fold == part, fold != part
            said = Classifier.fit(z[rest], labels[rest], K).probabilities(z[held])
            # Of what no other video has, a classifier knows nothing, and the segmentation speaks alone.
            absent = np.bincount(labels[rest], minlength=K) == 0
            alone = memberships[np.ix_(held, absent)]
            said *= 1 - alone.sum(axis=1, keepdims=True)
            said[:, absent] = alone
            others[held] = said
        found = together(memberships, others, frames.lengths)
    # A classifier of the components is one of what they are made from.
    made = Classifier.fit(z, found.argmax(axis=1), K)
    weights = made.weights @ basis.T
    return found, Classifier(weights, made.offsets - weights @ mean)
