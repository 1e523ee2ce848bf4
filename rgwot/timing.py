"""Time: exact rates, sampled and scored frames, and conversion between segments and labels of frames.

All times are seconds from the start of a video; a segment covers [start_s, end_s).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from rgwot.runtime.errors import RgwotError

if TYPE_CHECKING:
    import pandas as pd


LATE_S = 0.1
"""If the picture begins less than this many seconds after the sound, it counts as in time; codecs may delay sound."""


@dataclass(frozen=True)
class VideoInfo:
    """Facts about the picture track of a video; its size is 0 if unknown."""

    duration_s: float  #: in seconds from the first frame, which is at time 0
    fps: Fraction  #: average frame rate, exact, such as 30000/1001
    width: int = 0  #: in pixels, of the upright picture that a player shows
    height: int = 0
    frames: int | None = None  #: number of frames, if the container states it
    #: Time in seconds at which a player shows the first frame; 0 below `LATE_S`. Annotations and exports use its clock.
    start_s: float = 0.0
    remark: str = ""  #: what is unusual, and what was chosen


def parse_rate(text: str | float | Fraction) -> Fraction:
    """Return a frame rate as an exact fraction.

    A fraction is taken unchanged. A decimal becomes the fraction with a denominator up to 1001 that it approximates, if
    there is one: 29.97002997 is 30000/1001, not a long decimal.

    Raises ValueError if the text is not a positive rate.

    >>> parse_rate("30000/1001"), parse_rate(29.97002997002997), parse_rate("25.0")
    (Fraction(30000, 1001), Fraction(30000, 1001), Fraction(25, 1))
    """
    try:
        rate = Fraction(str(text).strip())
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"fps: got {text!r}, expected a rate like 30 or 30000/1001") from None
    if rate <= 0:
        raise ValueError(f"fps: got {text!r}, expected a positive rate")
    simple = rate.limit_denominator(1001)
    return simple if abs(simple - rate) <= rate / 10**8 else rate


CONTRADICTS = 0.05
"""Largest relative difference between the stated rate and that of the times."""

_DIGITS = 3


def rate_of_times(where: object, times: NDArray[np.float64], stated: Fraction | None) -> Fraction:
    """Return the stated rate of features or, without one, the rate of their times (breaks left out) to three digits.

    Raises RgwotError if both rates exist and differ, or if there is only one time and no stated rate.
    """
    if len(times) < 2:
        if stated is None:
            raise RgwotError(
                f"{where}: found one time only, which gives no rate; expected two or more, or fps as well as times"
            )
        return stated
    gaps = np.diff(times)
    gaps = gaps[gaps < 2 * np.median(gaps)]
    # Distances between sampled frames alternate, so the rate is measured over several frames: up to 64, the same number
    # in all longer videos.
    n = len(gaps) if len(gaps) < 8 else 1 << min(6, (len(gaps) // 4).bit_length() - 1)
    sums = np.cumsum([0, *gaps])
    rate = n / float(np.median(sums[n:] - sums[:-n]))
    if stated is None:
        return short_rate(rate)
    if abs(rate - stated) > CONTRADICTS * stated:
        raise RgwotError(
            f"{where}: times of {rate:g} features per second, but fps is {stated}; expected them to agree; "
            "correct fps, or convert the times to seconds"
        )
    return stated


def short_rate(rate: float | Fraction) -> Fraction:
    """Return a rate to three digits."""
    return parse_rate(round(float(rate), _DIGITS - 1 - math.floor(math.log10(rate))))


def rate_text(value: str | float) -> str:
    """Return a rate of the settings in exact form, like ``30000/1001``; raise ValueError if it is not positive."""
    try:
        return str(parse_rate(value))
    except ValueError:
        raise ValueError("expected a positive rate like 30 or 30000/1001") from None


LabelRule = Literal["exact", "cnc"]
RULES: tuple[LabelRule, ...] = ("exact", "cnc")

BACKGROUND = 0


def frame_range(start_s: float, end_s: float, fps: Fraction, rule: LabelRule) -> tuple[int, int]:
    r"""Return the native frames ``[first, stop)`` of a segment, before cutting to the video.

    ``exact``: frame i has time i / fps and belongs to the segment when :math:`start \le i / fps < end`.
    ``cnc``: :math:`\lfloor start \cdot \lfloor fps \rfloor \rfloor` to
    :math:`\lfloor end \cdot \lfloor fps \rfloor \rfloor`, both included, as the code published with EgoProceL
    (Bansal et al., ECCV 2022) does; its whole-number rate makes labels run early at 59.94 fps.
    """
    if rule == "exact":
        # Annotated times are decimals: 1.1 s at 30 fps ends before frame 33, but the float 1.1 is above 33/30.
        start, end = (Fraction(repr(float(seconds))) for seconds in (start_s, end_s))
        return math.ceil(start * fps), math.ceil(end * fps)
    return math.floor(start_s * int(fps)), math.floor(end_s * int(fps)) + 1


def sample_times(duration_s: float, fps: float | Fraction) -> NDArray[np.float64]:
    """Return the times ``i / fps`` below the duration, at least one for a positive duration.

    ``(T,)`` float64 in seconds; each is a single division, so that rounding errors do not add up.

    >>> sample_times(1.1, 2)
    array([0. , 0.5, 1. ])
    """
    if not (math.isfinite(duration_s) and duration_s >= 0 and fps > 0):
        raise ValueError(f"duration {duration_s} s at {fps} per second, expected a duration >= 0 and a rate > 0")
    count = math.ceil(Fraction(duration_s) * Fraction(fps))
    times = np.arange(count) / float(fps)
    return times[times < duration_s]


def thinned(
    lengths: Sequence[int], most: int, keep: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], tuple[int, ...], NDArray[np.int64]]:
    """Choose every n-th sample of each video, with the smallest n that leaves about ``most`` samples in all.

    Samples to ``keep`` (T,) are chosen, too. Returns the indices of the chosen samples, their number in each video, and
    for every sample the index (among the chosen samples) of the nearest chosen sample of its video.

    >>> chosen, counts, nearest = thinned([5, 2], 4)
    >>> chosen.tolist(), counts, nearest.tolist()
    ([0, 2, 4, 5], (3, 1), [0, 0, 1, 1, 2, 3, 3])
    """
    step = max(1, -(-sum(lengths) // most))
    counts = tuple(-(-n // step) for n in lengths)
    chosen, nearest, first, place = [], [], 0, 0
    for n, count in zip(lengths, counts, strict=True):
        chosen.append(np.arange(first, first + n, step))
        nearest.append(place + np.minimum((np.arange(n) + (step - 1) // 2) // step, count - 1))
        first, place = first + n, place + count
    every = np.concatenate(chosen)
    if keep is None or keep[every].sum() == keep.sum():
        return every, counts, np.concatenate(nearest)
    every = np.union1d(every, np.flatnonzero(keep))
    edges = np.cumsum([0, *lengths])
    places = np.searchsorted(every, edges)
    for video, (start, end) in enumerate(zip(edges, edges[1:], strict=False)):
        here = every[places[video] : places[video + 1]]
        # A sample half-way between two chosen ones gets the earlier one, as above.
        nearest[video] = places[video] + np.searchsorted((here[:-1] + here[1:]) / 2, np.arange(start, end))
    return every, tuple(np.diff(places).tolist()), np.concatenate(nearest)


def repeated_frames(info: VideoInfo, fps: float) -> str:
    """Return a line if a video has fewer frames per second than are sampled, otherwise an empty text.

    >>> repeated_frames(VideoInfo(60.0, Fraction(1, 5)), 2)
    'states 0.2 frames per second, so each counts 10 times at features.fps 2; correct its rate, or lower features.fps'
    """
    if info.fps >= 0.99 * fps:
        return ""
    return (
        f"states {float(info.fps):.3g} frames per second, so each counts {float(fps / info.fps):.3g} times at "
        f"features.fps {fps:g}; correct its rate, or lower features.fps"
    )


def allowed_loss(duration_s: float) -> float:
    """Return how many seconds at the end of a video may be undecodable without a remark: 1 s, or 1 % if longer."""
    return max(1.0, 0.01 * duration_s)


def scoring_frames(duration_s: float, fps: Fraction, stride: int) -> NDArray[np.int64]:
    """Return the scored native frames: k = 0, stride, 2 stride, ... with k / fps below the duration.

    >>> scoring_frames(0.2, Fraction(30), 2)
    array([0, 2, 4])
    """
    # More frames than needed; only those with times below the duration are kept.
    upper = int(Fraction(duration_s) * fps) + 2
    frames = np.arange(0, upper, stride, dtype=np.int64)
    return frames[frame_times(frames, fps) < duration_s]


def frame_times(frames: npt.ArrayLike, fps: Fraction) -> NDArray[np.float64]:
    """Return the times k / fps in seconds, computed from the exact rate with a single rounding.

    A time with few decimals therefore equals the same decimal read from a file: frame 2326 at 25 fps is at 93.04.
    """
    k = np.asarray(frames, dtype=np.int64)
    return (k * fps.denominator) / np.float64(fps.numerator)


def truth_labels(
    start_s: npt.ArrayLike,
    end_s: npt.ArrayLike,
    key_step: npt.ArrayLike,
    frames: NDArray[np.int64],
    fps: Fraction,
    rule: LabelRule,
) -> NDArray[np.int64]:
    """Return the annotated key steps of native frames, 0 without a segment; if segments overlap, the later one counts.

    Segments (S,) have borders in seconds and step ids from 1; ``frames`` (T,) are native frame numbers, increasing,
    from 0; ``fps`` is the exact native rate, such as ``Fraction(60000, 1001)``, and the rule one of `frame_range`.

    >>> truth_labels([0.1], [0.2], [3], np.arange(0, 10, 2), Fraction(30), "exact").tolist()
    [0, 0, 3, 0, 0]
    >>> truth_labels([0.1], [0.2], [3], np.arange(0, 10, 2), Fraction(30), "cnc").tolist()
    [0, 0, 3, 3, 0]
    """
    labels = np.full(int(frames[-1]) + 1 if len(frames) else 0, BACKGROUND, dtype=np.int64)
    for start, end, step in zip(*(np.asarray(part).tolist() for part in (start_s, end_s, key_step)), strict=True):
        first, stop = frame_range(start, end, fps, rule)
        labels[max(first, 0) : max(stop, 0)] = step
    return labels[frames]


def labels_at(segments: pd.DataFrame, times: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the annotated key steps at times (T,) in seconds, 0 without a segment; if two overlap, the later counts.

    ``segments`` has the columns ``start_s,end_s,key_step`` and is of one video.
    """
    labels = np.zeros(len(times), dtype=np.int64)
    for start_s, end_s, key_step in segments[["start_s", "end_s", "key_step"]].to_numpy(dtype=np.float64):
        labels[(times >= start_s) & (times < end_s)] = int(key_step)
    return labels


