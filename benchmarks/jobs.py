"""What every job of the workflow takes, and how that grows with the videos of a task: from its own benchmark files.

Runs the demo through the real workflow with tasks of several sizes (short clips, small encoder, few iterations), then
reads `results/benchmarks`; every job is a process of its own, as on a cluster. Per rule: time, CPU time and peak
resident memory at each size, what a further video adds,
and what the job asks a scheduler for (`rgwot.study.needs`), which has to be at least what was seen.

    python benchmarks/jobs.py [--videos 5 20 60] [--output benchmarks/results/jobs.json]
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from measure import arguments, record

from rgwot.study.needs import NEEDS

HOUSE = Path(__file__).resolve().parents[1]
#: Frames of features per video: clips of 20 s at 5 per second.
FRAMES = 100
SETTINGS: dict[str, Any] = {
    "features": {"fps": 5, "size": 64},
    "encoder": {"channels": 16, "hidden": 16},
    "train": {"iterations": 40, "precision": "float32"},
}
#: Jobs of one video each: their number grows with the videos, not what one takes.
PER_VIDEO = ("extract",)
#: Rules whose benchmark files lie under another name.
RULES = {"page-index": "page_index"}


def run(folder: Path, videos: int) -> None:
    """Make everything of the demo with a task of so many videos."""
    synth = {"n_videos": videos, "min_s": 20, "max_s": 20.2, "width": 160, "height": 120}
    overlay = folder / "size.json"
    overlay.write_text(json.dumps({"datasets": {"demo": {"synth": synth, "settings": SETTINGS}}}), encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(HOUSE / "Snakefile"), "--directory", str(folder)]
    command += ["--cores", "1", "--quiet", "all", "--configfile", str(HOUSE / "config.yaml"), str(overlay)]
    subprocess.run([*command, "--", "all"], check=True, env={**os.environ, "RGWOT_WARM": "off"})


def measured(folder: Path) -> dict[str, dict[str, float]]:
    """Largest time (s), CPU time (s) and resident memory (MB) among the jobs of every rule, and how many there were."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: {"jobs": 0, "s": 0, "cpu_s": 0, "mb": 0})
    root = folder / "results" / "benchmarks"
    for path in sorted(root.rglob("*.tsv")):
        rule = path.relative_to(root).parts[0].removesuffix(".tsv")
        (row,) = csv.DictReader(path.open(encoding="utf-8"), delimiter="\t")
        entry = found[RULES.get(rule, rule)]
        entry["jobs"] += 1
        for name, column in (("s", "s"), ("cpu_s", "cpu_time"), ("mb", "max_rss")):
            if row[column] not in ("NA", "-"):
                entry[name] = max(entry[name], float(row[column]))
    return dict(found)


def main() -> None:
    """Run, print and record."""
    chosen = arguments(__doc__, videos=(5, 20, 60))
    sizes = sorted(chosen.videos)
    runs: dict[int, dict[str, dict[str, float]]] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            run(Path(folder), size)
            runs[size] = measured(Path(folder))
    rules: dict[str, Any] = {}
    small, large = sizes[0], sizes[-1]
    for rule, most in runs[large].items():
        least = runs[small].get(rule, most)
        rows = {str(size): runs[size][rule] for size in sizes if rule in runs[size]}
        grows = rule not in PER_VIDEO
        rules[rule] = {
            "by_videos": rows,
            "s_per_video": round((most["s"] - least["s"]) / (large - small), 4) if grows else None,
            "mb_per_video": round((most["mb"] - least["mb"]) / (large - small), 3) if grows else None,
        }
        if rule in NEEDS:
            need = NEEDS[rule]
            asked = need.memory_mb + (need.memory_mb_per_size * large if need.size == "videos" else 0)
            rules[rule] |= {"asked_mb": asked, "enough": most["mb"] <= asked}
    print(f"{'rule':24}" + "".join(f"{f'{size} videos':>22}" for size in sizes) + f"{'MB/video':>10}{'asked':>8}")
    for rule, row in rules.items():
        cells = [row["by_videos"].get(str(size), {"s": float("nan"), "mb": float("nan")}) for size in sizes]
        shown = "".join(f"{cell['s']:12.1f} s{cell['mb']:6.0f} MB" for cell in cells)
        print(f"{rule:24}{shown}{row['mb_per_video'] or 0:10.2f}{row.get('asked_mb', float('nan')):8.0f}")
    record("jobs", {"frames_per_video": FRAMES, "rules": rules}, chosen)


if __name__ == "__main__":
    main()
