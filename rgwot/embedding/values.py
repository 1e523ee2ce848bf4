"""Values of vectors that are probably no features: headers, codes for missing values, clocks, and dead stretches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot.runtime.errors import RgwotError

FAR, SPIKE_GAP = 1000.0, 20.0
"""A spike differs from its channel's median by this many median absolute deviations, and by so many times as much as
any usual value; some sensors have spikes of a hundred deviations."""

FAR_CODE, CODE_GAP, RARE = 20.0, 5.0, 0.2
"""The same for a value that occurs several times, like -9999 for missing ones, in less than this share of samples."""

EVEN = 1.5
"""Steps of a clock are nearly equal: the 95th percentile is at most this many times the 5th."""

FEWEST = 10
"""With fewer samples, neither a clock nor a dead stretch is told."""

STILL_SHARE, STILL_FACTOR = 0.2, 5.0
"""A stretch of equal samples is told from this share of a recording on, if it is this many times as long as in most."""

PAUSE_STEPS, PAUSE_SHARE = 10.0, 0.05
"""A pause is told from this many usual steps on, if it also has this share of the recorded time."""


class Values(NamedTuple):
    """What is unusual in a recording: channels like clocks, its longest stretch of equal samples, outliers."""

    samples: int
    clocks: tuple[int, ...]
    still: tuple[int, int]  #: first sample and the sample after the last
    far: str


def check_first_row(where: object, x: NDArray[Any]) -> None:
    """Raise RgwotError if the first of some samples (n, C) lies far from all others, as a header of numbers does."""
    x = np.asarray(x, dtype=np.float64)
    if len(x) < FEWEST:
        return
    rest = x[1:]
    scale = np.abs(rest - np.median(rest, axis=0)).max(axis=0)
    varies = scale > 0
    far = np.abs(x[0] - np.median(rest, axis=0)) > FAR * scale
    if varies.any() and far[varies].all():
        row = ", ".join(f"{value:.12g}" for value in x[0, :3])
        raise RgwotError(
            f"{where}: the first row ({row}) lies far from all others, as a header does (start time and rate, as "
            "Empatica writes them, or years); expected features; remove the header rows"
        )


def values_of(x: NDArray[Any]) -> Values:
    """Return what is unusual in the vectors (T, C) of a recording."""
    x = np.asarray(x, dtype=np.float64)
    T, clocks = len(x), list[int]()
    if T >= FEWEST:
        steps = np.diff(x, axis=0)
        low, high = np.quantile(steps, (0.05, 0.95), axis=0)
        clocks = np.flatnonzero((steps > 0).all(axis=0) & (high <= EVEN * low)).tolist()
    return Values(T, tuple(clocks), _still(x), _far(x))


def _still(x: NDArray[np.float64]) -> tuple[int, int]:
    """Return the longest run of equal samples (T, C), as first sample and the sample after the last."""
    borders = np.concatenate([[0], 1 + np.flatnonzero((np.diff(x, axis=0) != 0).any(axis=1)), [len(x)]])
    longest = int(np.argmax(np.diff(borders)))
    return int(borders[longest]), int(borders[longest + 1])


def _far(x: NDArray[np.float64]) -> str:
    """Return a line on outliers, or an empty text."""
    if len(x) < FEWEST:
        return ""
    deviations = np.abs(x - (median := np.median(x, axis=0)))
    spread, most = np.median(deviations, axis=0), deviations.max(axis=0)
    extreme = deviations > most / 2
    rest = np.where(extreme, 0, deviations).max(axis=0)
    # In a channel that mostly has one value, the other values are no outliers.
    rare = (spread > 0) & (extreme.mean(axis=0) < RARE)
    spike = (most > FAR * spread) & (most > SPIKE_GAP * rest)
    first = x[np.argmax(extreme, axis=0), np.arange(x.shape[1])]
    same = (extreme <= (x == first)).all(axis=0) & (extreme.sum(axis=0) > 2)
    code = same & (most > FAR_CODE * spread) & (most > CODE_GAP * rest)
    channels = np.flatnonzero(rare & (spike | code))
    if not channels.size:
        return ""
    rows = extreme[:, channels].any(axis=1)
    sample, channel = int(np.argmax(extreme[:, channels[0]])), int(channels[0])
    return (
        f"{int(rows.sum())} of {len(x)} samples lie far from all others, such as {x[sample, channel]:g} in sample "
        f"{sample}, channel {channel} (median {median[channel]:g}); a code for missing values, or a spike? leave these "
        "samples out, or interpolate them"
    )


def unusual(
    recordings: Mapping[str, Values], times: Mapping[str, NDArray[np.float64] | None], names: Sequence[str] = ()
) -> dict[str, list[str]]:
    """Return lines on what is unusual by recording, and on the whole task by an empty name.

    ``names`` are those of the channels. A clock rises in every recording, and a stretch is dead compared with others.
    """
    told: dict[str, list[str]] = {}
    clocks = [set(values.clocks) for values in recordings.values()]
    for channel in sorted(set.intersection(*clocks)) if len(clocks) > 1 else ():
        called = repr(names[channel]) if channel < len(names) else f"{channel}"
        line = (
            f"channel {called} rises in nearly equal steps in every recording, like a clock or row numbers, which give "
        )
        told.setdefault("", []).append(f"{line}the order away; remove it, or set `times` to it if it has seconds")
    shares = {name: (values.still[1] - values.still[0]) / max(values.samples, 1) for name, values in recordings.items()}
    for name, values in recordings.items():
        lines = [values.far] if values.far else []
        first, after = values.still
        others = [share for other, share in shares.items() if other != name]
        usual = float(np.median(others)) if others else 0.0
        if after - first >= FEWEST and shares[name] >= max(STILL_SHARE, STILL_FACTOR * usual):
            lines.append(
                f"samples {first} to {after - 1} of {values.samples} are equal; was the sensor off, or never written? "
                "leave the recording, or this part, out"
            )
        when = times.get(name)
        if when is not None and len(when) > 2 and (line := _pause(when)):
            lines.append(line)
        if lines:
            told[name] = lines
    return told


def _pause(times: NDArray[np.float64]) -> str:
    steps = np.diff(times)
    usual, longest = float(np.median(steps)), int(np.argmax(steps))
    recorded = float(steps[steps < PAUSE_STEPS * usual].sum())
    if steps[longest] < max(PAUSE_STEPS * usual, PAUSE_SHARE * recorded):
        return ""
    return (
        f"times: no feature from {times[longest]:g} to {times[longest + 1]:g} s; this pause counts as a part of the "
        "key steps around it, so that their durations are too long; divide the recording, or close the gap in `times`"
    )
