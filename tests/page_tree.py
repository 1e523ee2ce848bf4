"""Results of a small task, made by the real stages from videos whose frames carry their number."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from videos import write_video
from with_defaults import decoder_by

from rgwot import paths
from rgwot.datasets.manifest import write_manifest
from rgwot.embedding.interface import EmbeddedVideo
from rgwot.paths import Run, Tree
from rgwot.records import read_annotations, read_manifest
from rgwot.reporting.page.pictures import write_strips
from rgwot.reporting.page.render import write_page
from rgwot.reporting.page.view import write_view
from rgwot.stages.decode import decode, decode_trivial
from rgwot.stages.embed import write_embedded
from rgwot.stages.evaluate import evaluate
from rgwot.timing import truth_labels

SECONDS = 6
FPS = 5
STEPS = ("pour water", "stir", "drink it all")
SETTINGS = {"decode.K": 4, "graphcut.restarts": 1}
TAUGHT = "labelled"
#: Segments (start, end, step) of each video in seconds; further videos begin again with the first.
PLANS = (
    ((0.5, 1.7, 1), (2.0, 3.4, 2), (4.0, 5.5, 3)),
    ((0.3, 1.9, 1), (2.2, 3.0, 3), (3.3, 5.8, 2)),
    ((0.6, 1.5, 1), (1.8, 3.6, 2), (4.4, 6.0, 3)),
)


@dataclass
class Task:
    """A task with results."""

    folder: Path
    task: str = "tea"
    runs: list[Run] = field(default_factory=list)

    @property
    def tree(self) -> Tree:
        return Tree(self.folder / "results", "mine", self.task)

    @property
    def root(self) -> Path:
        return self.folder / "videos"

    def page(self, names: Path | None = None) -> Path:
        """Make the page."""
        write_page(self.tree, self.root, self.runs, self.tree.at(paths.PAGE), names)
        return self.tree.at(paths.PAGE)

    def segments(self, run: Run) -> pd.DataFrame:
        """Return the segments of scope `task`, read without the project's own reader."""
        table = pd.read_csv(self.tree.keysteps(run) / "segments.csv", dtype={"video": str}, keep_default_na=False)
        return table[table["scope"] == "task"]


def make_task(
    folder: Path,
    names: Sequence[str] = ("first", "second", "third"),
    *,
    task: str = "tea",
    steps: Sequence[str] = STEPS,
    annotated: bool = True,
    taught: int = 0,
    given: Mapping[str, str] | None = None,
) -> Task:
    """Write videos and everything that the stages make of them, except features and models.

    The first ``taught`` videos have annotations, from which the first result learned; the others have none, or those
    in ``given``.
    """
    made = Task(folder, task)
    tree, root = made.tree, made.root
    (root / task).mkdir(parents=True)
    for place, (name, plan) in enumerate(zip(names, PLANS * len(names), strict=False)):
        write_video(root / task / f"{name}.mp4", SECONDS * 30, size=(160, 120))
        if place < taught or (annotated and not taught):
            rows = "".join(f"{start},{end},{step} {steps[step - 1]}\n" for start, end, step in plan)
            (root / task / f"{name}.csv").write_text(rows, encoding="utf-8")
        elif given and name in given:
            (root / task / f"{name}.csv").write_text(given[name], encoding="utf-8")
    write_manifest("mine", task, root, "folder", {}, tree.at(paths.MANIFEST), tree.at(paths.ANNOTATIONS), "fail")
    write_strips(tree.at(paths.MANIFEST), root, tree.at(paths.STRIPS))
    if taught:
        run, embeddings = Run("raw", TAUGHT, 0), tree.at(paths.EMBEDDINGS, Run("raw", TAUGHT, 0))
        write_embeddings(embeddings, tree, 0.5, 0)
        decode(
            embeddings, tree.keysteps(run), decoder_by(TAUGHT, SETTINGS), 0, annotations_csv=tree.at(paths.ANNOTATIONS)
        )
        segments, view = tree.at(paths.SEGMENTS, run), tree.at(paths.VIEW, run)
        write_view(embeddings, segments, tree.at(paths.MANIFEST), root, view, 0, to_annotate=True)
        made.runs.append(run)
        return made
    for method, decoder, noise in (("rgwot", "graphcut", 0.2), ("raw", "kmeans", 0.9)):
        for seed in (0, 1):
            run = Run(method, decoder, seed)
            embeddings = tree.results / "embeddings" / method / "mine" / task / f"seed{seed}.zarr"
            write_embeddings(embeddings, tree, noise, seed)
            decode(embeddings, tree.keysteps(run), decoder_by(decoder, SETTINGS), seed)
            made.runs.append(run)
            if seed == 0:
                segments, view = tree.keysteps(run) / "segments.csv", tree.at(paths.VIEW, run)
                write_view(embeddings, segments, tree.at(paths.MANIFEST), root, view, seed)
    if annotated:
        for decoder in ("one_label", "random"):
            made.runs.append(Run("none", decoder, 0))
            decode_trivial(tree.at(paths.MANIFEST), tree.keysteps(made.runs[-1]), decoder_by(decoder, SETTINGS), 0, 2)
        for run in made.runs:
            score(made, run)
    for seed in (0, 1):
        write_history(tree.at(paths.HISTORY, Run("rgwot", "graphcut", seed)))
    return made


def score(made: Task, run: Run) -> None:
    tree = made.tree
    identity = {
        "dataset": "mine", "task": made.task, "method": run.method, "decoder": run.decoder, "seed": run.seed
    }  # fmt: skip
    found = tree.keysteps(run)
    evaluate(
        tree.at(paths.MANIFEST),
        tree.at(paths.ANNOTATIONS),
        found / "segments.csv",
        found / "diagnostics.json",
        tree.at(paths.SCORES, run),
        identity,
        3,
        2,
    )


def write_embeddings(path: Path, tree: Tree, noise: float, seed: int) -> None:
    """Embed every sample near the unit vector of its true step, or without annotation, of its third of the video."""
    manifest, annotations = read_manifest(tree.at(paths.MANIFEST)), read_annotations(tree.at(paths.ANNOTATIONS))
    rng = np.random.default_rng(seed)
    times = np.arange(SECONDS * FPS) / FPS
    content = {}
    for row in manifest.itertuples():
        own = annotations[annotations["video"] == row.video]
        frames = np.round(times * 30).astype(np.int64)
        labels = (
            truth_labels(own["start_s"], own["end_s"], own["key_step"], frames, row.fps, "exact")
            if len(own)
            else (times * 3 / SECONDS).astype(np.int64)
        )
        x = np.eye(8)[labels] + noise * rng.normal(size=(len(times), 8))
        content[str(row.video)] = EmbeddedVideo(
            x / np.linalg.norm(x, axis=1, keepdims=True), times, row.duration_s, 30.0
        )
    write_embedded(path, content, {"method": "any", "seed": seed, "features_fps": float(FPS)})


def write_history(path: Path) -> None:
    path.parent.mkdir(parents=True)
    step = np.arange(1, 401)
    table = pd.DataFrame(
        {"step": step, "loss": 5 / step + 1, "align": 3 / step, "cidm": 2 / step, "seconds": step / 10}
    )
    table.to_csv(path, index=False)


def embedded_data(page: Path, name: str = "data") -> dict[str, object]:
    """Read a block of data back from a page as a browser does, by the end of its element."""
    text = page.read_text(encoding="utf-8")
    start = text.index(">", text.index(f'<script type="application/json" id="{name}"')) + 1
    content: dict[str, object] = json.loads(text[start : text.index("</script", start)])
    return content
