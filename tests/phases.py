"""Features of made-up videos in which three phases follow each other, and settings that train on them in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rgwot.blocks import nested
from rgwot.embedding.settings import TrainedEncoder
from rgwot.features.store import StoreWriter

FPS = 2.0
SIDE = 3
CHANNELS = 1024


def finish(writer: StoreWriter, frames: int, attributes: Mapping[str, Any], fps: float = FPS) -> None:
    """Complete a store of features (without gaps) with the attributes that every store has."""
    known = {"fps": fps, "status": "ok", "reason": "", "duration_s": frames / fps, "native_fps": "30000/1001"}
    writer.finish(frames, {**known, **attributes})


def write_video(path: Path, frames: int, seed: int, weights: str = "random") -> None:
    """Write a store of noisy maps: in each third of the video, they are another of three vectors, plus noise."""
    rng = np.random.default_rng(seed)
    directions = np.random.default_rng(1234).normal(size=(3, CHANNELS, 1, 1))
    phase = np.minimum(np.arange(frames) * 3 // max(frames, 1), 2)
    maps = directions[phase] + rng.normal(size=(frames, CHANNELS, SIDE, SIDE)) + 5.0
    writer = StoreWriter(path, np.arange(frames) / FPS, SIDE)
    for shard in range(-(-frames // 64)):
        writer.write(shard, maps[shard * 64 : (shard + 1) * 64])
    finish(writer, frames, {"weights": weights, "weights_sha256": "0" * 64, "layer": "conv4c"})


def write_index(folder: Path, videos: Mapping[str, int]) -> Path:
    rows = [f"{name},{'ok' if frames else 'skipped'},,{frames}" for name, frames in videos.items()]
    (folder / "index.csv").write_text("\n".join(["video,status,reason,frames", *rows]) + "\n")
    return folder / "index.csv"


def tiny(**changes: Any) -> TrainedEncoder:
    """Return settings that train within seconds; in keys of ``changes``, ``__`` stands for the dot."""
    values: dict[str, Any] = {
        "encoder.channels": 8, "encoder.hidden": 8, "encoder.D": 8,
        "train.N": 6, "train.iterations": 12, "train.lr": 1e-3, "train.threads": 1, "cidm.sigma": 2.0,
    }  # fmt: skip
    values |= {key.replace("__", "."): value for key, value in changes.items()}
    return TrainedEncoder.of(nested(values), "test")
