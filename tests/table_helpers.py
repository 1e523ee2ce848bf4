"""Made-up scores and a small table that the tests of reporting share."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pandas as pd
import yaml

from rgwot.columns import SCORE_COLUMNS
from rgwot.evaluation.protocols import PROTOCOLS
from rgwot.reporting.tables.scores import join_rows, make_row
from rgwot.reporting.tables.spec import load_tables

REPOSITORY = Path(__file__).parents[1]

SPEC = {
    "datasets": {
        "one": {"label": "First_set", "reported": "ONE", "n_tasks": 2},
        "two": {"label": "Second", "reported": "TWO", "n_tasks": 1},
    },
    "tables": {
        "small": {
            "title": "A small table",
            "datasets": ["one", "two"],
            "metrics": ["f1", "iou"],
            "rows": [
                {"id": "flat", "label": "One label", "method": "none", "decoder": "one_label", "trivial": True},
                {"id": "ours", "label": "Ours & theirs", "method": "rgwot", "decoder": "graphcut"},
                {"id": "plain", "label": "Plain", "method": "raw", "decoder": "kmeans"},
            ],
            "reported": {
                "file": "reported.csv",
                "note": "other features",
                "methods": [
                    {"method": "RGWOT", "protocol": "micro_video", "background": "with", "label_rule": "cnc"},
                    {"method": "GPL"},
                ],
            },
            "notes": ["A caveat."],
        }
    },
}

REPORTED = """method,dataset,task,metric,value,mark,source,note
RGWOT,ONE,all,F1,54.4,best,paper,
RGWOT,ONE,all,IoU,38.6,best,paper,
RGWOT,TWO,all,F1,37.4,,paper,
GPL,ONE,all,F1,30.2,,paper,
GPL,TWO,all,F1,,,paper,not reported
RGWOT,ONE,Pizza,F1,99.9,,paper,
"""


def small_table(folder, spec=None, canonical=None):
    (folder / "reported.csv").write_text(REPORTED)
    (folder / "tables.yaml").write_text(yaml.safe_dump(spec or SPEC))
    return load_tables(folder / "tables.yaml", canonical)["small"]


def write_scores(folder, run, values, **counts):
    """Write the scores of one run: (method, decoder, dataset, task, seed), value of F1; IoU is half of it.

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
    """Three rows; `ours`: dataset one has tasks a, b and seeds 0, 1, 2, dataset two has one task."""
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


def make_table(table, scores, output):
    """A whole table from scores: its rows one by one, put together."""
    rows = [output.parent / f"{output.stem}-rows" / f"{row.id}.csv" for row in table.rows]
    for row, path in zip(table.rows, rows, strict=True):
        make_row(table, row.id, scores, path, {})
    return join_rows(table, rows, output)


MACHINE = {"gpu": None, "processor": "Some CPU", "threads": 2}


def write_run(folder, seed, seconds, iterations=10, trained=None, machine=None):
    run = folder / f"seed{seed}"
    run.mkdir(parents=True)
    benchmark = run.with_suffix(".tsv")
    benchmark.write_text(f"s\th:m:s\tmax_rss\n{seconds}\t0\t{1000 + seed}\n", encoding="utf-8")
    history = f"step,loss,seconds\n1,2,3\n{iterations},1,{seconds - 10 if trained is None else trained}\n"
    (run / "history.csv").write_text(history, encoding="utf-8")
    (run / "machine.json").write_text(json.dumps(machine or MACHINE), encoding="utf-8")
    return [run / "machine.json", benchmark, run / "history.csv"]
