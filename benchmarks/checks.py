"""What checking costs: every stage as its own process, with the digests written and compared and without.

The two take turns, round after round, and what is compared is CPU time, of the process and its children, so that other
work on the machine counts little. A stage with checks also says how much of its CPU time went into them, which is exact
where the difference of two runs drowns in their noise.

    python benchmarks/checks.py [--rounds 5] [--output benchmarks/results/checks.json]
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from measure import arguments, record, spread

#: Share of a stage that the checks may take.
ALLOWED = 0.03
VIDEOS, SIDE = 3, 11
#: Of the features that are read; 250 frames of a clip.
FPS = 12.5
CLIP: dict[str, Any] = {"n_videos": VIDEOS, "min_s": 20, "max_s": 20.2, "width": 320, "height": 240}
FEATURES = {"features": {"fps": 5, "size": 112, "weights": "random"}}
ITERATIONS = 40
TRAINING = {
    "encoder": {"channels": 64, "hidden": 64},
    "train": {"iterations": ITERATIONS, "precision": "float32", "threads": 1},
}
IDENTITY = ("--dataset", "demo", "--task", "assembly")


def stages(folder: Path) -> dict[str, list[str]]:
    """The command of every stage, in their order; each reads what the ones before it wrote."""
    results = folder / "results"
    root = results / "synthetic/demo"
    task = results / "features/demo/assembly"
    stores = [str(task / f"assembly_{number:02}.zarr") for number in range(1, VIDEOS + 1)]
    model = str(results / "models/rgwot/demo/assembly/seed0/model.pt")
    embeddings = str(results / "embeddings/rgwot/demo/assembly/seed0.zarr")
    keysteps = results / "keysteps/rgwot/kmeans/demo/assembly/seed0"
    scores = str(results / "scores/rgwot/kmeans/demo/assembly/seed0.csv")
    manifest, annotations = (str(results / part / "demo/assembly.csv") for part in ("manifest", "annotations"))
    options = json.dumps({"layout": "folder", "root": str(root), "options": {}, "on_bad_video": "fail"})
    settings, device = ("--settings", json.dumps(FEATURES)), ("--device", "cpu")
    row = str(results / "tables/demo/raw_kmeans.csv")
    tables = str(Path(__file__).resolve().parents[1] / "workflow/tables.yaml")
    index = str(task / "index.csv")
    of_run = ("--segments", str(keysteps / "segments.csv"), "--diagnostics", str(keysteps / "diagnostics.json"))
    run = (*IDENTITY, "--method", "raw", "--decoder", "kmeans")
    return {
        "manifest": ["manifest", manifest, *IDENTITY, "--options", options, "--annotations", annotations],
        "extract": ["extract", stores[0], "--source", str(root / "assembly/assembly_01.mp4"), *settings, *device],
        "index": ["index", index, *stores],
        "train": ["train", model, "--index", index, "--settings", json.dumps(TRAINING), *device],
        "embed": ["embed", embeddings, "--index", index, "--model", model, *device],
        "decode": ["decode", str(keysteps / "segments.csv"), "--embeddings", embeddings, "--decoder", "kmeans"]
        + ["--settings", '{"decode": {"K": 7}}'],
        "evaluate": ["evaluate", scores, "--manifest", manifest, "--annotations", annotations, *of_run, *run],
        "table": ["table", row, scores, "--tables", tables, "--row", "raw_kmeans"],
    }


def prepare(folder: Path) -> None:
    """Write the clips, and features of full size in place of small ones: reading is then what it is in a study."""
    root = folder / "results/synthetic/demo"
    child("with", ["synth", str(root), "--settings", json.dumps(CLIP)])
    commands = stages(folder)
    for name in ("manifest", "extract"):
        child("with", commands[name])
    write = [str(folder / f"results/features/demo/assembly/assembly_{number:02}.zarr") for number in (2, 3)]
    child("features", write)
    for name in list(commands)[2:]:
        child("with", commands[name])


def child(mode: str, words: list[str]) -> dict[str, float]:
    """Run one stage in a process of its own; returns its CPU seconds, and those of its checks."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, __file__, "--child", mode, *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_s": cpu_s, "checks_s": float(done.stdout.splitlines()[-1])}


