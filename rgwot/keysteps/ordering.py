"""The result of a decoder: segments, the order of key steps in a video, the procedures of a task (methods 3.9)."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rgwot.columns import OCCURRENCE_COLUMNS, SCOPES, SEGMENT_COLUMNS
from rgwot.diagnostics import Diagnostics
from rgwot.keysteps.interface import Learned, middle_times
from rgwot.procedure import Deviation, Event, Procedure, Recording, deviations, learn, recordings_from_segments
from rgwot.procedure.differences import decided, usual_lengths, with_sureness, without_slivers

Order = tuple[int, ...]


def video_order(
    key_steps: NDArray[np.integer], positions: NDArray[np.floating], weights: NDArray[np.floating] | None = None
) -> Order:
    """Return the key steps present in a video, sorted by their mean normalised time.

    In a tie, the smaller key step comes first.

    Parameters
    ----------
    key_steps
        (T,) key steps of samples or segments, T >= 1.
    positions
        (T,) normalised times in [0, 1]: time (or the middle of a segment) over duration.
    weights
        (T,) weights, such as the lengths of segments; by default 1.

    Examples
    --------
    >>> video_order(np.array([2, 2, 1]), np.array([0.0, 0.3, 0.6]))
    (2, 1)
    """
    steps, times = np.asarray(key_steps), np.asarray(positions, dtype=np.float64)
    shares = np.ones(len(steps)) if weights is None else np.asarray(weights, dtype=np.float64)
    present = np.unique(steps)
    means = {int(step): float(np.average(times[steps == step], weights=shares[steps == step])) for step in present}
    return tuple(sorted(means, key=lambda step: (means[step], step)))


def first_order(events: Iterable[Event]) -> Order:
    """Return the order in which a video's key steps first occur, for people to read; ``(0,)`` if there are none.

    The orders of the paper, in files and scores, are those of mean times (`video_order`).

    >>> first_order([Event(1, 0, 2), Event(3, 2, 5), Event(1, 5, 9)])
    (1, 3)
    """
    return tuple(dict.fromkeys(event.key_step for event in events)) or (0,)


def order_of_segments(segments: pd.DataFrame) -> Order:
    """Return the order of a video's key steps by their mean times, or ``0`` if everything is background."""
    steps = segments[segments["key_step"] > 0]
    if steps.empty:
        return (0,)
    middles = (steps["start_s"] + steps["end_s"]) / 2 / segments["end_s"].max()
    return video_order(steps["key_step"].to_numpy(), middles.to_numpy(), (steps["end_s"] - steps["start_s"]).to_numpy())


def format_order(order: Sequence[int]) -> str:
    """Format an order as in files.

    >>> format_order((3, 1, 2))
    '3>1>2'
    """
    return ">".join(str(step) for step in order)


def order_of_text(text: str) -> Order:
    """Return the order that `format_order` wrote.

    >>> order_of_text("3>1>2")
    (3, 1, 2)
    """
    return tuple(int(step) for step in text.split(">"))


def mean_ranks(orders: Sequence[Order]) -> dict[int, float]:
    """Return the mean rank (first is 1) of each key step over the orders in which it occurs."""
    ranks: dict[int, list[int]] = defaultdict(list)
    for order in orders:
        for rank, step in enumerate(order, start=1):
            ranks[step].append(rank)
    return {step: sum(ranks_of_step) / len(ranks_of_step) for step, ranks_of_step in ranks.items()}


def rank_procedures(orders: Mapping[str, Order]) -> pd.DataFrame:
    """Rank the different orders of a task by the number of videos that follow them.

    Ties are broken by the mean rank vector: each order is replaced by the mean ranks of its key steps over all videos,
    and the lexicographically smaller vector comes first, that is, the procedure that starts with the usual first key
    steps. Remaining ties are broken by the order as text.

    Returns a table ``rank,order,n_videos,share``; ranks from 1, shares add up to 1.
    """
    means = mean_ranks(list(orders.values()))
    counts = Counter(orders.values())

    def rank_key(order: Order) -> tuple[int, tuple[float, ...], str]:
        return -counts[order], tuple(means[step] for step in order), format_order(order)

    ranked = sorted(counts, key=rank_key)
    return pd.DataFrame(
        {
            "rank": range(1, len(ranked) + 1),
            "order": [format_order(order) for order in ranked],
            "n_videos": [counts[order] for order in ranked],
            "share": [counts[order] / len(orders) for order in ranked],
        }
    )


