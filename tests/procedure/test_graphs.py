from __future__ import annotations

import math

import pytest

from rgwot.procedure.graphs import (
    edge_scores,
    mean_distance,
    needs_of,
    restricted,
    set_scores,
    share_interval,
)

CHAIN = {("START", 1), (1, 2), (2, 3), (3, 4), (4, "END")}


def test_scores_of_sets():
    assert set_scores({1, 2}, {1, 2}) == (1, 1, 1)
    assert set_scores({1}, {2}) == (0, 0, 0)
    assert set_scores({1}, set())[1:] == (0, 0)
    assert math.isnan(set_scores({1}, set()).precision)
    assert math.isnan(set_scores(set(), set()).f1)


def test_edges_by_hand():
    # In truth, 1 and 2 come before 3. Of the four edges of the learned chain, START-1, 2-3 and 3-END are right; the
    # truth has five edges.
    true = {("START", 1), ("START", 2), (1, 3), (2, 3), (3, "END")}
    actual = {("START", 1), (1, 2), (2, 3), (3, "END")}
    assert edge_scores(true, actual) == pytest.approx((3 / 4, 3 / 5, 2 / 3))


def test_restricted_keeps_what_follows():
    assert needs_of(CHAIN) == {(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)}
    assert restricted(CHAIN, [4, 1]) == {("START", 1), (1, 4), (4, "END")}
    # Edges that follow from other edges are left out, even if they are given.
    assert restricted(CHAIN | {(1, 3)}, [1, 2, 3, 4]) == CHAIN
    assert restricted(CHAIN, [1, 9]) == {("START", 1), (1, "END"), ("START", 9), (9, "END")}
    with pytest.raises(ValueError, match="cycle"):
        restricted({(1, 2), (2, 1)}, [1, 2])


def test_found_key_steps_are_renamed_and_unmatched_ones_left_out():
    actual = {("START", 7), (7, 5), (5, 6), (6, "END")}
    # Key step 5 has no partner: 7 before 6 remains, as 1 before 2.
    assert edge_scores({("START", 1), (1, 2), (2, "END")}, actual, {7: 1, 6: 2}) == (1, 1, 1)
    # Unmatched true steps count as missed.
    assert edge_scores(CHAIN, actual, {7: 1, 6: 2}) == pytest.approx((2 / 3, 2 / 5, 1 / 2))


def test_distance_of_orders_by_hand():
    assert mean_distance([1, 2, 3], [[1, 2, 3]]) == 0
    assert mean_distance([3, 2, 1], [[1, 2, 3]]) == 1
    # The first video reverses one of three pairs; in the second, two of three pairs have a step that the order lacks,
    # and count 1/2 each.
    assert mean_distance([1, 2, 3], [[1, 3, 2], [1, 2, 4]]) == pytest.approx((1 / 3 + 1 / 3) / 2)
    assert math.isnan(mean_distance([1, 2], [[1]]))


def test_interval_of_a_share():
    low, high = share_interval(7, 10)
    # Quantiles of Beta(7.5, 3.5), from tables.
    assert (low, high) == pytest.approx((0.3943, 0.9069), abs=2e-3)
    assert share_interval(0, 5)[0] == 0
    assert share_interval(5, 5)[1] == 1
