"""Which device the arithmetic runs on."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import torch

from rgwot.runtime.errors import RgwotError

#: What `resolve_device` gave since `used_device` was last asked.
_given: list[torch.device] = []


def resolve_device(device: str) -> torch.device:
    """Turn ``auto``, ``cpu`` or ``cuda`` into a device that is there: the first visible GPU, or the CPU.

    How many jobs use it at once is the scheduler's to limit, by the resource ``gpu`` of the rules.

    Raises RgwotError for another word, and when ``cuda`` is asked for and there is none.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise RgwotError(f"device: found {device!r}, expected auto, cpu or cuda")
    there = device != "cpu" and torch.cuda.is_available()
    if device == "cuda" and not there:
        raise RgwotError("device: found no usable GPU, expected one for cuda; use auto or cpu")
    place = torch.device("cuda", 0) if there else torch.device("cpu")
    _given.append(place)
    return place


def used_device() -> torch.device:
    """Return the last device of `resolve_device` since the previous call, else the CPU."""
    place = _given[-1] if _given else torch.device("cpu")
    _given.clear()
    return place


def hardware(device: torch.device) -> dict[str, Any]:
    """Return what a run is timed on: ``gpu`` (None for none), ``processor`` and the ``threads`` in use."""
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else None
    return {"gpu": gpu, "processor": _processor(), "threads": torch.get_num_threads()}


def _processor() -> str:
    """Return the name of the processor, where the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