def order_information(labels: NDArray[np.int64], lengths: Sequence[int]) -> float:
    r"""Return the mutual information in nats between a key step and the next one in its video.

    .. math:: I = \sum_{k, l} \frac{n_{kl}}{n} \log \frac{n\, n_{kl}}{n_{k \cdot}\, n_{\cdot l}}

    where n_kl counts how often l follows k at a border of segments, and n is the number of borders. It is 0 without
    borders, and at most log K, if each key step has a different successor.

    Labels (T,) in 0..K-1 belong to concatenated videos with ``lengths`` samples each.

    >>> round(order_information(np.array([0, 0, 1, 2, 0, 1, 1, 2]), [4, 4]), 3)
    0.693
    """
    K = int(labels.max(initial=0)) + 1
    # (K, K): how often the key step of a column follows the key step of a row.
    counts = np.zeros((K, K))
    for video in np.split(labels, np.cumsum(lengths)[:-1]):
        borders = np.flatnonzero(np.diff(video))
        np.add.at(counts, (video[borders], video[borders + 1]), 1)
    occurs, n = counts > 0, counts.sum()
    alone = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0)
    return float((counts[occurs] * np.log(n * counts[occurs] / alone[occurs])).sum() / max(n, 1))


def concordance(labels: NDArray[np.int64], lengths: Sequence[int]) -> float:
    r"""Return how similar the orders of videos are: Kendall's tau of the key steps' mean times.

    It is the mean, over pairs of videos and pairs of key steps that both videos have, of 1 for the same order and -1
    for the opposite order; 0 without such pairs. Labels are as in `order_information`.

    >>> round(concordance(np.array([0, 1, 2, 0, 1, 2, 0, 2, 1]), [3, 3, 3]), 3)
    0.556
    """
    V, K = len(lengths), int(labels.max(initial=0)) + 1
    cells = np.repeat(np.arange(V), lengths) * K + labels
    counts = np.bincount(cells, minlength=V * K)
    times = np.bincount(cells, weights=middle_times(lengths), minlength=V * K)
    means = np.divide(times, counts, out=np.full(V * K, np.nan), where=counts > 0).reshape(V, K)
    first, second = np.triu_indices(K, 1)
    signs = np.nan_to_num(np.sign(means[:, first] - means[:, second]))
    # Sum the products of all pairs of different videos.
    pairs, total = signs.sum(axis=0) ** 2 - (signs**2).sum(axis=0), np.abs(signs).sum(axis=0)
    n = float((total**2 - total).sum())
    return float(pairs.sum() / n) if n else 0.0


@dataclass(frozen=True)
class KeySteps:
    """The key steps of a task, the result of a decoder.

    Attributes
    ----------
    segments
        For each scope and video a table ``start_s, end_s, key_step``, with times in seconds. Those of scope ``task``
        also say which segments ``counts`` as an occurrence, and what it ``shows`` (`counted`).
    orders
        For each video the order of its key steps of scope ``task``.
    procedure
        The task graph, learned from these videos (`procedure_of`) or from others.
    diagnostics
        The content of ``diagnostics.json``.
    learned
        The parameters with which the decoder labels other videos; None if it cannot.
    alternatives
        Segments of some or all videos by other segmentations, in the form of ``segments``; the sureness of deviations
        follows from them.
    probabilities
        For each video the memberships (T, K + 1) of its samples, those of background first; None if the decoder has
        none.
    annotated
        Videos whose segments people made; their deviations are sure.
    second
        The segments of a second reading of some or all videos by appearance alone, and how far it supports a
        deviation, by kind, video and key step (`rgwot.keysteps.reading`); both decide on deviations. None without a
        second reading.
    """

    segments: Mapping[str, Mapping[str, pd.DataFrame]]
    orders: Mapping[str, Order]
    procedure: Procedure
    diagnostics: Diagnostics
    learned: Learned | None = None
    alternatives: Sequence[Mapping[str, pd.DataFrame]] = ()
    probabilities: Mapping[str, NDArray[np.float64]] | None = None
    annotated: Collection[str] = ()
    second: tuple[Mapping[str, pd.DataFrame], Mapping[tuple[str, str, int], float]] | None = None

    @property
    def segment_table(self) -> pd.DataFrame:
        """All segments, ``video, scope, start_s, end_s, key_step, shows, counts``; none of scope ``video`` counts."""
        tables = []
        for scope in SCOPES:
            if self.segments.get(scope):
                table = _with_videos(self.segments[scope]).assign(scope=scope)
                tables.append(table if scope == "task" else table.assign(shows=table["key_step"], counts=False))
        return pd.concat(tables, ignore_index=True)[[*SEGMENT_COLUMNS, *OCCURRENCE_COLUMNS]]

    @property
    def recordings(self) -> list[Recording]:
        """The occurrences of key steps in every video: the segments of scope ``task`` that count."""
        return occurrences(self.segments["task"])

    @property
    def every(self) -> list[Recording]:
        """All segments of scope ``task`` of every video, with their own key steps."""
        return recordings_from_segments(_with_videos(self.segments["task"]), every=True)

    @property
    def order_table(self) -> pd.DataFrame:
        """The orders as text, ``video, order``."""
        texts = [format_order(order) for order in self.orders.values()]
        return pd.DataFrame({"video": list(self.orders), "order": texts})

    @property
    def deviations(self) -> list[Deviation]:
        """The deviations of every video from the procedure, with their sureness."""
        others = [occurrences(segments) for segments in self.alternatives]
        found = deviations(self.procedure, self.recordings, every=self.every)
        found = with_sureness(found, self.procedure, others)
        if self.second is None:
            return found
        segments, support = self.second
        read, *different = (deviations(self.procedure, part) for part in (occurrences(segments), *others))
        return decided(found, different, read, support, self.annotated)


