"""The protocol ``graph``, compared with hand-worked numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from planted import recordings

from rgwot.procedure import Procedure, Recording, deviations, learn
from rgwot.procedure.graphs import needs_of
from rgwot.procedure.scores import GraphScores, edges_of, score_procedure, with_graph
from rgwot.runtime.errors import RgwotError
from rgwot.stages.procedure import read_task_graph


def scored(
    found: Procedure, true: Procedure, predicted: list[Recording], annotated: list[Recording], step_of: dict[int, int]
) -> GraphScores:
    return score_procedure(found, true, deviations(found, predicted, known=False), annotated, step_of)


def renamed(videos: list[Recording], names: dict[int, int]) -> list[Recording]:
    return [
        replace(video, events=tuple(event._replace(key_step=names[event.key_step]) for event in video.events))
        for video in videos
    ]


#: 1 before 2 and 3, both before 4; video 3 does 4 too early and video 4 leaves 2 out.
TRUTH = recordings((1, 2, 3, 4), (1, 3, 2, 4), (1, 2, 3, 4), (4, 1, 2, 3), (1, 3, 4), (1, 3, 2, 4), (1, 2, 3, 4))
TRUE = learn(TRUTH, "precedence")
SAME = {step: step for step in range(1, 5)}


def test_the_truth_itself_is_right_whatever_its_clusters_are_called() -> None:
    names = {1: 7, 2: 3, 3: 1, 4: 4}
    actual = renamed(TRUTH, names)
    step_of = {cluster: step for step, cluster in names.items()}
    scores = scored(learn(actual, "precedence"), TRUE, actual, TRUTH, step_of)
    assert scores[:3] == (1, 1, 1)
    assert (scores.order_f1, scores.missing_f1, scores.n_videos) == (1, 1, 7)
    # Orders with 2 or 3 first fit equally well. Video 3 reverses three of six pairs; video 4 has only three pairs.
    apart = [1 / 6, 0, 1 / 6, 4 / 6, 0, 0, 1 / 6] if TRUE.order == (1, 3, 2, 4) else [0, 1 / 6, 0, 3 / 6, 0, 1 / 6, 0]
    assert scores.consensus_distance == pytest.approx(sum(apart) / 7)


def test_edges_are_counted_with_start_and_end() -> None:
    """True are S-1, 1-2, 1-3, 2-4, 3-4 and 4-E; of the chain S-1, 1-2, 2-3, 3-4, 4-E, four edges are right."""
    procedure = learn(recordings((1, 2, 3, 4)), "chain")
    scores = scored(procedure, TRUE, recordings((1, 2, 3, 4)), TRUTH, SAME)
    assert scores[:3] == pytest.approx((4 / 5, 4 / 6, 2 * 4 / 11))


def test_a_cluster_of_background_or_without_a_partner_is_left_out() -> None:
    """Cluster 9 comes between 1 and the others in every video."""
    procedure = learn(recordings(*[(1, 9, 2, 3, 4)] * 3), "chain")
    for step_of in ({**SAME, 9: 0}, SAME):
        scores = scored(procedure, TRUE, [], TRUTH, step_of)
        assert scores[:3] == pytest.approx((4 / 5, 4 / 6, 2 * 4 / 11))


def test_a_step_that_was_not_found_is_missed() -> None:
    """Of S-1, 1-2, 1-3, 2-4, 3-4, 4-E the chain without 3 has S-1, 1-2, 2-4, 4-E."""
    procedure = learn(recordings(*[(1, 2, 4)] * 3), "chain")
    scores = scored(procedure, TRUE, [], TRUTH, SAME)
    assert scores[:3] == pytest.approx((1, 4 / 6, 2 * 4 / 10))


def test_a_cluster_of_background_has_no_deviations_and_those_of_an_unmatched_one_are_wrong() -> None:
    videos = recordings(*[(1, 9, 2)] * 7, (1, 2))
    found, true = learn(videos, "chain"), learn(recordings(*[(1, 2)] * 7), "chain")
    annotated = recordings(*[(1, 2)] * 7, (1, 2))
    assert math.isnan(scored(found, true, videos, annotated, {1: 1, 2: 2, 9: 0}).missing_f1)
    assert scored(found, true, videos, annotated, {1: 1, 2: 2}).missing_f1 == 0


def test_deviations_that_were_found_are_compared_step_by_step() -> None:
    """Found are 4 too early in video 0, which is wrong, and in video 3, which is right."""
    procedure = learn(TRUTH, "precedence")
    predicted = [replace(TRUTH[3], video="v0"), *TRUTH[1:]]
    scores = scored(procedure, TRUE, predicted, TRUTH, SAME)
    assert scores.order_f1 == pytest.approx(2 * 1 / (1 + 2))
    assert scores.missing_f1 == 1


def test_nothing_found_is_nothing_right() -> None:
    scores = scored(learn(recordings(())), TRUE, recordings(()), TRUTH, {})
    assert math.isnan(scores.edge_precision)
    assert (scores.edge_recall, scores.edge_f1, scores.order_f1, scores.missing_f1) == (0, 0, 0, 0)
    assert scores.consensus_distance == 0.5


def test_a_cluster_that_the_procedure_does_not_know_is_not_a_step() -> None:
    """Cluster 2 of a held-out video has no partner and must not count as step 2."""
    procedure = learn(recordings((1, 3, 4), (1, 3, 4)), "precedence")
    scores = scored(procedure, TRUE, recordings((2, 1)), TRUTH[:1], {1: 1, 3: 3, 4: 4})
    assert math.isnan(scores.order_f1)


def test_a_true_graph_is_restricted_to_the_annotated_steps(tmp_path: Path) -> None:
    path = tmp_path / "graph.csv"
    path.write_text("key_step,needs\n1,START\n2,1\n5,2\n3,5\n4,3\n4,1\nEND,4\n")
    graph = read_task_graph(path)
    assert graph == {("START", 1), (1, 2), (2, 5), (5, 3), (3, 4), (4, "END")}
    # Step 5 is in no video.
    true = with_graph(TRUE, graph)
    assert edges_of(true) == {("START", 1), (1, 2), (2, 3), (3, 4), (4, "END")}
    assert {(need.before, need.after) for need in true.needs} == needs_of(edges_of(true))
    chain = learn(recordings((1, 2, 3, 4)), "chain")
    assert scored(chain, true, TRUTH, TRUTH, SAME).edge_f1 == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("step,needs\n", "no column key_step"),
        ("key_step,needs\nboil,1\n", "row 2: found 'boil', '1', expected numbers"),
        ("key_step,needs\n2,1\n3,2\n1,3\n", "graph.csv: edges: found the cycle"),
    ],
)
def test_another_file_is_refused_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "graph.csv"
    path.write_text(text)
    with pytest.raises(RgwotError, match=words) as caught:
        read_task_graph(path)
    assert "\n" not in str(caught.value)
