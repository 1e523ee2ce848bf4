"""Helpers for differences between the machines on which tests run."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest


def resident_mib(maxrss: int) -> float:
    """Return the ``ru_maxrss`` of a process in MiB: macOS counts bytes, Linux KiB."""
    return maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def touch_bytes(folder: Path, name: bytes) -> Path:
    """Make an empty file with this name; skip the test if the file system accepts only UTF-8, as that of macOS does."""
    path = Path(os.fsdecode(os.path.join(os.fsencode(folder), name)))
    try:
        path.touch()
    except OSError as error:
        if error.errno != errno.EILSEQ:
            raise
        pytest.skip("this file system takes names in UTF-8 alone")
    return path
