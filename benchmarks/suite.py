"""The tests at this revision against those at an earlier one: wall and CPU time, idle and with two busy loops beside.

CPU time is that of the whole machine less the busy loops: much of the work is done by processes that are nobody's
children. So nothing else should run meanwhile, and a Chromium should be there, without which tests of the page skip
themselves. On the idle machine, tests of this revision run a second time without the files of which the earlier one
has no forerunner, because what was built in between has tests of its own.

    python benchmarks/suite.py --before REVISION [--rounds 1] [--cores 2]
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from demo import HOUSE, busy_s, check_out, short
from measure import arguments, record, spread

LOOPS = (0, 2)
SAME = "after, files of before"
CASES = [*((name, loops) for loops in LOOPS for name in ("before", "after")), (SAME, 0)]
BUSY = [sys.executable, "-c", "while True: pass"]


def run(python: Path, folder: Path, cores: int, loops: int, without: Sequence[str] = ()) -> dict[str, Any]:
    """Run the tests of a checkout, but for some files, beside some busy loops."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    command = [str(python), "-m", "pytest", "-n", str(cores), "--dist", "loadfile", "-q", "-p", "no:cacheprovider"]
    command += [f"--ignore={path}" for path in without]
    before, began = busy_s(), time.perf_counter()
    others = [subprocess.Popen(BUSY) for _ in range(loops)]
    said = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout
    wall = time.perf_counter() - began
    cpu = busy_s() - before
    for other in others:
        other.kill()
        usage = os.wait4(other.pid, 0)[2]
        cpu -= usage.ru_utime + usage.ru_stime
        other.returncode = 0
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|errors?)", said[-300:])}
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE)
    return {"wall_s": round(wall, 1), "cpu_s": round(cpu, 1), **counts, "which": failed}


def added(before: str, after: str) -> list[str]:
    """Return the files of tests that a revision has and an earlier one has not, under another name neither."""
    command = ["git", "diff", "--name-only", "--diff-filter=A", "--find-renames=30%", before, after, "--", "tests"]
    listed = subprocess.run(command, cwd=HOUSE, capture_output=True, text=True, check=True).stdout.split()
    return [path for path in listed if Path(path).name.startswith("test_")]


def main() -> None:
    """Run, print and record."""
    chosen = arguments(__doc__, before="HEAD~1", after="HEAD", cores=2)
    named = {"before": short(chosen.before), "after": short(chosen.after)}
    runs: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as place:
        pythons = {}
        for name, revision in named.items():
            folder = Path(place, name)
            subprocess.run(["git", "clone", "--quiet", "--no-checkout", str(HOUSE), str(folder)], check=True)
            subprocess.run(["git", "reset", "--quiet", revision], cwd=folder, check=True)
            pythons[name] = check_out(revision, folder)
        suites = {"before": ("before", []), "after": ("after", []), SAME: ("after", added(*named.values()))}
        for number in range(chosen.rounds):
            for name, loops in CASES:
                revision, without = suites[name]
                found = run(pythons[revision], Path(place, revision), chosen.cores, loops, without)
                runs.setdefault(f"{name}, {loops} busy loops", []).append(found)
                print(f"round {number + 1}, {name} ({named[revision]}), {loops} busy loops: {found}", flush=True)

    def share(of: str) -> dict[str, float]:
        """Compare CPU times on the idle machine, where processes do not push each other out of the caches."""
        pairs = zip(runs[f"{of}, 0 busy loops"], runs["before, 0 busy loops"], strict=True)
        return spread([ours["cpu_s"] / theirs["cpu_s"] for ours, theirs in pairs])

    shares = {"cpu_share": share("after"), "cpu_share_same_files": share(SAME)}
    results = {"revisions": named, "cores": chosen.cores, "runs": runs, **shares}
    print(json.dumps(results, indent=2))
    record("suite", results, chosen)


if __name__ == "__main__":
    main()