class Watch:
    """Adds up the CPU time of some functions, of those called by one another only the outermost."""

    def __init__(self) -> None:
        self.spent, self._inside = 0.0, False

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, watched."""

        def watched(*words: Any, **options: Any) -> Any:
            if self._inside:
                return function(*words, **options)
            self._inside, began = True, time.process_time()
            try:
                return function(*words, **options)
            finally:
                self.spent += time.process_time() - began
                self._inside = False

        return watched


def run_stage(mode: str, words: list[str]) -> None:
    """Run a stage in this process, with checks or as if there were none."""
    import zipfile

    from rgwot.cli import records
    from rgwot.features import store
    from rgwot.runtime import integrity

    places: Mapping[tuple[Any, str], Any] = {
        (integrity, "_check"): None,
        (integrity, "sources"): {},
        (integrity, "digest"): {"bytes": 0, "sha256": ""},
        (integrity, "files_below"): [],
        (integrity, "read_record"): {},
        (records, "check_file"): None,
        (records, "check_inside"): None,
        (records, "check_dataset"): None,
        (records, "digest"): {"bytes": 0, "sha256": ""},
        (records, "sources"): {},
        (records, "files_below"): [],
        (store, "check_folder"): None,
        (store, "checksums"): [],
        (store.FeatureStore, "_compare"): None,
        (store.StoreWriter, "_write_checksums"): None,
        (zipfile.ZipFile, "testzip"): None,
    }
    watch = Watch()
    for (owner, name), nothing in places.items():
        real = getattr(owner, name)
        stand_in = watch.around(real) if mode == "with" else (lambda *_, _nothing=nothing, **__: _nothing)
        mock.patch.object(owner, name, stand_in).start()
    from rgwot.cli import cli

    cli(words, standalone_mode=False)
    print(watch.spent)


def write_features(paths: list[str]) -> None:
    """Write stores of noise, with the attributes of a real one."""
    import numpy as np

    from rgwot.features.store import SHARD, StoreWriter, open_store
    from rgwot.records import read_manifest

    manifest = read_manifest(Path(paths[0]).parents[3] / "manifest/demo/assembly.csv")
    attributes = dict(open_store(Path(paths[0]).with_name("assembly_01.zarr")).attributes)
    for number, path in enumerate([str(Path(paths[0]).with_name("assembly_01.zarr")), *paths]):
        rng = np.random.default_rng(number)
        if Path(path).exists():
            shutil.rmtree(path)
        duration_s = manifest.set_index("video")["duration_s"][Path(path).stem]
        frames = int(duration_s * FPS)
        writer = StoreWriter(path, np.arange(frames) / FPS, SIDE)
        for start in range(0, frames, SHARD):
            many = min(SHARD, frames - start)
            writer.write(start // SHARD, np.abs(rng.normal(size=(many, 1024, SIDE, SIDE)).astype(np.float16)))
        writer.finish(frames, {**attributes, "fps": FPS, "duration_s": float(duration_s)})
        from rgwot.cli.records import record as recorded

        recorded("extract", {"output": Path(path)})
    print(0.0)


def main() -> None:
    """Take turns, print and record."""
    chosen = arguments(__doc__)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepare(folder)
        for name, words in stages(folder).items():
            if name == "extract":
                # Beside the stores that later stages read.
                words = [words[0], str(folder / "results/features/demo/other/assembly_01.zarr"), *words[2:]]
            seconds: dict[str, list[float]] = {"with": [], "without": []}
            shares = []
            for number in range(chosen.rounds):
                for mode in ("with", "without") if number % 2 else ("without", "with"):
                    told = child(mode, words)
                    seconds[mode].append(told["cpu_s"])
                    if mode == "with":
                        shares.append(told["checks_s"] / (told["cpu_s"] - told["checks_s"]))
            ratios = [a / b for a, b in zip(seconds["with"], seconds["without"], strict=True)]
            found[name] = {
                "cpu_s": {mode: spread(values) for mode, values in seconds.items()},
                "with over without": spread(ratios),
                "share of the checks": spread(shares),
                "at most": ALLOWED,
                "holds": spread(shares)["median"] <= ALLOWED,
            }
            # What later stages read has to have its records.
            child("with", words)
            print(name, found[name]["with over without"], found[name]["share of the checks"], flush=True)
    facts = {"videos": VIDEOS, "frames": int(CLIP["min_s"] * FPS), "side": SIDE, "iterations": ITERATIONS}
    record("checks", {**facts, "stages": found}, chosen)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        (write_features if sys.argv[2] == "features" else lambda words: run_stage(sys.argv[2], words))(sys.argv[3:])
    else:
        main()
