"""Distinguishing a collapsed embedding from a collapsed decoder (methods 5.9).

F1 and IoU alone cannot show collapse: one label everywhere scores well under some protocols. A run is degenerate when
its embedding is constant, or when the decoder gives the same answer everywhere although the embedding varies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

Cause = Literal["embedding", "decoder"]
"""The cause of a degenerate labelling: the part that collapsed first."""

CONSTANT_EMBEDDING = 1e-3
"""Relative variance below which an embedding is constant.

For unit vectors it is 1 - mean cosine. The alignment softmax divides cosines by tau = 0.1, so 1e-3 is a
spread of the logits of about 0.01: no frame is preferred to another by more than 1 percent, the state in
which the loss is ln N. Features that are nearly parallel and still carry the step (untrained convolutions,
mean cosine 0.997) lie above."""

UNIFORM_MEMBERSHIP = 0.01
"""Membership contrast below which fuzzy C-means decided nothing.

The contrast is 0 when every membership is 1/K and 1 when all are hard. At 0.01 and the default weights (3 per
second, a switch 5/7) a piece has to last 2 (5/7) / (3 x 0.01) = 48 s to pay for its two ends. Soft but sound
clusterings lie far above: mean largest membership 0.40 at K = 7 is 0.30."""

DOMINANT_LABEL = 0.95
"""A label with at least this share of the samples counts as the only one.

A sound decoder may keep background in one cluster, which reaches about 0.8 of a task; beyond 0.95 the other K - 1
clusters share less than one sample in twenty."""

DEGENERATE_VIDEOS = 0.5
"""A result made of separate videos is degenerate if at least this share of the videos is."""

# Sequences longer than `WHOLE` samples are processed in pieces of `PIECE`, which stay in the cache.
WHOLE, PIECE = 8192, 1024


def mean_pairwise_cosine(x: NDArray[np.floating]) -> float:
    """Return the mean cosine over all pairs of different samples, (|sum_t x_t/|x_t||^2 - T) / (T (T - 1)).

    Zero vectors have no direction and are left out; NaN if fewer than two samples (T, D) have a direction.
    """
    samples = np.asarray(x, dtype=np.float64)
    norms = np.linalg.norm(samples, axis=1)
    directions = samples[norms > 0] / norms[norms > 0, None]
    T = len(directions)
    if T < 2:
        return math.nan
    total = directions.sum(axis=0)
    return float(np.clip((total @ total - T) / (T * (T - 1)), -1.0, 1.0))


def relative_variance(x: NDArray[np.floating]) -> float:
    """Return mean |x_t - mean|^2 / mean |x_t|^2 of embeddings (T, D), in [0, 1].

    For unit vectors this is 1 minus the mean cosine over all pairs, a sample with itself included. It is 0 if
    all samples are the same, or all are zero.
    """
    samples = np.asarray(x, dtype=np.float64)
    power = float(np.mean(np.sum(samples**2, axis=1)))
    if power == 0:
        return 0.0
    offsets = samples - samples.mean(axis=0)
    return float(min(np.mean(np.sum(offsets**2, axis=1)) / power, 1.0))


def centred(x: NDArray[np.floating]) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Return x minus its mean, and the mean; float32 stays float32, all else becomes float64.

    Subtracting the mean first keeps squared distances from cancelling when all embeddings point almost the
    same way. A spread no larger than the rounding of the mean is set to exactly zero, so that "all identical"
    is a state and not an accident of the last digit.
    """
    samples = np.asarray(x)
    samples = samples.astype(np.float32 if samples.dtype == np.float32 else np.float64, copy=False)
    total, largest = np.zeros(samples.shape[1], dtype=samples.dtype), 0.0
    pieces = _pieces(samples)
    for piece in pieces:
        largest = max(largest, _largest(piece))
        total += piece.sum(axis=0)
    mean = total / samples.dtype.type(len(samples))
    rounding = 8 * np.finfo(samples.dtype).eps * largest
    # The mean of many equal samples differs from them by the rounding of the sum; the first sample does not.
    spread = all(any(_largest(piece - centre) > rounding for piece in pieces) for centre in (mean, samples[0]))
    return (samples - mean if spread else np.zeros_like(samples)), mean


def _pieces(x: NDArray[np.floating]) -> list[NDArray[np.floating]]:
    size = len(x) if len(x) <= WHOLE else PIECE
    return [x[start : start + size] for start in range(0, len(x), size)]


def _largest(x: NDArray[np.floating]) -> float:
    """Return max |x| without making a copy."""
    return float(np.maximum(x.max(), -x.min()))


