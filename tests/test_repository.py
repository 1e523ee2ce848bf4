"""Workflows of GitHub run targets that exist, all files name one version, and listed options are the settings."""

from __future__ import annotations

import re
import runpy
import subprocess
from pathlib import Path

import pytest
import yaml

from rgwot import __version__

REPOSITORY = Path(__file__).resolve().parents[1]


def text(name: str) -> str:
    return (REPOSITORY / name).read_text(encoding="utf-8")


def test_continuous_integration_runs_targets_that_are_there() -> None:
    targets = set(re.findall(r"^([a-z][\w-]*):", text("Makefile"), re.MULTILINE))
    files = [".ci/run", *(str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / ".github").glob("*/*.yml"))]
    command = re.compile(r"(?:^|run: |&& |[A-Z]+=\d+ )make ([\w-]+)", re.MULTILINE)
    made = {target for file in files for target in command.findall(text(file))}
    assert {"lint", "test", "demo", "faults"} <= made <= targets


@pytest.mark.parametrize("name", ["CITATION.cff", "codemeta.json", "envs/conda-forge/recipe.yaml"])
def test_every_file_names_this_version(name: str) -> None:
    content = yaml.safe_load(text(name))
    assert content.get("context", content)["version"] == __version__


def test_the_table_of_options_is_that_of_the_settings() -> None:
    page = runpy.run_path(str(REPOSITORY / "docs" / "options.py"))["page"]
    assert text("docs/options.md") == "\n".join(page())


def test_cleaning_keeps_results() -> None:
    said = subprocess.run(["make", "-n", "clean"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    assert "rm -rf build" in said
    assert "results" not in said
