"""Values of vectors that are probably no features: headers, codes for missing values, clocks, and dead stretches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot.columns import readable
from rgwot.runtime.errors import RgwotError

FAR, SPIKE_GAP = 1000.0, 20.0
"""A spike differs from its channel's median by `FAR` median absolute deviations, and by `SPIKE_GAP` times as much as
any usual value; some sensors have spikes of a hundred deviations."""

FAR_CODE, CODE_GAP, RARE = 20.0, 5.0, 0.2
"""Limits as for a spike, for one value that occurs several times, such as -9999 for missing samples. Above the share
`RARE` of samples, 0 is not such a value, because many sensors show 0 at rest."""

EVEN, LINEAR = 1.5, 0.99
"""Steps of a clock are nearly equal, the 95th percentile at most `EVEN` times the 5th; or the clock is nearly a
straight line, with a squared correlation of at least `LINEAR`."""

FEWEST = 10
"""With fewer samples, neither a clock nor a dead stretch is reported."""

WRAPS = 0.05
"""A clock that starts again, as after a minute, does so in at most this share of its steps."""

STILL_SHARE, STILL_FACTOR, STILL = 0.1, 5.0, 1e-4
"""A stretch of equal samples is reported if it has this share of a recording, and is this many times as long as the
longest one in most recordings, or as any other one of this recording. Samples are equal if they differ by at most this
share of the range of most samples."""

STILL_CHANNEL, RARELY_EQUAL, FEW_CHANNELS = 0.25, 0.02, 64
"""A channel that is constant for the share `STILL_CHANNEL` of a recording is reported if usually, in the others, it is
constant for at most the share `RARELY_EQUAL`, and if there are at most `FEW_CHANNELS` channels: networks have channels
that are rarely active."""

FEWEST_CODES, MOST_CODES = 3, 50
"""A channel may hold labels if it has `FEWEST_CODES` to `MOST_CODES` different whole numbers, each for `FEWEST` samples
at a time, and other channels have measured values."""

BRIEF_S, LONG_S = 1.0, 86400.0
"""In seconds: recordings are doubted if all of them are shorter than the first, or one is longer than the second."""

UNUSUAL, FEWEST_LENGTHS = 3.0, 4
"""A recording is far longer than the others if it has at least `UNUSUAL` times the median length, and far shorter if
the median is at least `UNUSUAL` times its length. With fewer than `FEWEST_LENGTHS` recordings, no median is used."""
NAMED = 3
"""A warning names this many videos, and counts the others."""

SKETCHED, TOGETHER, FEWEST_PARTS, IN_COMMON = 64, 4, 16, 0.9
"""The sketch of a recording consists of the 64 smallest hashes of its parts of 4 samples. Two recordings have samples
in common if they share 90 % of the shorter sketch; sketches of fewer than 16 parts are not compared."""

FEW_SHARE = 20
"""A part that more recordings than this have in common is ignored."""

PAUSE_STEPS, PAUSE_SHARE = 10.0, 0.05
"""A pause is reported if it lasts this many usual steps, and this share of the recorded time."""


class Values(NamedTuple):
    """What is unusual in a recording: channels like clocks or labels, its longest stretch of equal samples, outliers.

    ``far`` is a line on outliers or lost samples, or an empty text.

    ``next_still`` is the length of the second longest stretch, ``still_channels`` has the longest of each channel, and
    ``sketch`` has hashes by which recordings with samples in common are found (`SKETCHED`).
    """

    samples: int
    clocks: tuple[int, ...]
    still: tuple[int, int]  #: first sample and the sample after the last
    far: str
    next_still: int = 0
    still_channels: tuple[tuple[int, int], ...] = ()
    codes: tuple[int, ...] = ()  #: channels like labels
    sketch: tuple[int, ...] = ()


def check_first_row(where: object, x: NDArray[Any]) -> None:
    """Raise RgwotError if the first of some samples (n, C) lies far from all others, as a header of numbers does."""
    x = np.asarray(x, dtype=np.float64)
    if len(x) < FEWEST:
        return
    first, rest = x[0], x[1:]
    scale = np.abs(rest - np.median(rest, axis=0)).max(axis=0)
    varies = scale > 0
    far = np.abs(first - np.median(rest, axis=0)) > FAR * scale
    # Column numbers, years and rates are integers; measured values are not.
    whole = bool((first == np.round(first)).all()) and not (rest == np.round(rest)).all(axis=1).any()
    outside = ((first < rest.min(axis=0)) | (first > rest.max(axis=0))).all() and first.any()
    counted = len(first) > 1 and bool((np.diff(first) == 1).all())
    if (varies.any() and far[varies].all()) or (whole and (outside or counted)):
        row = ", ".join(f"{value:.12g}" for value in first[:3])
        raise RgwotError(
            f"{where}: the first row ({row}) lies far from all others, as a header does (start time and rate, as "
            "Empatica writes them, or years); expected features; remove the header rows"
        )


def values_of(x: NDArray[Any]) -> Values:
    """Return what is unusual in the vectors (T, C) of a recording."""
    x = np.asarray(x, dtype=np.float64)
    clocks = np.flatnonzero(_clocks(x) | _clocks(-x)).tolist() if len(x) >= FEWEST else []
    equal = np.abs(np.diff(x, axis=0)) <= STILL * np.ptp(np.quantile(x, (0.1, 0.9), axis=0), axis=0)
    (still, following), *_ = _longest(equal.all(axis=1)[:, None], 2)
    alone = [runs[0] for runs in _longest(equal)] if x.shape[1] <= FEW_CHANNELS else []
    far = _far(x) or _empty(x)
    sketch = _sketch(x)
    return Values(len(x), tuple(clocks), still, far, following[1] - following[0], tuple(alone), _codes(x), sketch)


def _sketch(x: NDArray[np.float64]) -> tuple[int, ...]:
    """Return the smallest hashes of parts of `TOGETHER` samples of a recording (T, C), in order."""
    if len(x) < TOGETHER:
        return ()
    rng = np.random.default_rng(0)
    # Odd factors, so that no bit of a product is lost.
    channels, places = (
        rng.integers(2**63, size=n, dtype=np.uint64) * np.uint64(2) + np.uint64(1) for n in (x.shape[1], TOGETHER)
    )
    bits = np.ascontiguousarray(x + 0.0).view(np.uint64)
    samples = _mixed(_mixed(bits) @ channels)
    parts = np.lib.stride_tricks.sliding_window_view(samples, TOGETHER) @ places
    return tuple(np.unique(_mixed(parts))[:SKETCHED].tolist())


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers in which every bit depends on all bits of the given ones (the finaliser of SplitMix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _sharing(recordings: Mapping[str, Values]) -> list[tuple[str, str]]:
    """Return the pairs of recordings whose sketches share a part that few other recordings have."""
    having = defaultdict[int, list[str]](list)
    for name, values in recordings.items():
        for part in values.sketch:
            having[part].append(name)
    few = (names for names in having.values() if len(names) <= FEW_SHARE)
    return list(dict.fromkeys(pair for names in few for pair in combinations(names, 2)))


def _in_common(one: Values, other: Values) -> bool:
    """Return whether most of the shorter of two recordings is a part of the other; False for equal lengths."""
    if one.samples == other.samples or not one.sketch or not other.sketch:
        return False
    # Both sketches are complete only up to the smaller of their largest hashes.
    limit = min(one.sketch[-1], other.sketch[-1])
    mine, theirs = ({part for part in values.sketch if part <= limit} for values in (one, other))
    fewer = min(len(mine), len(theirs))
    return fewer >= FEWEST_PARTS and len(mine & theirs) >= IN_COMMON * fewer


def _empty(x: NDArray[np.float64]) -> str:
    """Return a warning if some samples of x (T, C) are all zeros and no other sample has a 0, or an empty text."""
    empty = (x == 0).all(axis=1)
    scattered = np.count_nonzero(np.diff(empty)) >= 2 * FEWEST_CODES and empty.mean() < 0.5
    if not scattered or x.shape[1] < 2 or not x[~empty].all():
        return ""
    return (
        f"{int(empty.sum())} of {len(x)} samples are 0 in every channel, such as sample {int(np.argmax(empty))}, and "
        "no other sample has a 0; were they lost? leave these samples out, or interpolate them"
    )


def _codes(x: NDArray[np.float64]) -> tuple[int, ...]:
    """Return which channels of samples (T, C) hold a few whole numbers in long runs, if others do not.

    If exactly one of several channels is 1 in every sample, and the others are 0, they hold one such number together.
    """
    whole = (x == np.round(x)).all(axis=0)
    if whole.all():
        return ()
    flags = np.flatnonzero(((x == 0) | (x == 1)).all(axis=0))
    if (x[:, flags].sum(axis=1) == 1).all() and _like_labels(x[:, flags].argmax(axis=1)):
        return tuple(flags.tolist())
    return tuple(channel for channel in np.flatnonzero(whole).tolist() if _like_labels(x[:, channel]))


def _like_labels(x: NDArray[Any]) -> bool:
    """Return whether whole numbers (T,) are few, and in long runs."""
    few = FEWEST_CODES <= len(np.unique(x)) <= MOST_CODES
    return bool(few and FEWEST * (1 + np.count_nonzero(np.diff(x))) <= len(x))


def _clocks(x: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which channels (C,) of samples (T, C) rise like a clock."""
    steps, count = np.diff(x, axis=0), np.arange(len(x)) - (len(x) - 1) / 2
    rises, spread = steps > 0, x.std(axis=0)
    always = np.asarray(rises.all(axis=0))
    found = always.copy()
    if always.any():
        low, high = np.quantile(steps, (0.05, 0.95), axis=0)
        line = np.square(count @ x / len(x)) >= LINEAR * np.square(spread * count.std())
        found &= (high <= EVEN * low) | line
    nearly = (steps >= 0).all(axis=0) | (rises.mean(axis=0) >= 1 - WRAPS)
    for channel in np.flatnonzero(nearly & ~always & (spread > 0)):
        own, there = steps[:, channel], np.flatnonzero(steps[:, channel])
        if (own >= 0).all():
            # A clock in whole seconds, each of which several samples share.
            found[channel] = len(there) >= FEWEST and _even(own[there]) and _even(np.diff(there), 1)
        else:
            falls = own <= 0
            found[channel] = _even(own[~falls]) and bool((own[falls] < -FEWEST * np.median(own[~falls])).all())
    return np.asarray(found)


