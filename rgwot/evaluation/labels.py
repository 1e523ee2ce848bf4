"""Frame labels at the scoring times: true ones from annotations, predicted ones from decoded segments."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from rgwot.datasets.rasterise import LabelRule, rasterise
from rgwot.evaluation.metrics import IntArray

STRIDE = 2
FloatArray = npt.NDArray[np.float64]


def scoring_frames(duration_s: float, fps: Fraction, stride: int = STRIDE) -> IntArray:
    """Return the native frames that are scored: k = 0, stride, 2 stride, ... with k / fps below the duration.

    >>> scoring_frames(0.2, Fraction(30))
    array([0, 2, 4])
    """
    if not (math.isfinite(duration_s) and duration_s > 0):
        raise ValueError(f"duration_s: got {duration_s}, expected a positive number of seconds")
    if stride < 1:
        raise ValueError(f"stride: got {stride}, expected 1 or more")
    # One more than could be needed; the comparison of times decides, so that it is the same one everywhere.
    upper = int(Fraction(duration_s) * fps) + 2
    frames = np.arange(0, upper, stride, dtype=np.int64)
    return frames[frame_times(frames, fps) < duration_s]


def frame_times(frames: npt.ArrayLike, fps: Fraction) -> FloatArray:
    """Return the times k / fps in seconds, from the exact rate with a single rounding.

    A time that is a short decimal then equals that decimal as read from a file: frame 2326 at 25 fps is
    93.04.
    """
    k = np.asarray(frames, dtype=np.int64)
    return (k * fps.denominator) / np.float64(fps.numerator)


def truth_labels(
    start_s: npt.ArrayLike,
    end_s: npt.ArrayLike,
    key_step: npt.ArrayLike,
    frames: IntArray,
    fps: Fraction,
    rule: LabelRule,
) -> IntArray:
    """Return the annotated key step of the given native frames; a later segment wins, 0 where there is none.

    Parameters
    ----------
    start_s, end_s, key_step
        (n,) segments in the order of the annotation file, seconds and steps from 1.
    frames
        (T,) native frame numbers, increasing, from 0.
    fps
        Exact native rate.
    rule
        ``exact`` (start <= k / fps < end) or ``cnc`` (both ends included, whole-number rate), see
        `rgwot.datasets.rasterise.frame_range`.

    Returns
    -------
    (T,) labels.

    Examples
    --------
    >>> truth_labels([0.1], [0.2], [3], np.arange(0, 10, 2), Fraction(30), "exact").tolist()
    [0, 0, 3, 0, 0]
    >>> truth_labels([0.1], [0.2], [3], np.arange(0, 10, 2), Fraction(30), "cnc").tolist()
    [0, 0, 3, 3, 0]
    """
    count = int(frames[-1]) + 1 if len(frames) else 0
    return rasterise(start_s, end_s, key_step, fps, count, rule)[frames]


def predicted_labels(
    start_s: npt.ArrayLike,
    end_s: npt.ArrayLike,
    key_step: npt.ArrayLike,
    times: FloatArray,
    tolerance_s: float = 1e-6,
) -> IntArray:
    """Look up the decoded label at every scoring time.

    Parameters
    ----------
    start_s, end_s, key_step
        (n,) segments that cover the video from 0 without gaps or overlaps, in any order.
    times
        (T,) seconds. A time behind the last segment by less than the tolerance belongs to the last segment.
    tolerance_s
        How far, in seconds, neighbouring ends and starts may lie apart.

    Returns
    -------
    (T,) labels.

    Raises
    ------
    ValueError
        When the segments leave a gap, overlap, or do not reach the last time.

    Examples
    --------
    >>> predicted_labels([0, 1.5], [1.5, 3], [2, 0], np.array([0.0, 1.4, 1.5, 2.9])).tolist()
    [2, 2, 0, 0]
    """
    starts, ends = np.asarray(start_s, dtype=np.float64), np.asarray(end_s, dtype=np.float64)
    steps = np.asarray(key_step, dtype=np.int64)
    if starts.size == 0:
        raise ValueError("segments: got none, expected the whole video covered")
    order = np.argsort(starts, kind="stable")
    starts, ends, steps = starts[order], ends[order], steps[order]
    if abs(starts[0]) > tolerance_s:
        raise ValueError(f"segments: got a first start at {starts[0]} s, expected 0")
    jumps = np.abs(starts[1:] - ends[:-1])
    if jumps.size and jumps.max() > tolerance_s:
        at = int(jumps.argmax())
        raise ValueError(f"segments: got {ends[at]} s followed by {starts[at + 1]} s, expected no gap and no overlap")
    if times.size and times[-1] > ends[-1] + tolerance_s:
        raise ValueError(f"segments: got an end at {ends[-1]} s, expected one after the last scored time {times[-1]} s")
    return steps[np.clip(np.searchsorted(starts, times, side="right") - 1, 0, None)]
