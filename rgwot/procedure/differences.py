"""Deviations: the fewest that explain how each video differs from a procedure, and their sureness."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rgwot.procedure.graphs import needs_of
from rgwot.procedure.interface import Deviation, DeviationKind, Event, Procedure, Recording
from rgwot.procedure.orders import SUBSTANTIAL, placed

if TYPE_CHECKING:
    from rgwot.procedure.graphs import Step
    from rgwot.procedure.orders import Booleans

USUAL_FROM = 0.5
"""A key step is missing in a video without it if at least this share of the videos have it."""
UNUSUAL_BELOW = 1 / 3
"""A key step is added if less than this share of the videos have it, and repeated if less than this share repeat it."""
SURE_FROM = 1 / 3
"""Breaking a need is a deviation if the need has at least this confidence."""


def deviations(
    procedure: Procedure,
    recordings: Sequence[Recording],
    *,
    known: bool = True,
    every: Sequence[Recording] = (),
) -> list[Deviation]:
    """Compare recordings with a procedure.

    Parameters
    ----------
    procedure
        Learned from these recordings or from others.
    recordings
        The videos to compare. Deviations are returned in this order, and by time within a video.
    known
        Whether to ignore needs that are not known (`rgwot.procedure.interface.Edge.known`). It is False where
        deviations are scored against annotations.
    every
        All segments of the videos, if some do not count as occurrences. A missing key step gets the time of its longest
        segment where it was due, if it has one.

    Notes
    -----
    *Missing*: a key step is absent although at least `USUAL_FROM` of the videos have it. *Added*: an event of a key
    step that less than `UNUSUAL_BELOW` of the videos have, or that the procedure does not contain. *Repeated*: every
    event of a key step except the one at which it is placed (`fitting`), if less than `UNUSUAL_BELOW` of the videos
    that have the key step repeat it. *Too early*, *too late*: a key step before another that it needs, or after one
    that needs it. Only needs with a confidence of at least `SURE_FROM` count, and only the smallest set of key steps
    whose removal leaves no need broken (`least`) is reported.

    Surprise is −log2 of a share with Jeffreys' prior (half a video added on either side): the share of videos without
    the key step, with it, or with repeats of it; for order, the share of videos that violate the need, or the largest
    such share if the key step violates several needs.
    """
    nodes = {node.key_step: node for node in procedure.nodes}
    n_videos = procedure.n_videos
    needs = _needs(procedure, known)
    # Two key steps may be seen together in too few videos for a need of their own, although known needs imply one.
    implied = needs_of((need.before, need.after) for need in needs)
    place = {step: at for at, step in enumerate(procedure.order)}
    segments = {recording.video: recording.events for recording in every}
    found_all: list[Deviation] = []
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
            # A need between two moved key steps does not show which of them is out of order, so it is used only if
            # there is no other need.
            own = [need for need in broken if step in need[:2]]
            own = [need for need in own if not moved >= {*need[:2]}] or own
            kind: DeviationKind = "too_early" if any(need.after == step for need in own) else "too_late"
            of_video.append(Deviation(recording.video, kind, *first[step], min(need.bits for need in own)))
        for node in procedure.nodes:
            if node.share >= USUAL_FROM and node.key_step not in first and recording.events:
                step = node.key_step
                due = _due(implied, first, step, recording.duration_s)
                parts = [event for event in segments.get(recording.video, ()) if event.key_step == step]
                due = max(
                    ((start_s, end_s) for _, start_s, end_s in parts if start_s <= due[1] and end_s >= due[0]),
                    key=lambda span: span[1] - span[0],
                    default=due,
                )
                bits = surprise(n_videos - node.n_videos, n_videos)
                of_video.append(Deviation(recording.video, "missing", step, *due, bits))
        found_all += sorted(
            of_video, key=lambda deviation: (deviation.start_s, deviation.end_s, deviation.key_step, deviation.kind)
        )
    return found_all


def out_of_order(procedure: Procedure, recordings: Sequence[Recording]) -> set[tuple[str, int]]:
    """Return (video, key step) for both key steps of every broken need, because annotations of wrong order mark both.

    Key steps are placed at their first long events (`rgwot.procedure.orders.placed`).
    """
    needs, broken = _needs(procedure, known=False), set()
    for recording in recordings:
        first = placed(recording)
        for need in needs:
            if _breaks(need, first):
                broken |= {(recording.video, need.before), (recording.video, need.after)}
    return broken


def least(broken: Sequence[tuple[int, int]], order: Sequence[int]) -> list[int]:
    """Return the smallest set of key steps that contains at least one end of every broken need (before, after).

    The closure of the needs that a video breaks is a partial order, too: the part of the procedure that the video
    reverses. The key steps that may stay are its largest antichain, found by matching (Dilworth, 1950; Fulkerson,
    1956). If there are several, the one that keeps the earliest key steps of ``order`` is chosen.

    >>> least([(1, 4), (1, 5), (2, 4), (2, 5), (3, 4), (3, 5)], [1, 2, 3, 4, 5]), least([(2, 3)], [1, 2, 3])
    ([4, 5], [3])
    """
    steps = [step for step in order if any(step in need for need in broken)]
    relation = np.array([[(candidate, other) in set(broken) for other in steps] for candidate in steps], dtype=bool)
    relation = relation.reshape(len(steps), len(steps))
    for between in range(len(steps)):
        relation |= relation[:, between, None] & relation[between]
    against = relation | relation.T
    free = np.ones(len(steps), dtype=bool)
    antichain: list[int] = []
    while free.any():
        most = _width(relation, free)
        # A key step is in a largest antichain if the key steps unordered to it have an antichain smaller by 1.
        for candidate in np.flatnonzero(free):
            beside = free & ~against[candidate]
            beside[candidate] = False
            if 1 + _width(relation, beside) == most:
                antichain.append(int(candidate))
                free = beside
                break
    return [step for at, step in enumerate(steps) if at not in antichain]


def _width(relation: Booleans, among: Booleans) -> int:
    """Return the size of the largest antichain of a partial order among some of its elements."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    part = relation[np.ix_(among, among)]
    return len(part) - int((maximum_bipartite_matching(csr_array(part)) >= 0).sum()) if len(part) else 0


