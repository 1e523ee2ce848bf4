"""What the later stages need of the machine: a GPU, the weights of the backbone, room for the features."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rgwot.config.extractors import Extractor, extractor, missing_checkpoint
from rgwot.config.registry import load
from rgwot.config.settings import FeatureSettings
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.gpus import gpu_there
from rgwot.study.doctor.findings import Finding, Severity

FORMULA = "frames x channels x side^2 x 2 bytes; frames = sum of ceil(duration x features.fps), side = ceil(size / 16)"
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
    from rgwot.timing import sample_times

    about = extractor(settings.backbone)
    frames = sum(len(sample_times(duration, settings.fps)) for duration in durations_s)
    return frames * about.channels * about.side(settings.size) ** 2 * 2


def look(
    device: str, settings: FeatureSettings | None, durations_s: Iterable[float] | None, results: Path
) -> tuple[Machine, list[Finding]]:
    """Look at the machine that is to make features below ``results``.

    ``settings`` are those of the features, None where they are made elsewhere; ``durations_s`` those of the videos
    whose features are not yet there, None where they are not known.
    """
    gpu = None if device == "cpu" else _gpu()
    weights = "imported" if settings is None else settings.weights
    about = None if settings is None else extractor(settings.backbone)
    lacking: list[Finding] = []
    path = None
    try:
        path = None if about is None else _weights_path(about, weights)
        if about is not None and about.members:
            # Whether there is such a network of a family, such a layer and such weights of it, its library knows.
            load(f"{about.module}:check_{about.base}")(about.member, weights)
            load(f"{about.module}:network_{about.base}")(about.member)
    except RgwotError as error:
        lacking.append(Finding("error", "machine", str(error)))
    present = next(folder for folder in (results.absolute(), *results.absolute().parents) if folder.exists())
    known = durations_s is not None and settings is not None and about is not None and about.channels
    needed = feature_bytes(durations_s, settings) if known else None  # type: ignore[arg-type]
    there, free = not lacking and (path is None or path.is_file()), shutil.disk_usage(present).free
    machine = Machine(device, gpu, weights, None if path is None else str(path), there, needed, free)
    return machine, [*lacking, *([] if lacking else _findings(machine, about, present))]


def _gpu() -> str | None:
    if not gpu_there():
        return None
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else None


def _weights_path(about: Extractor, weights: str) -> Path | None:
    if about.is_file(weights):
        return Path(weights)
    packaged = about.packaged(weights)
    if packaged is not None:
        return packaged
    return torch_cache() / about.weights[weights].rpartition("/")[2] if weights in about.weights else None


def _findings(machine: Machine, about: Extractor | None, present: Path) -> list[Finding]:
    found: list[tuple[Severity, str]] = []
    if machine.gpu is None and machine.device == "cuda":
        line = "device is cuda and this machine has no usable GPU; run where there is one, or set device: auto"
        found.append(("warning", line))
    if about is not None and not machine.weights_found:
        path = machine.weights_path
        if about.is_file(machine.weights):
            found.append(("error", missing_checkpoint("config.yaml", about, machine.weights)))
        else:
            size = f"the first extraction downloads {about.megabytes} MB"
            found.append(("note", f"weights {machine.weights} are not in {path}; {size}"))
    if machine.feature_bytes is not None and machine.feature_bytes > machine.free_bytes:
        sizes = f"{machine.feature_bytes / 1e9:.1f} GB and {machine.free_bytes / 1e9:.1f} GB are free in {present}"
        line = f"features need up to {sizes}; make room, or link results/features to another disk"
        found.append(("warning", line))
    return [Finding(severity, "machine", line) for severity, line in found]
