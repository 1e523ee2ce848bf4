"""A method of another paper, added to a study by one setting."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rgwot.records import read_segments

PEER = Path(__file__).parents[2] / "benchmarks" / "peers" / "twfinch.py"


def run(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "rgwot", "run", "--cores", "2", *arguments]
    done = subprocess.run(command, cwd=folder, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_one_setting_adds_a_method(tmp_path: Path) -> None:
    for name, order in (("a", [0, 1, 2]), ("b", [1, 0, 2])):
        (tmp_path / "features" / "tea").mkdir(parents=True, exist_ok=True)
        looks = np.random.default_rng(0).normal(size=(3, 8))
        noise = 0.01 * np.random.default_rng(1).normal(size=(30, 8))
        np.save(tmp_path / "features" / "tea" / f"{name}.npy", looks[np.repeat(order, 10)] + noise)
    study = f"""
datasets:
  mine: {{layout: features, root: features, imported: {{axes: TC, fps: 2}}}}
page: {{datasets: [mine]}}
seeds: [0]
decode: {{K: 3}}
extensions: [{PEER}]
"""
    (tmp_path / "config.yaml").write_text(study, encoding="utf-8")
    target = "results/keysteps/raw/twfinch/mine/tea/seed0/segments.csv"
    run(tmp_path, "--", target)
    segments = read_segments(tmp_path / target).query("scope == 'task' and video == 'a'")
    assert segments["start_s"].tolist() == pytest.approx([0.0, 4.75, 9.75])
    # The next run has nothing to do.
    assert "Nothing to be done" in run(tmp_path, "--", target)