class _Need(NamedTuple):
    """A need that is sure enough to count, and the surprise in bits of breaking it."""

    before: int
    after: int
    bits: float


def _needs(procedure: Procedure, known: bool = True) -> list[_Need]:
    return [
        _Need(int(need.before), int(need.after), surprise(need.both - need.agree, need.both))
        for need in procedure.needs
        if need.confidence >= SURE_FROM and (need.known or not known)
    ]


def _due(
    needs: Collection[tuple[Step, Step]], first: Mapping[int, Event], step: int, duration_s: float
) -> tuple[float, float]:
    """Return the span (start, end) in seconds in which a missing key step was due.

    It lies between the key steps that this one needs and those that need it, by all ``needs`` (before, after) that
    follow from the known ones. It is the whole video if one that it needs starts after one that needs it.
    """
    before = [event for other, event in first.items() if (other, step) in needs]
    after = [event for other, event in first.items() if (step, other) in needs]
    latest = max((event.start_s for event in before), default=0.0)
    start = max((event.end_s for event in before), default=0.0)
    end = min((event.start_s for event in after), default=duration_s)
    return (0.0, duration_s) if latest > end else (min(start, end), end)


def _breaks(need: _Need, first: Mapping[int, Event]) -> bool:
    before, after = first.get(need.before), first.get(need.after)
    return before is not None and after is not None and before[1:] > after[1:]


def fitting(needs: Sequence[_Need], recording: Recording) -> dict[int, Event]:
    """Return the event at which each key step is placed: of its long events, the one that breaks the fewest needs.

    A long event lasts at least half as long as the longest event of its key step. If several break equally few needs,
    the first of them is chosen, as in `rgwot.procedure.orders.placed`. Key steps are placed one after the other, in the
    order of their first long events, and each choice affects the next.
    """
    first = placed(recording)
    longest = {step: event.end_s - event.start_s for step, event in first.items()}
    for event in recording.events:
        longest[event.key_step] = max(longest[event.key_step], event.end_s - event.start_s)
    for step in first:
        candidates = [
            event
            for event in recording.events
            if event.key_step == step and event.end_s - event.start_s >= SUBSTANTIAL * longest[step]
        ]
        if len(candidates) > 1:
            needs_of_step = [need for need in needs if step in need[:2]]
            first[step] = min(
                candidates, key=lambda event: sum(_breaks(need, {**first, step: event}) for need in needs_of_step)
            )  # noqa: B023
    return first


def score_videos(procedure: Procedure, recordings: Sequence[Recording]) -> dict[str, float]:
    """Return, for each video, the summed surprise of its deviations in bits; NaN for a video without a key step."""
    scores = {recording.video: 0.0 if recording.events else math.nan for recording in recordings}
    for deviation in deviations(procedure, recordings):
        scores[deviation.video] += deviation.surprise
    return scores