def direction_eigenvalue(x: NDArray[np.floating]) -> float:
    """Return lambda_1, the largest eigenvalue of the second-moment matrix of unit directions from the mean.

    With e_t = (x_t - mean) / |x_t - mean| this is the largest eigenvalue of (1/T) sum_t e_t e_t^T: the share
    of all directions that the leading axis holds. k equidistant clusters give 1/(k - 1), a smooth path more
    than 0.5.

    It is in [1/min(D, T), 1] for embeddings (T, D), T >= 1, and 0 when no sample differs from the mean beyond rounding.
    Samples that lie on the mean have no direction and do not count. If lambda_1 is small, all centres of fuzzy C-means
    may fall to the mean, even if the embedding separates the key steps well (methods 5.1).
    """
    offsets, _ = centred(x)
    wide = offsets.shape[1] > len(offsets)
    gram, present = 0.0, 0
    for piece in [offsets] if wide else _pieces(offsets):
        norms = np.linalg.norm(piece, axis=1)
        directions = piece[norms > 0] / norms[norms > 0, None]
        # The smaller of the two Gram matrices has the same leading eigenvalue.
        gram = gram + (directions @ directions.T if wide else directions.T @ directions)
        present += len(directions)
    if present == 0:
        return 0.0
    return float(min(np.linalg.eigvalsh(gram / present)[-1], 1.0))


def membership_entropy(memberships: NDArray[np.floating]) -> float:
    """Return the mean entropy of memberships (T, K) divided by ln K: 0 hard, 1 uniform; 0 for K = 1."""
    u = np.asarray(memberships, dtype=np.float64)
    K = u.shape[1]
    if K == 1:
        return 0.0
    logs = np.log(u, out=np.zeros_like(u), where=u > 0)
    return float(np.clip(-np.mean(np.sum(u * logs, axis=1)) / math.log(K), 0.0, 1.0))


def mean_max_membership(memberships: NDArray[np.floating]) -> float:
    """Return the mean over samples (T, K) of the largest membership, in [1/K, 1]."""
    return float(np.mean(np.asarray(memberships, dtype=np.float64).max(axis=1)))


def membership_contrast(memberships: NDArray[np.floating]) -> float:
    """Return (K mean max u - 1) / (K - 1): 0 when all memberships (T, K) are 1/K, 1 when hard; 1 for K = 1."""
    largest, K = mean_max_membership(memberships), np.shape(memberships)[1]
    return 1.0 if K == 1 else (K * largest - 1) / (K - 1)


def dominant_share(labels: NDArray[np.integer]) -> float:
    """Return the share of the most frequent label among labels (T,), T >= 1."""
    _, counts = np.unique(labels, return_counts=True)
    return float(counts.max() / counts.sum())


def diagnose(
    x: NDArray[np.floating], labels: NDArray[np.integer], K: int, memberships: NDArray[np.floating] | None = None
) -> Cause | None:
    """Return the cause if labels (T,) of embeddings x (T, D) are degenerate, or None if they are not.

    An embedding of two samples or more is constant when its relative variance is below `CONSTANT_EMBEDDING`. This is
    checked first: whatever a decoder makes of a constant embedding is noise, and not the decoder's fault.
    A decoder gave every sample the same answer when memberships (T, K) before smoothing are uniform (contrast below
    `UNIFORM_MEMBERSHIP`: the labels are then rounding noise), or when, after smoothing, at least the share
    `DOMINANT_LABEL` of the labels is the same. One label is not a collapse if K = 1, or if there are fewer than K
    samples.
    """
    if len(x) > 1 and relative_variance(x) < CONSTANT_EMBEDDING:
        return "embedding"
    uniform = memberships is not None and membership_contrast(memberships) < UNIFORM_MEMBERSHIP
    if 2 <= K <= len(labels) and (uniform or dominant_share(labels) >= DOMINANT_LABEL):
        return "decoder"
    return None


def combine(diagnoses: Sequence[Cause | None]) -> Cause | None:
    """Sum up the diagnoses of separate videos: degenerate if at least the share `DEGENERATE_VIDEOS` of them is.

    The cause is the more frequent one; on a tie the embedding, which is the first link of the chain.
    """
    causes = [cause for cause in diagnoses if cause]
    if not causes or len(causes) < DEGENERATE_VIDEOS * len(diagnoses):
        return None
    return "embedding" if 2 * causes.count("embedding") >= len(causes) else "decoder"


class _Marks(TypedDict):
    """A diagnosis in the form of ``diagnostics.json``."""

    degenerate: bool
    degenerate_cause: Cause | None


def marks(cause: Cause | None) -> _Marks:
    """Return a diagnosis in the form of ``diagnostics.json``."""
    return {"degenerate": cause is not None, "degenerate_cause": cause}
