"""Feature stores of a few videos, written once per test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from rgwot.features.store import FeatureStore, StoreWriter, open_store

CHANNELS = 1024


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
