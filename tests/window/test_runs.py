"""A run tells where it stands by the records of Snakemake, and why it failed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from rgwot.window.runs import LOG, Runs

WORKFLOW = """
rule first:
    input:
        "three",


rule extract_video:
    output:
        "one",
    shell:
        "sleep 1; touch {output}"


rule decode:
    input:
        "one",
    output:
        "two",
    shell:
        "sleep 1; touch {output}"


rule page:
    input:
        "two",
    output:
        "three",
    shell:
        "COMMAND"
"""


@pytest.fixture
def states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> list[dict[str, Any]]:
    """The states of a run of the workflow above, from its begin to its end."""
    monkeypatch.chdir(tmp_path)
    Path("Snakefile").write_text(WORKFLOW.replace("COMMAND", command), encoding="utf-8")
    runs = Runs(lambda: None, lambda: None)
    try:
        runs.want()
        seen = [runs.state()]
        while seen[-1]["waiting"] or seen[-1]["at_work"]:
            time.sleep(0.1)
            seen.append(runs.state())
    finally:
        runs.close()
    return seen


@pytest.mark.parametrize("command", ["sleep 1; touch {output}"])
def test_a_run_tells_its_jobs_and_its_stage(states: list[dict[str, Any]]) -> None:
    told = list(dict.fromkeys((state["stage"], state["done"], state["steps"]) for state in states if state["stage"]))
    # Between two jobs the last one may be done before the next begins.
    assert [stage for stage, *_ in told] == [1, 2, 3]
    assert told == [(1, 0, 4), (2, 1, 4), (3, 2, 4)]
    assert states[-1]["fault"] == ""


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("exit 3", f"a job of the rule page failed; see {LOG}"),
        ("echo 'rgwot: tea: no videos; add some'; exit 1", "tea: no videos; add some"),
    ],
)
def test_a_failed_run_tells_why(states: list[dict[str, Any]], fault: str) -> None:
    assert states[-1]["fault"] == fault


@pytest.mark.parametrize("command", ["cp {input} {wildcards.video}"])
def test_a_run_that_cannot_be_planned_tells_why(states: list[dict[str, Any]]) -> None:
    assert "has no attribute 'video'" in states[-1]["fault"]
