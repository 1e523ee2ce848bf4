"""Changing one thing below results or in the dataset between two stages, and telling what the run makes of it."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from checkouts import RGWOT, SMALL, SNAKEMAKE, Checkout, run

RUNS = {"raw": "kmeans", "rgwot": "graphcut"}
TARGET = "results/tables/demo.csv"
SEED = "demo/assembly/seed0"
# What is made after what; a fault comes after each of them.
STAGES: dict[str, tuple[str, ...]] = {
    "synth": ("results/synthetic/demo",),
    "manifest": ("results/manifest/demo/assembly.csv",),
    "extract": ("results/features/demo/assembly/index.0.csv",),
    "index": ("results/features/demo/assembly/index.csv",),
    "train": (f"results/models/rgwot/{SEED}/model.pt",),
    "embed": tuple(f"results/embeddings/{method}/{SEED}.zarr" for method in RUNS),
    "decode": tuple(f"results/keysteps/{method}/{decoder}/{SEED}/segments.csv" for method, decoder in RUNS.items()),
    "evaluate": tuple(f"results/scores/{method}/{decoder}/{SEED}.csv" for method, decoder in RUNS.items()),
    "table_row": ("results/tables/demo/raw_kmeans.csv", "results/tables/demo/rgwot.csv"),
    "table": (TARGET,),
}
KINDS = (
    "flip",
    "flip, same time stamp",
    "truncate",
    "delete",
    "swap",
    "replace by an older file",
    "time stamp",
    "chunk",
)
QUICK = """
datasets:
  demo:
    synth: {n_videos: 2, min_s: 6, max_s: 8, width: 160, height: 120}
    settings:
      features: {fps: 5, size: 64}
      encoder: {channels: 8, hidden: 8}
      train: {iterations: 20, N: 8, precision: float32}
"""
# The same clips as somebody's own dataset, which no job writes.
OWN = """
datasets:
  demo: {root: videos, synth: null}
"""
# What the next stages read, which a fault hits half of the time: results before others, or somebody's dataset.
NEXT = {
    "synth": "synthetic", "manifest": "manifest", "extract": "features", "index": "features", "train": "models",
    "embed": "embeddings", "decode": "keysteps", "evaluate": "scores", "table_row": "tables", "table": "tables",
}  # fmt: skip
OUTCOMES = ("same tables", "refused in one line", "change of the dataset followed", "named by rgwot verify")


@dataclass(frozen=True)
class Fault:
    """What was done to which files, relative to the working directory."""

    kind: str
    files: tuple[str, ...]

    @property
    def on_dataset(self) -> bool:
        """Whether it hit somebody's own files."""
        return any(file.startswith("videos/") for file in self.files)


