"""The protocol ``graph``: a procedure that was found against the true one, after task-level matching (methods 6.9)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import pandas as pd

from rgwot.evaluation.evaluate import SCORED, LabelledVideo
from rgwot.evaluation.graphs import Edges, Step, edge_scores, mean_distance, needs_of, restricted, set_scores
from rgwot.evaluation.protocols import BACKGROUNDS, GRAPH, kept_frames, pooled_matching
from rgwot.procedure.conformance import deviations
from rgwot.procedure.interface import Deviation, Edge, Procedure, Recording
from rgwot.procedure.learning import learn, recordings_from_segments
from rgwot.timing import RULES


class GraphScores(NamedTuple):
    """How well a procedure was found, each in [0, 1], or NaN where nothing can be compared.

    Attributes
    ----------
    edge_precision, edge_recall, edge_f1
        Of the edges of the reduced graphs, START and END included.
    consensus_distance
        Mean over videos of the normalised Kendall distance between the one order for all and the annotated order of the
        video, lower is better, 0.5 is no information (`rgwot.evaluation.graphs.mean_distance`).
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

    A found key step that is matched to background, or to nothing, leaves the graph, and what needs it needs what it
    needs. Deviations of one without a partner are wrong; those of background are none.

    Parameters
    ----------
    found, true
        Procedures of found and of annotated key steps.
    predicted, annotated
        The scored videos, with found key steps and with annotated ones; deviations are from ``found`` and ``true``.
    step_of
        Annotated key step of every found one that has a partner, 0 for background
        (`rgwot.evaluation.protocols.pooled_matching`).
    """
    known = {node.key_step for node in found.nodes}
    matching = {step: name for step, name in step_of.items() if name and step in known}
    edges = edge_scores(edges_of(true), edges_of(found), matching)
    distance = mean_distance(
        [matching[step] for step in found.order if step in matching],
        [list(dict.fromkeys(event.key_step for event in recording.events)) for recording in annotated],
    )
    of_true = deviations(true, annotated)
    # Numbers below 0 stand for no annotated key step.
    of_found = [replace(one, key_step=step_of.get(one.key_step, -one.key_step)) for one in deviations(found, predicted)]
    order, missing = (
        set_scores(_deviating(of_true, kinds), _deviating(of_found, kinds)).f1
        for kinds in (("too_early", "too_late"), ("missing",))
    )
    return GraphScores(*edges, distance, order, missing, len(annotated))


def graph_table(
    videos: Sequence[LabelledVideo],
    annotations: pd.DataFrame,
    segments: pd.DataFrame,
    n_key_steps: int,
    n_clusters: int,
    *,
    found: Procedure,
    graph: Edges | None = None,
) -> pd.DataFrame:
    """Score a procedure under the protocol ``graph``, for every background and label rule, which matter to matching.

    The true procedure is learned from all ``annotations`` by the learner of ``found``; its edges are those of a true
    ``graph`` where there is one. The other arguments and the rows are those of
    `rgwot.evaluation.evaluate.ScoreMore`.
    """
    rows: list[tuple[str, str, str, str, float]] = []
    true = learn(recordings_from_segments(annotations), found.learner)
    if graph is not None:
        true = with_graph(true, graph)
    names = [video.name for video in videos]
    annotated = recordings_from_segments(annotations[annotations["video"].isin(names)])
    predicted = recordings_from_segments(segments[segments["video"].isin(names)])
    predictions = [video.prediction["task"] for video in videos]
    for background, rule in product(BACKGROUNDS, RULES):
        pairs = kept_frames([video.truth[rule] for video in videos], predictions, background)
        some = any(len(g) for g, _, _ in pairs)
        step_of = pooled_matching(pairs, n_key_steps, n_clusters, background) if some else {}
        scores = score_procedure(found, true, predicted, annotated, step_of)._asdict()
        rows += [(GRAPH, background, rule, metric, float(value)) for metric, value in scores.items()]
    return pd.DataFrame(rows, columns=list(SCORED))


def edges_of(procedure: Procedure) -> set[tuple[Step, Step]]:
    """Return the edges of a procedure as pairs, START and END included."""
    return {(edge.before, edge.after) for edge in procedure.edges}


def with_graph(procedure: Procedure, graph: Edges) -> Procedure:
    """Return a procedure whose key steps need each other as a graph says, of which others are left out."""
    kept = restricted(graph, {node.key_step for node in procedure.nodes})
    edges, needs = (
        tuple(Edge(before, after, 1.0, 0, 0, (0.0, 1.0)) for before, after in sorted(pairs, key=str))  # type: ignore[arg-type]
        for pairs in (kept, needs_of(kept))
    )
    return replace(procedure, edges=edges, needs=needs)


def _deviating(found: Iterable[Deviation], kinds: Collection[str]) -> set[tuple[str, int]]:
    """Return video and key step of deviations, without clusters that stand for background."""
    return {(one.video, one.key_step) for one in found if one.kind in kinds and one.key_step}
