"""What each video does differently from a procedure, and how surprising that is."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from rgwot.procedure.interface import Deviation, Event, Procedure, Recording
from rgwot.procedure.tally import placed

USUAL_FROM = 0.5
"""Share of videos from which a key step is missing where it is absent; below, it is added where it is present."""
SURE_FROM = 2 / 3
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
    fewer have, or that the procedure does not know. *Repeated*: every event of a key step but the one that gives its
    place (`rgwot.procedure.tally.placed`), where less than `USUAL_FROM` of the videos that have it show it more than
    once. *Too early*, *too late*: that event begins before that of something it needs, or after that of something that
    needs it, as far as the need has a confidence of at least `SURE_FROM`.

    Surprise is −log2 of a share, estimated with half a video more on either side (Jeffreys): of videos without it,
    with it, with repeats; for order, of the largest share of videos that violate one of the needs that are violated.
    """
    nodes = {node.key_step: node for node in procedure.nodes}
    n_videos = procedure.n_videos
    usual = [node for node in procedure.nodes if node.share >= USUAL_FROM]
    before: dict[int, dict[int, float]] = defaultdict(dict)
    after: dict[int, dict[int, float]] = defaultdict(dict)
    for need in procedure.needs:
        if need.confidence < SURE_FROM:
            continue
        earlier, later = int(need.before), int(need.after)
        before[later][earlier] = after[earlier][later] = surprise(need.both - need.agree, need.both)
    found: list[Deviation] = []
    for recording in recordings:
        first = placed(recording)
        of_video: list[Deviation] = []
        for event in recording.events:
            node = nodes.get(event.key_step)
            if node is None or node.share < USUAL_FROM:
                bits = surprise(node.n_videos if node else 0, n_videos)
                of_video.append(Deviation(recording.video, "added", *event, bits))
            elif event is not first[event.key_step] and node.repeat_share < USUAL_FROM:
                bits = surprise(round(node.repeat_share * node.n_videos), node.n_videos)
                of_video.append(Deviation(recording.video, "repeated", *event, bits))
        for step, event in first.items():
            early = [bits for need, bits in before[step].items() if need in first and _later(first[need], event)]
            late = [bits for need, bits in after[step].items() if need in first and _later(event, first[need])]
            if early:
                of_video.append(Deviation(recording.video, "too_early", *event, min(early)))
            if late:
                of_video.append(Deviation(recording.video, "too_late", *event, min(late)))
        for node in usual:
            if node.key_step not in first and recording.events:
                start = max((first[step].end_s for step in before[node.key_step] if step in first), default=0.0)
                end = min(
                    (first[step].start_s for step in after[node.key_step] if step in first),
                    default=recording.duration_s,
                )
                bits = surprise(n_videos - node.n_videos, n_videos)
                of_video.append(Deviation(recording.video, "missing", node.key_step, min(start, end), end, bits))
        found += sorted(of_video, key=lambda one: (one.start_s, one.end_s, one.key_step, one.kind))
    return found


def score_videos(procedure: Procedure, recordings: Sequence[Recording]) -> dict[str, float]:
    """Return per video the sum of the surprise of its deviations in bits; NaN for a video without a key step."""
    scores = {recording.video: 0.0 if recording.events else math.nan for recording in recordings}
    for one in deviations(procedure, recordings):
        scores[one.video] += one.surprise
    return scores


def surprise(count: int, of: int) -> float:
    """Return −log2 of a share, estimated as (count + ½) / (of + 1), in bits.

    >>> surprise(1, 2), round(surprise(0, 9), 2)
    (1.0, 4.32)
    """
    return -math.log2((count + 0.5) / (of + 1))


def _later(one: Event, other: Event) -> bool:
    return (one.start_s, one.end_s) > (other.start_s, other.end_s)