class House:
    """The demo in a small setting, kept as it was after every stage, and a place where faults happen to it."""

    def __init__(self, folder: Path, own: House | None = None) -> None:
        """Make everything once.

        Parameters
        ----------
        folder
            Where all of it goes.
        own
            A house whose clips become the dataset; None: the workflow writes them.
        """
        self.folder, self.own = folder, own is not None
        self.work = folder / "work"
        checkout = Checkout.copied_to(self.work)
        checkout.keep_rows("demo", ("raw_kmeans", "rgwot"))
        (self.work / "quick.yaml").write_text(QUICK, encoding="utf-8")
        (self.work / "own.yaml").write_text(OWN, encoding="utf-8")
        if own is not None:
            clips = shutil.copytree(own.kept("table") / "results/synthetic/demo", self.work / "videos")
            (clips / ".provenance.json").unlink()
            (clips / ".snakemake_timestamp").unlink()
        self.stages = tuple(stage for stage in STAGES if stage != "synth" or own is None)
        for stage in self.stages:
            code, text = self.run(*STAGES[stage])
            assert code == 0, text
            subprocess.run(["cp", "-a", self.work, self.kept(stage)], check=True)
        self.tables = self.tables_now()
        assert set(self.tables) > {"demo.csv", "demo.md", "demo.tex", "demo/rgwot.csv"}

    def kept(self, stage: str) -> Path:
        """Return the folder as it was after a stage."""
        return self.folder / f"after_{stage}"

    def run(self, *targets: str) -> tuple[int, str]:
        """Run the workflow where faults happen."""
        files = [SMALL, "quick.yaml", *(["own.yaml"] if self.own else [])]
        said = run([*SNAKEMAKE, "--cores", "2", "--configfile", *files, "--", *(targets or (TARGET,))], self.work)
        return said.returncode, said.text

    def verify(self) -> tuple[int, str]:
        """Run `rgwot verify` there."""
        said = run([*RGWOT, "verify"], self.work)
        return said.returncode, said.text

    def restore(self, stage: str) -> None:
        """Put everything back to what it was after a stage, time stamps too."""
        shutil.rmtree(self.work)
        subprocess.run(["cp", "-a", self.kept(stage), self.work], check=True)

    def tables_now(self) -> dict[str, bytes]:
        """Return every table and row, byte by byte."""
        folder = self.work / "results/tables"
        found = (path for path in folder.rglob("[!.]*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in found}

    def harm(self, stage: str, rng: random.Random) -> Fault:
        """Do one random thing after a stage to one random file, of a random part of the results or of the dataset."""
        kind = rng.choice(KINDS)
        likely = rng.choice((NEXT[stage], "videos")) if self.own else NEXT[stage]
        path = self._pick(rng, chunk=kind == "chunk", likely=likely)
        files = [path]
        if kind == "chunk":
            other = self._pick(rng, chunk=True, likely=likely)
            how = rng.choice(("flip", "delete", "truncate", "swap"))
            files += [other] if how == "swap" else []
        else:
            how = kind
            if kind in ("swap", "replace by an older file"):
                files.append(self._pick(rng, suffix=path.suffix, other=path))
        _do(how, files, rng)
        return Fault(kind, tuple(str(file.relative_to(self.work)) for file in files))

    def _pick(
        self, rng: random.Random, chunk: bool = False, suffix: str | None = None, other: Path | None = None, likely=""
    ) -> Path:
        parts = defaultdict(list)
        for path in sorted(path for root in ("results", "videos") for path in (self.work / root).rglob("*")):
            root, *inside = path.relative_to(self.work).parts
            kind = path.name.startswith("c.") or path.name == "zarr.json" or not chunk
            if path.is_file() and len(inside) > 1 and kind:
                parts["videos" if root == "videos" else inside[0]].append(path)
        if suffix is not None:
            alike = [path for found in parts.values() for path in found if path.suffix == suffix and path != other]
            if alike:
                return rng.choice(alike)
        if not parts:
            return self._pick(rng)
        names = sorted(parts)
        return rng.choice(parts[rng.choice(names + [likely] * len(names) * (likely in parts))])

    def judge(self, fault: Fault, code: int, text: str) -> str:
        """Say what came of a fault; anything that is none of the `OUTCOMES` fails."""
        assert "Traceback" not in text, text
        if code:
            # A file is named for itself, or for the output whose part it is.
            lines = {line for line in text.splitlines() if line.startswith("rgwot: ")}
            assert lines, text
            assert all(any(_names(line, file) for file in fault.files) for line in lines), text
            assert len(lines) <= 2 * len(fault.files), text
            return OUTCOMES[1]
        made = self.tables_now()
        if made == self.tables:
            return OUTCOMES[0]
        if not fault.on_dataset:
            code, said = self.verify()
            assert code == 1, f"SILENT: {text}"
            assert any(_names(line, file) for line in said.splitlines() for file in fault.files), said
            return OUTCOMES[3]
        shutil.rmtree(self.work / "results")
        shutil.rmtree(self.work / ".snakemake")
        code, text = self.run()
        assert code == 0, text
        assert self.tables_now() == made
        return OUTCOMES[2]


def _names(line: str, file: str) -> bool:
    """Whether a line names a file: itself, or the record, store or dataset that it belongs to."""
    path = Path(file)
    near = {file, path.name, re.sub(r"^\.(.*)\.provenance\.json$", r"\1", path.name)}
    near |= {parent.name for parent in path.parents if parent.suffix == ".zarr"}
    # A video of another length is refused by the annotation that ends behind it.
    near |= {path.with_suffix(".csv").name} if path.suffix == ".mp4" else set()
    near |= {"results/synthetic/demo"} if file.startswith("results/synthetic/") else set()
    return any(name in line for name in near)


def _do(kind: str, files: list[Path], rng: random.Random) -> None:
    path = files[0]
    status = path.stat()
    if kind.startswith("flip"):
        content = bytearray(path.read_bytes())
        if content:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            path.write_bytes(content)
    elif kind == "truncate":
        path.write_bytes(path.read_bytes()[: rng.choice((0, rng.randrange(status.st_size + 1)))])
    elif kind == "delete":
        path.unlink()
    elif kind == "swap":
        aside = path.with_name(".aside")
        path.rename(aside)
        files[1].rename(path) if files[1] != path else None
        aside.rename(files[1])
    elif kind == "replace by an older file":
        # As `cp -p` and rsync do: the content of another file, and a time stamp that is not newer.
        path.write_bytes(files[1].read_bytes())
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - rng.choice((0, 10**9, 10**16))))
    else:
        now = time.time_ns()
        moved = rng.choice((now, now + 10**12, status.st_mtime_ns - 10**9, status.st_mtime_ns + 10**9, 10**18))
        os.utime(path, ns=(moved, moved))
    if kind == "flip, same time stamp":
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
