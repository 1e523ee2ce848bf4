"""A small study at this revision against an earlier one: the demo, a page from cached features, a table of 16 tasks.

Both revisions are checked out and take turns. What is made each time, in an empty `results`:

demo    the target `demo`
former  the same with the backbone that the demo had before it got a trained one, a ResNet-50 with random weights
page    the target `first` for the demo, with its features there: key steps without training, and the page
table   seven rows of the paper's first table on clips of 4 to 6 s in EgoProceL's layout, with the settings of the tests

What both find where the method is the same, in `former` and `table`, is compared: tables of key steps byte by byte, and
whether every line of the earlier scores stands among the later ones, under the present name of its metric. Where the
time goes: planning, by a dry run; what jobs computed (with what each imported itself), by rule, off
`results/benchmarks`; what else the processors did, which is starting processes and shared imports; what the system did
of all that, such as reading and writing; and how much of the processors was idle or waited for the disk. Nothing else
should run meanwhile.

    python benchmarks/small_study.py --before REVISION [--what demo former page table] [--rounds 5] [--cores 2]

With part of them by ``--what``, a record of the others at the same revisions is kept.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
from demo import check_out, run, short
from measure import RESULTS, arguments, record, spread

#: What a metric is called now.
RENAMED = {"order_tau": "order_distance"}
#: What the stages before the embeddings leave.
CACHED = ("synthetic", "manifest", "annotations", "features")
ROWS = ("one_label", "uniform", "random", "raw_kmeans", "raw_graphcut", "vaot", "rgwot")
FORMER = {"datasets": {"demo": {"settings": {"features": {"backbone": "resnet50", "weights": "random"}}}}}
CLIPS = {"layout": "egoprocel", "n_videos": 2, "cameras": 5, "min_s": 4, "max_s": 6, "width": 160, "height": 120}
TARGETS = {
    "demo": ["demo"],
    "former": ["demo"],
    "page": ["first"],
    "table": [f"results/tables/egoprocel/{row}.csv" for row in ROWS],
}
FILES = {
    "demo": (),
    "former": ("former.yaml",),
    "page": ("page.yaml",),
    "table": ("tests/small.yaml", "tests/all_tasks.yaml"),
}


def empty(folder: Path, keep: tuple[str, ...] = ()) -> None:
    """Remove the results of a checkout but for those of some stages."""
    for path in (folder / "results").iterdir():
        if path.name not in keep:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def jobs(folder: Path) -> tuple[Counter[str], Counter[str]]:
    """How many jobs of every rule left what they took, and their CPU time in seconds."""
    count, seconds = Counter[str](), Counter[str]()
    root = folder / "results/benchmarks"
    for path in root.rglob("*.tsv"):
        rule = path.relative_to(root).parts[0].removesuffix(".tsv")
        row = next(csv.DictReader(path.open(encoding="utf-8"), delimiter="\t"))
        count[rule] += 1
        seconds[rule] += float(row["cpu_time"]) if row["cpu_time"] not in ("NA", "-") else 0.0
    return count, seconds


def tables(folder: Path, stage: str) -> dict[str, str]:
    """Return the tables of a stage."""
    root = folder / "results" / stage
    return {path.relative_to(root).as_posix(): path.read_bytes().decode() for path in root.rglob("[!.]*.csv")}


def same(before: Path, after: Path) -> dict[str, list[int]]:
    """How many tables of key steps and lines of scores there were before, and how many of them are there after."""
    ours, theirs = tables(after, "keysteps"), tables(before, "keysteps")
    lines = there = 0
    scores = tables(after, "scores")
    for path, text in tables(before, "scores").items():
        now = set(scores.get(path, "").splitlines())
        for line in text.splitlines():
            *cells, metric, value = line.split(",")
            lines += 1
            there += ",".join([*cells, RENAMED.get(metric, metric), value]) in now
    return {
        "key_steps": [len(theirs), sum(ours.get(path) == text for path, text in theirs.items())],
        "score_lines": [lines, there],
    }


def main() -> None:
    """Run, print and record."""
    chosen = arguments(__doc__, before="HEAD~1", after="HEAD", cores=2, what=tuple(TARGETS))
    named = {"before": short(chosen.before), "after": short(chosen.after)}
    found: dict[str, Any] = {"revisions": named, "cores": chosen.cores}
    with tempfile.TemporaryDirectory() as place:
        folders = {name: Path(place, name) for name in named}
        pythons = {}
        for name, folder in folders.items():
            folder.mkdir()
            pythons[name] = check_out(named[name], folder)
            for name, content in {"page": {"page": {"datasets": ["demo"]}}, "former": FORMER}.items():
                (folder / f"{name}.yaml").write_text(json.dumps(content), encoding="utf-8")
        if "table" in chosen.what:
            command = [str(pythons["after"].with_name("rgwot")), "synth", "egoprocel", "--settings", json.dumps(CLIPS)]
            subprocess.run([*command, "--jobs", str(chosen.cores)], cwd=folders["after"], check=True)
            shutil.copytree(folders["after"] / "egoprocel", folders["before"] / "egoprocel")
        wall: dict[str, dict[str, list[float]]] = {what: {name: [] for name in named} for what in chosen.what}
        where: dict[str, dict[str, Any]] = {}
        for number in range(chosen.rounds):
            for what in chosen.what:
                for name, folder in folders.items():
                    if what == "page" and not (folder / "results/features/demo").exists():
                        run(pythons[name], folder, chosen.cores, TARGETS[what], FILES[what])
                    empty(folder, CACHED if what == "page" else ())
                    made = pythons[name], folder, chosen.cores, TARGETS[what], FILES[what]
                    planned = run(*made, "--dry-run") if number == chosen.rounds - 1 else (0.0, 0.0)
                    before = psutil.cpu_times()
                    seconds, busy = run(*made)
                    after = psutil.cpu_times()
                    wall[what][name].append(seconds)
                    count, computed = jobs(folder)
                    available = chosen.cores * seconds
                    where[f"{what}, {name}"] = {
                        "wall_s": round(seconds, 1),
                        "cpu_s": round(busy, 1),
                        "planning_wall_s": round(planned[0], 1),
                        "planning_cpu_s": round(planned[1], 1),
                        "jobs": count.total(),
                        "jobs_cpu_s": round(computed.total(), 1),
                        "system_cpu_s": round(after.system - before.system, 1),
                        "disk": round((after.iowait - before.iowait) / available, 2),
                        "idle": round(1 - busy / available, 2),
                        "rules": {rule: [count[rule], round(cpu_s, 1)] for rule, cpu_s in computed.most_common()},
                    }
                    print(f"round {number + 1}, {what}, {name} ({named[name]}): {seconds:.0f} s, {busy:.0f} s of CPU")
                if what in ("former", "table"):
                    found[what] = {"same": same(folders["before"], folders["after"])}
    for what, times in wall.items():
        found[what] = found.get(what, {}) | {
            "rounds": chosen.rounds,
            "wall_s": {name: spread(values) for name, values in times.items()},
            "factor": spread([a / b for a, b in zip(times["before"], times["after"], strict=True)]),
        }
    found["where"] = where
    print(json.dumps(found, indent=2))
    path = chosen.output or RESULTS / "small_study.json"
    if path.exists():
        earlier = json.loads(path.read_text(encoding="utf-8"))
        if [earlier["revisions"], earlier["cores"]] == [named, chosen.cores]:
            kept = {key: earlier[key] for key in TARGETS if key in earlier}
            found = {**kept, **found, "where": earlier["where"] | where}
    record("small_study", found, chosen)


if __name__ == "__main__":
    main()