def _even(steps: NDArray[Any], rounding: int = 0) -> bool:
    """Return whether most steps are nearly equal, or differ only by rounding."""
    low, high = np.quantile(steps, (0.05, 0.95))
    return bool(high <= max(EVEN * low, low + rounding))


def _longest(equal: NDArray[np.bool_], count: int = 1) -> list[list[tuple[int, int]]]:
    """Return, for each column (T - 1, C), the longest runs of equal samples (first sample, sample after the last).

    A run of a single sample means that no samples are equal.
    """
    longest = []
    for own in equal.T:
        borders = np.concatenate([[0], 1 + np.flatnonzero(~own), [len(own) + 1]])
        order = np.argsort(-np.diff(borders), kind="stable")[:count]
        runs = [(int(borders[at]), int(borders[at + 1])) for at in order]
        longest.append(runs + [(0, 0)] * (count - len(runs)))
    return longest


def _far(x: NDArray[np.float64]) -> str:
    """Return a line on outliers, or an empty text."""
    if len(x) < FEWEST:
        return ""
    deviations = np.abs(x - (median := np.median(x, axis=0)))
    spread, most = np.median(deviations, axis=0), deviations.max(axis=0)
    extreme = deviations > most / 2
    rest = np.where(extreme, 0, deviations).max(axis=0)
    # In a channel that mostly has one value, the other values are not outliers.
    rare = (spread > 0) & (extreme.mean(axis=0) < RARE)
    spike = (most > FAR * spread) & (most > SPIKE_GAP * rest)
    first = x[np.argmax(extreme, axis=0), np.arange(x.shape[1])]
    same = (extreme <= (x == first)).all(axis=0) & (extreme.sum(axis=0) > 2)
    code = same & (most > FAR_CODE * spread) & (most > CODE_GAP * rest)
    found = rare & (spike | code)
    for channel in np.flatnonzero(~found).tolist():
        for value in (x[:, channel].min(), x[:, channel].max()):
            often = x[:, channel] == value
            if value and often.mean() >= RARE and _is_code(value, x[~often, channel]):
                found[channel], extreme[:, channel], median[channel] = True, often, np.median(x[~often, channel])
    if not (channels := np.flatnonzero(found)).size:
        return ""
    rows = extreme[:, channels].any(axis=1)
    sample, channel = int(np.argmax(extreme[:, channels[0]])), int(channels[0])
    return (
        f"{int(rows.sum())} of {len(x)} samples lie far from all others, such as {x[sample, channel]:g} in sample "
        f"{sample}, channel {channel} (median {median[channel]:g}); a code for missing values, or a spike? leave these "
        "samples out, or interpolate them"
    )