_EARLY, _NEAR_END = 1 / 3, 2 / 3
# If frames were divided by twice the rate, annotations end at half the length.
_HALF = (0.475, 0.501)
_LONGER_UNITS = {"minutes": 60, "hours": 3600, "days": 86400}


def ends_early(spans: Mapping[str, tuple[float, float]]) -> dict[str, str]:
    """Return a line for each annotation that ends early, as if in another unit; none if this is probably intended.

    ``spans`` has the end of the last segment and the length of each annotated video, in seconds. An annotation ends
    early if its end is in the first third of its video and either would be near the end of the video in another unit,
    or at least as many others end near the ends of their videos. It also ends early if it ends at half of its video,
    and either at least as many others end near the ends of theirs, or all of at least three videos end at half.

    >>> ends_early({"a": (9.8, 600), "b": (590, 600)})["a"]
    'its last segment ends at 9.8 of 600 s; expected seconds; are these minutes? then multiply by 60'
    """
    shares = {name: end_s / length_s for name, (end_s, length_s) in spans.items() if end_s > 0 and length_s > 0}
    early = [name for name, share in shares.items() if share < _EARLY]
    late = sum(share > _NEAR_END for share in shares.values())
    fitting = {
        name: next((unit for unit, factor in _LONGER_UNITS.items() if _NEAR_END < shares[name] * factor <= 1.02), "")
        for name in early
    }
    told = {}
    for name in early:
        found = "its last segment ends at {:.6g} of {:.6g} s; expected seconds".format(*spans[name])
        if (unit := fitting[name]) and (late or all(fitting.values())):
            told[name] = f"{found}; are these {unit}? then multiply by {_LONGER_UNITS[unit]}"
        elif late >= len(early):
            told[name] = f"{found} up to the end of the video, as in other videos; another unit, or coded in part?"
    halves = [name for name, share in shares.items() if _HALF[0] < share < _HALF[1]]
    for name in halves if late >= len(halves) or len(halves) == len(shares) > 2 else ():
        end_s, length_s = spans[name]
        told[name] = (
            f"its last segment ends at {end_s:.6g} of {length_s:.6g} s, half of the video; expected seconds up to its "
            "end; were frames divided by twice their rate? then multiply by 2"
        )
    return told


