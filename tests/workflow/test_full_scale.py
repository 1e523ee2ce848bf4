"""Planning everything the paper shows, at its full scale: all tasks, all videos, three seeds, every sweep."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from checkouts import LAYOUTS, REPOSITORY, Checkout, Said, touch_tree

pytestmark = pytest.mark.slow
LIMIT_S, LIMIT_KB = 60, 1_000_000


def test_planning_the_paper_is_quick_small_and_as_documented(tmp_path: Path) -> None:
    checkout = Checkout.copied_to(tmp_path / "checkout")
    made = sum(touch_tree(checkout.path / "data" / layout, layout, cameras=5) for layout in LAYOUTS)
    assert made > 4000
    with (tmp_path / "said.txt").open("w+", encoding="utf-8") as said:
        command = [sys.executable, "-m", "snakemake", "-n", "--cores", "2", "--quiet", "rules", "--", "paper"]
        process = subprocess.Popen(command, cwd=checkout.path, stdout=said, stderr=subprocess.STDOUT)
        # Of this process alone: other work on the machine would make its wall time say nothing.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        jobs = Said(process.returncode, said.read()).jobs
    assert used.ru_utime + used.ru_stime < LIMIT_S
    assert used.ru_maxrss < LIMIT_KB
    table = (REPOSITORY / "docs/planning.md").read_text(encoding="utf-8")
    documented = {kind: int(count) for kind, count in re.findall(r"^\| ([a-z_]+) \| (\d+) \|", table, re.MULTILINE)}
    assert documented.pop("total") == sum(jobs.values())
    assert documented == dict(jobs)
