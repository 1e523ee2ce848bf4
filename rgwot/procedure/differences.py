"""What each video does differently from a procedure: the least that explains it, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rgwot.procedure.interface import Deviation, Event, Procedure, Recording
from rgwot.procedure.orders import SUBSTANTIAL, placed

if TYPE_CHECKING:
    from rgwot.procedure.orders import Booleans

USUAL_FROM = 0.5
"""Share of videos from which a key step is missing where it is absent."""
UNUSUAL_BELOW = 1 / 3
"""Share of videos below which a key step is added where it is present, and repeated where it is there once more."""
SURE_FROM = 1 / 3
"""Confidence from which breaking a need is a deviation."""


def deviations(procedure: Procedure, recordings: Sequence[Recording]) -> list[Deviation]:
    """Compare recordings with a procedure.

    Parameters
    ----------
    procedure
        Learned from these recordings or from others.
    recordings
        In the order of the answer; within a video deviations go by time.

    Notes
    -----
    *Missing*: a key step that at least `USUAL_FROM` of the videos have, absent. *Added*: an event of a key step that
    less than `UNUSUAL_BELOW` have, or that the procedure does not know. *Repeated*: every event of a key step but the
    one that gives its place (`fitting`), where less than `UNUSUAL_BELOW` of the videos that have it show it more than
    once. *Too early*,
    *too late*: a key step of the smallest set without which no need is broken (`least`), before something it needs, or
    after something that needs it; needs count as far as they have a confidence of at least `SURE_FROM`.

    Surprise is −log2 of a share, estimated with half a video more on either side (Jeffreys): of videos without it,
    with it, with repeats; for order, of the largest share of videos that violate one of the needs that are violated.
    """
    nodes = {node.key_step: node for node in procedure.nodes}
    n_videos = procedure.n_videos
    needs = _needs(procedure)
    place = {step: at for at, step in enumerate(procedure.order)}
    found: list[Deviation] = []
    for recording in recordings:
        first = fitting(needs, recording)
        of_video: list[Deviation] = []
        for event in recording.events:
            node = nodes.get(event.key_step)
            if node is None or node.share < UNUSUAL_BELOW:
                bits = surprise(node.n_videos if node else 0, n_videos)
                of_video.append(Deviation(recording.video, "added", *event, bits))
            elif event is not first[event.key_step] and node.repeat_share < UNUSUAL_BELOW:
                bits = surprise(round(node.repeat_share * node.n_videos), node.n_videos)
                of_video.append(Deviation(recording.video, "repeated", *event, bits))
        broken = [need for need in needs if _breaks(need, first)]
        moved = set(least([(need.before, need.after) for need in broken], sorted(place, key=place.__getitem__)))
        for step in moved:
            # Of needs between two that were moved nothing is said.
            early = [need.bits for need in broken if need.after == step and need.before not in moved]
            late = [need.bits for need in broken if need.before == step and need.after not in moved]
            bits = min([*early, *late])
            of_video.append(Deviation(recording.video, "too_early" if early else "too_late", *first[step], bits))
        for node in procedure.nodes:
            if node.share >= USUAL_FROM and node.key_step not in first and recording.events:
                step = node.key_step
                ends = [first[need.before].end_s for need in needs if need.after == step and need.before in first]
                starts = [first[need.after].start_s for need in needs if need.before == step and need.after in first]
                start, end = max(ends, default=0.0), min(starts, default=recording.duration_s)
                bits = surprise(n_videos - node.n_videos, n_videos)
                of_video.append(Deviation(recording.video, "missing", step, min(start, end), end, bits))
        found += sorted(of_video, key=lambda one: (one.start_s, one.end_s, one.key_step, one.kind))
    return found


def out_of_order(procedure: Procedure, recordings: Sequence[Recording]) -> set[tuple[str, int]]:
    """Return video and key step of both sides of every need that is broken, as people annotate errors of order.

    Here the first event that is long enough gives a key step its place (`rgwot.procedure.orders.placed`).
    """
    needs, found = _needs(procedure), set()
    for recording in recordings:
        first = placed(recording)
        for need in needs:
            if _breaks(need, first):
                found |= {(recording.video, need.before), (recording.video, need.after)}
    return found


def least(broken: Sequence[tuple[int, int]], order: Sequence[int]) -> list[int]:
    """Return the smallest set of key steps of which every broken need (before, after) has one.

    Needs that a video breaks are a partial order, too: that of the procedure, as far as the video turns it round. What
    may stay is its largest antichain, found by matching (Dilworth, 1950; Fulkerson, 1956). Of several the one that
    keeps what comes first in ``order``.

    >>> least([(1, 4), (1, 5), (2, 4), (2, 5), (3, 4), (3, 5)], [1, 2, 3, 4, 5]), least([(2, 3)], [1, 2, 3])
    ([4, 5], [3])
    """
    steps = [step for step in order if any(step in need for need in broken)]
    left = np.array([[(one, other) in set(broken) for other in steps] for one in steps], dtype=bool)
    left = left.reshape(len(steps), len(steps))
    against = left | left.T
    free = np.ones(len(steps), dtype=bool)
    kept: list[int] = []
    while free.any():
        most = _width(left, free)
        # Some largest antichain has the first one that still allows as many beside it.
        for one in np.flatnonzero(free):
            beside = free & ~against[one]
            beside[one] = False
            if 1 + _width(left, beside) == most:
                kept.append(int(one))
                free = beside
                break
    return [step for at, step in enumerate(steps) if at not in kept]


def _width(relation: Booleans, among: Booleans) -> int:
    """Return the size of the largest antichain of a partial order among some of its elements."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    own = relation[np.ix_(among, among)]
    return len(own) - int((maximum_bipartite_matching(csr_array(own)) >= 0).sum()) if len(own) else 0


