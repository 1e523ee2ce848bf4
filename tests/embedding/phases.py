"""Features of made-up videos in which three phases follow each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rgwot.features.store import StoreWriter

FPS = 2.0
SIDE = 3
CHANNELS = 1024


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
