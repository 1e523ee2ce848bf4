"""A synthetic tree of results with exactly the files that the plan of a figure names, and the study of this plan."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import yaml
from table_helpers import REPOSITORY, write_scores
from with_defaults import decoder_by

from rgwot import paths
from rgwot.columns import ANNOTATION_COLUMNS, MANIFEST_COLUMNS
from rgwot.config.experiments import split_id
from rgwot.datasets import registry
from rgwot.embedding.interface import EmbeddedVideo
from rgwot.features.store import StoreWriter
from rgwot.reporting import targets
from rgwot.runtime.csv_files import write_rows
from rgwot.stages.decode import decode
from rgwot.stages.embed import write_embedded
from rgwot.study import datasets
from rgwot.study.study import Study, Task

N_VIDEOS = {"meccano": 17}
SECONDS = 12.0


def synthetic(dataset: str, tasks: tuple[str, ...]) -> dict:
    """Return an entry of `datasets` that needs nothing on disk."""
    synth = {"tasks": list(tasks), "n_videos": N_VIDEOS.get(dataset, 3), "K": registry.facts(dataset, tasks[0]).K}
    return {"layout": "folder", "root": f"results/synthetic/{dataset}", "synth": synth}


def study(seeds: tuple[int, ...] = (0, 1), **changes: object) -> Study:
    """Return a configuration of few tasks."""
    content = yaml.safe_load((REPOSITORY / "config.yaml").read_text(encoding="utf-8"))
    content["datasets"] = {
        "cmu_mmac": synthetic("cmu_mmac", ("Brownie", "Eggs")),
        "egtea_gaze": synthetic("egtea_gaze", ("Pizza",)),
        "meccano": synthetic("meccano", ("meccano",)),
        "pc_assembly": synthetic("pc_assembly", ("pc_assembly",)),
        "pc_disassembly": synthetic("pc_disassembly", ("pc_disassembly",)),
        "procel": synthetic("procel", ("make_coffee", "make_smoke_salmon_sandwich")),
    }
    return Study.of({**content, "seeds": list(seeds), **changes})


def steps_of(number: int, count: int) -> np.ndarray:
    """Return true steps (count,): background, then three stretches of steps, a little different in every video."""
    shares = np.arange(count) / count
    steps = np.zeros(count, dtype=np.int64)
    for step, start in enumerate((0.2, 0.45, 0.7), start=1):
        steps[(shares >= start) & (shares < start + 0.1 + 0.03 * (number % 3))] = step
    return steps


class Tree:
    """The files of a plan, below a folder."""

    def __init__(self, folder: Path, facts: Study) -> None:
        self.folder, self.facts = folder, facts

    def fill(self, figure: str) -> None:
        """Write every missing file of a figure."""
        for file in targets.figure_files(self.facts, figure):
            path = self.folder / file
            if not path.exists():
                self._write(path, Path(file).parts)
            assert path.exists(), file

    def _write(self, path: Path, parts: tuple[str, ...]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        kind, *rest = parts[1:]
        if kind in ("manifest", "annotations"):
            self._task(rest[0], rest[1].removesuffix(".csv"))
        elif kind == "embeddings":
            self._embeddings(path, rest[1], rest[2])
        elif kind == "keysteps":
            self._key_steps(path.parent, rest)
        elif kind == "models":
            self._history(path, seed=int(rest[3].removeprefix("seed")))
        elif kind == "scores":
            self._scores(path, rest)
        elif kind == "features":
            self._features(path)

    def _task(self, dataset: str, task: str) -> None:
        videos = list(datasets.videos(Task(self.facts, dataset, task)))
        rows, segments = [], []
        for number, video in enumerate(videos):
            rows.append((video, video, f"{video}.mp4", f"{video}.csv", SECONDS, "30", 160, 120, "ok", ""))
            steps = steps_of(number, 120)
            for step in (1, 2, 3):
                at = np.flatnonzero(steps == step) * SECONDS / 120
                segments.append((video, at[0], at[-1] + SECONDS / 120, step, f"step {step}"))
        for template, content, columns in (
            (paths.MANIFEST, rows, MANIFEST_COLUMNS),
            (paths.ANNOTATIONS, segments, ANNOTATION_COLUMNS),
        ):
            target = self.folder / paths.at(template, dataset=dataset, task=task)
            target.parent.mkdir(parents=True, exist_ok=True)
            write_rows(columns, content, target)

    def _embeddings(self, path: Path, dataset: str, task: str) -> None:
        centres, content = np.eye(8)[:4], {}
        for number, video in enumerate(datasets.videos(Task(self.facts, dataset, task))):
            times = np.arange(0, SECONDS, 0.5)
            x = centres[steps_of(number, len(times))] + np.random.default_rng(number).normal(0, 0.2, (len(times), 8))
            content[video] = EmbeddedVideo(x / np.linalg.norm(x, axis=1)[:, None], times, SECONDS, 30.0)
        write_embedded(path, content, {"method": path.parts[-4], "seed": 0, "features_fps": 2.0})

    def _key_steps(self, folder: Path, rest: list[str]) -> None:
        method, decoder, dataset, task, seed = rest[:5]
        embeddings = self.folder / "results" / "embeddings" / method / dataset / task / f"{seed}.zarr"
        if not embeddings.exists():
            self._embeddings(embeddings, dataset, task)
        decode(embeddings, folder, decoder_by(split_id(decoder)[0], {"decode.K": 4}), int(seed.removeprefix("seed")))

    def _history(self, path: Path, seed: int) -> None:
        steps = np.arange(1, 401)
        align = 2 + np.exp(-steps / 50) + 0.1 * seed
        columns = zip(steps, 11 * align, align, 10 * align, steps / 10.0, strict=True)
        write_rows(("step", "loss", "align", "cidm", "seconds"), columns, path)

    def _scores(self, path: Path, rest: list[str]) -> None:
        """Write scores that differ by metric and seed."""
        run = (*rest[:4], int(path.stem.removeprefix("seed")))
        values = {"precision": 0.5, "recall": 0.6, "f1": 0.55, "iou": 0.35}
        own = {metric: value + 0.02 * run[-1] for metric, value in values.items()}
        write_scores(path.parent, run, own["f1"], **own).rename(path)

    def _features(self, path: Path) -> None:
        frames = 12
        maps = np.random.default_rng(len(path.stem)).normal(size=(frames, 1024, 2, 2)) + 1
        writer = StoreWriter(path, np.arange(frames) / 2.0, 2)
        writer.write(0, maps)
        facts = {"status": "ok", "reason": "", "duration_s": frames / 2, "native_fps": "30", "fps": 2.0}
        writer.finish(frames, facts)
