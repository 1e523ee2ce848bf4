"""Compare wall time, CPU time, jobs, files and results of this revision with those of an earlier one.

Both revisions are checked out and take turns in every round, so that a drift of the machine affects both:

demo    the target `demo`, from empty results
steps   the key steps of the demo that need no training, from existing features
table   seven rows of the paper's first table on clips of 4 to 6 s, with the settings of the tests
paper   a dry run of the target `paper` on the same clips

Key steps and scores of both revisions are compared line by line. CPU time is that of the whole machine, because jobs
are not children of the command, so nothing else should run meanwhile.

    python benchmarks/speed.py --before REVISION [--what demo steps table paper] [--rounds 5] [--cores 2]
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shlex
import shutil
import site
import subprocess
import tarfile
import tempfile
import time
import venv
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from rgwot.runtime.files import write_json

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "benchmarks/results/speed.json"
#: Results of the stages before the embeddings.
CACHED = ("synthetic", "manifest", "annotations", "features")
ROWS = ("one_label", "uniform", "random", "raw_kmeans", "raw_graphcut", "vaot", "rgwot")
CLIPS = {"n_videos": 2, "min_s": 4, "max_s": 6, "width": 160, "height": 120}
#: Folders of clips, in the layouts of the datasets of the paper.
TREES = {
    "egoprocel": {"layout": "egoprocel", "cameras": 5},
    "data/procel": {"layout": "procel"},
    "data/crosstask": {"layout": "crosstask"},
}
SMALL = ("--configfile", "tests/small.yaml", "tests/all_tasks.yaml")
#: Options and targets of Snakemake for each measurement.
COMMANDS = {
    "demo": ("demo",),
    "steps": ("all",),
    "table": (*SMALL, "--", *(f"results/tables/egoprocel/{row}.csv" for row in ROWS)),
    "paper": ("--dry-run", *SMALL, "--", "paper"),
}


def check_out(revision: str, folder: Path) -> Path:
    """Unpack a revision of this repository; return a Python with its rgwot and with the packages installed here."""
    packed = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    venv.create(folder / ".venv")
    python = folder / ".venv/bin/python"
    ours = f"import sys; sys.path.insert(0, {str(folder)!r})\n"
    (found,) = (folder / ".venv").rglob("site-packages")
    (found / "revision.pth").write_text(ours + "\n".join(site.getsitepackages()) + "\n", encoding="utf-8")
    command = python.with_name("rgwot")
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(str(python))} -m rgwot "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return python


def run(python: Path, folder: Path, cores: int, what: str) -> dict[str, float]:
    """Run one command in a checkout; return wall and CPU time in seconds, jobs, and files below results."""
    command = [str(python), "-m", "snakemake", "--cores", str(cores), *COMMANDS[what]]
    environment = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    before, began = psutil.cpu_times(), time.perf_counter()
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env=environment)
    wall_s, after = time.perf_counter() - began, psutil.cpu_times()
    printed = done.stdout + done.stderr
    # If Snakemake prints no table of jobs, it prints a line for each job.
    jobs = re.search(r"^total\s+(\d+)$", printed, re.MULTILINE)
    return {
        "wall_s": wall_s,
        "cpu_s": after.user + after.system - before.user - before.system,
        "jobs": int(jobs[1]) if jobs else len(re.findall(r"^Job \d+: ", printed, re.MULTILINE)),
        "files": sum(path.is_file() for path in (folder / "results").rglob("*")),
    }


def lines(folder: Path) -> set[str]:
    """Return every line of key steps and scores, each after the name of its file."""
    return {
        f"{path.relative_to(folder)}: {line}"
        for stage in ("keysteps", "scores")
        for path in (folder / "results" / stage).rglob("*.csv")
        for line in path.read_text(encoding="utf-8").splitlines()
    }


def spread(values: list[float]) -> dict[str, float]:
    """Return median, smallest and largest value, to four digits."""
    return {name: float(f"{of(values):.4g}") for name, of in (("median", median), ("min", min), ("max", max))}


def main() -> None:
    """Run, print and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True, metavar="REVISION")
    parser.add_argument("--after", default="HEAD", metavar="REVISION")
    parser.add_argument("--what", nargs="+", default=list(COMMANDS), choices=COMMANDS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cores", type=int, default=2)
    chosen = parser.parse_args()
    names = {"before": chosen.before, "after": chosen.after}
    found: dict[str, Any] = {"revisions": names, "cores": chosen.cores, "rounds": chosen.rounds}
    with tempfile.TemporaryDirectory() as place:
        folders = {name: Path(place, name) for name in names}
        pythons = {name: check_out(revision, folders[name]) for name, revision in names.items()}
        for tree, layout in TREES.items():
            clips = [f"{key}={value}" for key, value in {**layout, **CLIPS}.items()]
            subprocess.run([pythons["after"], "tests/write_tree.py", tree, *clips], cwd=folders["after"], check=True)
            shutil.copytree(folders["after"] / tree, folders["before"] / tree)
        for what in chosen.what:
            taken: dict[str, list[dict[str, float]]] = {name: [] for name in names}
            for _ in range(chosen.rounds):
                for name, folder in folders.items():
                    if what == "steps" and not (folder / "results/features/demo").exists():
                        run(pythons[name], folder, chosen.cores, what)
                    for path in (folder / "results").iterdir():
                        if path.is_dir() and not (what == "steps" and path.name in CACHED):
                            shutil.rmtree(path)
                    taken[name].append(run(pythons[name], folder, chosen.cores, what))
                    print(what, name, taken[name][-1], flush=True)
            walls = zip(*([one["wall_s"] for one in runs] for runs in taken.values()), strict=True)
            before, after = (lines(folder) for folder in folders.values())
            found[what] = {
                **{name: {key: spread([one[key] for one in runs]) for key in runs[0]} for name, runs in taken.items()},
                "wall_after_over_before": spread([last / first for first, last in walls]),
                "lines": {"before": len(before), "equal": len(before & after), "after": len(after)},
            }
    print(json.dumps(found, indent=2))
    write_json(found, RECORD)


if __name__ == "__main__":
    main()
