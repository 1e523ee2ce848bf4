"""What the later stages need of the machine: a GPU, the weights of the backbone, room for the features."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from rgwot.config.extractors import extractor, missing_checkpoint
from rgwot.config.registry import load
from rgwot.config.settings import FeatureSettings
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.gpus import gpu_there
from rgwot.study.doctor.report import Finding
from rgwot.timing import sample_times


def torch_cache() -> Path:
    """Return the folder torch keeps downloaded weights in, without loading torch."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "torch"
    return Path(os.environ.get("TORCH_HOME", cache)).expanduser() / "hub" / "checkpoints"


def feature_bytes(durations_s: Iterable[float], settings: FeatureSettings) -> int:
    """Return the size of the features of some videos before compression, which saves about a quarter.

    Frames x channels x side^2 x 2 bytes, where frames = sum of ceil(duration x features.fps), side = ceil(size / 16).
    """
    about = extractor(settings.backbone)
    frames = sum(len(sample_times(duration, settings.fps)) for duration in durations_s)
    return frames * about.channels * about.side(settings.size) ** 2 * 2


def without_gpu(device: str) -> Iterator[Finding]:
    """Yield what is wrong where the configuration asks for a GPU and there is none."""
    if device != "cuda":
        return
    if gpu_there():
        import torch

        if torch.cuda.is_available():
            return
    line = "device is cuda and this machine has no usable GPU; run where there is one, or set device: auto"
    yield Finding("warning", "machine", line)


def lacking(settings: FeatureSettings, durations_s: Iterable[float], results: Path) -> Iterator[Finding]:
    """Yield what the machine lacks that is to make features below ``results``.

    ``durations_s`` are those of the videos whose features are not yet there, as far as they are known.
    """
    about, weights = extractor(settings.backbone), settings.weights
    try:
        path = Path(weights) if about.is_file(weights) else about.packaged(weights)
        if about.members:
            # Whether there is such a network of a family, such a layer and such weights of it, its library knows.
            load(f"{about.module}:check")(about.member, weights)
            load(f"{about.module}:network")(about.member)
    except RgwotError as error:
        yield Finding("error", "machine", str(error))
        return
    if path is None and weights in about.weights:
        path = torch_cache() / about.weights[weights].rpartition("/")[2]
        if not path.is_file():
            line = f"weights {weights} are not in {path}; the first extraction downloads {about.megabytes} MB"
            yield Finding("note", "machine", line)
    elif path is not None and not path.is_file():
        yield Finding("error", "machine", missing_checkpoint("config.yaml", about, weights))
    present = next(folder for folder in (results.absolute(), *results.absolute().parents) if folder.exists())
    needed = feature_bytes(durations_s, settings) if about.channels else 0
    free = shutil.disk_usage(present).free
    if needed > free:
        line = (
            f"features need up to {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are free in {present}; make room, or "
            "link results/features to another disk"
        )
        yield Finding("warning", "machine", line)
