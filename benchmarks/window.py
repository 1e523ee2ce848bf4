"""Measure the seconds from a saved label to the answer of the window, and of a plain decoding of the same labels.

Videos of a minute are planted: embeddings of two samples per second near the vector of their step. One video is
annotated; then ten answers about single moments follow, as under *What is this?*, and the annotation of a second video.

Run ``python benchmarks/window.py``. It writes ``benchmarks/results/window.csv``: wall time, and CPU time, which depends
less on other programs; one core is used. While the server works on an answer, the page asks for it five times a second.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from pages import RESULTS
from threadpoolctl import threadpool_limits

from rgwot import paths
from rgwot.columns import MANIFEST_COLUMNS
from rgwot.embedding.interface import EmbeddedVideo
from rgwot.paths import Run
from rgwot.records import read_annotations
from rgwot.runtime.csv_files import write_csv
from rgwot.stages.decode import decode_task, given_of
from rgwot.stages.embed import write_embedded
from rgwot.study.study import Study
from rgwot.window.learning import Learner

RECORD = RESULTS / "window.csv"
SECONDS, FPS, D, STEPS, ANSWERS = 60, 2.0, 64, 8, 10
RUN = Run("raw", "labelled", 0)


def plant(n_videos: int, rng: np.random.Generator) -> list[str]:
    """Write a study of ``n_videos`` in the current folder: empty videos, their manifest and embeddings.

    Return the annotations of the videos; the first is written.
    """
    centres, times = rng.normal(size=(STEPS, D)), (np.arange(int(SECONDS * FPS)) + 0.5) / FPS
    rows, videos, annotations = [], {}, []
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
        edges = [0.0, *cuts, float(SECONDS)]
        lines = [f"{a:.3f},{b:.3f},step {k}" for k, (a, b) in enumerate(zip(edges[:-1], edges[1:], strict=True), 1)]
        annotations.append("\n".join(["start_s,end_s,label", *lines, ""]))
        if not number:
            path.with_suffix(".csv").write_text(annotations[0])
    task = {"dataset": "mine", "task": "tea"}
    write_csv(pd.DataFrame(rows, columns=list(MANIFEST_COLUMNS)), paths.at(paths.MANIFEST, **task))
    facts = {"method": "raw", "seed": 0, "features_fps": FPS}
    write_embedded(paths.at(paths.EMBEDDINGS, method="raw", seed=0, **task), videos, facts)
    return annotations


def measure(n_videos: int) -> pd.DataFrame:
    """Return the seconds for whole annotations, for answers, for the next question, and for a plain decoding."""
    annotations = plant(n_videos, np.random.default_rng(0))
    seconds = defaultdict(list)

    @contextmanager
    def timed(what: str) -> Iterator[None]:
        began = time.perf_counter(), time.process_time()
        yield
        seconds[what].append((time.perf_counter() - began[0], time.process_time() - began[1]))

    study = {"datasets": {"mine": {"layout": "folder", "root": "videos"}}, "seeds": [0]}
    study |= {"page": {"datasets": ["mine"], "methods": ["raw/meanfield"]}}
    learner = Learner("mine", "tea")
    learner.warm(Study.of(study))
    for number in range(ANSWERS + 1):
        with timed("an answer" if number else "the first annotation"):
            learner.learned(Study.of(study))
        with timed("the next question"):
            (moment,) = learner.question(Study.of(study), 1)
        path = Path("videos/tea", f"{moment['video']}.csv")
        before = path.read_text() if path.exists() else "start_s,end_s,label\n"
        path.write_text(f"{before}{moment['time_s']},,step {1 + number % STEPS}\n")
    Path("videos/tea/v01.csv").write_text(annotations[1])
    with timed("another annotation"):
        learner.learned(Study.of(study))
    embedded = learner._embedded(RUN)
    labelled = learner._labels(Study.of(study))
    write_csv(labelled.table, "annotations.csv")
    given = given_of(embedded, read_annotations(Path("annotations.csv"), background=True))
    with timed("a plain decoding"), threadpool_limits(limits=1):
        decode_task(embedded, learner._decoder(Study.of(study), RUN), 0, given=given, check=False)
    rows = [
        (n_videos, what, len(some), *np.median(some, axis=0).round(2), *np.max(some, axis=0).round(2))
        for what, some in seconds.items()
    ]
    columns = ["videos", "what", "n", "median_s", "median_cpu_s", "slowest_s", "slowest_cpu_s"]
    return pd.DataFrame(rows, columns=columns)


def main() -> None:
    """Write the record, and print it."""
    parts = []
    for n_videos in (10, 60):
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            parts.append(measure(n_videos))
            os.chdir("/")
    table = pd.concat(parts)
    write_csv(table, RECORD)
    print(table.to_string(index=False))


if __name__ == "__main__":
    main()
