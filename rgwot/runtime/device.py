"""The device on which PyTorch computes."""

from __future__ import annotations

import platform
from pathlib import Path

import torch

from rgwot.runtime.errors import RgwotError
from rgwot.runtime.limits import check_device

#: The results of `resolve_device` since the last call of `used_device`.
_given: list[torch.device] = []


def resolve_device(device: str) -> torch.device:
    """Turn ``auto``, ``cpu`` or ``cuda`` into an existing device: the first visible GPU, or the CPU.

    The scheduler limits the number of jobs on a GPU by the resource ``gpu`` of the rules.

    Raises RgwotError if ``device`` is another word, or if it is ``cuda`` and there is no GPU.
    """
    check_device(device)
    has_gpu = device != "cpu" and torch.cuda.is_available()
    if device == "cuda" and not has_gpu:
        raise RgwotError("device: found no usable GPU, expected one for cuda; use auto or cpu")
    place = torch.device("cuda", 0) if has_gpu else torch.device("cpu")
    _given.append(place)
    return place


def used_device() -> torch.device:
    """Return the last device from `resolve_device` since the previous call of this function, or else the CPU."""
    place = _given[-1] if _given else torch.device("cpu")
    _given.clear()
    return place


def hardware(device: torch.device) -> dict[str, object]:
    """Return the hardware of a run: ``gpu`` (or None), ``processor`` and the number of ``threads``."""
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else None
    return {"gpu": gpu, "processor": _processor(), "threads": torch.get_num_threads()}


def _processor() -> str:
    """Return the name of the processor, if the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