class _Need(NamedTuple):
    """A need that counts, and how surprising it is to break it, in bits."""

    before: int
    after: int
    bits: float


def _needs(procedure: Procedure) -> list[_Need]:
    return [
        _Need(int(need.before), int(need.after), surprise(need.both - need.agree, need.both))
        for need in procedure.needs
        if need.confidence >= SURE_FROM
    ]


def _breaks(need: _Need, first: Mapping[int, Event]) -> bool:
    before, after = first.get(need.before), first.get(need.after)
    return before is not None and after is not None and before[1:] > after[1:]


def fitting(needs: Sequence[_Need], recording: Recording) -> dict[int, Event]:
    """Return the event that gives each key step its place: of those long enough, the one that breaks fewest needs.

    Long enough are those that last at least half as long as its longest one; of equals the first counts, as in
    `rgwot.procedure.orders.placed`. Key steps are decided one after the other, by time.
    """
    first = placed(recording)
    longest = {step: event.end_s - event.start_s for step, event in first.items()}
    for event in recording.events:
        longest[event.key_step] = max(longest[event.key_step], event.end_s - event.start_s)
    for step in first:
        own = [
            event
            for event in recording.events
            if event.key_step == step and event.end_s - event.start_s >= SUBSTANTIAL * longest[step]
        ]
        if len(own) > 1:
            about = [need for need in needs if step in need[:2]]
            first[step] = min(own, key=lambda event: sum(_breaks(need, {**first, step: event}) for need in about))  # noqa: B023
    return first


def score_videos(procedure: Procedure, recordings: Sequence[Recording]) -> dict[str, float]:
    """Return per video the sum of the surprise of its deviations in bits; NaN for a video without a key step."""
    scores = {recording.video: 0.0 if recording.events else math.nan for recording in recordings}
    for one in deviations(procedure, recordings):
        scores[one.video] += one.surprise
    return scores


