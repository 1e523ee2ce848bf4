"""The protocol ``graph``: a procedure that was found against the true one, after task-level matching (methods 6.9)."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rgwot.evaluation.background import detection
from rgwot.evaluation.order import kendall_distance
from rgwot.procedure import Deviation, Edge, Procedure, Recording, deviations
from rgwot.procedure.interface import END, START
from rgwot.procedure.orders import closure, reduction
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import read_csv

Needs = frozenset[tuple[int, int]]
"""Pairs (before, after) of key steps, transitively closed and without a circle."""
Edges = frozenset[tuple[int | str, int | str]]


class GraphScores(NamedTuple):
    """How well a procedure was found, each in [0, 1], or NaN where nothing can be compared.

    Attributes
    ----------
    edge_precision, edge_recall, edge_f1
        Of the edges of the reduced graphs, START and END included.
    consensus_distance
        Mean over videos of the normalised Kendall distance between the one order for all and the annotated order of the
        video, lower is better, 0.5 is no information (`rgwot.evaluation.order.kendall_distance`).
    order_f1, missing_f1
        Of the pairs of video and key step that deviate in order (too early or too late), and of those left out.
    n_videos
        Videos scored.
    """

    edge_precision: float
    edge_recall: float
    edge_f1: float
    consensus_distance: float
    order_f1: float
    missing_f1: float
    n_videos: int


def score_procedure(
    found: Procedure,
    true: Procedure,
    predicted: Sequence[Recording],
    annotated: Sequence[Recording],
    step_of: Mapping[int, int],
) -> GraphScores:
    """Score a procedure of found key steps.

    A cluster that is matched to background is no key step: it leaves the graph, and what needs it needs what it needs.
    One without a partner stays, and its edges are wrong.

    Parameters
    ----------
    found, true
        Procedures of found and of annotated key steps.
    predicted, annotated
        The scored videos, with found key steps and with annotated ones; deviations are from ``found`` and ``true``.
    step_of
        Annotated key step of every found one that has a partner, 0 for background (`pooled_matching`).
    """

    def named(cluster: int) -> int:
        """Return the key step that a cluster stands for, 0 for background, below 0 for none."""
        return step_of.get(cluster, -cluster)

    kept = {named(node.key_step) for node in found.nodes} - {0}
    needs = {(named(before), named(after)) for before, after in needs_of(found)}
    steps = {node.key_step for node in true.nodes}
    edges = detection(*_both(task_edges(steps, needs_of(true)), task_edges(kept, needs)))
    rank = {step: (at, 1) for at, step in enumerate(map(named, found.order)) if step > 0}
    distances = [kendall_distance(_ranks(recording), rank) for recording in annotated]
    finite = [distance for distance in distances if not np.isnan(distance)]
    of_found = [replace(one, key_step=named(one.key_step)) for one in deviations(found, predicted)]
    of_true = deviations(true, annotated)
    order, missing = (
        detection(*_both(_deviating(of_true, kinds), _deviating(of_found, kinds))).f1
        for kinds in (("too_early", "too_late"), ("missing",))
    )
    return GraphScores(*edges, float(np.mean(finite)) if finite else float("nan"), order, missing, len(annotated))


def needs_of(procedure: Procedure) -> Needs:
    """Return all needs between key steps, those that follow from others included."""
    return frozenset(
        (need.before, need.after)
        for need in procedure.needs
        if not isinstance(need.before, str) and not isinstance(need.after, str)
    )


def task_edges(steps: Collection[int], needs: Iterable[tuple[int, int]]) -> Edges:
    """Return the edges of the reduced graph of some key steps, with START and END, from all needs.

    Needs of other key steps are left out: ``needs`` are closed, so what was needed by way of them stays.

    >>> sorted(task_edges([1, 2, 3], {(1, 2), (2, 3), (1, 3)}), key=str)
    [('START', 1), (1, 2), (2, 3), (3, 'END')]
    >>> sorted(task_edges([1, 3], {(1, 2), (2, 3), (1, 3)}), key=str)
    [('START', 1), (1, 3), (3, 'END')]
    """
    listed = sorted(steps)
    at = {step: place for place, step in enumerate(listed)}
    relation = np.zeros((len(listed), len(listed)), dtype=bool)
    for before, after in needs:
        if before in at and after in at:
            relation[at[before], at[after]] = True
    reduced = reduction(relation)
    return frozenset(
        [(listed[before], listed[after]) for before, after in zip(*np.nonzero(reduced), strict=True)]
        + [(START, step) for step, place in at.items() if not reduced[:, place].any()]
        + [(step, END) for step, place in at.items() if not reduced[place].any()]
    )


def read_task_graph(path: str | os.PathLike[str]) -> Needs:
    """Read a true task graph, a CSV with the columns ``key_step`` and ``needs``; START and END may be in it.

    Raises
    ------
    RgwotError
        For another table, a key step that is no number, or a graph with a circle.
    """
    frame = read_csv(path, ("key_step", "needs"), {})
    pairs = []
    for row, (after, before) in enumerate(frame[["key_step", "needs"]].to_numpy(), start=2):
        if {before, after} & {START, END}:
            continue
        if not (str(before).isdecimal() and str(after).isdecimal()):
            raise RgwotError(f"{path}: row {row}: found {after!r} needs {before!r}, expected numbers of key steps")
        pairs.append((int(before), int(after)))
    steps = sorted({step for pair in pairs for step in pair})
    relation = np.zeros((len(steps), len(steps)), dtype=bool)
    for before, after in pairs:
        relation[steps.index(before), steps.index(after)] = True
    closed = closure(relation)
    if closed.diagonal().any():
        raise RgwotError(f"{path}: key step {steps[int(closed.diagonal().argmax())]} needs itself by way of others")
    return frozenset((steps[before], steps[after]) for before, after in zip(*np.nonzero(closed), strict=True))


def with_needs(procedure: Procedure, needs: Needs) -> Procedure:
    """Return a procedure with other needs between its key steps, and edges that follow from them."""
    steps = {node.key_step for node in procedure.nodes}
    return replace(
        procedure,
        needs=tuple(Edge(a, b, 1.0, 0, 0, (0.0, 1.0)) for a, b in sorted(needs) if a in steps and b in steps),
        edges=tuple(Edge(a, b, 1.0, 0, 0, (0.0, 1.0)) for a, b in sorted(task_edges(steps, needs), key=str)),  # type: ignore[arg-type]
    )


def _ranks(recording: Recording) -> dict[int, tuple[int, int]]:
    """Return the place of the first occurrence of every key step."""
    return {step: (at, 1) for at, step in enumerate(dict.fromkeys(event.key_step for event in recording.events))}


def _deviating(found: Iterable[Deviation], kinds: Collection[str]) -> set[tuple[str, int]]:
    """Return video and key step of deviations, without clusters that stand for background."""
    return {(one.video, one.key_step) for one in found if one.kind in kinds and one.key_step}


def _both(true: Collection[object], found: Collection[object]) -> tuple[list[bool], list[bool]]:
    """Return for all things that either has whether they are true, and whether they were found."""
    every = [*true, *(one for one in found if one not in true)]
    return [one in true for one in every], [one in found for one in every]
