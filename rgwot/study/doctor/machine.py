"""What the later stages need of the machine: a GPU, the weights of the backbone, room for the features."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from rgwot.config.extractors import Extractor, extractor, missing_checkpoint
from rgwot.config.registry import load
from rgwot.config.settings import FeatureSettings
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.gpus import gpu_there
from rgwot.study.doctor.findings import Finding


def torch_cache() -> Path:
    """Return the folder torch keeps downloaded weights in, without loading torch."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "torch"
    return Path(os.environ.get("TORCH_HOME", cache)).expanduser() / "hub" / "checkpoints"


def feature_bytes(durations_s: Iterable[float], settings: FeatureSettings) -> int:
    """Return the size of the features of some videos before compression, which saves about a quarter.

    Frames x channels x side^2 x 2 bytes, where frames = sum of ceil(duration x features.fps), side = ceil(size / 16).
    """
    from rgwot.timing import sample_times

    about = extractor(settings.backbone)
    frames = sum(len(sample_times(duration, settings.fps)) for duration in durations_s)
    return frames * about.channels * about.side(settings.size) ** 2 * 2


def lacking(
    device: str, settings: FeatureSettings | None, durations_s: Sequence[float], results: Path
) -> list[Finding]:
    """Return what the machine lacks that is to make features below ``results``.

    ``settings`` are those of the features, None where they are made elsewhere; ``durations_s`` those of the videos
    whose features are not yet there, as far as they are known.
    """
    found: list[Finding] = []
    if device == "cuda" and not _gpu():
        line = "device is cuda and this machine has no usable GPU; run where there is one, or set device: auto"
        found.append(Finding("warning", "machine", line))
    if settings is None:
        return found
    about, weights = extractor(settings.backbone), settings.weights
    try:
        path = _weights_path(about, weights)
        if about.members:
            # Whether there is such a network of a family, such a layer and such weights of it, its library knows.
            load(f"{about.module}:check")(about.member, weights)
            load(f"{about.module}:network")(about.member)
    except RgwotError as error:
        return [*found, Finding("error", "machine", str(error))]
    if path is not None and not path.is_file():
        if about.is_file(weights):
            found.append(Finding("error", "machine", missing_checkpoint("config.yaml", about, weights)))
        else:
            line = f"weights {weights} are not in {path}; the first extraction downloads {about.megabytes} MB"
            found.append(Finding("note", "machine", line))
    present = next(folder for folder in (results.absolute(), *results.absolute().parents) if folder.exists())
    needed = feature_bytes(durations_s, settings) if about.channels else 0
    free = shutil.disk_usage(present).free
    if needed > free:
        line = (
            f"features need up to {needed / 1e9:.1f} GB and {free / 1e9:.1f} GB are free in {present}; make room, or "
            "link results/features to another disk"
        )
        found.append(Finding("warning", "machine", line))
    return found


def _gpu() -> bool:
    if not gpu_there():
        return False
    import torch

    return torch.cuda.is_available()


def _weights_path(about: Extractor, weights: str) -> Path | None:
    if about.is_file(weights):
        return Path(weights)
    packaged = about.packaged(weights)
    if packaged is not None:
        return packaged
    return torch_cache() / about.weights[weights].rpartition("/")[2] if weights in about.weights else None
