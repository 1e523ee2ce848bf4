from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from rgwot.evaluation.protocols import ALSO, PROTOCOLS, kept_frames, score, unit

TRUTH = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 0, 0]
PREDICTION = [0, 0, 1, 1, 1, 2, 2, 0, 2, 2, 0, 0]


def test_f1_comes_from_the_averaged_precision_and_recall():
    # Video 1 is worked by hand (tests/worked_examples.md, K = 3): P .6556, R .8222. Video 2: .1389, .3333.
    scores = score(PROTOCOLS["macro_video"], [TRUTH, TRUTH], [PREDICTION, [0] * 12], 3, 3)
    precision, recall = (0.655556 + 0.138889) / 2, (0.822222 + 0.333333) / 2
    assert scores.precision == pytest.approx(precision, abs=1e-5)
    assert scores.recall == pytest.approx(recall, abs=1e-5)
    assert scores.f1 == pytest.approx(2 * precision * recall / (precision + recall), abs=1e-5)
    assert scores.f1 != pytest.approx((0.7295 + 0.1961) / 2, abs=1e-3)
    assert scores.iou == pytest.approx((0.577778 + 0.138889) / 2, abs=1e-5)
    assert scores.n_videos == 2


def test_pooling_needs_labels_that_mean_the_same_in_all_videos():
    first, second = [1, 1, 2, 2], [1, 1, 2, 2]
    agree, swapped = [7, 7, 3, 3], [3, 3, 7, 7]
    for name in ("macro_task", "strict_task"):
        assert score(PROTOCOLS[name], [first, second], [agree, agree], 2, 2, "without").f1 == 1.0
        assert score(PROTOCOLS[name], [first, second], [agree, swapped], 2, 2, "without").f1 == 0.5
    for name in ("micro_video", "macro_video"):
        assert score(PROTOCOLS[name], [first, second], [agree, swapped], 2, 2, "without").f1 == 1.0


def test_pooled_scores_are_those_of_the_concatenation():
    rng = np.random.default_rng(3)
    truths = [rng.integers(0, 6, n) for n in (40, 25, 60)]
    predictions = [rng.integers(0, 4, n) for n in (40, 25, 60)]
    joined = score(PROTOCOLS["macro_task"], [np.concatenate(truths)], [np.concatenate(predictions)], 5, 4)
    assert score(PROTOCOLS["macro_task"], truths, predictions, 5, 4)[:4] == joined[:4]


def test_strict_is_accuracy_over_the_frames_that_count():
    for background, hits, total in (("with", 8, 12), ("without", 5, 7)):
        scores = score(PROTOCOLS["strict_task"], [TRUTH], [PREDICTION], 3, 7, background)
        # Without background, cluster 1 matches class 1 (2 frames), cluster 2 class 3 (2), and cluster 0 class 2 (1).
        assert (scores.precision, scores.recall) == pytest.approx((hits / total, hits / total))


def test_without_background_drops_the_frames_and_the_class():
    ((truth, prediction, places),) = kept_frames([[0, 2, 1, 0]], [[5, 9, 9, 0]], "without")
    assert places.tolist() == [1, 2]
    classes, clusters, *sizes = unit(truth, prediction, n_key_steps=3, n_clusters=4, background="without")
    assert classes.tolist() == [1, 0]
    assert sizes == [3, 4]
    assert len(set(clusters.tolist())) == 1
    ((truth, prediction, _),) = kept_frames([[0, 2, 1, 0]], [[5, 9, 9, 0]], "with")
    classes, _, n_classes, _ = unit(truth, prediction, n_key_steps=3, n_clusters=4)
    assert classes.tolist() == [0, 2, 1, 0]
    assert n_classes == 4


def test_background_frames_have_no_say_without_background():
    rng = np.random.default_rng(0)
    truth, prediction = rng.integers(0, 4, 80), rng.integers(0, 5, 80)
    scrambled = np.where(truth == 0, rng.integers(0, 5, 80), prediction)
    for protocol in PROTOCOLS.values():
        a = score(protocol, [truth], [prediction], 3, 5, "without")
        assert a == score(protocol, [truth], [scrambled], 3, 5, "without")


