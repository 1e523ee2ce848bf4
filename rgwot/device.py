"""Which device the arithmetic runs on."""

from __future__ import annotations

import torch

from rgwot.errors import RgwotError


def resolve_device(device: str) -> torch.device:
    """Turn ``auto``, ``cpu`` or ``cuda`` into a device that is there.

    Raises
    ------
    RgwotError
        When ``cuda`` is asked for and there is none.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise RgwotError("device: found no usable GPU, expected one for cuda; use auto or cpu")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(device)
