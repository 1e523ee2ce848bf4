"""The environments of the rules: what their files say, and that the same pins can be had from PyPI."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from rgwot.runtime.provenance import PACKAGES

ENVS = Path(__file__).resolve().parents[1] / "envs"
NAMES = sorted(path.stem for path in ENVS.glob("*.yaml"))
# Names that conda and PyPI spell differently would stand here; there are none among ours.
NOT_FROM_PIP = {"python", "pip"}
# What numbers depend on: decoding, features, training, clustering. Snakemake is not installed for a rule.
NUMBERS = {*PACKAGES, "numba", "gensim", "h5py", "numcodecs"} - {"snakemake"}


def pins(name: str) -> dict[str, str]:
    """Package to version: a prefix after ``=`` as conda has it, or bounds; from conda and from pip alike."""
    listed: list[str] = []
    for entry in yaml.safe_load((ENVS / f"{name}.yaml").read_text(encoding="utf-8"))["dependencies"]:
        listed += entry["pip"] if isinstance(entry, dict) else [entry]
    return dict(re.fullmatch(r"([A-Za-z0-9-]+) (=[\d.]+|>=[\d.]+,<[\d.]+)", line).groups() for line in listed)


def required() -> dict[str, str]:
    """The least version of every dependency of the package."""
    project = tomllib.loads((ENVS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return dict(
        re.fullmatch(r"([A-Za-z0-9-]+)(?:\[\w+\])?(>=[\d.]+)", line).groups() for line in project["dependencies"]
    )


@pytest.mark.parametrize("name", NAMES)
def test_an_environment_pins_python_and_installs_the_package(name, tmp_path):
    assert pins(name)["python"] == "=3.11"
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


@pytest.mark.parametrize("name", NAMES)
def test_bounds_begin_where_the_package_s_do_and_hold_what_was_tested(name):
    for package, bounds in pins(name).items():
        if package not in NOT_FROM_PIP:
            assert bounds.split(",")[0] == required()[package], package
            assert version(package) in SpecifierSet(bounds), package


def test_what_numbers_depend_on_is_bounded_and_the_same_in_both():
    train, evaluate = pins("train"), pins("evaluate")
    assert set(train) >= NUMBERS
    assert {"numpy", "scipy", "pandas"} <= set(evaluate)
    assert {name: train[name] for name in set(train) & set(evaluate)} == {
        name: evaluate[name] for name in set(train) & set(evaluate)
    }


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_the_same_pins_resolve_with_pip(name):
    wanted = [f"{package}{bounds}" for package, bounds in pins(name).items() if package not in NOT_FROM_PIP]
    if name == "train":
        wanted.append(str(ENVS.parent))
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", *wanted]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    assert found.returncode == 0, found.stderr
