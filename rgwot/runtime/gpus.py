"""GPUs of this machine, found without PyTorch."""

from __future__ import annotations

import os
import re
from pathlib import Path

#: Device files of NVIDIA GPUs (a container may have any of them), and of GPUs in WSL.
_GPU = re.compile(r"nvidia[0-9]+|dxg")


def gpu_there(devices: Path = Path("/dev")) -> bool:
    """Return whether this machine has a GPU for jobs, without importing PyTorch.

    A GPU has a device file with any number. If ``CUDA_VISIBLE_DEVICES`` is empty or begins with -1, all are hidden.
    """
    variable = os.environ.get("CUDA_VISIBLE_DEVICES")
    if variable is not None and variable.split(",")[0].strip() in ("", "-1"):
        return False
    try:
        names = os.listdir(devices)
    except OSError:
        return False
    return any(_GPU.fullmatch(name) for name in names)
