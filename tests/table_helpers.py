"""Made-up scores and a small table, shared by tests of reporting."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pandas as pd

from rgwot.columns import SCORE_COLUMNS
from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.reporting.tables.reported import Reported, ReportedRow
from rgwot.reporting.tables.table import Place, Row, Table

REPOSITORY = Path(__file__).parents[1]

ONE = Place("one", "First_set", reported="ONE", n_tasks=2)
TWO = Place("two", "Second", reported="TWO", n_tasks=1)
ROWS = [
    Row("flat", "One label", "none", "one_label", trivial=True),
    Row("ours", "Ours & theirs", "rgwot", "graphcut"),
    Row("plain", "Plain", "raw", "kmeans"),
]
REPORTED_ROWS = [ReportedRow("RGWOT", None, "micro_video", "with", "cnc"), ReportedRow("GPL")]

REPORTED = """method,dataset,task,metric,value,mark,source,note
RGWOT,ONE,all,F1,54.4,best,paper,
RGWOT,ONE,all,IoU,38.6,best,paper,
RGWOT,TWO,all,F1,37.4,,paper,
GPL,ONE,all,F1,30.2,,paper,
GPL,TWO,all,F1,,,paper,not reported
RGWOT,ONE,Pizza,F1,99.9,,paper,
"""


def small_table(folder, **changes):
    """Return a small table; write its reported numbers into a folder."""
    (folder / "reported.csv").write_text(REPORTED)
    content = {
        "id": "small",
        "title": "A small table",
        "datasets": [ONE, TWO],
        "rows": ROWS,
        "reported": Reported(folder / "reported.csv", REPORTED_ROWS, "other features"),
        "notes": ["A caveat."],
    }
    return Table(**(content | changes))


def written(folder, text, name="mine"):
    """Write a file of tables and figures into a folder, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def write_scores(folder, run, values, **counts):
    """Write the scores of one run (method, decoder, dataset, task, seed): `values` is F1, and IoU is half of it.

    Every protocol, background and label rule gets the same value unless `values` is a function of the three.
    """
    method, decoder, dataset, task, seed = run
    rows = []
    for key in itertools.product(PROTOCOLS, ("with", "without"), ("exact", "cnc")):
        f1 = values(*key) if callable(values) else values
        metrics = {"f1": f1, "iou": f1 / 2, "n_videos": 3, "n_skipped": 0, "n_unscored": 0, "degenerate": 0} | counts
        rows += [(dataset, task, method, decoder, seed, *key, metric, value) for metric, value in metrics.items()]
    path = folder / f"{method}-{decoder}-{dataset}-{task}-{seed}.csv"
    pd.DataFrame(rows, columns=list(SCORE_COLUMNS)).to_csv(path, index=False)
    return path


FLAT, OURS, PLAIN = ("none", "one_label"), ("rgwot", "graphcut"), ("raw", "kmeans")


def all_scores(folder):
    """Write scores of three rows; `ours` has three seeds on tasks a and b of dataset `one`, and on a task of `two`."""
    paths = [write_scores(folder, (*FLAT, "one", task, 0), 0.3) for task in "ab"]
    paths.append(write_scores(folder, (*FLAT, "two", "a", 0), 0.9))
    for seed, (a, b, two) in enumerate([(0.1, 0.3, 0.50), (0.2, 0.4, 0.51), (0.3, 0.8, 0.55)]):
        paths.append(write_scores(folder, (*OURS, "one", "a", seed), a, degenerate=int(seed == 1)))
        paths.append(write_scores(folder, (*OURS, "one", "b", seed), b, n_videos=4, n_skipped=2))
        paths.append(write_scores(folder, (*OURS, "two", "a", seed), two, n_unscored=1))
    for seed in (0, 1):
        paths += [write_scores(folder, (*PLAIN, "one", task, seed), 0.2) for task in "ab"]
        paths.append(write_scores(folder, (*PLAIN, "two", "a", seed), 0.6))
    return paths


MACHINE = {"gpu": None, "processor": "Some CPU", "threads": 2}


def write_run(folder, seed, seconds, iterations=10, trained=None, machine=None):
    run = folder / f"seed{seed}"
    run.mkdir(parents=True)
    benchmark = run.with_suffix(".tsv")
    benchmark.write_text(f"s\th:m:s\tmax_rss\n{seconds}\t0\t{1000 + seed}\n", encoding="utf-8")
    history = f"step,loss,seconds\n1,2,3\n{iterations},1,{seconds - 10 if trained is None else trained}\n"
    (run / "history.csv").write_text(history, encoding="utf-8")
    (run / "machine.json").write_text(json.dumps(machine or MACHINE), encoding="utf-8")
    return [benchmark, run / "history.csv", run / "machine.json"]
