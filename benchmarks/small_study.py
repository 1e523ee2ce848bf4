"""A small study at this revision against an earlier one: the demo, a page from cached features, a table of 16 tasks.

Both revisions are checked out and take turns. What is made each time, in an empty `results`:

demo    the target `demo`
page    the target `first` for the demo, with its features there: key steps without training, and the page
table   seven rows of the paper's first table on clips of 4 to 6 s in EgoProceL's layout, with the settings of the tests

The score files of the demo are compared byte by byte. Where the time goes: planning, by a dry run; what jobs computed
(with what each imported itself), by rule, off `results/benchmarks`; what else the processors did, which is starting
processes and shared imports; what the system did of all that, such as reading and writing; and how much of the
processors was idle or waited for the disk. Nothing else should run meanwhile.

    python benchmarks/small_study.py --before REVISION [--what demo page table] [--rounds 5] [--cores 2]

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

#: What the stages before the embeddings leave.
CACHED = ("synthetic", "manifest", "annotations", "features")
ROWS = ("one_label", "uniform", "random", "raw_kmeans", "raw_graphcut", "vaot", "rgwot")
CLIPS = {"layout": "egoprocel", "n_videos": 2, "cameras": 5, "min_s": 4, "max_s": 6, "width": 160, "height": 120}
TARGETS = {
    "demo": ["demo"],
    "page": ["first"],
    "table": [f"results/tables/egoprocel/{row}.csv" for row in ROWS],
}
FILES = {"demo": (), "page": ("page.yaml",), "table": ("tests/small.yaml", "tests/all_tasks.yaml")}


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


def scores(folder: Path) -> dict[str, bytes]:
    """Return the score files."""
    root = folder / "results/scores"
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("[!.]*.csv")}


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
            (folder / "page.yaml").write_text(json.dumps({"page": {"datasets": ["demo"]}}), encoding="utf-8")
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
                if what == "demo":
                    both = [scores(folder) for folder in folders.values()]
                    found["scores"] = len(both[1])
                    found["scores_equal"] = sum(both[0].get(path) == content for path, content in both[1].items())
    for what, times in wall.items():
        found[what] = {
            "wall_s": {name: spread(values) for name, values in times.items()},
            "factor": spread([a / b for a, b in zip(times["before"], times["after"], strict=True)]),
        }
    found["where"] = where
    print(json.dumps(found, indent=2))
    path = chosen.output or RESULTS / "small_study.json"
    if path.exists():
        earlier = json.loads(path.read_text(encoding="utf-8"))
        if [earlier["revisions"], earlier["cores"]] == [named, chosen.cores]:
            kept = {key: earlier[key] for key in (*TARGETS, "scores", "scores_equal") if key in earlier}
            found = {**kept, **found, "where": earlier["where"] | where}
    record("small_study", found, chosen)


if __name__ == "__main__":
    main()
