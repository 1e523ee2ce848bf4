"""Tiny tasks: features in which three phases follow each other, or those that a test asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rgwot.config.settings import Settings, build
from rgwot.features.store import FeatureStore, StoreWriter, open_store

FPS = 2.0
SIDE = 3
CHANNELS = 1024


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)


def write_video(path: Path, frames: int, seed: int, weights: str = "random") -> None:
    """Write a store whose maps are one of three directions per third of the video, plus noise."""
    rng = np.random.default_rng(seed)
    directions = np.random.default_rng(1234).normal(size=(3, CHANNELS, 1, 1))
    phase = np.minimum(np.arange(frames) * 3 // max(frames, 1), 2)
    maps = directions[phase] + rng.normal(size=(frames, CHANNELS, SIDE, SIDE)) + 5.0
    times = np.arange(frames) / FPS
    writer = StoreWriter(path, times, SIDE)
    for shard in range(-(-frames // 64)):
        writer.write(shard, maps[shard * 64 : (shard + 1) * 64])
    writer.finish(
        frames,
        {
            "weights": weights, "weights_sha256": "0" * 64, "layer": "conv4c", "fps": FPS,
            "status": "ok", "reason": "",
            "duration_s": frames / FPS, "native_fps": "30000/1001",
        },
    )  # fmt: skip


@pytest.fixture(scope="session")
def make_task(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that writes the features of a task and returns the path of its index."""

    def make(lengths: tuple[int, ...] = (20, 26, 31), **options: Any) -> Path:
        folder = tmp_path_factory.mktemp("features") / "task"
        folder.mkdir()
        rows = ["video,status,reason,frames"]
        for number, frames in enumerate(lengths):
            write_video(folder / f"v{number}.zarr", frames, number, **options)
            rows.append(f"v{number},{'ok' if frames else 'skipped'},,{frames}")
        (folder / "index.csv").write_text("\n".join(rows) + "\n")
        return folder / "index.csv"

    return make


@pytest.fixture(scope="session")
def task(make_task: Callable[..., Path]) -> Path:
    return make_task()


def tiny(**changes: Any) -> Settings:
    """Return settings for tests of seconds; dotted keys with ``__`` for the dot."""
    values: dict[str, Any] = {
        "encoder.channels": 8, "encoder.hidden": 8, "encoder.D": 8,
        "train.N": 6, "train.iterations": 12, "train.lr": 1e-3, "cidm.sigma": 2.0,
    }  # fmt: skip
    values |= {key.replace("__", "."): value for key, value in changes.items()}
    return build(values, "test")


@pytest.fixture(scope="session")
def settings() -> Callable[..., Settings]:
    return tiny


@pytest.fixture
def write_stores(tmp_path: Path) -> Callable[..., list[FeatureStore]]:
    """Return a function that writes features (T, F <= 1024) per video, the rest zero, and opens the stores."""

    def write(videos: Mapping[str, np.ndarray], fps: float = 2.0) -> list[FeatureStore]:
        stores = []
        for name, x in videos.items():
            path = tmp_path / f"{name}.zarr"
            maps = np.zeros((len(x), CHANNELS, 2, 2))
            # The four places of a map differ; their mean is what was asked for.
            maps[:, : x.shape[1]] = x[:, :, None, None] + np.array([[1.0, -1.0], [-0.5, 0.5]])
            writer = StoreWriter(path, np.arange(len(x)) / fps, 2)
            writer.write(0, maps)
            writer.finish(
                len(x),
                {"weights": "random", "fps": fps, "status": "ok", "reason": "", "duration_s": len(x) / fps,
                 "native_fps": "30"},
            )  # fmt: skip
            stores.append(open_store(path))
        return stores

    return write
