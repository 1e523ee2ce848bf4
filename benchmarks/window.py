"""Seconds from a saved label to the answer of the window, beside one plain decoding of the same labels.

Videos of a minute are planted: embeddings of two samples per second near the vector of their step. One video is
annotated; then ten answers about single moments follow, as under *What is this?*.

Run ``python benchmarks/window.py``. On one core, in seconds, for 10 and 60 videos: first answer 0.7 and 0.4, later
answers 0.2 and 0.7 (slowest 0.3 and 0.7), next question 0.5 and 3.0, one plain decoding 0.3 and 1.4. The page asks for
answers once a second.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from rgwot import paths
from rgwot.columns import MANIFEST_COLUMNS
from rgwot.embedding.interface import EmbeddedVideo
from rgwot.paths import Run
from rgwot.records import read_annotations
from rgwot.runtime.files import write_csv
from rgwot.stages.decode import decode_task, given_of
from rgwot.stages.embed import write_embedded
from rgwot.study.study import Study
from rgwot.window.learning import Learner

SECONDS, FPS, D, STEPS, ANSWERS = 60, 2.0, 64, 8, 10
RUN = Run("raw", "labelled", 0)


def plant(n_videos: int, rng: np.random.Generator) -> None:
    """Write a study of ``n_videos`` in the current folder: empty videos, their manifest and embeddings."""
    centres, times = rng.normal(size=(STEPS, D)), (np.arange(int(SECONDS * FPS)) + 0.5) / FPS
    rows, videos = [], {}
    for number in range(n_videos):
        name = f"v{number:02d}"
        path = Path("videos/tea", f"{name}.mp4")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        cuts = np.sort(rng.uniform(0, SECONDS, STEPS - 1))
        steps = np.searchsorted(cuts, times)
        x = centres[steps] + rng.normal(scale=1.2, size=(len(times), D))
        videos[name] = EmbeddedVideo(x / np.linalg.norm(x, axis=1, keepdims=True), times, float(SECONDS), 30.0)
        rows.append((name, name, f"tea/{name}.mp4", "", SECONDS, "30", 160, 120, "unscored", "no annotation", 0.0))
        if not number:
            edges = [0.0, *cuts, float(SECONDS)]
            lines = [f"{a:.3f},{b:.3f},step {k}" for k, (a, b) in enumerate(zip(edges[:-1], edges[1:], strict=True), 1)]
            path.with_suffix(".csv").write_text("\n".join(["start_s,end_s,label", *lines, ""]))
    task = {"dataset": "mine", "task": "tea"}
    write_csv(pd.DataFrame(rows, columns=list(MANIFEST_COLUMNS)), paths.at(paths.MANIFEST, **task))
    facts = {"method": "raw", "seed": 0, "features_fps": FPS}
    write_embedded(paths.at(paths.EMBEDDINGS, method="raw", seed=0, **task), videos, facts)


def measure(n_videos: int) -> dict[str, float]:
    """Return seconds: of the first answer, of later ones and of the next question, and of a plain decoding."""
    rng = np.random.default_rng(0)
    plant(n_videos, rng)
    study = {"datasets": {"mine": {"layout": "folder", "root": "videos"}}, "seeds": [0]}
    study |= {"page": {"datasets": ["mine"], "methods": ["raw/meanfield"]}}
    learner, answers, questions = Learner("mine", "tea"), [], []
    learner.warm(Study.of(study))
    for number in range(ANSWERS + 1):
        began = time.perf_counter()
        learner.learned(Study.of(study))
        answers.append(time.perf_counter() - began)
        began = time.perf_counter()
        (moment,) = learner.question(Study.of(study), 1)
        questions.append(time.perf_counter() - began)
        path = Path("videos/tea", f"{moment['video']}.csv")
        before = path.read_text() if path.exists() else "start_s,end_s,label\n"
        path.write_text(f"{before}{moment['time_s']},,step {1 + number % STEPS}\n")
    run, embedded = RUN, learner._embedded(RUN)
    labelled = learner._labels(Study.of(study))
    write_csv(labelled.table, "annotations.csv")
    given = given_of(embedded, read_annotations(Path("annotations.csv"), background=True))
    began = time.perf_counter()
    with threadpool_limits(limits=1):
        decode_task(embedded, "labelled", learner._settings(Study.of(study), run), 0, given=given, judged=False)
    plain = time.perf_counter() - began
    return {
        "first answer": answers[0], "later answers, median": float(np.median(answers[1:])),
        "later answers, slowest": max(answers[1:]), "next question, median": float(np.median(questions)),
        "plain decoding": plain,
    }  # fmt: skip


def main() -> None:
    """Print a table."""
    columns = {}
    for n_videos in (10, 60):
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            columns[f"{n_videos} videos"] = measure(n_videos)
            os.chdir("/")
    print(pd.DataFrame(columns).round(2).to_string())


if __name__ == "__main__":
    main()