def _is_code(value: float, others: NDArray[np.float64]) -> bool:
    """Return whether a frequent value lies far from all other values of its channel."""
    if len(others) < FEWEST:
        return False
    deviations = np.abs(others - np.median(others))
    gap = abs(value - float(np.median(others)))
    return bool(gap > FAR_CODE * np.median(deviations) > 0 and gap > CODE_GAP * deviations.max())


def unusual(
    recordings: Mapping[str, Values], times: Mapping[str, NDArray[np.float64] | None], names: Sequence[str] = ()
) -> dict[str, list[str]]:
    """Return lines on what is unusual, by the name of a recording, or by an empty name for the whole task.

    ``names`` are those of the channels. A channel is a clock only if it rises or falls like a clock in every recording,
    and a stretch is dead only in comparison with other stretches or recordings.
    """
    told: dict[str, list[str]] = {}
    clocks = [set(values.clocks) for values in recordings.values()]
    for channel in sorted(set.intersection(*clocks)) if len(clocks) > 1 else ():
        line = (
            f"channel {_called(channel, names)} rises or falls in nearly equal steps in every recording, like a "
            "clock or row numbers, which give "
        )
        told.setdefault("", []).append(f"{line}the order away; remove it, or set `times` to it if it has seconds")
    codes = [set(values.codes) for values in recordings.values()]
    for channel in sorted(set.intersection(*codes)) if len(codes) > 1 else ():
        told.setdefault("", []).append(
            f"channel {_called(channel, names)} has a few whole numbers in long runs in every recording, like labels; "
            "if they are the annotation, remove it, because it gives the answer away"
        )
    shares = {name: (values.still[1] - values.still[0]) / max(values.samples, 1) for name, values in recordings.items()}
    for name, values in recordings.items():
        lines = [values.far] if values.far else []
        first, after = values.still
        still = after - first >= FEWEST and shares[name] >= STILL_SHARE
        if still:
            others = [share for other, share in shares.items() if other != name]
            usual = float(np.median(others)) if others else 0.0
            still = shares[name] >= STILL_FACTOR * usual or after - first >= STILL_FACTOR * values.next_still
        if values.far:
            pass  # such values are often repeated
        elif still:
            lines.append(
                f"samples {first} to {after - 1} of {values.samples} are equal; was the sensor off, or was nothing "
                "written? leave the recording, or this part, out"
            )
        else:
            lines += _still_channels(name, recordings, names)
        when = times.get(name)
        if when is not None and len(when) > 2 and (line := _pause(when)):
            lines.append(line)
        if lines:
            told[name] = lines
    for name, other in _sharing(recordings):
        if _in_common(recordings[name], recordings[other]):
            line = f"most of its samples, or most samples of {name}, are in both, as if both were one; leave one out"
            told.setdefault(other, []).append(line)
    return told


