from __future__ import annotations

import difficulty
import numpy as np
import pandas as pd
import pytest
from difficulty import kmeans_probe, largest_step_share, max_pool, measure, supervised_probe

from rgwot.columns import ANNOTATION_COLUMNS, MANIFEST_COLUMNS
from rgwot.features.index import write_index
from rgwot.features.store import StoreWriter
from rgwot.runtime.errors import RgwotError


def labels_of(rng: np.random.Generator, n_videos: int, T: int, K: int) -> list[np.ndarray]:
    return [rng.integers(0, K + 1, T) for _ in range(n_videos)]


def test_kmeans_on_separate_points_is_perfect_and_on_one_point_is_the_largest_share():
    rng = np.random.default_rng(0)
    labels = labels_of(rng, 3, 60, 3)
    # Background sits on top of step 1, so that three clusters suffice.
    pooled = [np.eye(4)[np.maximum(label, 1)] * 10 + rng.normal(0, 0.01, (60, 4)) for label in labels]
    assert kmeans_probe(pooled, labels, 3) == 1.0
    noise = [np.full((60, 4), 1.0) + rng.normal(0, 1e-3, (60, 4)) for _ in labels]
    assert kmeans_probe(noise, labels, 3) < 0.5


def test_kmeans_counts_unmatched_frames_as_wrong():
    labels = [np.array([1, 1, 1, 2, 2, 0])]
    pooled = [np.array([[0.0], [0.0], [5.0], [5.0], [5.0], [9.0]])]
    # The clusters are at 0, 5 and 9; with the best matching, two frames of step 1 and two of step 2 are right, of five.
    assert kmeans_probe(pooled, labels, 3) == pytest.approx(4 / 5)


def test_probe_learns_what_is_there_and_nothing_else():
    rng = np.random.default_rng(1)
    labels = labels_of(rng, 4, 80, 3)
    maps = []
    for label in labels:
        video = rng.normal(0, 1, (80, 6, 7, 7)) + rng.normal(0, 1, (1, 6, 1, 1))
        for step in range(1, 4):
            video[label == step, step, 2 * step - 1, 3] += 8.0
        maps.append(video.astype(np.float16))
    assert supervised_probe(maps, labels) > 0.95
    shuffled = [rng.permutation(label) for label in labels]
    assert supervised_probe(maps, shuffled) < 0.5


def test_probe_in_the_span_of_the_frames_equals_the_full_fit():
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(2)
    labels = [rng.integers(1, 4, 25) for _ in range(2)]
    maps = [rng.normal(0, 1, (25, 30, 3, 3)) + label[:, None, None, None] * 0.2 for label in labels]
    right = 0
    for train, held in ((0, 1), (1, 0)):
        rows = [m.astype(np.float32).reshape(25, -1) for m in maps]
        scaler = StandardScaler().fit(rows[train])
        model = LogisticRegression(C=1.0, max_iter=5000, tol=1e-8).fit(scaler.transform(rows[train]), labels[train])
        right += int((model.predict(scaler.transform(rows[held])) == labels[held]).sum())
    assert supervised_probe(maps, labels) == pytest.approx(right / 50, abs=0.021)


def test_many_videos_and_frames_cost_a_bounded_number_of_fits_and_frames(monkeypatch):
    rng = np.random.default_rng(4)
    labels = [rng.integers(0, 4, 60) for _ in range(23)]
    maps = [rng.normal(0, 1, (60, 4, 3, 3)) + np.eye(4)[label][:, :, None, None] * 6.0 for label in labels]
    seen, fits = [], []
    pool = difficulty.max_pool
    monkeypatch.setattr(difficulty, "SCORED_FRAMES", 300)
    monkeypatch.setattr(difficulty, "PROBE_FRAMES", 100)
    monkeypatch.setattr(difficulty, "max_pool", lambda video, grid: seen.append(len(video)) or pool(video, grid))

    monkeypatch.setattr(difficulty, "with_progress", lambda log, what, folds, unit: fits.extend(folds) or folds)
    assert supervised_probe((video for video in maps), labels) > 0.95
    assert fits == list(range(10))
    assert 200 < sum(seen) <= 300
    wrong = [rng.permutation(label) for label in labels]
    assert supervised_probe(maps, wrong) < 0.6