def test_a_video_without_a_key_step_is_left_out_only_without_background():
    for protocol in PROTOCOLS.values():
        alone = score(protocol, [[1, 2, 2]], [[0, 1, 1]], 2, 2, "without")
        both = score(protocol, [[1, 2, 2], [0, 0]], [[0, 1, 1], [0, 1]], 2, 2, "without")
        assert both == alone
        assert score(protocol, [[1, 2, 2], [0, 0]], [[0, 1, 1], [0, 1]], 2, 2, "with").n_videos == 2
        nothing = score(protocol, [[0, 0]], [[1, 1]], 2, 2, "without")
        assert nothing.n_videos == 0
        assert math.isnan(nothing.f1)


def test_relabelling_videos_changes_no_per_video_score():
    rng = np.random.default_rng(1)
    truths = [rng.integers(0, 6, 50) for _ in range(3)]
    predictions = [rng.integers(0, 4, 50) for _ in range(3)]
    renamed = [rng.permutation(4)[labels] + 10 for labels in predictions]
    for name in ("micro_video", "macro_video"):
        for background in ("with", "without"):
            scores = score(PROTOCOLS[name], truths, predictions, 5, 4, background)
            assert scores == pytest.approx(score(PROTOCOLS[name], truths, renamed, 5, 4, background))


def test_hieros_protocol_is_a_direct_computation_from_its_description():
    """Per video, background is a class, SciPy matches by 1 - overlap / T, and means are over classes that occur."""
    rng = np.random.default_rng(5)
    differs = 0
    for _ in range(100):
        n_steps, K, lengths = int(rng.integers(2, 18)), 7, rng.integers(20, 200, 3)
        truths = [np.sort(rng.integers(0, n_steps + 1, n) * (rng.random(n) < 0.7)) for n in lengths]
        predictions = [np.append(rng.permutation(K), np.sort(rng.integers(0, K, n - K))) for n in lengths]
        rows = []
        for truth, prediction in zip(truths, predictions, strict=True):
            true, found = np.eye(n_steps + 1)[truth], np.eye(K)[prediction]
            pairs = zip(*linear_sum_assignment(1 - true.T @ found / len(truth)), strict=True)
            both = [(true[:, g] > 0, found[:, k] > 0) for g, k in pairs if true[:, g].any()]
            common = [(g & k).sum() for g, k in both]
            rows.append([
                np.mean([i / k.sum() for i, (_, k) in zip(common, both, strict=True)]),
                np.mean([i / g.sum() for i, (g, _) in zip(common, both, strict=True)]),
                np.mean([i / (g | k).sum() for i, (g, k) in zip(common, both, strict=True)]),
            ])  # fmt: skip
            assert len(both) <= 7
        precision, recall, iou = np.mean(rows, axis=0)
        expected = (precision, recall, 2 * precision * recall / (precision + recall), iou, 3)
        assert score(ALSO["hiero"], truths, predictions, n_steps, K) == pytest.approx(expected, abs=1e-12)
        differs += score(PROTOCOLS["macro_video"], truths, predictions, n_steps, K) != pytest.approx(expected, abs=1e-6)
    assert differs > 5, "ties are part of the protocol"


@pytest.mark.parametrize("name", sorted({**PROTOCOLS, **ALSO}))
@pytest.mark.parametrize(
    ("labels", "background", "message"),
    [
        (([[0, 1]], [[0]]), "with", r"got shapes \(2,\) and \(1,\)"),
        (([[1]], [[0, 0]]), "without", r"got shapes \(1,\) and \(2,\)"),
        (([[1, 1]], [[0, 0]]), "maybe", "background: got 'maybe'"),
        (([[0, 4]], [[0, 0]]), "with", r"truth: got labels 0\.\.4, expected 0\.\.3"),
        (([[1, 1, 1]], [[0, 1, 2]]), "with", r"prediction: got labels 0\.\.2, expected 0\.\.1"),
    ],
)
def test_mistakes_are_named(name, labels, background, message):
    with pytest.raises(ValueError, match=message):
        score({**PROTOCOLS, **ALSO}[name], *labels, 3, 2, background)


@pytest.mark.parametrize("name", ["macro_task", "strict_task"])
def test_background_that_does_not_occur_is_not_a_class(name: str) -> None:
    # Step 2 is not found. If the empty cluster were matched with background, step 2 would drop out of the mean.
    truths, predictions = [np.repeat([1, 2], [6, 2])], [np.full(8, 4)]
    found = [score(PROTOCOLS[name], truths, predictions, 2, 2, background) for background in ("with", "without")]
    assert found[0] == found[1]
    # By the protocols of the papers' own code, which score every video separately, background still is a class.
    video = PROTOCOLS["macro_video"]
    assert score(video, truths, predictions, 2, 2, "with").f1 > score(video, truths, predictions, 2, 2, "without").f1