def unlikely_lengths(lengths_s: Collection[float]) -> str:
    """Return a line if recordings of these lengths in seconds are too short or too long together, or an empty text.

    >>> unlikely_lengths([4e-8, 5e-8])
    'recordings last at most 5e-08 s; expected the longest to last 1 s to 24 hours; give times in seconds, and rates \
per second'
    >>> unlikely_lengths([60, 70])
    ''
    """
    longest = max(lengths_s, default=BRIEF_S)
    if BRIEF_S <= longest <= LONG_S:
        return ""
    last = f"at most {longest:.3g} s" if longest < BRIEF_S else f"up to {longest / 3600:,.3g} hours"
    expected = "expected the longest to last 1 s to 24 hours; give times in seconds, and rates per second"
    return f"recordings last {last}; {expected}"


def usual_length(lengths: Collection[float]) -> float:
    """Return the median length of recordings, or NaN if there are too few to know it."""
    return float(np.median(list(lengths))) if len(lengths) >= FEWEST_LENGTHS else float("nan")


def unusual_lengths(lengths_s: Mapping[str, float], usual_s: float) -> dict[str, str]:
    """Return ``longer`` or ``shorter`` for each recording far longer or shorter than the usual length in seconds.

    >>> unusual_lengths({"a": 60.0, "b": 64.0, "c": 20.0, "d": 264.0}, usual_s=62.0)
    {'c': 'shorter', 'd': 'longer'}
    """
    longer = {name: "longer" for name, length in lengths_s.items() if length >= UNUSUAL * usual_s}
    shorter = {name: "shorter" for name, length in lengths_s.items() if UNUSUAL * length <= usual_s}
    return {name: (longer | shorter)[name] for name in lengths_s if name in longer or name in shorter}


