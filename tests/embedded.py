"""Stores of embeddings, for tests of the code that reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from rgwot.embedding.interface import EmbeddedVideo
from rgwot.stages.embed import write_embedded


def write_store(
    path: Path,
    videos: Mapping[str, Any],
    fps: float,
    *,
    native_fps: str = "30",
    shorter_s: float = 0.0,
    background: Sequence[Any] = (),
    complete: bool = True,
    **facts: Any,
) -> Path:
    """Write the embeddings (T, D) of videos sampled ``fps`` times per second; ``facts`` are further attributes.

    A video lasts as long as its samples, less ``shorter_s``. ``background`` has a mask (T,) or None per video.
    """
    marked = background or [None] * len(videos)
    content = {
        name: EmbeddedVideo(x, np.arange(len(x)) / fps, len(x) / fps - shorter_s, native_fps, marks)  # type: ignore[arg-type]
        for (name, x), marks in zip(videos.items(), marked, strict=True)
    }
    write_embedded(path, content, {"method": "rgwot", "seed": 0, "features_fps": fps, **facts})
    if not complete:
        zarr.open_group(path, mode="a").attrs["complete"] = False
    return path
