"""How soft fuzzy C-means may be before its centres fall together (methods 5.1)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

PAPER_FUZZIFIER = 2.0
# Only all-identical embeddings have no direction at all and reach this bound; 1 itself would divide by zero.
SMALLEST_FUZZIFIER = 1.001
# Sequences longer than the first are processed in pieces of the second, which stay in the cache.
WHOLE, PIECE = 8192, 1024


def direction_eigenvalue(x: NDArray[Any]) -> float:
    """Return lambda_1, the largest eigenvalue of the second-moment matrix of unit directions from the mean.

    With e_t = (x_t - mean) / |x_t - mean| this is the largest eigenvalue of (1/T) sum_t e_t e_t^T: the share
    of all directions that the leading axis holds. k equidistant clusters give 1/(k - 1), a smooth path more
    than 0.5.

    In [1/min(D, T), 1] for embeddings (T, D), T >= 1; 0 when no sample differs from the mean beyond rounding. Samples
    that lie on the mean have no direction and count for nothing. Where it is small, fuzzy C-means may collapse
    whatever the embedding (methods 5.1).
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


def largest_fuzzifier(lambda_1: float) -> float:
    """Return 1 / (1 - 2 lambda_1), the fuzzifier at which "all centres at the mean" becomes stable.

    Moving a centre by a small delta away from the mean brings it back, after one update, at 2 m lambda_1 / (m
    - 1) times delta. The collapsed state attracts when that factor is below 1, which is m above the value
    returned. From lambda_1 = 1/2 on it never attracts and the value is infinite.
    """
    remainder = 1 - 2 * lambda_1
    return 1 / remainder if remainder > 0 else math.inf


def auto_fuzzifier(lambda_1: float) -> float:
    """Return the fuzzifier ``auto``: the paper's 2 where lambda_1 allows it, else half way to the limit.

    m = 2 if 2 < 1/(1 - 2 lambda_1), else min(2, 1 + (1/(1 - 2 lambda_1) - 1)/2). Half way, because at the
    limit itself the update neither leaves nor enters the collapsed state, and 1 would be plain k-means.

    >>> auto_fuzzifier(0.3), auto_fuzzifier(0.2)
    (2.0, 1.3333333333333335)
    """
    limit = largest_fuzzifier(lambda_1)
    if limit > PAPER_FUZZIFIER:
        return PAPER_FUZZIFIER
    return max(SMALLEST_FUZZIFIER, min(PAPER_FUZZIFIER, 1 + (limit - 1) / 2))


def centred(x: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
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
    # The mean of many equal samples differs from them by the rounding of the sum; the first one does not.
    spread = all(any(_largest(piece - centre) > rounding for piece in pieces) for centre in (mean, samples[0]))
    return (samples - mean if spread else np.zeros_like(samples)), mean


def _pieces(x: NDArray[Any]) -> list[NDArray[Any]]:
    size = len(x) if len(x) <= WHOLE else PIECE
    return [x[start : start + size] for start in range(0, len(x), size)]


def _largest(x: NDArray[Any]) -> float:
    """Return max |x| without making a copy."""
    return float(np.maximum(x.max(), -x.min()))