def with_sureness(
    deviating: Sequence[Deviation], procedure: Procedure, others: Iterable[Sequence[Recording]]
) -> list[Deviation]:
    """Return deviations with their sureness: the share of other segmentations in which they occur, times `steadiness`.

    Parameters
    ----------
    deviating
        Deviations of one segmentation of the videos.
    procedure
        The procedure from which they deviate; the other segmentations are compared with it, too.
    others
        Other segmentations of the same videos into the same key steps. Deviations get no sureness if none of these
        segmentations contains their video.

    Notes
    -----
    A deviation occurs in another segmentation if the same key step of the same video deviates there in the same way.
    Too early and too late count as the same way: which of two key steps was moved is often a matter of view.
    """
    n_segmentations: dict[str, int] = {}
    occurrences: dict[tuple[str, str, int], int] = {}
    for recordings in others:
        for recording in recordings:
            n_segmentations[recording.video] = n_segmentations.get(recording.video, 0) + 1
        for key in {what(deviation) for deviation in deviations(procedure, recordings)}:
            occurrences[key] = occurrences.get(key, 0) + 1
    trust = steadiness(procedure)
    return [
        replace(
            deviation,
            sureness=trust * occurrences.get(what(deviation), 0) / n_segmentations[deviation.video]
            if deviation.video in n_segmentations
            else None,
        )
        for deviation in deviating
    ]


def steadiness(procedure: Procedure) -> float:
    """Return the number of key steps that videos have, divided by the number of their occurrences, 0 to 1.

    It is 1 if every video has each of its key steps once. If key steps recur often, as in a poor segmentation,
    segmentations agree on deviations that are not true.
    """
    occurrences = sum(node.n_videos * node.repeats for node in procedure.nodes)
    return sum(node.n_videos for node in procedure.nodes) / occurrences if occurrences else 1.0


def what(deviation: Deviation) -> tuple[str, str, int]:
    """Return video, kind and key step of a deviation; too early and too late are both ``order`` (`with_sureness`)."""
    return (
        deviation.video,
        "order" if deviation.kind in ("too_early", "too_late") else deviation.kind,
        deviation.key_step,
    )


def surprise(count: int, of: int) -> float:
    """Return −log2 of a share, estimated as (count + ½) / (of + 1), in bits.

    >>> surprise(1, 2), round(surprise(0, 9), 2)
    (1.0, 4.32)
    """
    return -math.log2((count + 0.5) / (of + 1))


SLIVER = 0.35
"""A decoded segment shorter than this part of its key step's usual length is not evidence of the key step."""


def usual_lengths(recordings: Sequence[Recording]) -> dict[int, float]:
    """Return the usual length of each key step in seconds: the median over videos of its longest event.

    Lengths below `SLIVER` of the upper quartile are left out. Otherwise fragments at the borders of other key steps
    would decide the length of a key step that half of the videos lack.
    """
    longest: dict[int, list[float]] = {}
    for recording in recordings:
        longest_here: dict[int, float] = {}
        for step, start_s, end_s in recording.events:
            longest_here[step] = max(longest_here.get(step, 0.0), end_s - start_s)
        for step, length in longest_here.items():
            longest.setdefault(step, []).append(length)
    medians = {}
    for step, lengths in longest.items():
        long = SLIVER * np.quantile(lengths, 0.75, method="lower")
        medians[step] = float(np.median([length for length in lengths if length >= long]))
    return medians


def without_slivers(
    recordings: Sequence[Recording], usual: Mapping[int, float], annotated: Collection[str] = ()
) -> list[Recording]:
    """Return recordings without the fragments that a decoder leaves where key steps meet.

    A fragment lasts less than `SLIVER` of the ``usual`` seconds of its key step. Two events of the same key step that
    only fragments separate are joined. If a video has a key step only in fragments, the longest one stays, provided
    that all of them together are not shorter than that. Recordings of ``annotated`` videos do not change.
    """
    return [
        recording if recording.video in annotated else replace(recording, events=_lasting(recording.events, usual))
        for recording in recordings
    ]


def _lasting(events: Sequence[Event], usual: Mapping[int, float]) -> tuple[Event, ...]:
    total: dict[int, float] = {}
    longest: dict[int, Event] = {}
    for event in events:
        step, length = event.key_step, event.end_s - event.start_s
        total[step] = total.get(step, 0.0) + length
        if step not in longest or length > longest[step].end_s - longest[step].start_s:
            longest[step] = event
    lasting: list[Event] = []
    between = 0.0
    for event in events:
        enough, length = SLIVER * usual.get(event.key_step, 0.0), event.end_s - event.start_s
        if length < enough and not (event is longest[event.key_step] and total[event.key_step] >= enough):
            between += length
            continue
        again = bool(lasting) and between > 0 and lasting[-1].key_step == event.key_step
        if again and event.start_s - lasting[-1].end_s <= between + 1e-6:
            lasting[-1] = lasting[-1]._replace(end_s=event.end_s)
        else:
            lasting.append(event)
        between = 0.0
    return tuple(lasting)


class _Limit(NamedTuple):
    """A ``sureness``, and the conditions under which a deviation has it.

    ``share`` is the least share of the other segmentations that contain the deviation, 0 to 1, and ``support`` the
    least support by the second reading of its video, in nats. The second reading must contain the deviation; if
    ``in_result``, the result must, too.
    """

    sureness: float
    share: float
    support: float
    in_result: bool = False


