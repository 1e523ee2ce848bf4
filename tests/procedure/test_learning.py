from __future__ import annotations

import json
import math

import networkx
import pandas as pd
import pytest
from planted import planted, recording

from rgwot.procedure import Event, Procedure, Recording, deviations, learn, recordings_from_segments
from rgwot.procedure.facts import deviation_facts, doubt_sentence
from rgwot.runtime.errors import RgwotError

NEEDS = [(1, 2), (1, 3), (2, 4), (3, 4)]


def test_nodes_by_hand():
    videos = [
        Recording("a", (Event(1, 0, 2), Event(2, 2, 4), Event(1, 6, 7)), 10),
        Recording("b", (Event(1, 2, 4), Event(2, 5, 9)), 20),
        Recording("c", (Event(2, 0, 6),), 12),
        Recording("d", (), 5),
    ]
    procedure = learn(videos)
    one, two = procedure.nodes
    assert (one.key_step, one.n_videos, one.share, one.optional) == (1, 2, 2 / 3, True)
    assert (one.repeats, one.repeat_share) == (1.5, 0.5)
    # The place is the middle of the first occurrence as a share of the video, 1/10 and 3/20; durations are 3 and 2 s.
    assert one.place == pytest.approx(0.125)
    assert one.duration_s == 2.5
    assert (two.n_videos, two.share, two.optional, two.repeats) == (3, 1.0, False, 1.0)
    assert two.duration_s == 4
    assert procedure.n_videos == 3
    assert [video.video for video in procedure.videos] == ["a", "b", "c", "d"]
    assert math.isnan(procedure.videos[3].score)
    assert procedure.notes[0].startswith("1 video of 4 without a key step")


def test_edges_count_the_videos_that_have_both():
    videos = [recording("a", 1, 2), recording("b", 2, 1), recording("c", 1, 2), recording("d", 1)]
    (edge,) = [edge for edge in learn(videos, learner="chain").edges if edge.before == 1]
    assert (edge.after, edge.agree, edge.both) == (2, 2, 3)
    assert edge.interval[0] < 2 / 3 < edge.interval[1]


def test_steps_that_begin_together_go_by_their_ends():
    videos = [Recording(f"v{n}", (Event(2, 0, 9), Event(1, 0, 3)), 10) for n in range(5)]
    procedure = learn(videos, learner="intersection")
    assert procedure.order == (1, 2)
    same = [Recording(f"v{n}", (Event(2, 0, 3), Event(1, 0, 3)), 10) for n in range(5)]
    assert learn(same, learner="intersection").needs == ()


@pytest.mark.parametrize("seed", range(5))
def test_the_consensus_is_a_linear_extension_and_the_graph_is_reduced(seed):
    procedure = learn(planted(NEEDS, 6, 10, 3, seed))
    graph = procedure.graph
    assert networkx.is_directed_acyclic_graph(graph)
    assert set(networkx.transitive_reduction(graph).edges) == set(graph.edges)
    assert {"START", "END", *procedure.order} == set(graph)
    assert all(networkx.has_path(graph, "START", step) for step in procedure.order)
    place = {step: rank for rank, step in enumerate(procedure.order)}
    assert all(place[need.before] < place[need.after] for need in procedure.needs)
    assert 0 <= procedure.order_distance <= 0.5
    assert graph.nodes[1]["share"] == 1.0
    assert graph.edges["START", procedure.order[0]]["both"] == 10


def test_json_there_and_back():
    procedure = learn([*planted(NEEDS, 5, 9, 2, 1), Recording("empty", (), 3.0)])
    text = json.dumps(procedure.to_json(), allow_nan=False)
    again = Procedure.from_json(json.loads(text))
    assert json.dumps(again.to_json()) == text
    assert again.edges == procedure.edges
    assert again.nodes == procedure.nodes
    assert math.isnan(again.videos[-1].score)
    with pytest.raises(RgwotError, match="version 2, expected 1"):
        Procedure.from_json({**procedure.to_json(), "version": 2})
    with pytest.raises(RgwotError, match="nodes"):
        Procedure.from_json({key: value for key, value in procedure.to_json().items() if key != "nodes"})


