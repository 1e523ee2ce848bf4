"""Workflows of GitHub run targets that exist, the citation has this version, options are those of the settings, and
`make clean` keeps results.
"""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from rgwot import __version__

REPOSITORY = Path(__file__).resolve().parents[1]
GITHUB = REPOSITORY / ".github"
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))
TARGETS = set(re.findall(r"^([a-z][\w-]*):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
VARIABLES = set(re.findall(r"^([A-Z_]+) [?:]?=", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def made(command: str) -> list[str]:
    """Return the targets that a line of shell makes, after a look at the variables that it gives.

    >>> made("cd x && make lint TORCH=cpu")
    ['lint']
    """
    targets = []
    for part in re.split(r"&&|;|\n", command):
        words = shlex.split(part)
        if words[:1] == ["make"]:
            given = {word.partition("=")[0] for word in words[1:] if "=" in word}
            assert given <= VARIABLES, (command, given)
            targets += [word for word in words[1:] if "=" not in word]
    return targets


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in loaded(path)["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_targets_that_are_there(path: Path) -> None:
    # What stands in double braces is put in by GitHub.
    lines = [re.sub(r"\$\{\{.*?\}\}", "x", step["run"]) for step in steps(path) if "run" in step]
    assert set(sum(map(made, lines), [])) <= TARGETS
    for step in steps(path):
        assert ("run" in step) != ("uses" in step), step
        known = r"actions/[\w-]+@v\d+|pypa/gh-action-pypi-publish@release/v1"
        assert "uses" not in step or re.fullmatch(known, step["uses"]), step
    # Nothing is handed to what a pull request brings.
    assert loaded(path)["permissions"] == {"contents": "read"}


def test_the_citation_names_this_version_and_the_paper() -> None:
    citation = loaded(REPOSITORY / "CITATION.cff")
    assert citation["version"] == __version__
    assert citation["license"] == "MIT"
    for name, where in (("codemeta.json", ("version",)), ("envs/conda-forge/recipe.yaml", ("context", "version"))):
        found = loaded(REPOSITORY / name)
        for key in where:
            found = found[key]
        assert found == __version__, name
    assert {author["name"] for author in citation["authors"]} == {
        author["name"]
        for name, key in (("codemeta.json", "author"), (".zenodo.json", "creators"))
        for author in loaded(REPOSITORY / name)[key]
    }
    (paper,) = citation["references"]
    assert "Gromov-Wasserstein" in paper["title"]


def test_the_table_of_options_is_that_of_the_settings() -> None:
    page = runpy.run_path(str(REPOSITORY / "docs" / "options.py"))["page"]
    assert (REPOSITORY / "docs" / "options.md").read_text(encoding="utf-8") == "\n".join(page())


def test_cleaning_keeps_results() -> None:
    said = subprocess.run(["make", "-n", "clean"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    assert "rm -rf build" in said
    assert "results" not in said
