"""Scores in which key step 0 is background instead of being matched, with and without background as a class."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

from rgwot.evaluation.protocols import PROTOCOLS, background_detection, detection, match_fixed, score, score_fixed

MACRO, STRICT = PROTOCOLS["macro_task"], PROTOCOLS["strict_task"]
# In two videos, key step 0 finds 4 of the 6 frames of background, and takes one frame of step 2 for background.
TRUTHS = [[0, 0, 0, 0, 1, 1], [2, 2, 2, 2, 0, 0]]
PREDICTIONS = [[0, 0, 0, 5, 5, 5], [7, 7, 7, 0, 0, 5]]


def test_detection_pools_the_videos():
    detection = background_detection(TRUTHS, PREDICTIONS, says_background=True)
    assert detection == pytest.approx((4 / 5, 4 / 6, 8 / 11))
    assert detection.f1 == pytest.approx(
        2 * detection.precision * detection.recall / (detection.precision + detection.recall)
    )
    # If key step 0 is not background, no background is found.
    precision, *rest = background_detection(TRUTHS, PREDICTIONS, says_background=False)
    assert math.isnan(precision)
    assert rest == [0, 0]


def test_detection_without_true_background():
    precision, recall, f1 = detection([False, False], [True, False])
    assert (precision, f1) == (0, 0)
    assert math.isnan(recall)
    assert all(math.isnan(value) for value in detection([False, False], [False, False]))


def test_fixed_scores_by_hand():
    # Right are 4 of 5 predicted and 4 of 6 true frames of background, 2 of 4 and 2 of 2 of step 1 (cluster 5), and 3 of
    # 3 and 3 of 4 of step 2 (cluster 7).
    macro = score_fixed(MACRO, TRUTHS, PREDICTIONS, n_key_steps=2, n_clusters=2, says_background=True)
    assert macro.precision == pytest.approx((4 / 5 + 2 / 4 + 3 / 3) / 3)
    assert macro.recall == pytest.approx((4 / 6 + 2 / 2 + 3 / 4) / 3)
    assert macro.iou == pytest.approx((4 / 7 + 2 / 4 + 3 / 4) / 3)
    strict = score_fixed(STRICT, TRUTHS, PREDICTIONS, n_key_steps=2, n_clusters=2, says_background=True)
    assert strict.f1 == pytest.approx(9 / 12)


def test_if_zero_is_not_background_it_is_matched_with_a_step():
    # No cluster may be matched with background, so its class counts 0 in the mean, and its frames are wrong.
    truth, prediction = [[0, 0, 0, 1, 2, 2]], [[0, 0, 0, 0, 3, 3]]
    macro = score_fixed(MACRO, truth, prediction, n_key_steps=2, n_clusters=2, says_background=False)
    assert macro.recall == pytest.approx((0 + 1 + 1) / 3)
    assert macro.precision == pytest.approx((0 + 1 / 4 + 1) / 3)
    assert score_fixed(STRICT, truth, prediction, n_key_steps=2, n_clusters=2, says_background=False).f1 == 0.5
    # With a free matching, the same answer scores higher.
    assert score(STRICT, truth, prediction, 2, 2).f1 == pytest.approx(5 / 6)


def test_one_label_for_background_everywhere_is_right_about_background_alone():
    scores = score_fixed(STRICT, TRUTHS, [[0] * 6, [0] * 6], n_key_steps=2, n_clusters=2, says_background=True)
    assert scores.f1 == pytest.approx(6 / 12)
    assert score_fixed(STRICT, TRUTHS, [[1] * 6, [1] * 6], 2, 2, says_background=False).f1 == pytest.approx(4 / 12)


def test_tying_is_the_best_matching_among_those_that_keep_background():
    rng = np.random.default_rng(5)
    for _ in range(20):
        n_steps, K = int(rng.integers(1, 5)), int(rng.integers(1, 5))
        overlap = rng.integers(0, 30, (n_steps + 1, K + 1))
        classes, clusters = match_fixed(overlap)
        assert (classes[0], clusters[0]) == (0, 0)
        assert len(classes) == min(n_steps, K) + 1
        inner = overlap[1:, 1:] if n_steps <= K else overlap[1:, 1:].T
        best = max(sum(inner[k, c] for k, c in enumerate(p)) for p in permutations(range(inner.shape[1]), len(inner)))
        assert overlap[classes, clusters].sum() == overlap[0, 0] + best


def test_strict_scores_cannot_gain_by_tying():
    rng = np.random.default_rng(7)
    truths = [rng.integers(0, 5, 200) for _ in range(3)]
    predictions = [np.where(rng.random(200) < 0.4, truth, rng.integers(0, 4, 200)) for truth in truths]
    free = score(STRICT, truths, predictions, 4, 5).f1
    assert score_fixed(STRICT, truths, predictions, 4, 4, says_background=True).f1 <= free
    assert score_fixed(STRICT, truths, predictions, 4, 5, says_background=False).f1 <= free


def test_names_of_clusters_do_not_matter_but_zero_does():
    renamed = [[{5: 1, 7: 2}.get(label, label) for label in labels] for labels in PREDICTIONS]
    swapped = [[{0: 5, 5: 0}.get(label, label) for label in labels] for labels in PREDICTIONS]
    first = score_fixed(MACRO, TRUTHS, PREDICTIONS, 2, 2, says_background=True)
    assert score_fixed(MACRO, TRUTHS, renamed, 2, 2, says_background=True) == first
    assert score_fixed(MACRO, TRUTHS, swapped, 2, 2, says_background=True).f1 < first.f1