SILENCES = ("throughout", "until", "only")
"""How time without a segment may be read: as background (``throughout``); as background up to the end of the last
segment and unknown after it (``until``); as anything but the annotated key steps, if only these were looked for
(``only``)."""


def given_labels(segments: pd.DataFrame, times: NDArray[np.float64], silence: str | None = None) -> NDArray[np.int64]:
    """Return the labels of a video at times (T,) in seconds: key steps, 0 for background, -1 for unlabelled time.

    ``segments`` is a table of annotations, ``start_s,end_s,key_step``; key step 0 is background. ``silence`` says how
    time without a segment is read (`SILENCES`); by default, gaps between the first and the last segment are background,
    and time before and after them is unlabelled.
    """
    labels = labels_at(segments, times)
    if len(segments) == 0:
        return np.full(len(times), -1, dtype=np.int64)
    first = segments["start_s"].min() if silence is None else -np.inf
    last = segments["end_s"].max() if silence in (None, "until") else np.inf
    return np.where((times >= first) & (times < last), labels, -1)


TOLERANCE_S = 1e-6


def predicted_labels(
    start_s: npt.ArrayLike, end_s: npt.ArrayLike, key_step: npt.ArrayLike, times: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the decoded labels at scoring times (T,) in seconds.

    The segments (n,) cover the video from 0 without gaps or overlaps, in any order. Adjacent ends and starts may differ
    by `TOLERANCE_S`, and the last segment is extended by as much. Later times, in a video that was decoded only in
    part, are background.

    Raises ValueError when the segments leave a gap or overlap.

    >>> predicted_labels([0, 1.5], [1.5, 3], [2, 0], np.array([0.0, 1.4, 1.5, 2.9])).tolist()
    [2, 2, 0, 0]
    """
    starts, ends = np.asarray(start_s, dtype=np.float64), np.asarray(end_s, dtype=np.float64)
    steps = np.asarray(key_step, dtype=np.int64)
    if starts.size == 0:
        raise ValueError("segments: got none, expected the whole video covered")
    order = np.argsort(starts, kind="stable")
    starts, ends, steps = starts[order], ends[order], steps[order]
    if abs(starts[0]) > TOLERANCE_S:
        raise ValueError(f"segments: got a first start at {starts[0]} s, expected 0")
    jumps = np.abs(starts[1:] - ends[:-1])
    if jumps.size and jumps.max() > TOLERANCE_S:
        at = int(jumps.argmax())
        raise ValueError(f"segments: got {ends[at]} s followed by {starts[at + 1]} s, expected no gap and no overlap")
    labels = steps[np.clip(np.searchsorted(starts, times, side="right") - 1, 0, None)]
    return np.where(times > ends[-1] + TOLERANCE_S, BACKGROUND, labels)


class Segments(NamedTuple):
    """Maximal runs of equal labels: labels, first frames, and the frames after the last, (S,) each."""

    labels: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


def runs(labels: npt.ArrayLike) -> Segments:
    """Divide labels (T,) into maximal runs of equal labels.

    >>> runs([4, 4, 0])
    Segments(labels=array([4, 0]), starts=array([0, 2]), ends=array([2, 3]))
    """
    values = np.asarray(labels, dtype=np.int64)
    borders = np.flatnonzero(np.diff(values)) + 1
    starts = np.concatenate([[0], borders]).astype(np.int64)[: len(values)]
    return Segments(values[starts], starts, np.append(borders, len(values)).astype(np.int64)[: len(starts)])


def label_segments(time_s: NDArray[np.floating], labels: NDArray[np.integer], duration_s: float) -> pd.DataFrame:
    """Return the segments of a video, a table ``start_s,end_s,key_step``, as `label_borders` finds them."""
    edges, steps = label_borders(time_s, labels, duration_s)
    # Imported here, because planning needs this module and should not wait for pandas.
    import pandas as pd

    return pd.DataFrame({"start_s": edges[:-1], "end_s": edges[1:], "key_step": steps})


def label_borders(
    time_s: NDArray[np.floating], labels: NDArray[np.integer], duration_s: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the borders (S + 1,) in seconds and labels (S,) of the segments of a video.

    Borders are half way between samples.
    Times ``time_s`` (T,), T >= 1, increase from 0 to below the duration; ``labels`` (T,) are whole numbers. If the
    samples end early, because the rest of the file could not be decoded, the segments end one usual step after the last
    sample, unless this leaves at most `allowed_loss` of the video.

    Raises ValueError if lengths differ, times do not increase or a sample is outside [0, duration).
    """
    times, values = np.asarray(time_s, dtype=np.float64), np.asarray(labels)
    if times.ndim != 1 or len(times) == 0 or values.shape != times.shape:
        raise ValueError(f"labels: found shapes {times.shape} and {values.shape}, expected one label per sample time")
    if (np.diff(times) <= 0).any() or times[0] < 0 or not times[-1] < duration_s:
        raise ValueError(f"times: found {times[0]} to {times[-1]} s, expected increasing times in [0, {duration_s}) s")
    steps, starts, _ = runs(values)
    before, after = times[starts[1:] - 1], times[starts[1:]]
    end = float(duration_s)
    if len(times) > 1 and end - (end_of_samples := times[-1] + float(np.median(np.diff(times)))) > allowed_loss(end):
        end = end_of_samples
    return np.concatenate([[0.0], before + (after - before) / 2, [end]]), steps
