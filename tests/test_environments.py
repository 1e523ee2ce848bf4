"""The environments of the rules: what their files say, and that the same pins can be had from PyPI."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ENVS = Path(__file__).resolve().parents[1] / "envs"
NAMES = sorted(path.stem for path in ENVS.glob("*.yaml"))
# Names that conda and PyPI spell differently would stand here; there are none among ours.
NOT_FROM_PIP = {"python", "pip"}


def pins(name: str) -> dict[str, str]:
    """Package to version prefix."""
    listed = yaml.safe_load((ENVS / f"{name}.yaml").read_text(encoding="utf-8"))["dependencies"]
    return dict(re.fullmatch(r"([a-z0-9-]+) =([\d.]+)", line).groups() for line in listed)


def test_rules_name_environments_that_are_there():
    text = "".join(path.read_text("utf-8") for path in (ENVS.parent / "workflow/rules").glob("*.smk"))
    assert sorted(set(re.findall(r'"\.\./\.\./envs/(\w+)\.yaml"', text))) == NAMES
    # Every rule that runs a command has one.
    assert text.count("    conda:\n") == text.count("    shell:\n")


@pytest.mark.parametrize("name", NAMES)
def test_an_environment_pins_python_and_installs_the_package(name, tmp_path):
    assert pins(name)["python"] == "3.11"
    assert "pip" in pins(name)
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
    fake.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "RGWOT_SOURCE": "/a b/rgwot"}
    told = subprocess.run(
        ["bash", str(ENVS / f"{name}.post-deploy.sh")], env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    # Without its dependencies where the environment has those it needs itself, and PyTorch is not among them.
    alone = ["--no-deps"] if name == "evaluate" else []
    assert told == ["-m", "pip", "install", *alone, "/a b/rgwot"]


def test_scoring_needs_no_pytorch():
    assert not {"torch", "pytorch", "zarr", "decord"} & set(pins("evaluate"))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_the_same_pins_resolve_with_pip(name):
    wanted = [f"{package}=={version}.*" for package, version in pins(name).items() if package not in NOT_FROM_PIP]
    if name == "train":
        wanted.append(str(ENVS.parent))
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", *wanted]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert found.returncode == 0, found.stderr
