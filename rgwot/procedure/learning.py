"""From recordings to a procedure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rgwot.columns import COUNTS, SHOWS
from rgwot.procedure.differences import score_videos
from rgwot.procedure.graphs import share_interval
from rgwot.procedure.interface import END, START, Edge, Event, Node, Procedure, Recording, VideoFit
from rgwot.procedure.known import unordered
from rgwot.procedure.learners import LEARNERS, Needs
from rgwot.procedure.orders import Floats, Tally, consensus, reduction, tally
from rgwot.runtime.errors import RgwotError, nearest

if TYPE_CHECKING:
    import pandas as pd

LEARNER = "robust"
OPTIONAL_BELOW = 0.8
"""A key step is optional if less than this share of the videos have it."""


def learn(
    recordings: Sequence[Recording], learner: str | Callable[..., Needs] = LEARNER, **settings: object
) -> Procedure:
    """Learn the procedure that recordings follow.

    Parameters
    ----------
    recordings
        One per video, with different names. Recordings without a key step are listed, and left out of the learning.
    learner
        The name of one of `LEARNERS`, or a function like those.
    settings
        Keyword arguments of the learner's function.

    Raises `RgwotError` for an unknown learner or setting, and for two recordings of the same name. Too little data is
    not an error: the procedure gets a note.

    Examples
    --------
    >>> videos = [Recording(name, (Event(1, 0, 2), Event(2, 3, 5), Event(3, 6, 9)), 10) for name in "abcdefgh"]
    >>> found = learn(videos)
    >>> found.order, [(edge.before, edge.after) for edge in found.edges]
    ((1, 2, 3), [('START', 1), (1, 2), (2, 3), (3, 'END')])
    """
    if isinstance(learner, str) and learner not in LEARNERS:
        raise RgwotError(f"learner: found {learner!r}, {nearest(learner, LEARNERS)}")
    function = LEARNERS[learner] if isinstance(learner, str) else learner
    name_of_learner = function.__name__
    defaults = {name: parameter.default for name, parameter in list(signature(function).parameters.items())[1:]}
    for name in settings.keys() - defaults.keys():
        raise RgwotError(f"learner {name_of_learner!r}: found the setting {name!r}, {nearest(name, defaults)}")
    names = [recording.video for recording in recordings]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise RgwotError(f"recordings: found the video {twice[0]!r} more than once, expected one recording of each")
    with_steps = [recording for recording in recordings if recording.events]
    counted = tally(with_steps)
    needs = function(counted, **settings)
    relation = needs.relation
    order, exact = consensus(counted.agree.T.astype(np.float64), relation, counted.place)
    distances = _distances(counted, order)
    measured = distances[~np.isnan(distances)]
    either_order, no_order = (
        tuple(tuple(sorted(counted.steps[run].tolist())) for run in runs)
        for runs in unordered(counted, with_steps, relation, order)
    )
    # Plain floats instead of numpy's types.
    weight = dict(zip((recording.video for recording in with_steps), needs.weights.tolist(), strict=True))
    procedure = Procedure(
        learner=name_of_learner,
        settings={**defaults, **settings},
        n_videos=len(with_steps),
        nodes=_nodes(counted),
        edges=_edges(counted, needs),
        needs=_needs(counted, needs, relation),
        either_order=either_order,
        unordered=no_order,
        order=tuple(counted.steps[order].tolist()),
        order_distance=float(measured.mean()) if len(measured) else float("nan"),
        typical_video="",
        videos=tuple(VideoFit(name, weight.get(name, 0.0), float("nan")) for name in names),
        notes=(*_notes(recordings, counted, needs, exact), *needs.notes),
    )
    scores = score_videos(procedure, recordings)
    # Ties go to the video nearest to the consensus, then to the first by name.
    near = zip(with_steps, np.nan_to_num(distances, nan=1.0).tolist(), strict=True)
    ranked = [(scores[recording.video], distance, recording.video) for recording, distance in near]
    typical = min(ranked)[2] if ranked else ""
    videos = tuple(replace(video, score=scores.get(video.video, float("nan"))) for video in procedure.videos)
    return replace(procedure, videos=videos, typical_video=typical)


def recordings_from_segments(
    segments: pd.DataFrame, durations: Mapping[str, float] | None = None, *, every: bool = False
) -> list[Recording]:
    """Turn a table of segments into recordings, one per video, in the order in which videos appear.

    Parameters
    ----------
    segments
        Columns ``video``, ``start_s``, ``end_s`` and ``key_step``. If there is a column ``scope``, only the rows with
        ``task`` are read. Key step 0 is background. If there are columns ``shows`` and ``counts``, only segments that
        count become events, of the key step that they show; two of the same key step are one event if only segments
        that do not count lie between them (methods 9.1), which are its pauses.
    durations
        Length of each video in seconds; by default the end of its last segment, including background.
    every
        Whether to take all segments as they are, with their own key step.
    """
    marked = COUNTS in segments and not every
    if "scope" in segments:
        segments = segments[segments["scope"] == "task"]
    # Lists of values, because a table per video would dominate the time for thousands of videos.
    names = ("video", SHOWS if marked else "key_step", "start_s", "end_s")
    columns = [segments[name].tolist() for name in names]
    counting = segments[COUNTS].tolist() if marked else [True] * len(segments)
    events: dict[str, list[Event]] = {}
    pauses: dict[str, list[Event]] = {}
    ends: dict[str, float] = {}
    # Whether only segments that do not count follow the last event of a video.
    between: dict[str, bool | None] = {}
    for video, step, start, end, counts in zip(*columns, counting, strict=True):
        own = events.setdefault(str(video), [])
        ends[video] = max(end, ends.get(video, end))
        if step > 0 and counts:
            if between.get(video) and own[-1].key_step == step:
                pauses.setdefault(video, []).append(Event(int(step), own[-1].end_s, float(start)))
                own[-1] = own[-1]._replace(end_s=float(end))
            else:
                own.append(Event(int(step), float(start), float(end)))
            between[video] = False
        else:
            between[video] = True if step > 0 and between.get(video) is not None else None
    return [
        Recording(video, tuple(of_video), (durations or {}).get(video, ends[video]), tuple(pauses.get(video, ())))
        for video, of_video in events.items()
    ]


def _nodes(counted: Tally) -> tuple[Node, ...]:
    n_videos = len(counted.present)
    nodes = []
    for column, step in enumerate(counted.steps.tolist()):
        having = counted.present[:, column]
        count = counted.count[having, column]
        share = float(having.sum() / n_videos)
        nodes.append(
            Node(
                key_step=step,
                n_videos=int(having.sum()),
                share=share,
                optional=share < OPTIONAL_BELOW,
                repeats=float(count.mean()),
                repeat_share=float((count > 1).mean()),
                place=float(counted.place[column]),
                duration_s=float(np.median(counted.total[having, column])),
            )
        )
    return tuple(nodes)


def _needs(counted: Tally, needs: Needs, relation: NDArray[np.bool_]) -> tuple[Edge, ...]:
    pairs = zip(*np.nonzero(relation), strict=True)
    steps = counted.steps.tolist()
    return tuple(
        Edge(
            steps[k],
            steps[l],
            float(needs.confidence[k, l]),
            agree := int(counted.agree[k, l]),
            both := int(counted.both[k, l]),
            share_interval(agree, both),
        )
        for k, l in pairs  # noqa: E741
    )


def _edges(counted: Tally, needs: Needs) -> tuple[Edge, ...]:
    """Return the edges of the reduced graph: from START first, then by key step, to END last."""
    relation = needs.relation
    having = counted.present.sum(axis=0).tolist()
    # The confidence that a key step follows START is 1 minus the confidence of its likeliest need; END likewise.
    free = 1 - np.where(np.eye(len(relation), dtype=bool), 0.0, needs.confidence)
    first, last = free.min(axis=0, initial=1.0), free.min(axis=1, initial=1.0)
    steps = counted.steps.tolist()

    def facts(k: int, confidence: NDArray[np.float64]) -> tuple[float, int, int, tuple[float, float]]:
        return float(confidence[k]), having[k], having[k], share_interval(having[k], having[k])

    return (
        *(Edge(START, steps[k], *facts(k, first)) for k in np.flatnonzero(~relation.any(axis=0)).tolist()),
        *_needs(counted, needs, reduction(relation)),
        *(Edge(steps[k], END, *facts(k, last)) for k in np.flatnonzero(~relation.any(axis=1)).tolist()),
    )


def _distances(counted: Tally, order: Sequence[int]) -> Floats:
    """Return the normalised Kendall distance (V,) of each video's order from an order; NaN without two key steps."""
    rank = np.empty(len(order), dtype=np.int64)
    rank[list(order)] = np.arange(len(order))
    wrong = (counted.earlier & (rank[:, None] > rank[None])).sum(axis=(1, 2))
    pairs = counted.earlier.sum(axis=(1, 2))
    return np.where(pairs > 0, wrong / np.maximum(pairs, 1), np.nan)


