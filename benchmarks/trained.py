"""Score RGWOT on recordings of people, trained with the short settings of the guide and with those of the paper.

Every task of the folder of recordings (recordings.py) is trained by `rgwot.discover` and cut into as many key steps as
are annotated. Each training is a line of benchmarks/results/trained.csv, and existing ones are not repeated. With the
paper's settings, a training takes two to three minutes on a GPU that 14 trainings share. A run without names then
renews the table of benchmarks/report/answers.md.

    REAL_RECORDINGS=FOLDER python benchmarks/trained.py [--fps DATASET=NUMBER ...] [--trainings NAME ...] [--jobs 2]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from pages import REPORT, RESULTS, renew, table
from recordings import find, rates_of, recorded_options

RECORD, PAGE = RESULTS / "trained.csv", REPORT / "answers.md"
COLUMNS = ("dataset", "task", "training", "seed", "macro", "strict", "segments", "seconds", "device")
SHORT = {
    "encoder": {"channels": 64, "hidden": 64},
    "train": {"iterations": 800, "lr": 1e-3, "precision": "float32", "threads": 1},
}
PAPER = {"train": {"precision": "float32", "threads": 1}}


class Training(NamedTuple):
    """A method, its settings, and the number of seeds."""

    method: str
    settings: dict[str, dict[str, Any]]
    seeds: int


TRAININGS = {
    "rgwot, short": Training("rgwot", SHORT, 3),
    "rgwot, short, C-IDM by share": Training("rgwot", SHORT | {"cidm": {"unit": "share", "sigma": 0.02}}, 3),
    "rgwot-whitened, short": Training("rgwot-whitened", SHORT, 3),
    "rgwot, paper": Training("rgwot", PAPER, 2),
    "rgwot-whitened, paper": Training("rgwot-whitened", PAPER, 1),
}


def train(cell: tuple[str, str, str, int], rates: dict[str, float]) -> dict[str, Any]:
    """Train on a task and score its key steps: a line of the record."""
    import rgwot
    from rgwot.evaluation.protocols import PROTOCOLS, score

    dataset, name, training, seed = cell
    method, settings, _ = TRAININGS[training]
    (read,) = (read for *_, task, read in find(os.environ["REAL_RECORDINGS"], rates, (), 0, ()) if task == name)
    task, began = read(), time.perf_counter()
    videos = {f"{number:04d}": store.x for number, store in enumerate(task.stores)}
    options = {"decoder": "graphcut", "K": task.K, "settings": settings, "seed": seed}
    found = rgwot.discover(videos, fps=task.fps, method=method, **options)
    equal = [np.arange(len(x)) * task.K // len(x) for x in videos.values()]
    values: dict[str, Any] = {"seconds": time.perf_counter() - began}
    values["device"] = "cuda" if torch.cuda.is_available() else "cpu"
    for column, protocol, labels in (
        ("macro", "macro_task", list(found.labels.values())),
        ("strict", "strict_task", list(found.labels.values())),
        ("segments", "macro_task", equal),
    ):
        values[column] = 100 * score(PROTOCOLS[protocol], task.labels, labels, task.K, task.K, "without").f1
    return {"dataset": dataset, "task": name, "training": training, "seed": seed, **values}


def read_record() -> pd.DataFrame:
    """Return all trainings that were measured."""
    return pd.read_csv(RECORD) if RECORD.exists() else pd.DataFrame(columns=COLUMNS)


def printed(rows: pd.DataFrame) -> str:
    """Write the record as a table in Markdown: mean and standard deviation over seeds, by task."""
    segments = rows.groupby(["dataset", "task"])["segments"].first()
    values = rows.groupby(["training", "dataset", "task"])["macro"].agg(["mean", "std"])
    lines = [["K equal segments", *(f"{value:.1f}" for value in segments), f"{segments.mean():.1f}"]]
    for training in (name for name in TRAININGS if name in values.index.levels[0]):
        here = values.loc[training].reindex(segments.index)
        cells = [
            "" if np.isnan(mean) else f"{mean:.1f}" if np.isnan(spread) else f"{mean:.1f} ± {spread:.1f}"
            for mean, spread in here.itertuples(index=False)
        ]
        n = here["mean"].notna().sum()
        lines.append([training, *cells, f"{here['mean'].mean():.1f}" + ("" if n == len(here) else f" ({n})")])
    head = ["`macro_task` F1", *(task for _, task in segments.index), f"mean of {len(segments)}"]
    return table(head, lines)


def main() -> None:
    """Run missing trainings, then renew the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainings", nargs="+", default=list(TRAININGS), choices=TRAININGS, metavar="NAME")
    parser.add_argument("--jobs", type=int, default=2, help="trainings at a time")
    options, tasks = recorded_options(parser)
    record = read_record()
    there = set(record[["task", "training", "seed"]].itertuples(index=False, name=None))
    # Train all tasks with the first seed before any second seed.
    cells = [
        (dataset, name, training, seed)
        for seed in range(max(training.seeds for training in TRAININGS.values()))
        for training in options.trainings
        for _, dataset, name, _ in tasks
        if (name, training, seed) not in there
        if seed < TRAININGS[training].seeds
    ]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for done in as_completed([pool.submit(train, cell, rates_of(options.fps)) for cell in cells]):
            line = done.result()
            print(line["task"], line["training"], line["seed"], f"{line['macro']:.1f}", file=sys.stderr, flush=True)
            new = not RECORD.exists()
            pd.DataFrame([line]).reindex(columns=COLUMNS).round(4).to_csv(RECORD, mode="a", header=new, index=False)
    if not options.tasks and set(options.trainings) == set(TRAININGS):
        renew(PAGE, "trained", "trained", printed(read_record()))


if __name__ == "__main__":
    main()
