"""The demo as it is against the demo at an earlier revision: how much faster, and whether its numbers are the same.

Both are checked out and run in turn in fresh folders, from clips to scores. Scores of the same experiment are compared
cell by cell.

    python benchmarks/demo.py --before REVISION [--rounds 5] [--output benchmarks/results/demo.json]
"""

from __future__ import annotations

import csv
import io
import shlex
import site
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
from measure import arguments, record, spread

HOUSE = Path(__file__).resolve().parents[1]
SCORES = "results/scores/rgwot/graphcut/demo/assembly/seed{}.csv"


def short(revision: str) -> str:
    """The short name of a revision; without it here, as in a shallow clone, there is nothing to compare with."""
    command = ["git", "rev-parse", "--short", "--verify", f"{revision}^{{commit}}"]
    found = subprocess.run(command, cwd=HOUSE, capture_output=True, text=True, check=False)
    if found.returncode:
        print(f"no revision {revision} here; fetch the whole history (git fetch --unshallow). Nothing was measured.")
        sys.exit(0)
    return found.stdout.strip()


def check_out(revision: str, folder: Path) -> Path:
    """Unpack a revision of this repository; return a Python that has its rgwot, and the packages of this one."""
    packed = subprocess.run(["git", "archive", revision], cwd=HOUSE, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    venv.create(folder / ".venv")
    python = folder / ".venv/bin/python"
    ours = f"import sys; sys.path.insert(0, {str(folder)!r})\n"
    (found,) = (folder / ".venv").rglob("site-packages")
    (found / "revision.pth").write_text(ours + "\n".join(site.getsitepackages()) + "\n", encoding="utf-8")
    module = "rgwot" if (folder / "rgwot/__main__.py").exists() else "rgwot.cli"
    command = python.with_name("rgwot")
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(str(python))} -m {module} "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return python


def busy_s() -> float:
    """CPU time of the machine since it started: jobs are no children of the command, and nothing else should run."""
    times = psutil.cpu_times()
    return float(times.user + times.system)


def run(
    python: Path, folder: Path, cores: int, targets: list[str], files: Sequence[str] = (), *options: str
) -> tuple[float, float]:
    """Make targets in a checkout, with more files of configuration; wall time and CPU time in seconds."""
    command = [str(python), "-m", "snakemake", "--cores", str(cores), "--quiet", "all", *options]
    command += ["--configfile", *files] if files else []
    before, began = busy_s(), time.perf_counter()
    subprocess.run([*command, "--", *targets], cwd=folder, check=True)
    return time.perf_counter() - began, busy_s() - before


def scores(folder: Path, targets: list[str]) -> dict[tuple[str, ...], float]:
    """Every value of the score files by what it is of."""
    found = {}
    for target in targets:
        for row in csv.DictReader((folder / target).open(encoding="utf-8")):
            value = row.pop("value")
            if value:
                found[tuple(row.values())] = float(value)
    return found


def main() -> None:
    """Run, print and record."""
    chosen = arguments(__doc__, before="HEAD~1", after="HEAD", cores=2, seeds=1)
    targets = [SCORES.format(seed) for seed in range(chosen.seeds)]
    revisions = {"before": chosen.before, "after": chosen.after}
    named = {name: short(revision) for name, revision in revisions.items()}
    wall: dict[str, list[float]] = {name: [] for name in named}
    cpu: dict[str, list[float]] = {name: [] for name in named}
    values: dict[str, dict[tuple[str, ...], float]] = {}
    for number in range(chosen.rounds):
        for name, revision in revisions.items():
            with tempfile.TemporaryDirectory() as place:
                python = check_out(revision, Path(place))
                seconds, busy = run(python, Path(place), chosen.cores, targets)
                values[name] = scores(Path(place), targets)
            wall[name].append(seconds)
            cpu[name].append(busy)
            print(f"round {number + 1}, {name} ({named[name]}): {seconds:.0f} s, {busy:.0f} s of CPU")
    shared = values["before"].keys() & values["after"].keys()
    found: dict[str, Any] = {
        "revisions": named,
        "cores": chosen.cores,
        "seeds": chosen.seeds,
        "wall_s": {name: spread(times) for name, times in wall.items()},
        "cpu_s": {name: spread(times) for name, times in cpu.items()},
        "wall_factor": spread([a / b for a, b in zip(wall["before"], wall["after"], strict=True)]),
        "cpu_factor": spread([a / b for a, b in zip(cpu["before"], cpu["after"], strict=True)]),
        "scores_compared": len(shared),
        "scores_equal": sum(values["before"][key] == values["after"][key] for key in shared),
        "largest_difference": max((abs(values["before"][key] - values["after"][key]) for key in shared), default=None),
    }
    print(*(f"{key}: {value}" for key, value in found.items()), sep="\n")
    record("demo", found, chosen)


if __name__ == "__main__":
    main()
