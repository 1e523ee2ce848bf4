from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rgwot.evaluation.metrics import Matching, contingency, f1, macro, match, micro, strict

FIRST = ([0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 0, 0], [0, 0, 1, 1, 1, 2, 2, 0, 2, 2, 0, 0], 4)
ONE_LABEL = (FIRST[0], [0] * 12, 4)
SECOND = ([0, 0, 0, 0, 1, 2, 3, 4, 5, 5], [0] * 8 + [1, 0], 6)

# Worked by hand (tests/worked_examples.md), to the four digits given there: P, R, F1, IoU.
ORACLES = [
    (FIRST, 3, micro, (0.6667, 0.8000, 0.7273, 0.5714)),
    (FIRST, 3, macro, (0.6556, 0.8222, 0.7295, 0.5778)),
    (FIRST, 4, micro, (0.6667, 0.6667, 0.6667, 0.5000)),
    (FIRST, 4, macro, (0.4917, 0.6167, 0.5471, 0.4333)),
    (FIRST, 7, micro, (0.6667, 0.6667, 0.6667, 0.5000)),
    (FIRST, 7, macro, (0.4917, 0.6167, 0.5471, 0.4333)),
    (ONE_LABEL, 3, micro, (0.4167, 0.5000, 0.4545, 0.2941)),
    (ONE_LABEL, 3, macro, (0.1389, 0.3333, 0.1961, 0.1389)),
    (SECOND, 7, micro, (0.5, 0.5, 0.5, 0.3333)),
    (SECOND, 7, macro, (0.2407, 0.25, 0.2453, 0.1574)),
    (SECOND, 3, micro, (0.5, 0.7143, 0.5882, 0.4167)),
    (SECOND, 3, macro, (0.4815, 0.5, 0.4906, 0.3148)),
]

overlaps = hnp.arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.integers(0, 6)).filter(
    lambda counts: counts.sum() > 0
)


@pytest.mark.parametrize(("case", "n_clusters", "score", "expected"), ORACLES)
def test_worked_examples(case, n_clusters, score, expected):
    truth, prediction, n_classes = case
    overlap = contingency(truth, prediction, n_classes, n_clusters)
    precision, recall, iou = score(overlap, match(overlap))
    assert [round(value, 4) for value in (precision, recall, f1(precision, recall), iou)] == list(expected)


def brute_force(overlap):
    """Return every matching of min(G, K) pairs (class, cluster)."""
    G, K = overlap.shape
    if G <= K:
        return [tuple(zip(range(G), columns, strict=True)) for columns in permutations(range(K), G)]
    return [tuple(zip(rows, range(K), strict=True)) for rows in permutations(range(G), K)]


@given(overlaps.filter(lambda counts: max(counts.shape) <= 5))
@settings(max_examples=60, deadline=None)
def test_matching_is_the_best_of_all_and_prefers_low_classes(overlap):
    found = match(overlap)
    assert len(found.classes) == len(set(found.classes)) == len(set(found.clusters)) == min(overlap.shape)
    every = [(sum(overlap[g, k] for g, k in pairs), -sum(g for g, _ in pairs)) for pairs in brute_force(overlap)]
    assert (overlap[found.classes, found.clusters].sum(), -found.classes.sum()) == max(every)


def test_zero_overlap_pairs_fall_to_the_lowest_classes():
    overlap = np.zeros((6, 3), dtype=np.int64)
    overlap[4, 1] = 9
    found = match(overlap)
    assert found.classes.tolist() == [0, 1, 4]
    assert found.clusters[2] == 1


def test_among_spare_clusters_the_largest_is_matched():
    # Class 1 has no frame, but the cluster matched with it enters the precision of micro.
    overlap = np.array([[5, 1, 3], [0, 0, 0]])
    assert match(overlap).clusters.tolist() == [0, 2]
    assert micro(overlap, match(overlap)).precision == pytest.approx(5 / 8)


@given(overlaps, st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_relabelling_of_clusters_changes_nothing(overlap, random):
    order = list(range(overlap.shape[1]))
    random.shuffle(order)
    renamed = overlap[:, order]
    for score in (micro, macro, strict):
        assert score(overlap, match(overlap)) == pytest.approx(score(renamed, match(renamed)), abs=1e-12)


@given(overlaps)
@settings(max_examples=100, deadline=None)
def test_identities(overlap):
    matching = match(overlap)
    precision, recall, iou = micro(overlap, matching)
    harmonic = f1(precision, recall)
    assert iou == pytest.approx(harmonic / (2 - harmonic))
    accuracy = overlap[matching.classes, matching.clusters].sum() / overlap.sum()
    assert strict(overlap, matching)[:2] == pytest.approx((accuracy, accuracy))
    assert strict(overlap, matching).iou <= iou + 1e-12
    for score in (micro, macro, strict):
        assert all(0 <= value <= 1 for value in score(overlap, matching))


def test_perfect_and_permuted_labels_score_one():
    truth = np.array([0, 1, 1, 2, 3, 3, 0])
    overlap = contingency(truth, (truth + 2) % 4, 4, 4)
    for score in (micro, macro, strict):
        assert score(overlap, match(overlap)) == (1.0, 1.0, 1.0)


def test_macro_ignores_matched_classes_without_frames():
    overlap = np.array([[4, 0], [0, 0]])
    assert macro(overlap, Matching(np.array([0, 1]), np.array([0, 1]))) == (1.0, 1.0, 1.0)


def test_contingency_counts_and_refuses():
    rng = np.random.default_rng(0)
    truth, prediction = rng.integers(0, 5, 200), rng.integers(0, 3, 200)
    overlap = contingency(truth, prediction, 5, 3)
    expected = [[int(((truth == g) & (prediction == k)).sum()) for k in range(3)] for g in range(5)]
    assert overlap.tolist() == expected
    with pytest.raises(ValueError, match=r"got shapes \(2,\) and \(1,\)"):
        contingency([0, 1], [0], 2, 2)
    with pytest.raises(ValueError, match=r"prediction: got labels 0\.\.2, expected 0\.\.1"):
        contingency([0, 1], [0, 2], 2, 2)


def test_f1_of_nothing_is_nothing():
    assert f1(0.0, 0.0) == 0.0
