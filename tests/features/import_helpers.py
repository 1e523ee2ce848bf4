"""Helpers that write arrays of features in every form, and import them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch

from rgwot.datasets.settings import ImportSettings
from rgwot.features.importing import import_features
from rgwot.features.store import open_store
from rgwot.timing import VideoInfo

NTSC = Fraction(30000, 1001)


FRAMES = 130  # three chunks, the last one short


TCHW = np.random.default_rng(0).normal(size=(FRAMES, 1024, 2, 3)).astype(np.float32)


ARRAYS = {"TCHW": TCHW, "THWC": TCHW.transpose(0, 2, 3, 1), "TC": TCHW[..., 0, 0], "CT": TCHW[..., 0, 0].T}


def write_h5(path: Path, array: np.ndarray, key: str = "group/feats") -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset(key, data=array, chunks=True, compression="lzf")


WRITERS: dict[str, Callable[[Path, np.ndarray], Any]] = {
    ".npy": np.save,
    ".npz": lambda path, array: np.savez_compressed(path, feats=array),
    ".h5": write_h5,
    ".hdf5": write_h5,
    ".pt": lambda path, array: torch.save(torch.from_numpy(array), path),
}


def run(
    source: Path, axes: str = "TCHW", fps: Any = 2, duration_s: float | None = None, **told: Any
) -> tuple[Path, dict[str, Any]]:
    settings = ImportSettings.model_validate({"axes": axes, "fps": fps, **told})
    output = source.with_suffix(".zarr")
    length = FRAMES / float(Fraction(settings.fps)) if duration_s is None else duration_s
    import_features(source, output, settings, VideoInfo(length, NTSC))
    return output, dict(open_store(output).attributes)


def npy(folder: Path, array: np.ndarray) -> Path:
    np.save(folder / "a.npy", array)
    return folder / "a.npy"
