"""The result of a decoder: segments, the order of key steps in a video, the procedures of a task (methods 3.9)."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rgwot.columns import SCOPES, SEGMENT_COLUMNS
from rgwot.keysteps.interface import Learned, middle_times
from rgwot.procedure import Deviation, Procedure, Recording, deviations, learn, recordings_from_segments
from rgwot.procedure.differences import decided, usual_lengths, with_sureness, without_slivers

Order = tuple[int, ...]


def video_order(key_steps: NDArray[Any], positions: NDArray[Any], weights: NDArray[Any] | None = None) -> Order:
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

    def place(order: Order) -> tuple[int, tuple[float, ...], str]:
        return -counts[order], tuple(means[step] for step in order), format_order(order)

    ranked = sorted(counts, key=place)
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
        For each scope and video a table ``start_s, end_s, key_step``, with times in seconds.
    orders
        For each video the order of its key steps of scope ``task``.
    procedure
        The task graph, learned from these videos (`procedure_of`) or from others.
    diagnostics
        The content of ``diagnostics.json``.
    learned
        The parameters with which the decoder labels other videos; None if it cannot.
    evidence
        The segments for the procedure and deviations, if they are not those of scope ``task``.
    alternatives
        Segments of other segmentations of some or all videos, by which deviations get their sureness.
    annotated
        Annotated videos; their key steps count even if they are short.
    probabilities
        For each video the memberships (T, K + 1) of its samples, those of background first; None if the decoder has
        none.
    second
        The segments of a second reading of some or all videos by appearance alone, and how far it speaks for a
        deviation, by kind, video and key step (`rgwot.keysteps.reading`); they decide on deviations. None without one.
    """

    segments: Mapping[str, Mapping[str, pd.DataFrame]]
    orders: Mapping[str, Order]
    procedure: Procedure
    diagnostics: dict[str, Any]
    learned: Learned | None = None
    evidence: Mapping[str, pd.DataFrame] | None = None
    alternatives: Sequence[Mapping[str, pd.DataFrame]] = ()
    annotated: Collection[str] = ()
    probabilities: Mapping[str, NDArray[np.float64]] | None = None
    second: tuple[Mapping[str, pd.DataFrame], Mapping[tuple[str, str, int], float]] | None = None

    @property
    def segment_table(self) -> pd.DataFrame:
        """All segments, ``video, scope, start_s, end_s, key_step``."""
        scopes = [scope for scope in SCOPES if self.segments.get(scope)]
        rows = [_with_videos(self.segments[scope]).assign(scope=scope)[list(SEGMENT_COLUMNS)] for scope in scopes]
        return pd.concat(rows, ignore_index=True)

    @property
    def order_table(self) -> pd.DataFrame:
        """The orders as text, ``video, order``."""
        texts = [format_order(order) for order in self.orders.values()]
        return pd.DataFrame({"video": list(self.orders), "order": texts})

    @property
    def deviations(self) -> list[Deviation]:
        """The deviations of every video from the procedure, with their sureness."""
        usual = {node.key_step: node.duration_s / node.repeats for node in self.procedure.nodes}
        recordings, *others = (
            without_slivers(_recordings(segments), usual, self.annotated)
            for segments in (self.evidence or self.segments["task"], *self.alternatives)
        )
        found = with_sureness(deviations(self.procedure, recordings), self.procedure, others)
        if self.second is None:
            return found
        segments, support = self.second
        read = without_slivers(_recordings(segments), usual, self.annotated)
        different = [deviations(self.procedure, part) for part in (read, *others)]
        return decided(found, different[1:], different[0], support, self.annotated)


def procedure_of(
    segments: Mapping[str, pd.DataFrame],
    learner: str,
    held_out: Collection[str] = (),
    annotated: Collection[str] = (),
) -> Procedure:
    """Learn the procedure from the segments of scope ``task``, without held-out videos.

    Slivers, very short segments, are removed (`without_slivers`), except in ``annotated`` videos.
    """
    training = {video: frame for video, frame in segments.items() if video not in held_out}
    recordings = _recordings(training)
    recordings = without_slivers(recordings, usual_lengths(recordings), annotated)
    return learn(recordings, learner)


def _recordings(segments: Mapping[str, pd.DataFrame]) -> list[Recording]:
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