def test_groups_and_typical_video():
    procedure = learn(planted(NEEDS, 4, 10, 0, 2))
    assert procedure.groups == ((2, 3),)
    assert procedure.typical_video == min(procedure.videos, key=lambda video: video.score).video or all(
        video.score == 0 for video in procedure.videos
    )
    erring = learn([*planted(NEEDS, 4, 12, 0, 2), recording("bad", 4, 3, 2, 1)])
    assert erring.typical_video != "bad"
    assert max(erring.videos, key=lambda video: video.score).video == "bad"


@pytest.mark.parametrize(
    ("videos", "word"),
    [
        ([], "no video"),
        ([Recording("a", (), 5), Recording("b", (), 5)], "all of it is background"),
        ([recording("a", 1, 2)], "one video only"),
        ([recording("a", 1, 2), recording("b", 1, 2)], "two videos only"),
        ([recording(name, 3) for name in "abc"], r"one key step only \(3\)"),
        ([recording("a", 1, 2, 3), recording("b", 3, 2, 1), recording("c", 2, 3, 1)], "contradict each other"),
    ],
)
def test_what_the_data_does_not_support_is_reported_in_a_line(videos, word):
    procedure = learn(videos)
    assert any(pd.Series([note]).str.contains(word).item() for note in procedure.notes), procedure.notes
    assert all("\n" not in note for note in procedure.notes)
    assert len(procedure.order) == len(procedure.nodes)


def test_videos_that_contradict_the_others_count_little_and_are_named():
    videos = [*planted(NEEDS, 4, 12, 0, 2), *(recording(f"bad {at}", 4, 3, 2, 1) for at in range(2))]
    procedure = learn(videos)
    assert [fit.video for fit in procedure.videos if fit.weight < 0.5] == ["bad 0", "bad 1"]
    rows = deviation_facts(deviations(procedure, videos), videos)
    assert "another order was found perhaps in bad 0 and bad 1" in doubt_sentence(procedure, rows)


def test_a_circle_is_reported():
    # Each pair was seen in one video only, so that no video contradicts another.
    videos = [recording("a", 1, 2), recording("b", 2, 3), recording("c", 3, 1)]
    procedure = learn(videos, learner="intersection")
    assert any("come before each other" in note for note in procedure.notes)
    assert networkx.is_directed_acyclic_graph(procedure.graph)


def test_bad_recordings():
    with pytest.raises(RgwotError, match="'a' more than once"):
        learn([recording("a", 1), recording("a", 2)])
    assert [event.key_step for event in Recording("a", (Event(1, 5, 6), Event(2, 0, 1)), 9).events] == [2, 1]
    with pytest.raises(RgwotError, match="key step 0, expected 1"):
        Recording("a", (Event(0, 0, 1),), 2)
    with pytest.raises(RgwotError, match="from 3 to 1 s"):
        Recording("a", (Event(1, 3, 1),), 2)


def test_segments_become_recordings():
    segments = pd.DataFrame(
        [
            ("b", "task", 0.0, 1.0, 0),
            ("b", "task", 1.0, 2.0, 2),
            ("b", "task", 2.0, 3.5, 0),
            ("b", "video", 0.0, 3.5, 7),
            ("a", "task", 0.0, 4.0, 1),
        ],
        columns=["video", "scope", "start_s", "end_s", "key_step"],
    )
    assert recordings_from_segments(segments) == [
        Recording("b", (Event(2, 1.0, 2.0),), 3.5),
        Recording("a", (Event(1, 0.0, 4.0),), 4.0),
    ]
    assert recordings_from_segments(segments, durations={"b": 9.0})[0].duration_s == 9.0