PLAIN, POSSIBLE, UNLIKELY = 0.8, 0.5, 0.1
"""Sureness of deviations by the limits they meet; docs/methods.md 9.10 tells which shares were true on real tasks."""

LIMITS: Mapping[str, Sequence[_Limit]] = {
    "missing": (
        _Limit(PLAIN, 0.99, -0.5),
        _Limit(POSSIBLE, 0.99, -0.75),
        _Limit(POSSIBLE, 0.6, -0.5),
        _Limit(POSSIBLE, 0, 1),
    ),
    "order": (
        _Limit(PLAIN, 0.6, -2, in_result=True),
        _Limit(POSSIBLE, 0, -3, in_result=True),
        _Limit(POSSIBLE, 0, -0.5),
    ),
    "repeated": (_Limit(PLAIN, 0, 12), _Limit(POSSIBLE, 0, 10)),
}
"""Limits of each kind, the surest first. Deviations of these kinds that meet no limit are `UNLIKELY`."""


def decided(
    found: Sequence[Deviation],
    others: Sequence[Sequence[Deviation]],
    read: Sequence[Deviation],
    support: Mapping[tuple[str, str, int], float],
    annotated: Collection[str] = (),
) -> list[Deviation]:
    """Return deviations with the sureness that a second reading of the videos gives them (methods 9.10).

    Parameters
    ----------
    found
        Deviations of the segmentation, with the sureness that they have without a second reading.
    others
        Deviations of other segmentations of the same videos.
    read
        Deviations of the second reading.
    support
        How far the second reading supports a deviation, in nats, by kind (``missing``, ``order``, ``repeated``),
        video and key step. Deviations of other kinds, or in videos that have no support here, keep their sureness,
        but at most `PLAIN`, or `POSSIBLE` if no video is annotated.
    annotated
        Annotated videos; their deviations get sureness 1. If there are none, no sureness is above `POSSIBLE`, because
        labels that no person gave are often wrong in the same way in all segmentations.

    Returns
    -------
    The deviations of all segmentations, by time in each video. Deviations that are not in ``found`` are left out
    unless they meet a limit.
    """
    decided_on = {video for _, video, _ in support} - set(annotated)
    most = PLAIN if annotated else POSSIBLE
    in_result, in_reading, *kinds = ({what(one) for one in part} for part in (found, read, *others))
    result: dict[tuple[str, str, int], list[Deviation]] = {}
    for part, own in [(found, True), (read, False), *((part, False) for part in others)]:
        new: dict[tuple[str, str, int], list[Deviation]] = {}
        for one in part:
            key = video, kind, step = what(one)
            if key in result or (not own and (video not in decided_on or kind not in LIMITS)):
                continue
            if video in annotated:
                one = replace(one, sureness=1.0)
            elif video in decided_on and kind in LIMITS:
                share = sum(key in segmentation for segmentation in kinds) / len(kinds) if kinds else 0.0
                spoken = support.get((kind, video, step), -math.inf)
                met = (
                    limit.sureness
                    for limit in LIMITS[kind]
                    if share >= limit.share and spoken >= limit.support and (key in in_result or not limit.in_result)
                )
                one = replace(one, sureness=min(next(met, UNLIKELY), most) if key in in_reading else UNLIKELY)
                if not own and one.sureness == UNLIKELY:
                    continue
            elif one.sureness is not None:
                one = replace(one, sureness=min(one.sureness, most))
            new.setdefault(key, []).append(one)
        result |= new
    result = _consistent(result)
    videos = list(dict.fromkeys(one.video for part in (found, read, *others) for one in part))
    place = {video: at for at, video in enumerate(videos)}
    return sorted(
        (one for part in result.values() for one in part),
        key=lambda one: (place[one.video], one.start_s, one.end_s, one.key_step, one.kind),
    )


def _consistent(
    result: Mapping[tuple[str, str, int], list[Deviation]],
) -> dict[tuple[str, str, int], list[Deviation]]:
    """Return deviations by `what`, without those that contradict surer ones.

    In one segmentation a video may lack a key step that it has at another time, or once more, in another segmentation.
    If both are equally sure, the video is taken to have it.
    """
    sureness = {key: max(one.sureness or 0.0 for one in part) for key, part in result.items()}
    present: dict[tuple[str, int], float] = {}
    for (video, kind, step), sure in sureness.items():
        if kind != "missing":
            present[video, step] = max(present.get((video, step), 0.0), sure)
    return {
        (video, kind, step): part
        for (video, kind, step), part in result.items()
        if (absent := sureness.get((video, "missing", step))) is None
        or (video, step) not in present
        or (kind == "missing") == (absent > present[video, step])
    }
