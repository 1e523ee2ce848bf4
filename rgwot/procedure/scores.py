"""Scores of procedures of decoded key steps, as rows of the table of scores (methods 9.7)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import pandas as pd

from rgwot.evaluation.evaluate import SCORED, LabelledVideo
from rgwot.evaluation.protocols import BACKGROUNDS, GRAPH, kept_frames, pooled_matching
from rgwot.procedure.differences import deviations
from rgwot.procedure.graphs import Edges, Step, edge_scores, mean_distance, needs_of, restricted, set_scores
from rgwot.procedure.interface import Deviation, Edge, Procedure, Recording
from rgwot.procedure.learning import learn, recordings_from_segments
from rgwot.timing import RULES


class GraphScores(NamedTuple):
    """Scores of a learned procedure, each in [0, 1], or NaN if nothing can be compared.

    Attributes
    ----------
    edge_precision, edge_recall, edge_f1
        Scores of the edges of the reduced graphs, including START and END.
    consensus_distance
        Mean over videos of the normalised Kendall distance between the one order for all and the annotated order of the
        video, lower is better, 0.5 is no information (`mean_distance`).
    order_f1, missing_f1
        Scores of the pairs of video and key step that deviate in order (too early or too late), and of those left out.
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
    predicted: Procedure,
    true: Procedure,
    deviating: Sequence[Deviation],
    annotated: Sequence[Recording],
    step_of: Mapping[int, int],
) -> GraphScores:
    """Score a procedure of decoded key steps.

    A decoded key step that is matched to background, or to nothing, is removed from the graph; key steps that need it
    then need what it needs. Deviations of a key step without a partner count as wrong; those of background are ignored.

    Parameters
    ----------
    predicted, true
        Procedures of decoded and of annotated key steps.
    deviating, annotated
        Predicted deviations of the scored videos, and their annotated recordings, which are compared with ``true``.
    step_of
        Annotated key step of every decoded one that has a partner, 0 for background
        (`rgwot.evaluation.protocols.pooled_matching`).
    """
    predicted_steps = {node.key_step for node in predicted.nodes}
    matching = {step: name for step, name in step_of.items() if name and step in predicted_steps}
    edges = edge_scores(edges_of(true), edges_of(predicted), matching)
    distance = mean_distance(
        [matching[step] for step in predicted.order if step in matching],
        [list(dict.fromkeys(event.key_step for event in recording.events)) for recording in annotated],
    )
    of_true = deviations(true, annotated, known=False)
    # A found key step k without a partner becomes -k, which is not the number of an annotated key step.
    of_found = [
        replace(deviation, key_step=step_of.get(deviation.key_step, -deviation.key_step)) for deviation in deviating
    ]
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
    predicted: Procedure,
    deviating: Sequence[Deviation],
    graph: Edges | None = None,
) -> pd.DataFrame:
    """Score a procedure under the protocol ``graph``, for every background and label rule, which affect the matching.

    The true procedure is learned from all ``annotations`` by the learner of ``predicted``; if there is a true
    ``graph``, its edges are used instead. The other arguments and the rows are those of
    `rgwot.evaluation.evaluate.ScoreMore`.
    """
    rows: list[tuple[str, str, str, str, float]] = []
    true = learn(recordings_from_segments(annotations), predicted.learner)
    if graph is not None:
        true = with_graph(true, graph)
    names = [video.name for video in videos]
    annotated = recordings_from_segments(annotations[annotations["video"].isin(names)])
    named = [deviation for deviation in deviating if deviation.video in names]
    predictions = [video.prediction["task"] for video in videos]
    for background, rule in product(BACKGROUNDS, RULES):
        pairs = kept_frames([video.truth[rule] for video in videos], predictions, background)
        some = any(len(g) for g, _, _ in pairs)
        step_of = pooled_matching(pairs, n_key_steps, n_clusters, background) if some else {}
        scores = score_procedure(predicted, true, named, annotated, step_of)._asdict()
        rows += [(GRAPH, background, rule, metric, float(value)) for metric, value in scores.items()]
    return pd.DataFrame(rows, columns=list(SCORED))


def edges_of(procedure: Procedure) -> set[tuple[Step, Step]]:
    """Return the edges of a procedure as pairs, START and END included."""
    return {(edge.before, edge.after) for edge in procedure.edges}


def with_graph(procedure: Procedure, graph: Edges) -> Procedure:
    """Return a procedure with the edges and needs of a graph, restricted to the procedure's key steps."""
    kept_edges = restricted(graph, {node.key_step for node in procedure.nodes})
    edges, needs = (
        tuple(Edge(before, after, 1.0, 0, 0, (1.0, 1.0)) for before, after in sorted(pairs, key=str))  # type: ignore[arg-type]
        for pairs in (kept_edges, needs_of(kept_edges))
    )
    return replace(procedure, edges=edges, needs=needs)


def _deviating(deviations: Iterable[Deviation], kinds: Collection[str]) -> set[tuple[str, int]]:
    """Return (video, key step) of deviations, without clusters that mean background."""
    return {
        (deviation.video, deviation.key_step)
        for deviation in deviations
        if deviation.kind in kinds and deviation.key_step
    }
