"""Measure a run on thousands of videos: 3,000 files of features of 100 frames, from import to the target `first`.

Prints wall and CPU time, the CPU time of Snakemake's own process and of every job, and the number and size of files
below results by stage.

    python benchmarks/scale.py FOLDER [--videos 3000] [--cores 2]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil

REPOSITORY = Path(__file__).resolve().parents[1]
FRAMES, CHANNELS, STEPS = 100, 64, 6
CONFIGURATION = """
datasets:
  many:
    layout: features
    root: given
    imported: {axes: TC, fps: 2}
    settings: {decode: {K: 6}}
page: {datasets: [many]}
"""


def write_features(folder: Path, videos: int) -> None:
    """Write features (100, 64) of videos that show six steps in nearly one order."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(STEPS, CHANNELS))
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(videos):
        steps = np.sort(rng.integers(0, STEPS, FRAMES))
        x = centres[steps] + rng.normal(0, 0.5, (FRAMES, CHANNELS))
        np.save(folder / f"video_{number:05}.npy", x.astype(np.float32))


def written(folder: Path) -> dict[str, tuple[int, float]]:
    """Return files and megabytes below each folder of results."""
    found = {}
    for stage in sorted(path for path in folder.iterdir() if path.is_dir()):
        files = [path for path in stage.rglob("*") if path.is_file()]
        found[stage.name] = (len(files), round(sum(path.stat().st_size for path in files) / 1e6, 1))
    return found


class Jobs:
    """CPU seconds of the jobs of a run, each named by its log; the last 0.2 s of a job may be missing."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.seconds: dict[int, float] = {}

    def look(self, snakemake: psutil.Process) -> None:
        """Record the CPU seconds of the jobs that are running."""
        for job in snakemake.children():
            with contextlib.suppress(psutil.Error):
                self.seconds[job.pid] = sum(job.cpu_times()[:4])
                if job.pid not in self.names:
                    logs = [path for path, *_ in job.open_files() if "/results/logs/" in path]
                    self.names.update(
                        (job.pid, log.partition("/results/logs/")[2].removesuffix(".log")) for log in logs
                    )

    def found(self) -> dict[str, float]:
        """Return the seconds by job."""
        return {self.names.get(pid, "other"): round(seconds, 1) for pid, seconds in self.seconds.items()}


def main() -> None:
    """Make the features, run the workflow and print times and sizes."""
    chosen = argparse.ArgumentParser(description=__doc__)
    chosen.add_argument("folder", type=Path)
    chosen.add_argument("--videos", type=int, default=3000)
    chosen.add_argument("--cores", type=int, default=2)
    told = chosen.parse_args()
    write_features(told.folder / "given/tea", told.videos)
    (told.folder / "many.yaml").write_text(CONFIGURATION, encoding="utf-8")
    command = [
        *(sys.executable, "-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile")),
        *("--directory", str(told.folder), "--configfile", str(REPOSITORY / "config.yaml"), "many.yaml"),
        *("--cores", str(told.cores), "--quiet", "rules", "--", "first"),
    ]
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=told.folder, env={**os.environ, "OMP_NUM_THREADS": "1"}) as process:
        own, snakemake, jobs = 0.0, psutil.Process(process.pid), Jobs()
        while process.poll() is None:
            try:
                own = sum(snakemake.cpu_times()[:2])
                jobs.look(snakemake)
            except psutil.Error:
                break
            time.sleep(0.2)
    every = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {
        "exit code": process.returncode,
        "wall, s": round(time.perf_counter() - began, 1),
        "CPU, s": round(every.ru_utime + every.ru_stime, 1),
        "CPU of Snakemake itself, s": round(own, 1),
        "CPU of jobs, s": jobs.found(),
        "largest process, MB": round(every.ru_maxrss / 1024),
        "files and MB": {"given": written(told.folder)["given"], **written(told.folder / "results")},
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
