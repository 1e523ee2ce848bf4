"""The yardsticks stage on planted features: what is easy for a probe, and for k-means."""

import json

import numpy as np
import pandas as pd
import pytest

from rgwot.evaluation.yardsticks import measure
from rgwot.features.index import write_index
from rgwot.features.store import StoreWriter
from rgwot.runtime.errors import RgwotError

FPS, FRAMES, STEPS = 2.0, 24, 3


@pytest.fixture
def task(tmp_path):
    """Three videos; step k lights up channel k; frames of a step are separable, background is not a step."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "features"
    folder.mkdir()
    manifest, segments, stores = [], [], []
    for video in ("a", "b", "c"):
        # Noise in a few channels only: standardised, a thousand of them would drown the probe.
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
        manifest.append((video, video, f"{video}.mp4", f"{video}.csv", FRAMES / FPS, "30", 32, 32, "ok", ""))
    write_index(stores, folder / "index.csv")
    columns = ["video", "name", "path", "annotation", "duration_s", "fps", "width", "height", "status", "reason"]
    pd.DataFrame(manifest, columns=columns).to_csv(tmp_path / "manifest.csv", index=False)
    pd.DataFrame(segments, columns=["video", "start_s", "end_s", "key_step", "name"]).to_csv(
        tmp_path / "annotations.csv", index=False
    )
    return tmp_path


def test_planted_steps_are_seen_by_both_yardsticks(task):
    found = measure(
        task / "features/index.csv", task / "manifest.csv", task / "annotations.csv", task / "out.json", STEPS + 1
    )
    assert found == json.loads((task / "out.json").read_text())
    assert found["probe_accuracy"] == 1.0
    assert found["kmeans_f1"] == 1.0
    # 4 of 12 foreground frames a video belong to each step: labels were cut at the sampled times.
    assert found["largest_step_share"] == pytest.approx(1 / 3)
    assert (found["n_videos"], found["n_frames"]) == (3, 3 * FRAMES)


def test_a_task_without_key_steps_is_one_line(task):
    pd.read_csv(task / "annotations.csv").head(0).to_csv(task / "annotations.csv", index=False)
    with pytest.raises(RgwotError, match=r"annotations\.csv: found background only"):
        measure(task / "features/index.csv", task / "manifest.csv", task / "annotations.csv", task / "out.json", 4)
    assert not (task / "out.json").exists()
