"""Whether there is a GPU, and GPUs shared by the jobs of a user on one machine: a lock file for each."""

from __future__ import annotations

import logging
import os
import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock, Timeout

logger = logging.getLogger(__name__)

#: The GPU that this process holds, by its lock file; the system releases it when the process ends, however it ends.
_held: dict[Path, FileLock] = {}
#: Device files of NVIDIA's GPUs, whichever of them a container is given, and of those that Windows lends to WSL.
_DEVICE = re.compile(r"nvidia[0-9]+|dxg")


def gpu_there(devices: Path = Path("/dev")) -> bool:
    """Return whether this machine has a GPU that jobs may use, without importing PyTorch.

    A device file says that there is one, whatever its number; ``CUDA_VISIBLE_DEVICES`` that is empty, or begins with
    -1, hides all of them.
    """
    variable = os.environ.get("CUDA_VISIBLE_DEVICES")
    if variable is not None and variable.split(",")[0].strip() in ("", "-1"):
        return False
    try:
        names = os.listdir(devices)
    except OSError:
        return False
    return any(_DEVICE.fullmatch(name) for name in names)


def lock_folder() -> Path:
    """Return the folder of this user's lock files, made where it is missing."""
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    folder = Path(base) / f"rgwot-gpus-{os.getuid() if hasattr(os, 'getuid') else os.getlogin()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def take_gpu(names: Sequence[str], folder: Path, every_s: float = 2.0) -> int:
    """Take the first free GPU and return its position in ``names``; where all are taken, look again every so often.

    Waiting rather than going on without: a training on a CPU takes a hundred times as long and rounds differently.
    """
    paths = [folder / f"gpu-{name.replace(os.sep, '_')}.lock" for name in names]
    for position, path in enumerate(paths):
        if path in _held:
            return position
    waiting = False
    while True:
        for position, path in enumerate(paths):
            lock = FileLock(path)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                continue
            _held[path] = lock
            if waiting:
                logger.info("GPU %s is free now", names[position])
            return position
        if not waiting:
            logger.warning("every GPU (%s) is taken by another job; waiting for one", ", ".join(names))
            waiting = True
        time.sleep(every_s)