SHOWS = {"longer": "task alone", "shorter": "whole task"}
"""What to check in a recording that is far longer or shorter than the others."""


def on_lengths(lengths_s: Mapping[str, float]) -> list[str]:
    """Return warnings that name the recordings far longer or shorter than the others.

    >>> on_lengths({"a": 60.0, "b": 64.0, "c": 66.0, "d": 264.0})
    ['1 of 4 videos is far longer than the others (median 65 s): d 264 s; check that it shows the task alone']
    """
    usual_s = usual_length(lengths_s.values())
    found, lines = unusual_lengths(lengths_s, usual_s), []
    for word, what in SHOWS.items():
        named = [f"{readable(name)} {lengths_s[name]:.3g} s" for name, which in found.items() if which == word]
        if named:
            more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
            are, show = ("is", "it shows") if len(named) == 1 else ("are", "they show")
            lines.append(
                f"{len(named)} of {len(lengths_s)} videos {are} far {word} than the others (median {usual_s:.3g} s): "
                f"{', '.join(named[:NAMED])}{more}; check that {show} the {what}"
            )
    return lines


def _called(channel: int, names: Sequence[str]) -> str:
    return repr(names[channel]) if channel < len(names) else f"{channel}"


def _still_channels(name: str, recordings: Mapping[str, Values], names: Sequence[str]) -> list[str]:
    """Return lines on channels that stand still for long in one recording and never in the others."""
    mine, lines = recordings[name], []
    for channel, (first, after) in enumerate(mine.still_channels):
        # First, because a comparison of all recordings with all others takes long.
        if after - first < max(FEWEST, STILL_CHANNEL * mine.samples):
            continue
        shares = [
            (values.still_channels[channel][1] - values.still_channels[channel][0]) / values.samples
            for other, values in recordings.items()
            if other != name and values.samples and channel < len(values.still_channels)
        ]
        if shares and float(np.median(shares)) <= max(RARELY_EQUAL, 2 / mine.samples):
            lines.append(
                f"channel {_called(channel, names)} does not change from sample {first} to {after - 1} of "
                f"{mine.samples}, but does in other recordings; was the sensor off? leave the recording out"
            )
    return lines[:1]


def _pause(times: NDArray[np.float64]) -> str:
    steps = np.diff(times)
    usual, longest = float(np.median(steps)), int(np.argmax(steps))
    recorded = float(steps[steps < PAUSE_STEPS * usual].sum())
    if steps[longest] < max(PAUSE_STEPS * usual, PAUSE_SHARE * recorded):
        return ""
    return (
        f"times: no feature from {times[longest]:g} to {times[longest + 1]:g} s; this pause counts as a part of the "
        "key steps around it, so their durations are too long; divide the recording, or close the gap in `times`"
    )
