"""A small study at this revision against an earlier one: the demo, a page from cached features, a table of 16 tasks.

Both revisions are checked out and take turns. What is made each time, in an empty `results`:

demo    the target `demo`
page    the target `first` for the demo, with its features there: key steps without training, and the page
table   seven rows of the paper's first table on clips of 4 to 6 s in EgoProceL's layout, with the settings of the tests

The score files of the demo are compared byte by byte. Where the time goes is read off `results/benchmarks`: what jobs
computed (with what each imported itself), what else the processors did (Snakemake, starting, shared imports), and how
much of them was idle. Nothing else should run meanwhile.

    python benchmarks/small_study.py --before REVISION [--what demo page table] [--rounds 5] [--cores 2]
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from demo import check_out, run, short
from measure import arguments, record, spread

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


def jobs(folder: Path) -> tuple[int, float]:
    """How many jobs left what they took, and their CPU time in seconds."""
    rows = [
        next(csv.DictReader(path.open(encoding="utf-8"), delimiter="\t"))
        for path in (folder / "results/benchmarks").rglob("*.tsv")
    ]
    return len(rows), sum(float(row["cpu_time"]) for row in rows if row["cpu_time"] not in ("NA", "-"))


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
                    seconds, busy = run(pythons[name], folder, chosen.cores, TARGETS[what], FILES[what])
                    wall[what][name].append(seconds)
                    count, computed = jobs(folder)
                    idle = 1 - busy / (chosen.cores * seconds)
                    where[f"{what}, {name}"] = {
                        "jobs": count,
                        "jobs_cpu_s": round(computed, 1),
                        "other_cpu_s": round(busy - computed, 1),
                        "idle": round(idle, 2),
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
    record("small_study", found, chosen)


if __name__ == "__main__":
    main()
