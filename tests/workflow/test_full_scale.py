"""Planning everything the paper shows, at its full scale: all tasks, all videos, three seeds, every sweep."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from checkouts import LAYOUTS, Checkout, Said, touch_tree
from machine import resident_mib

pytestmark = pytest.mark.slow
LIMIT_S, LIMIT_MIB = 300, 600

# CPU time, not wall time, so that other work on the machine does not count. A process of its own, and a small one:
# until it starts another program, a child counts the memory of the process that it was forked from as its own.
MEASURE = """
import json, resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=sys.stderr, stderr=sys.stderr).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"status": status, "cpu_s": used.ru_utime + used.ru_stime, "maxrss": used.ru_maxrss}))
"""


def test_planning_the_paper_is_quick_and_small(tmp_path: Path) -> None:
    checkout = Checkout.copied_to(tmp_path / "checkout")
    made = sum(touch_tree(checkout.path / "data" / layout, layout, cameras=5) for layout in LAYOUTS)
    assert made > 4000
    command = [sys.executable, "-m", "snakemake", "-n", "--cores", "2", "--quiet", "rules", "--", "paper"]
    measured = [sys.executable, "-c", MEASURE, *command]
    done = subprocess.run(measured, cwd=checkout.path, capture_output=True, text=True, check=False)
    used = json.loads(done.stdout)
    jobs = Said(used["status"], done.stderr).jobs
    assert used["status"] == 0, done.stderr
    assert used["cpu_s"] < LIMIT_S
    assert resident_mib(used["maxrss"]) < LIMIT_MIB
    assert sum(jobs.values()) > 1000