def test_max_pool_cells_are_those_of_adaptive_pooling():
    torch = pytest.importorskip("torch")
    maps = np.random.default_rng(3).normal(size=(2, 5, 7, 11)).astype(np.float32)
    expected = torch.nn.functional.adaptive_max_pool2d(torch.from_numpy(maps), 3).numpy()
    np.testing.assert_array_equal(max_pool(maps, 3), expected)
    np.testing.assert_array_equal(max_pool(maps[:, :, :2], 3)[:, :, 1, 0], maps[:, :, 1, :4].max(axis=-1))
    vectors = maps[:, :, :1, :1]
    np.testing.assert_array_equal(max_pool(vectors, 3), vectors)


def test_largest_step_share_ignores_background():
    assert largest_step_share([np.array([0, 0, 0, 1]), np.array([2, 2, 1, 2, 3])]) == pytest.approx(3 / 6)


def test_one_video_leaves_none_to_learn_from():
    with pytest.raises(ValueError, match="at least 2 to leave one out"):
        supervised_probe([np.zeros((3, 2, 3, 3))], [np.array([1, 2, 1])])


FPS, FRAMES, STEPS = 2.0, 24, 3


@pytest.fixture
def task(tmp_path):
    """Write three videos in which step k lights up channel k, so frames of steps are separable; background has none."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "features"
    folder.mkdir()
    manifest, segments, stores = [], [], []
    for video in ("a", "b", "c"):
        # Only a few channels have noise: a thousand noisy channels, once standardised, would hide the steps.
        maps = np.zeros((FRAMES, 1024, 3, 3), dtype=np.float32)
        maps[:, :8] = rng.normal(0, 0.05, (FRAMES, 8, 3, 3))
        for step in range(1, STEPS + 1):
            start = 6 * step - 4
            maps[start : start + 4, step] += 3.0
            segments.append((video, start / FPS, (start + 4) / FPS, step, f"step {step}"))
        writer = StoreWriter(folder / f"{video}.zarr", np.arange(FRAMES) / FPS, 3)
        writer.write(0, maps)
        writer.finish(FRAMES, {"status": "ok", "reason": "", "fps": FPS, "duration_s": FRAMES / FPS})
        stores.append(folder / f"{video}.zarr")
        manifest.append((video, video, f"{video}.mp4", f"{video}.csv", FRAMES / FPS, "30", 32, 32, "ok", "", 0.0))
    write_index(stores, folder / "index.csv")
    pd.DataFrame(manifest, columns=MANIFEST_COLUMNS).to_csv(tmp_path / "manifest.csv", index=False)
    pd.DataFrame(segments, columns=ANNOTATION_COLUMNS).to_csv(tmp_path / "annotations.csv", index=False)
    return tmp_path


def test_planted_steps_are_seen_by_both_probes(task):
    statistics = measure(task / "features/index.csv", task / "manifest.csv", task / "annotations.csv", STEPS + 1)
    assert statistics["probe_accuracy"] == 1.0
    assert statistics["kmeans_f1"] == 1.0
    # Of 12 foreground frames per video, 4 belong to each step, so segments became labels at the sampled times.
    assert statistics["largest_step_share"] == pytest.approx(1 / 3)
    assert (statistics["n_videos"], statistics["n_frames"]) == (3, 3 * FRAMES)


def test_a_task_without_key_steps_is_one_line(task):
    pd.read_csv(task / "annotations.csv").head(0).to_csv(task / "annotations.csv", index=False)
    with pytest.raises(RgwotError, match=r"annotations\.csv: found background only"):
        measure(task / "features/index.csv", task / "manifest.csv", task / "annotations.csv", 4)
