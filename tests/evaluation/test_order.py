from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau

from rgwot.evaluation.protocols import kendall_distance, mean_positions, order_distance


def run(*labels, length=4):
    """Return labels of a video in which each label lasts `length` frames."""
    return np.repeat(labels, length)


@pytest.mark.parametrize("background", ["with", "without"])
def test_the_three_anchors(background):
    truth = [run(0, 1, 2, 3, 0), run(0, 1, 2, 3, 0)]
    same = [labels + 4 for labels in truth]
    assert order_distance(truth, same, 3, 4, background) == 0.0
    # One label everywhere says nothing about the order.
    assert order_distance(truth, [np.zeros(20)] * 2, 3, 7, background) == 0.5
    # Three long videos determine the matching; a short video has the steps in reverse order.
    forward, backward = run(1, 2, 3, length=20), run(3, 2, 1)
    distance = order_distance([forward] * 3 + [run(1, 2, 3)], [forward] * 3 + [backward], 3, 3, background)
    assert distance == pytest.approx(1 / 4)


def test_uninformed_labels_lie_near_one_half():
    rng = np.random.default_rng(0)
    truths = [rng.permutation(6).repeat(30) + 1 for _ in range(60)]
    predictions = [rng.integers(0, 6, 180) for _ in range(60)]
    assert order_distance(truths, predictions, 6, 6) == pytest.approx(0.5, abs=0.06)


def test_by_hand():
    # Clusters 7 and 8 match steps 1 and 2. Step 3 has no cluster, so (1, 3) and (2, 3) are unordered: 1/2 each.
    truth = [np.array([1, 1, 1, 2, 2, 2, 3])]
    prediction = [np.array([8, 7, 7, 8, 8, 7, 8])]
    # Means: cluster 7 at (1+2+5)/3 = 2.67, cluster 8 at (0+3+4+6)/4 = 3.25: order kept, so 0 + 1/2 + 1/2.
    assert order_distance(truth, prediction, 3, 2) == pytest.approx(1 / 3)
    prediction = [np.array([8, 7, 7, 8, 8, 7, 7])]
    # Now cluster 7 at 15/4 = 3.75 and cluster 8 at 7/3 = 2.33: reversed.
    assert order_distance(truth, prediction, 3, 2) == pytest.approx(2 / 3)


def test_videos_with_fewer_than_two_steps_are_left_out():
    truth, other = run(1, 2), run(0, 2)
    assert order_distance([truth, other], [truth, other], 2, 3) == order_distance([truth], [truth], 2, 3) == 0.0
    assert math.isnan(order_distance([other], [other], 2, 3))
    assert math.isnan(order_distance([run(0)], [run(0)], 2, 3, "without"))
    assert math.isnan(order_distance([], [], 2, 3))


def test_a_cluster_matched_to_background_gives_no_step():
    # Cluster 9 is matched with background; without background as a class, with step 2, which no other cluster covers.
    truth = [np.array([0] * 10 + [1] * 4 + [2] * 2)]
    prediction = [np.array([9] * 10 + [5] * 4 + [9] * 2)]
    assert order_distance(truth, prediction, 2, 2, "with") == 0.5
    assert order_distance(truth, prediction, 2, 2, "without") == 0.0


def test_relabelling_does_not_matter():
    rng = np.random.default_rng(5)
    truths = [rng.integers(0, 5, 60) for _ in range(4)]
    predictions = [rng.integers(0, 4, 60) for _ in range(4)]
    names = np.array([11, 3, 8, 0])
    distance = order_distance(truths, predictions, 4, 4)
    assert 0 < distance < 1
    assert order_distance(truths, [names[labels] for labels in predictions], 4, 4) == pytest.approx(distance)


def test_kendall_distance_is_half_of_one_minus_tau():
    rng = np.random.default_rng(2)
    for _ in range(20):
        a, b = rng.permutation(6), rng.permutation(6)
        true = {i: (int(x), 1) for i, x in enumerate(a)}
        predicted = {i: (int(x), 1) for i, x in enumerate(b)}
        tau = kendalltau(a, b).statistic
        assert kendall_distance(true, predicted) == pytest.approx((1 - tau) / 2)


def test_penalty_of_one_half_for_what_is_missing_or_tied():
    true = {step: (step, 1) for step in (1, 2, 3, 4)}
    assert kendall_distance(true, {}) == 0.5
    assert kendall_distance(true, dict.fromkeys(true, (5, 2))) == 0.5
    partial = {1: (1, 1), 2: (2, 1)}
    pairs = list(combinations(true, 2))
    expected = sum(0 if pair == (1, 2) else 0.5 for pair in pairs) / len(pairs)
    assert kendall_distance(true, partial) == pytest.approx(expected)


def test_pairs_the_truth_does_not_order_are_left_out():
    true = {1: (6, 2), 2: (3, 1), 3: (9, 1)}
    assert kendall_distance(true, {1: (1, 1), 2: (2, 1), 3: (0, 1)}) == 1.0
    assert math.isnan(kendall_distance({1: (6, 2), 2: (3, 1)}, {1: (0, 1), 2: (1, 1)}))


def test_mean_positions_are_exact_fractions():
    assert mean_positions([2, 2, 5, 2], [0, 1, 4, 8]) == {2: (9, 3), 5: (4, 1)}
