"""Common functions of scripts that make results through the workflow and write them into pages."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from human import render, rendered

from rgwot.runtime.files import write_text
from rgwot.study.study import Study

HOUSE = Path(__file__).resolve().parents[1]
RESULTS, REPORT = HOUSE / "benchmarks" / "results", HOUSE / "benchmarks" / "report"
#: Configuration of the synthetic tasks, and the methods of other papers.
CONFIGS = ("config.yaml", "benchmarks/tasks.yaml", "benchmarks/peers/peers.yaml")


def options_of(description: str | None) -> argparse.ArgumentParser:
    """Return a parser of options with ``--cores``, described by the docstring of a script."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="jobs at a time")
    return parser


def study_of(configs: Sequence[str], datasets: Iterable[str], cores: int) -> Study:
    """Return the study of files of configuration, with the clips of datasets that follow people.

    Missing clips are rendered here, because targets depend on which files of videos exist.
    """
    render([name for name in rendered() if name in datasets], cores)
    return Study.read(tuple(HOUSE / config for config in configs))


def make(targets: Iterable[str], cores: int, configs: Sequence[str]) -> int:
    """Make files through the workflow, even if some of them fail; return Snakemake's exit code.

    Missing clips that follow people are rendered first.
    """
    targets = list(targets)
    render([name for name in rendered() if any(f"/{name}/" in target for target in targets)], cores)
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--configfile", *configs]
    # Paths are relative, because a command line has a limited length and there may be many targets.
    command += ["--quiet", "host", "reason", "--keep-going", "--", *targets]
    return subprocess.run(command, cwd=HOUSE, check=False).returncode


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; the first column is text, the others are numbers."""
    lines: list[Sequence[str]] = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def renew(page: Path, name: str, target: str, text: str) -> None:
    """Put text between the marks ``name`` of a page; the first mark says which target makes the text.

    Raises
    ------
    SystemExit
        If the page does not have both marks exactly once and in order.
    """
    begin, end = f"<!-- {name}: made by make {target}, do not edit -->", f"<!-- {name}: end -->"
    before = page.read_text(encoding="utf-8")
    if before.count(begin) != 1 or before.count(end) != 1 or before.index(begin) > before.index(end):
        raise SystemExit(f"{page.name}: expected one line {begin!r} and, below it, one line {end!r}; put them in")
    write_text(f"{before[: before.index(begin)]}{begin}\n\n{text}\n\n{before[before.index(end) :]}", page)
