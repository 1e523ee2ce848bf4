from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np
import pytest
from planted import planted, recording

from rgwot.procedure import LEARNERS, Event, Recording, learn
from rgwot.procedure.learners import CLEAN, ORDERED, PENALTY, RATES, _Orders, _single_changes, robust
from rgwot.procedure.orders import closure, reduction, tally
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
    procedure = learn(planted(NEEDS, 7, 40, 0, seed=3), learner=learner)
    assert edges(procedure) == {("START", 1), *NEEDS, (7, "END")}


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
    procedure = learn(videos)
    weights = [video.weight for video in procedure.videos]
    assert min(weights[:14]) > 0.8
    assert max(weights[14:]) < 0.2
    assert truth <= needs(procedure)
    # The learner `intersection` finds hardly any of these needs.
    assert len(truth & needs(learn(videos, learner="intersection"))) < len(truth) / 3


def log_likelihood(relation, orders):
    """Return the log likelihood of methods 9.3, computed term by term."""
    prior = [CLEAN] + [(1 - CLEAN) / (len(RATES) - 1)] * (len(RATES) - 1)
    total = 0.0
    for order in orders:
        chances = 0.0
        for (rate, chance), backwards in product(zip(RATES, prior, strict=True), (False, True)):
            needs, left, product_of = (
                relation.T if backwards else relation,
                list(order[::-1] if backwards else order),
                1,
            )
            while left:
                unmet = {step: sum(needs[other, step] for other in left) for step in left}
                weight = {step: rate / unmet[step] if unmet[step] else 1.0 for step in left}
                product_of *= weight[left[0]] / sum(weight.values())
                left.pop(0)
            chances += chance * product_of / 2
        total += np.log(chances)
    return total


def partial_orders(n):
    """Return all strict partial orders of n things."""
    pairs = list(combinations(range(n), 2))
    for directions in product((None, False, True), repeat=len(pairs)):
        relation = np.zeros((n, n), dtype=bool)
        for (first, second), turned in zip(pairs, directions, strict=True):
            if turned is not None:
                relation[(second, first) if turned else (first, second)] = True
        if np.array_equal(closure(relation), relation):
            yield relation


def penalised(relation, orders):
    return log_likelihood(relation, orders) - PENALTY * reduction(relation).sum() + ORDERED * relation.sum()


def test_the_likelihood_of_a_graph_and_of_all_single_changes():
    counted = tally([*planted(NEEDS, 7, 5, 2, seed=1), recording("few", 4, 2, 6), recording("one", 3)])
    orders = [order.tolist() for order in counted.orders()]
    model = _Orders(counted.orders(), 7, CLEAN)
    relation = LEARNERS["precedence"](counted).relation
    value, change, weights = model.likelihood(relation)
    assert value == pytest.approx(log_likelihood(relation, orders))
    assert weights.shape == (7,)
    edges, single, more_edges = _single_changes(relation)
    for pair in product(range(7), repeat=2):
        other = relation.copy()
        other[pair] ^= True
        stays = pair[0] != pair[1] and not (other & other.T).any() and np.array_equal(closure(other), other)
        assert single[pair] == stays
        if stays:
            assert change[pair] == pytest.approx(log_likelihood(other, orders) - value)
            assert more_edges[pair] == reduction(other).sum() - edges


@pytest.mark.parametrize("seed", range(5))
def test_the_robust_learner_finds_the_likeliest_graph(seed):
    counted = tally(planted([(1, 2), (1, 3), (3, 4)], 4, 9, 3, seed))
    orders = [order.tolist() for order in counted.orders()]
    best = max(penalised(relation, orders) for relation in partial_orders(4))
    assert penalised(robust(counted).relation, orders) == pytest.approx(best)


def test_many_videos_at_once_are_as_likely_as_few(monkeypatch):
    counted = tally(planted(NEEDS, 7, 20, 5, seed=2))
    whole = robust(counted)
    monkeypatch.setattr("rgwot.procedure.learners.AT_ONCE", 3 * len(RATES) * 7 * 7)
    portions = robust(counted)
    assert np.array_equal(whole.relation, portions.relation)
    np.testing.assert_allclose(whole.weights, portions.weights)


def test_exceptions_refute_a_need_of_few_videos_and_not_of_many():
    few, many = ([recording(f"v{n}", 1, 2) for n in range(size)] + [recording("w", 2, 1)] for size in (3, 12))
    assert needs(learn(few)) == set()
    assert needs(learn(many)) == {(1, 2)}


@pytest.mark.parametrize("seed", range(3))
def test_where_half_of_the_videos_break_an_order_the_graph_is_found(seed):
    rng = np.random.default_rng(seed)
    videos = planted(NEEDS, 7, 16, 0, seed)
    for at in range(8):
        order = [event.key_step for event in videos[at].events]
        order.insert(int(rng.integers(7)), order.pop(int(rng.integers(7))))
        videos[at] = recording(f"v{at}", *order)
    truth = closed(NEEDS, 7)
    assert len(needs(learn(videos)) ^ truth) <= 1
    assert len(needs(learn(videos, learner="intersection")) & truth) < len(truth) - 5


def test_confidence_of_needs_by_hand():
    # Ten videos have three key steps in one order. If 2 did not need 1, each video would choose once between two steps.
    counted = tally([recording(f"v{n}", 1, 2, 3) for n in range(10)])
    actual = robust(counted)
    orders = [[0, 1, 2]] * 10
    chain, without = np.triu(np.ones((3, 3), dtype=bool), 1), np.zeros((3, 3), dtype=bool)
    without[:2, 2] = True
    gain = log_likelihood(chain, orders) - log_likelihood(without, orders)
    assert gain > 5
    assert actual.confidence[[0, 1, 0], [1, 2, 2]] == pytest.approx(1 / (1 + np.exp(-gain)))


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
    procedure = learn(planted(fan, 60, 25, 4, seed=9))
    assert sorted(procedure.order) == list(range(1, 61))
    assert any("searched for" in note for note in procedure.notes)


def test_an_unknown_learner_and_an_unknown_setting():
    with pytest.raises(RgwotError, match="did you mean 'robust'"):
        learn([recording("a", 1)], learner="robbust")
    with pytest.raises(RgwotError, match="setting 'abov', did you mean 'above'"):
        learn([recording("a", 1)], learner="precedence", abov=0.5)
