"""Sound videos for the tests of the doctor."""

from __future__ import annotations

from pathlib import Path

import pytest
from doctor_helpers import put
from videos import write_video


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a video of 10 s at 30 frames per second."""
    return write_video(tmp_path_factory.mktemp("clip") / "clip.mp4", frames=300, fps=30, size=(32, 32))


@pytest.fixture
def tea(tmp_path: Path, clip: Path) -> Path:
    """Return a folder of two sound videos of one task."""
    for name in ("one", "two"):
        # A box that players skip: no two videos have the same content.
        put(tmp_path / "root" / "tea" / f"{name}.mp4", clip.read_bytes() + b"\0\0\0\x0bfree" + name.encode())
        put(tmp_path / "root" / "tea" / f"{name}.csv", b"1,2,1 boil\n3,4.5,2 pour\n")
    return tmp_path / "root"
