"""Scripts of the workflow: what a job does if it is attempted again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rgwot.runtime.errors import RgwotError
from rgwot.study.script import stage


def attempted(log: Path, attempt: int, error: Exception | None) -> bool:
    """Run an attempt of a job whose body ends in ``error``; return whether the body was run."""
    ran = False
    resources = {"attempt": attempt}
    snakemake: Any = SimpleNamespace(log=[str(log)], resources=resources, wildcards={}, params={}, input=[], output=[])

    def body() -> None:
        nonlocal ran
        with stage(snakemake, "train"):
            ran = True
            raise error or KeyboardInterrupt

    with pytest.raises(SystemExit):
        body()
    return ran


def test_a_mistake_is_not_tried_again_and_an_error_of_the_system_is(tmp_path: Path) -> None:
    for error, again in (
        (RgwotError("a.mp4: no such file"), False),
        (OSError(116, "Stale file handle"), True),
        (ValueError("a bug"), True),
        (None, True),
    ):
        log = tmp_path / "a.log"
        assert attempted(log, 1, error)
        said = log.read_text().splitlines()[-1]
        # Remove the log, as Snakemake does.
        log.unlink()
        assert attempted(log, 2, error) is again
        assert log.read_text().splitlines()[-1] == said
    # A new run begins with the first attempt, whatever an earlier one reported.
    assert attempted(tmp_path / "a.log", 1, RgwotError("b"))
    assert attempted(tmp_path / "a.log", 1, RgwotError("b"))
    # Jobs that lose their memory or node leave no message.
    assert attempted(tmp_path / "other.log", 2, RgwotError("b"))