def _notes(recordings: Sequence[Recording], counted: Tally, needs: Needs, exact: bool) -> list[str]:
    """Return notes on too few or contradictory recordings, and on a consensus order that is not ``exact``."""
    n_videos, n_steps = counted.present.shape
    if not recordings:
        return ["no video: nothing to learn from"]
    if not n_videos:
        return [f"no key step in {_videos(len(recordings))}: all of it is background"]
    notes = []
    if n_videos < len(recordings):
        empty = len(recordings) - n_videos
        notes.append(f"{_videos(empty)} of {len(recordings)} without a key step, left out: all of it is background")
    if n_videos == 1:
        notes.append("one video only: its order is all there is, and a need cannot be distinguished from a habit")
    elif n_videos == 2:
        notes.append("two videos only: what both do in the same order may still be chance")
    if n_steps == 1:
        notes.append(f"one key step only ({counted.steps[0]}): there is nothing to order")
    if n_videos > 1 and n_steps > 1 and not needs.relation.any():
        notes.append("the videos contradict each other: no key step comes before another in enough of them")
    if not exact:
        notes.append(
            f"{n_steps} key steps: the consensus order was searched for; another order may be nearer to the videos"
        )
    return notes


def _videos(count: int) -> str:
    return "1 video" if count == 1 else f"{count} videos"
