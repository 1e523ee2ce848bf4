"""Losses, decoders and the like from a folder of one's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

LOSS = '''"""Distance of frames at the same position."""

ABOUT = {"description": "distance at the same position", "reads": ("loss.gamma",)}


def align_position(batch, settings):
    return settings.loss.gamma * ((batch.x - batch.y) ** 2).sum(2).mean(1)
'''
DECODER = '''"""Every video in K equal pieces."""

import numpy as np

from rgwot.keysteps.interface import Decoded

ABOUT = {"description": "equal pieces"}


def decode_pieces(frames, K, settings, generator):
    return Decoded(np.concatenate([np.arange(length) * K // length for length in frames.lengths]))
'''
CODE = """
import sys
import numpy as np
import rgwot
from rgwot.config.methods import ALIGNMENTS
assert ALIGNMENTS["position"].takes("loss.gamma") and "rgwot.losses.position" not in sys.modules
videos = [np.random.default_rng(n).normal(size=(12, 4)) for n in range(2)]
small = {"encoder": {"channels": 4, "hidden": 4, "D": 4}, "train": {"N": 4, "iterations": 3, "threads": 1}}
made = rgwot.discover(
    videos, method="rgwot@loss.alignment=position,loss.gamma=0.5", decoder="pieces", K=3, settings=small, device="cpu"
)
assert sys.modules["rgwot.losses.position"].__file__ == sys.argv[1]
print(made.labels["0"].tolist())
"""


def run(code: str, folders: str, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RGWOT_EXTENSIONS": folders, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def extensions(tmp_path: Path) -> Path:
    for name, text in {"losses/position.py": LOSS, "keysteps/pieces.py": DECODER}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_folder_of_ones_own_is_a_part_of_the_library(extensions: Path) -> None:
    done = run(CODE, str(extensions), str(extensions / "losses/position.py"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]\n"


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("losses/tcc.py", "expected a name of its own; rename it"),
        (None, "nowhere: no such folder; expected one with rooms such as losses"),
    ],
)
def test_mistakes_are_told(extensions: Path, added: str | None, message: str) -> None:
    folders = str(extensions)
    if added:
        (extensions / added).write_text(LOSS, encoding="utf-8")
    else:
        folders += f"{os.pathsep}{extensions / 'nowhere'}"
    command = [sys.executable, "-m", "rgwot", "embed", "--help"]
    environment = {**os.environ, "RGWOT_EXTENSIONS": folders}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("rgwot: ")
    assert message in line
