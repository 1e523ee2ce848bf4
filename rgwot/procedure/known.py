"""Known parts of an order: needs that enough videos show, and pairs of key steps that people do in both orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from rgwot.procedure.graphs import LEVEL, share_interval
from rgwot.procedure.interface import END, FEWEST, START, Edge, Procedure, Recording
from rgwot.procedure.orders import Booleans, Integers, Tally, either_order, reduction

VARIES = 2
"""Two key steps may come in either order only if this many videos show each order."""


def told(procedure: Procedure) -> Procedure:
    """Return a procedure for people to read: with the needs that are known (`Edge.known`), and no others."""
    steps = [node.key_step for node in procedure.nodes]
    place = {step: at for at, step in enumerate(steps)}
    needs = {(int(need.before), int(need.after)): need for need in procedure.needs if need.known}
    relation = np.zeros((len(steps), len(steps)), dtype=bool)
    for before, after in needs:
        relation[place[before], place[after]] = True
    learned = {(edge.before, edge.after): edge for edge in procedure.edges}
    pairs = [(steps[k], steps[l]) for k, l in zip(*np.nonzero(reduction(relation)), strict=True)]  # noqa: E741
    edges = [learned.get(pair) or needs[pair] for pair in pairs]
    n_videos = {node.key_step: node.n_videos for node in procedure.nodes}

    def end_of(before: int | str, after: int | str, step: int) -> Edge:
        """Return an edge of START or END for a key step whose learned needs are not known."""
        confidence = max(
            (need.confidence for need in procedure.needs if step in (need.before, need.after)), default=0.0
        )
        n = n_videos[step]
        return Edge(before, after, 1 - confidence, n, n, share_interval(n, n))  # type: ignore[arg-type]

    first = [step for step in steps if not relation[:, place[step]].any()]
    last = [step for step in steps if not relation[place[step]].any()]
    starts = [learned.get((START, step)) or end_of(START, step, step) for step in first]
    ends = [learned.get((step, END)) or end_of(step, END, step) for step in last]
    return replace(procedure, edges=(*starts, *edges, *ends), needs=tuple(needs.values()))


def known(agree: Integers, both: Integers) -> Booleans:
    """Return whether [k] is known to come before [l], from the numbers of videos (K, K), as in `Edge.known`."""
    low = betaincinv(agree + 0.5, both - agree + 0.5, (1 - LEVEL) / 2)
    enough: Booleans = (both >= FEWEST) & (low > 0.5)
    return enough


def unordered(
    counted: Tally, recordings: Sequence[Recording], relation: Booleans, order: Sequence[int]
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the runs of neighbours in ``order`` that may come in either order, and those of which no order is known.

    Within a run, no need of the ``relation`` (K, K) is known, nor does one key step first occur before another in
    enough videos. People do a run in either order if, for each of its pairs, `FEWEST` videos show both key steps and
    `VARIES` videos each order of their first occurrences.
    """
    first = np.full(counted.present.shape, np.nan)
    place = {int(step): at for at, step in enumerate(counted.steps)}
    for row, recording in enumerate(recordings):
        for event in reversed(recording.events):
            first[row, place[event.key_step]] = event.start_s
    agree: NDArray[np.int64] = (first[:, :, None] < first[:, None, :]).sum(axis=0, dtype=np.int64)
    rank = np.empty(len(order), dtype=np.int64)
    rank[list(order)] = np.arange(len(order))
    forwards = rank[:, None] < rank[None]
    ordered = forwards & (relation & known(counted.agree, counted.both) | known(agree, counted.both))
    varies = (counted.both >= FEWEST) & (agree >= VARIES) & (agree.T >= VARIES) | np.eye(len(order), dtype=bool)
    runs = either_order(ordered, order)
    either = [run for run in runs if varies[np.ix_(run, run)].all()]
    return either, [run for run in runs if run not in either]
