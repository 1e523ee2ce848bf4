"""The label rules: seconds to native frames."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Literal

import numpy as np
import numpy.typing as npt

LabelRule = Literal["exact", "cnc"]
RULES: tuple[LabelRule, ...] = ("exact", "cnc")

BACKGROUND = 0


def _decimal(seconds: float) -> Fraction:
    # The annotator wrote a decimal: 1.1 s at 30 fps ends before frame 33, yet the double 1.1 is above 33/30.
    return Fraction(repr(float(seconds)))


def frame_range(start_s: float, end_s: float, fps: Fraction, rule: LabelRule) -> tuple[int, int]:
    r"""Return the native frames ``[first, stop)`` of one segment, before cutting to the video.

    ``exact``: frame i has time i / fps and belongs to the segment when :math:`start \le i / fps < end`.
    ``cnc``: :math:`\lfloor start \cdot \lfloor fps \rfloor \rfloor` to
    :math:`\lfloor end \cdot \lfloor fps \rfloor \rfloor`, both included, as the code published with EgoProceL
    (Bansal et al., ECCV 2022) does; its whole-number rate makes labels run early at 59.94 fps.
    """
    if rule == "exact":
        return ceil(_decimal(start_s) * fps), ceil(_decimal(end_s) * fps)
    if rule == "cnc":
        return floor(start_s * int(fps)), floor(end_s * int(fps)) + 1
    raise ValueError(f"rule is {rule!r}; expected one of {', '.join(RULES)}")


def rasterise(
    start_s: npt.ArrayLike,
    end_s: npt.ArrayLike,
    key_step: npt.ArrayLike,
    fps: Fraction,
    n_frames: int,
    rule: LabelRule = "exact",
) -> npt.NDArray[np.int64]:
    """Paint segments onto native frames; where segments overlap, the later row wins.

    Parameters
    ----------
    start_s, end_s
        (S,) segment borders in seconds.
    key_step
        (S,) step ids from 1.
    fps
        Exact native rate, such as ``Fraction(60000, 1001)``.
    n_frames
        Number of native frames of the video.
    rule
        ``exact`` or ``cnc``, see `frame_range`.

    Returns
    -------
    (n_frames,) int64
        Step of every frame, 0 where no segment covers it (background).

    Raises
    ------
    ValueError
        If the lengths differ, a time is not finite, the rate is not positive or the rule is unknown.
    """
    starts, ends = np.asarray(start_s, dtype=np.float64), np.asarray(end_s, dtype=np.float64)
    steps = np.asarray(key_step, dtype=np.int64)
    if not starts.shape == ends.shape == steps.shape or starts.ndim != 1:
        raise ValueError(f"start_s {starts.shape}, end_s {ends.shape}, key_step {steps.shape}; expected three of (S,)")
    if not (np.isfinite(starts).all() and np.isfinite(ends).all()):
        raise ValueError("start_s or end_s is not finite; expected seconds")
    if fps <= 0 or n_frames < 0:
        raise ValueError(f"fps is {fps} and n_frames {n_frames}; expected a positive rate and a count from 0")
    if rule not in RULES:
        raise ValueError(f"rule is {rule!r}; expected one of {', '.join(RULES)}")
    labels = np.full(n_frames, BACKGROUND, dtype=np.int64)
    for start, end, step in zip(starts.tolist(), ends.tolist(), steps.tolist(), strict=True):
        first, stop = frame_range(start, end, fps, rule)
        labels[max(first, 0) : max(stop, 0)] = step
    return labels
