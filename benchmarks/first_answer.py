"""The first answer: from cached features to segments, order and page, by one command that trains nothing.

Features of the demo (ten clips of about a minute) are made first, or linked from other results, and not timed. Then
`snakemake first` runs in a fresh folder, and every job tells its own time; what is left of the whole is Snakemake's.

    python benchmarks/first_answer.py [--results results] [--cores 2] [--rounds 5] [--output JSON]
"""

from __future__ import annotations

import csv
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import arguments, record, spread

HOUSE = Path(__file__).resolve().parents[1]
INDEX = "results/features/demo/assembly/index.csv"
#: What the answer starts from: below the folder of results, made by every run that has features.
READY = ("synthetic/demo", "features/demo", "manifest/demo", "annotations/demo")
#: The user's whole wait, in seconds.
BOUND = 30.0


def snakemake(folder: Path, cores: int, target: str) -> tuple[float, float]:
    """Make a target in a folder; wall time and CPU time in seconds, of all processes."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(HOUSE / "Snakefile"), "--directory", str(folder)]
    command += ["--configfile", str(HOUSE / "config.yaml"), "--cores", str(cores), "--quiet", "all", "--", target]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(HOUSE)})
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def stages(folder: Path) -> dict[str, float]:
    """Wall time of every job after the features, by its rule."""
    root, found = folder / "results" / "benchmarks", {}
    for path in sorted(root.rglob("*.tsv")):
        (row,) = csv.DictReader(path.open(encoding="utf-8"), delimiter="\t")
        found[path.relative_to(root).parts[0]] = float(row["s"])
    return found


def main() -> None:
    """Run, print and record."""
    chosen = arguments(__doc__, results="", cores=2)
    wall: list[float] = []
    cpu: list[float] = []
    load: list[float] = []
    seconds: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        ready = Path(chosen.results).resolve() if chosen.results else Path(place) / "ready" / "results"
        if not chosen.results:
            snakemake(ready.parent, chosen.cores, INDEX)
        for number in range(chosen.rounds):
            folder = Path(place) / f"round{number}"
            for part in READY:
                shutil.copytree(ready / part, folder / "results" / part, copy_function=shutil.copy2)
            load.append(os.getloadavg()[0])
            took, busy = snakemake(folder, chosen.cores, "first")
            wall.append(took)
            cpu.append(busy)
            for name, value in stages(folder).items():
                seconds.setdefault(name, []).append(value)
            print(f"round {number + 1}: {took:.1f} s, {busy:.1f} s of CPU", flush=True)
            shutil.rmtree(folder)
    found: dict[str, Any] = {
        "cores": chosen.cores,
        "load": spread(load),
        "wall_s": spread(wall),
        "cpu_s": spread(cpu),
        "stages_s": {name: spread(values) for name, values in seconds.items()},
        "bound_s": BOUND,
        "holds": spread(wall)["median"] < BOUND,
    }
    print(*(f"{name:12} {values['median']:6.1f} s" for name, values in found["stages_s"].items()), sep="\n")
    print(f"all          {found['wall_s']['median']:6.1f} s, {found['cpu_s']['median']:.1f} s of CPU")
    record("first_answer", found, chosen)


if __name__ == "__main__":
    main()
