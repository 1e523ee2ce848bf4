"""Fixtures with tiny tasks: features with three phases in a row, or features that a test provides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from phases import finish, tiny, write_index, write_video
from torch import Tensor, nn

from rgwot.embedding.settings import TrainedEncoder
from rgwot.features.store import DEFAULT_CHANNELS, IMPORTER, FeatureStore, StoreWriter, open_store
from rgwot.losses.interface import PairBatch
from rgwot.losses.settings import LOSSES, Loss


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def make_task(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that writes the features of a task and returns the path of its index."""

    def make(lengths: tuple[int, ...] = (20, 26, 31), names: tuple[str, ...] = (), **options: Any) -> Path:
        folder = tmp_path_factory.mktemp("features") / "task"
        folder.mkdir()
        videos = dict(zip(names or [f"v{number}" for number in range(len(lengths))], lengths, strict=True))
        for number, (name, frames) in enumerate(videos.items()):
            write_video(folder / f"{name}.zarr", frames, number, **options)
        return write_index(folder, videos)

    return make


@pytest.fixture(scope="session")
def task(make_task: Callable[..., Path]) -> Path:
    return make_task()


@pytest.fixture(scope="session")
def settings() -> Callable[..., TrainedEncoder]:
    return tiny


@pytest.fixture
def write_stores(tmp_path: Path) -> Callable[..., list[FeatureStore]]:
    """Return a function that writes features (T, F <= 1024) per video, padded with zeros, and opens the stores."""

    def write(videos: Mapping[str, np.ndarray], fps: float = 2.0) -> list[FeatureStore]:
        stores = []
        for name, x in videos.items():
            path = tmp_path / f"{name}.zarr"
            maps = np.zeros((len(x), DEFAULT_CHANNELS, 2, 2))
            # The four places of a map differ, but their mean is the given feature.
            maps[:, : x.shape[1]] = x[:, :, None, None] + np.array([[1.0, -1.0], [-0.5, 0.5]])
            writer = StoreWriter(path, np.arange(len(x)) / fps, 2)
            writer.write(0, maps)
            finish(writer, len(x), {"weights": "random", "native_fps": "30"}, fps)
            stores.append(open_store(path))
        return stores

    return write


@pytest.fixture(scope="session")
def write_vectors(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that writes imported vectors (T, C) per video and returns the path of their index."""

    def write(videos: Sequence[np.ndarray], fps: float = 2.0) -> Path:
        folder = tmp_path_factory.mktemp("vectors")
        for number, x in enumerate(videos):
            writer = StoreWriter(folder / f"v{number}.zarr", np.arange(len(x)) / fps, (), "none", x.shape[1], "sensors")
            writer.write(0, x)
            finish(writer, len(x), {"weights": "imported", "native_fps": str(fps), "decoder": IMPORTER}, fps)
        return write_index(folder, {f"v{number}": len(x) for number, x in enumerate(videos)})

    return write


@pytest.fixture
def learning_loss(monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a loss that trains a module besides the encoder; only extensions have such losses."""

    def align(batch: PairBatch, settings: Loss) -> Tensor:
        assert batch.learned is not None
        return (batch.learned(batch.x) - batch.y).square().mean((1, 2))

    class Mapped(Loss):
        NAME = "mapped"
        FUNCTION = align
        LEARNED = lambda D: nn.Linear(D, D)  # noqa: E731

    monkeypatch.setitem(LOSSES, "mapped", Mapped)
    return "mapped"
