"""What stands around the code: workflows of GitHub, templates, the Containerfile, the citation, targets of make."""

from __future__ import annotations

import re
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
        assert "uses" not in step or re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]), step
    # Nothing is handed to what a pull request brings.
    assert loaded(path)["permissions"] == {"contents": "read"}


def test_all_pythons_are_tried_with_the_oldest_and_the_newest_versions() -> None:
    runs = [made(step.get("run", "")) for path in WORKFLOWS for step in steps(path) if "make" in step.get("run", "")]
    assert {target for run in runs for target in run} >= {"lint", "test", "docs"}
    matrix = loaded(GITHUB / "workflows" / "checks.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert [*matrix["versions"], *(more["versions"] for more in matrix["include"])] == ["envs/lock.txt", ""]
    lines = " ".join(step.get("run", "") for path in WORKFLOWS for step in steps(path))
    named = set(re.findall(r"envs/[\w.]+", lines))
    assert named == {"envs/oldest.txt"}
    assert all((REPOSITORY / name).exists() for name in [*named, *matrix["versions"]])


@pytest.mark.parametrize("path", sorted(GITHUB.glob("ISSUE_TEMPLATE/*.yml")), ids=lambda path: path.stem)
def test_templates_of_issues_are_forms(path: Path) -> None:
    form = loaded(path)
    assert {"name", "description", "body"} <= set(form)
    ids = [field["id"] for field in form["body"] if field["type"] != "markdown"]
    assert len(set(ids)) == len(ids) > 0
    assert {field["type"] for field in form["body"]} <= {"markdown", "input", "textarea", "checkboxes", "dropdown"}


def test_the_container_copies_files_that_are_there_and_makes_targets_that_are_there() -> None:
    text = (REPOSITORY / "Containerfile").read_text(encoding="utf-8")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if re.match(r"[A-Z]+ ", line)]
    copied = [word for kind, rest in lines if kind == "COPY" for word in rest.split()[:-1]]
    assert all((REPOSITORY / word).exists() for word in copied), copied
    arguments = {rest.partition("=")[0] for kind, rest in lines if kind == "ARG"}
    assert arguments <= VARIABLES
    ran = [re.sub(r"\$\{(\w+)\}", "x", rest) for kind, rest in lines if kind == "RUN"]
    assert sum(map(made, ran), []) == ["env"]
    # What the environment is made from is there before it is made.
    before = [kind for kind, rest in lines][: [rest for _, rest in lines].index("make env TORCH=${TORCH}")]
    assert before.count("COPY") == 3
    ignored = (REPOSITORY / ".containerignore").read_text(encoding="utf-8").split()
    assert {".git", ".venv", "results", "data"} <= set(ignored)
    assert not set(ignored) & set(copied)


def test_the_citation_names_this_version_and_the_paper() -> None:
    citation = loaded(REPOSITORY / "CITATION.cff")
    assert citation["version"] == __version__
    assert citation["license"] == "MIT"
    (paper,) = citation["references"]
    assert "Gromov-Wasserstein" in paper["title"]


def test_cleaning_keeps_results() -> None:
    said = subprocess.run(["make", "-n", "clean"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    assert "rm -rf build" in said
    assert "results" not in said


def test_help_lists_every_target() -> None:
    text = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    (named,) = re.findall(r"^\.PHONY: (.+)$", text, re.MULTILINE)
    assert set(re.findall(r'@echo "make ([\w-]+)', text)) == set(named.split()) - {"help"} == TARGETS - {"help"}
