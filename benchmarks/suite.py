"""The tests at this revision against those at an earlier one: wall and CPU time, idle and with two busy loops beside.

CPU time is that of the whole machine less the busy loops: much of the work is done by processes that are nobody's
children. So nothing else should run meanwhile, and a Chromium should be there, without which tests of the page skip
themselves.

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
from pathlib import Path
from typing import Any

from demo import HOUSE, busy_s, check_out, short
from measure import arguments, record, spread

BUSY = [sys.executable, "-c", "while True: pass"]


def run(python: Path, folder: Path, cores: int, loops: int) -> dict[str, Any]:
    """Run all tests of a checkout beside some busy loops."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    command = [str(python), "-m", "pytest", "-n", str(cores), "--dist", "loadfile", "-q", "-p", "no:cacheprovider"]
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
        for number in range(chosen.rounds):
            for loops in (0, 2):
                for name in named:
                    found = run(pythons[name], Path(place, name), chosen.cores, loops)
                    runs.setdefault(f"{name}, {loops} busy loops", []).append(found)
                    print(f"round {number + 1}, {name} ({named[name]}), {loops} busy loops: {found}", flush=True)
    results: dict[str, Any] = {
        "revisions": named,
        "cores": chosen.cores,
        "runs": runs,
        "cpu_share": spread(
            [
                after["cpu_s"] / before["cpu_s"]
                for loops in (0, 2)
                for before, after in zip(
                    runs[f"before, {loops} busy loops"], runs[f"after, {loops} busy loops"], strict=True
                )
            ]
        ),
    }
    print(json.dumps(results, indent=2))
    record("suite", results, chosen)


if __name__ == "__main__":
    main()
