"""What the later stages need of the machine: a GPU, the weights of the backbone, room for the features."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rgwot.config.extractors import EXTRACTORS, Extractor
from rgwot.config.settings import FeatureSettings
from rgwot.runtime.gpus import gpu_there
from rgwot.study.doctor.findings import Finding, Severity

FORMULA = "frames x 1024 x side^2 x 2 bytes; frames = sum of ceil(duration x features.fps), side = ceil(size / 16)"
"""Bytes of the features before compression, which saves about a quarter."""


@dataclass(frozen=True)
class Machine:
    """What the machine has."""

    device: str  #: as configured
    gpu: str | None  #: name of the GPU that would be used, if any
    weights: str  #: as configured, or ``imported`` where features are made elsewhere
    weights_path: str | None
    weights_found: bool
    feature_bytes: int | None  #: estimate of what is still to be written, see `FORMULA`; None if no video was opened
    free_bytes: int  #: free space on the disk of ``results``


def torch_cache() -> Path:
    """Return the folder torch keeps downloaded weights in, without loading torch."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "torch"
    return Path(os.environ.get("TORCH_HOME", cache)).expanduser() / "hub" / "checkpoints"


def feature_bytes(durations_s: Iterable[float], settings: FeatureSettings) -> int:
    """Return the size of the features of some videos before compression, see `FORMULA`."""
    from rgwot.video import sample_times

    extractor = EXTRACTORS[settings.backbone]
    frames = sum(len(sample_times(duration, settings.fps)) for duration in durations_s)
    return frames * extractor.channels * extractor.side(settings.size) ** 2 * 2


def look(
    device: str, settings: FeatureSettings | None, durations_s: Iterable[float] | None, results: Path
) -> tuple[Machine, list[Finding]]:
    """Look at the machine that is to make features below ``results``.

    ``settings`` are those of the features, None where they are made elsewhere; ``durations_s`` those of the videos
    whose features are not yet there, None where they are not known.
    """
    gpu = None if device == "cpu" else _gpu()
    weights = "imported" if settings is None else settings.weights
    extractor = None if settings is None else EXTRACTORS[settings.backbone]
    path = None if extractor is None else _weights_path(extractor, weights)
    present = next(folder for folder in (results.absolute(), *results.absolute().parents) if folder.exists())
    needed = None if durations_s is None or settings is None else feature_bytes(durations_s, settings)
    there, free = path is None or path.is_file(), shutil.disk_usage(present).free
    machine = Machine(device, gpu, weights, None if path is None else str(path), there, needed, free)
    return machine, _findings(machine, extractor, present)


def _gpu() -> str | None:
    if not gpu_there():
        return None
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else None


def _weights_path(extractor: Extractor, weights: str) -> Path | None:
    if extractor.is_file(weights):
        return Path(weights)
    return torch_cache() / extractor.weights[weights].rpartition("/")[2] if weights in extractor.weights else None


def _findings(machine: Machine, extractor: Extractor | None, present: Path) -> list[Finding]:
    found: list[tuple[Severity, str]] = []
    if machine.gpu is None and machine.device == "cuda":
        line = "device is cuda and this machine has no usable GPU; run where there is one, or set device: auto"
        found.append(("warning", line))
    if extractor is not None and not machine.weights_found:
        path = machine.weights_path
        if extractor.is_file(machine.weights):
            line = f"features.weights: no file {path}; expected a {extractor.name} checkpoint; correct the path"
            found.append(("error", line))
        else:
            size = f"the first extraction downloads {extractor.megabytes} MB"
            found.append(("note", f"weights {machine.weights} are not in {path}; {size}"))
    if machine.feature_bytes is not None and machine.feature_bytes > machine.free_bytes:
        sizes = f"{machine.feature_bytes / 1e9:.1f} GB and {machine.free_bytes / 1e9:.1f} GB are free in {present}"
        line = f"features need up to {sizes}; make room, or link results/features to another disk"
        found.append(("warning", line))
    return [Finding(severity, "machine", line) for severity, line in found]
