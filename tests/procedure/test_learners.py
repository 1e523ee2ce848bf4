from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from planted import planted, recording

from rgwot.procedure import FOUND, LEARNERS, Event, Recording, learn
from rgwot.procedure.learners import robust
from rgwot.procedure.orders import closure, tally
from rgwot.runtime.errors import RgwotError

NEEDS = [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (4, 6), (5, 7), (6, 7)]


def edges(procedure):
    return {(edge.before, edge.after) for edge in procedure.edges}


def needs(procedure):
    return {(need.before, need.after) for need in procedure.needs}


def closed(pairs, n):
    relation = np.zeros((n + 1, n + 1), dtype=bool)
    for before, after in pairs:
        relation[before, after] = True
    return set(zip(*map(np.ndarray.tolist, np.nonzero(closure(relation))), strict=True))


@pytest.mark.parametrize("learner", ["intersection", "precedence", "robust"])
def test_people_without_mistakes_give_the_graph_they_follow(learner):
    found = learn(planted(NEEDS, 7, 40, 0, seed=3), learner=learner)
    assert edges(found) == {("START", 1), *NEEDS, (7, "END")}


def test_the_trivial_learners_by_hand():
    videos = [recording("a", 1, 2, 3), recording("b", 1, 3, 2), recording("c", 1, 2, 3)]
    assert edges(learn(videos, learner="chain")) == {("START", 1), (1, 2), (2, 3), (3, "END")}
    assert edges(learn(videos, learner="intersection")) == {("START", 1), (1, 2), (1, 3), (2, "END"), (3, "END")}
    assert needs(learn(videos, learner="precedence", above=0.6)) == {(1, 2), (1, 3), (2, 3)}
    assert needs(learn(videos, learner="precedence", above=0.7)) == {(1, 2), (1, 3)}


@pytest.mark.parametrize("seed", range(4))
def test_videos_at_random_are_set_aside(seed):
    layers = [[1], [2, 3], [4], [5, 6], [7], [8, 9], [10], [11, 12]]
    pairs = [(k, other) for layer, then in pairwise(layers) for k in layer for other in then]
    videos = planted(pairs, 12, 20, 6, seed)
    truth = closed(pairs, 12)
    found = learn(videos)
    weights = [video.weight for video in found.videos]
    assert min(weights[:14]) > 0.8
    assert max(weights[14:]) < 0.2
    assert truth <= needs(found)
    # Intersection has next to nothing left of it.
    assert len(truth & needs(learn(videos, learner="intersection"))) < len(truth) / 3


def test_one_exception_refutes_a_need_of_few_videos_and_not_of_many_nor_of_found_key_steps():
    few, many = ([recording(f"v{n}", 1, 2) for n in range(size)] + [recording("w", 2, 1)] for size in (9, 30))
    assert needs(learn(few)) == set()
    assert needs(learn(many)) == needs(learn(few, **FOUND["robust"])) == {(1, 2)}


def test_confidence_of_one_pair_by_hand():
    # Ten of ten: log odds log 11 = 2.398 (no key step in between), 1 / (1 + exp(0.5 - 0.9 * 2.398)) = 0.84.
    found = robust(tally([recording(f"v{n}", 1, 2) for n in range(10)]))
    assert found.confidence[0, 1] == pytest.approx(1 / (1 + np.exp(0.5 - 0.9 * np.log(11))), abs=0.01)


@pytest.mark.parametrize("learner", sorted(LEARNERS))
def test_other_numbers_of_the_key_steps_give_the_same_graph(learner):
    names = {1: 40, 2: 7, 3: 12, 4: 5, 5: 3, 6: 21, 7: 1}
    videos = planted(NEEDS, 7, 12, 3, seed=5)
    renamed = [
        Recording(v.video, tuple(Event(names[e.key_step], e.start_s, e.end_s) for e in v.events), v.duration_s)
        for v in videos
    ]
    first, second = learn(videos, learner=learner), learn(renamed, learner=learner)
    assert {(names[before], names[after]) for before, after in needs(first)} == needs(second)
    assert [names[step] for step in first.order] == list(second.order)
    assert first.order_distance == second.order_distance


@pytest.mark.parametrize("learner", sorted(LEARNERS))
def test_the_order_of_the_videos_does_not_matter(learner):
    videos = planted(NEEDS, 7, 12, 3, seed=6)
    first, second = learn(videos, learner=learner), learn(videos[::-1], learner=learner)
    assert edges(first) == edges(second)
    assert first.order == second.order
    weights = {video.video: video.weight for video in first.videos}
    assert {video.video: pytest.approx(video.weight) for video in second.videos} == weights


@pytest.mark.parametrize("learner", ["chain", "intersection", "precedence"])
def test_every_video_twice_changes_nothing(learner):
    videos = planted(NEEDS, 7, 9, 2, seed=7)
    twice = videos + [Recording(f"{v.video}x", v.events, v.duration_s) for v in videos]
    assert needs(learn(videos, learner=learner)) == needs(learn(twice, learner=learner))


def test_sixty_key_steps():
    fan = [(1 + step % 4, step) for step in range(5, 61)]
    found = learn(planted(fan, 60, 25, 4, seed=9))
    assert sorted(found.order) == list(range(1, 61))
    assert any("searched for" in note for note in found.notes)


def test_an_unknown_learner_and_an_unknown_setting():
    with pytest.raises(RgwotError, match="did you mean 'robust'"):
        learn([recording("a", 1)], learner="robbust")
    with pytest.raises(RgwotError, match="setting 'abov', did you mean 'above'"):
        learn([recording("a", 1)], learner="precedence", abov=0.5)