def counted(
    segments: Mapping[str, pd.DataFrame],
    usual: Mapping[int, float],
    evidence: Mapping[str, pd.DataFrame] | None = None,
    annotated: Collection[str] = (),
) -> dict[str, pd.DataFrame]:
    """Return the segments of videos with the columns ``shows`` and ``counts``: which are occurrences, and of what.

    This is decided only here (methods 9.1). Segments that are not evidence of a key step are removed: first those that
    look like their neighbours (``evidence``), then those that are short for the ``usual`` seconds of their key step
    (`rgwot.procedure.differences.without_slivers`). A segment counts if its key step is still there at its middle. If
    the evidence has a key step where it has no segment, such as where two neighbours look like each other, the segment
    that has most of that time counts as an occurrence of what it ``shows``.

    Parameters
    ----------
    segments
        A table ``start_s, end_s, key_step`` per video.
    usual
        Seconds per key step (`usual_of`).
    evidence
        The segments without those that look like their neighbours; by default the segments themselves.
    annotated
        Videos in which every key step counts, however short.
    """
    kept = without_slivers(occurrences(evidence or segments), usual, annotated)
    events = {recording.video: recording.events for recording in kept}
    sizes, table = {video: len(rows) for video, rows in segments.items()}, pd.concat(segments.values())
    borders = np.cumsum(list(sizes.values()))[:-1]
    starts, ends, steps = (np.split(table[name].to_numpy(), borders) for name in SEGMENT_COLUMNS[2:])
    found = [
        _occurring(*own, events[video]) for video, own in zip(sizes, zip(starts, ends, steps, strict=True), strict=True)
    ]
    shows, counts = map(np.concatenate, zip(*found, strict=True))
    return divided(table.assign(shows=shows, counts=counts), sizes)


def divided(table: pd.DataFrame, sizes: Mapping[str, int]) -> dict[str, pd.DataFrame]:
    """Divide a table into those of videos, one after the other; much faster than making a table for each video."""
    ends = np.cumsum(list(sizes.values())).tolist()
    return {
        video: table.iloc[end - size : end].reset_index(drop=True)
        for (video, size), end in zip(sizes.items(), ends, strict=True)
    }


def _occurring(
    starts: NDArray[np.float64], ends: NDArray[np.float64], steps: NDArray[np.int64], events: Sequence[Event]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return what the segments (S,) of a video show, and whether they count, by the events of the evidence."""
    shows, middles = steps.copy(), (starts + ends) / 2
    counts, moved = np.zeros(len(steps), dtype=bool), []
    for event in events:
        own = (shows == event.key_step) & (event.start_s <= middles) & (middles < event.end_s)
        counts |= own
        if not own.any():
            moved.append(event)
    for event in moved:
        common = np.minimum(ends, event.end_s) - np.maximum(starts, event.start_s)
        common[counts | (shows == 0)] = 0
        if common.max(initial=0) > 0:
            shows[common.argmax()], counts[common.argmax()] = event.key_step, True
    return shows, counts


def usual_of(segments: Mapping[str, pd.DataFrame], held_out: Collection[str] = ()) -> dict[int, float]:
    """Return the usual length of each key step in seconds (`usual_lengths`), without held-out videos."""
    return usual_lengths(occurrences({video: table for video, table in segments.items() if video not in held_out}))


def procedure_of(
    segments: Mapping[str, pd.DataFrame],
    learner: str,
    held_out: Collection[str] = (),
    usual: Mapping[int, float] | None = None,
) -> Procedure:
    """Learn the procedure from the segments of scope ``task`` that count, without held-out videos.

    It keeps the ``usual`` seconds of key steps that decided which segments count, so that new videos are treated alike.
    """
    learned = learn(occurrences({video: table for video, table in segments.items() if video not in held_out}), learner)
    if usual is None:
        return learned
    return replace(learned, nodes=tuple(replace(node, usual_s=usual[node.key_step]) for node in learned.nodes))


def usual_kept(procedure: Procedure) -> dict[int, float]:
    """Return the usual seconds of key steps that a procedure keeps (`procedure_of`)."""
    return {node.key_step: node.usual_s for node in procedure.nodes if node.usual_s is not None}


def occurrences(segments: Mapping[str, pd.DataFrame]) -> list[Recording]:
    """Return the events of every video: its segments, or those that count, if the tables say so."""
    return recordings_from_segments(_with_videos(segments))


def _with_videos(segments: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the segments of all videos with a column of their ids."""
    ids = np.repeat(np.array(list(segments), dtype=object), [len(frame) for frame in segments.values()])
    return pd.concat(segments.values(), ignore_index=True).assign(video=ids)


def generator_for(seed: int, video: str | None = None) -> np.random.Generator:
    """Return the random generator of a task, or of a video.

    The generator of a video depends only on its name, so that adding a video to a task does not change the others.
    """
    return np.random.default_rng([seed] if video is None else [seed, 1, zlib.crc32(video.encode())])
