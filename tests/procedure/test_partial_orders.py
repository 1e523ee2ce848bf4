from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from rgwot.procedure import Event, Recording, learn, orders
from rgwot.procedure.orders import closure, consensus, either_order, reduction, surest_first


def random_relation(n, density, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    return np.triu(rng.random((n, n)) < density, 1)[np.ix_(order, order)]


@pytest.mark.parametrize("seed", range(8))
def test_closure_and_reduction_by_definition(seed):
    relation = random_relation(9, 0.3, seed)
    reach = sum(np.linalg.matrix_power(relation.astype(int), steps) for steps in range(1, 9)) > 0
    np.testing.assert_array_equal(closure(relation), reach)
    # An edge that a path of two or more edges implies is left out.
    np.testing.assert_array_equal(reduction(relation), reach & ~((reach.astype(int) @ reach.astype(int)) > 0))


def test_only_relations_of_a_circle_are_found():
    videos = [Recording(name, tuple(Event(step, at, at + 1) for at, step in enumerate(order)), 9)
              for name, order in (("a", [1, 2, 4]), ("b", [2, 3, 4]), ("c", [3, 1, 4]))]  # fmt: skip
    (note,) = learn(videos, "intersection").notes
    assert note.startswith("key steps 1, 2, 3 come before each other")


def test_the_weakest_relation_of_a_circle_is_dropped():
    strength = np.zeros((3, 3))
    strength[0, 1], strength[1, 2], strength[2, 0] = 0.9, 0.8, 0.7
    assert surest_first(strength, strength > 0).astype(int).tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]


def cost_of(order, cost):
    return sum(cost[k, other] for place, k in enumerate(order) for other in order[place + 1 :])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("searched", [False, True])
def test_the_consensus_is_the_cheapest_order_that_is_allowed(seed, searched, monkeypatch):
    rng = np.random.default_rng(seed)
    n = 6
    cost = rng.integers(0, 10, (n, n)).astype(float)
    relation = random_relation(n, 0.15, seed)
    closed = closure(relation)
    allowed = [
        order
        for order in permutations(range(n))
        if not any(closed[later, first] for place, first in enumerate(order) for later in order[place + 1 :])
    ]
    if searched:
        monkeypatch.setattr(orders, "EXACT_STATES", 0)
    found, exact = consensus(cost, relation, np.arange(n))
    assert exact is not searched
    assert tuple(found) in allowed
    cheapest = min(cost_of(order, cost) for order in allowed)
    if exact:
        assert cost_of(found, cost) == cheapest
    else:
        # The search may end in a local optimum, but not in one that is worse than its start.
        assert cost_of(found, cost) <= np.median([cost_of(order, cost) for order in allowed])


def test_the_search_finds_an_order_that_all_videos_share():
    n = 60
    hidden = np.random.default_rng(0).permutation(n)
    rank = np.argsort(hidden)
    cost = (rank[:, None] > rank[None]) * 7.0
    found, exact = consensus(cost, np.zeros((n, n), dtype=bool), np.zeros(n))
    assert not exact
    assert found == hidden.tolist()


def test_groups_are_neighbours_of_which_none_needs_another():
    relation = np.zeros((5, 5), dtype=bool)
    relation[0, 1] = relation[0, 2] = relation[1, 3] = relation[2, 3] = relation[3, 4] = True
    assert either_order(relation, [0, 2, 1, 3, 4]) == [[2, 1]]
    # 0 and 1 may come in either order, but 2 cannot join their group, because it needs 0.
    relation = np.zeros((3, 3), dtype=bool)
    relation[0, 2] = True
    assert either_order(relation, [0, 1, 2]) == [[0, 1]]