def with_sureness(
    found: Sequence[Deviation], procedure: Procedure, others: Iterable[Sequence[Recording]]
) -> list[Deviation]:
    """Return deviations with the share of other segmentations in which they occur.

    Parameters
    ----------
    found
        Of one segmentation of some videos.
    procedure
        What they deviate from, and what the others are compared with.
    others
        Other segmentations of the same videos, in the same key steps. A video that none of them has stays without.

    Notes
    -----
    A deviation occurs where the same key step of the same video is left out, added, or repeated; too early and too late
    are one, for which of two key steps was moved is often a matter of view.
    """
    seen: dict[str, int] = {}
    there: dict[tuple[str, str, int], int] = {}
    for recordings in others:
        for recording in recordings:
            seen[recording.video] = seen.get(recording.video, 0) + 1
        for key in {_what(one) for one in deviations(procedure, recordings)}:
            there[key] = there.get(key, 0) + 1
    return [
        replace(one, sureness=there.get(_what(one), 0) / seen[one.video] if one.video in seen else None)
        for one in found
    ]


def _what(one: Deviation) -> tuple[str, str, int]:
    return one.video, "order" if one.kind in ("too_early", "too_late") else one.kind, one.key_step


def surprise(count: int, of: int) -> float:
    """Return −log2 of a share, estimated as (count + ½) / (of + 1), in bits.

    >>> surprise(1, 2), round(surprise(0, 9), 2)
    (1.0, 4.32)
    """
    return -math.log2((count + 0.5) / (of + 1))


SLIVER = 0.35
"""Part of the usual length of its key step below which a segment that was found is no evidence of it."""


def usual_lengths(recordings: Sequence[Recording]) -> dict[int, float]:
    """Return in seconds how long each key step usually takes: the median over videos of its longest event.

    Those of less than `SLIVER` of the upper quartile do not take part, so that a key step that half of the videos lack
    is not measured by what seams leave of it.
    """
    longest: dict[int, list[float]] = {}
    for recording in recordings:
        own: dict[int, float] = {}
        for step, start_s, end_s in recording.events:
            own[step] = max(own.get(step, 0.0), end_s - start_s)
        for step, length in own.items():
            longest.setdefault(step, []).append(length)
    found = {}
    for step, lengths in longest.items():
        long = SLIVER * np.quantile(lengths, 0.75, method="lower")
        found[step] = float(np.median([length for length in lengths if length >= long]))
    return found


def without_slivers(
    recordings: Sequence[Recording], usual: Mapping[int, float], annotated: Collection[str] = ()
) -> list[Recording]:
    """Return recordings of found key steps without the fragments that a decoder leaves where key steps meet.

    Those are events that last less than `SLIVER` of the ``usual`` seconds of their key step. What they separate is one
    event again where it is the same key step. A key step that a video has in fragments alone keeps the longest, where
    all of them together last long enough. Videos that people ``annotated`` stay as they are.
    """
    return [one if one.video in annotated else replace(one, events=_lasting(one.events, usual)) for one in recordings]


def _lasting(events: Sequence[Event], usual: Mapping[int, float]) -> tuple[Event, ...]:
    total: dict[int, float] = {}
    longest: dict[int, Event] = {}
    for event in events:
        step, length = event.key_step, event.end_s - event.start_s
        total[step] = total.get(step, 0.0) + length
        if step not in longest or length > longest[step].end_s - longest[step].start_s:
            longest[step] = event
    kept: list[Event] = []
    between = 0.0
    for event in events:
        enough, length = SLIVER * usual.get(event.key_step, 0.0), event.end_s - event.start_s
        if length < enough and not (event is longest[event.key_step] and total[event.key_step] >= enough):
            between += length
            continue
        again = bool(kept) and between > 0 and kept[-1].key_step == event.key_step
        if again and event.start_s - kept[-1].end_s <= between + 1e-6:
            kept[-1] = kept[-1]._replace(end_s=event.end_s)
        else:
            kept.append(event)
        between = 0.0
    return tuple(kept)
