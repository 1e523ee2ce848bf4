"""Measure the expected calibration error of `rgwot.Discovery.probabilities`.

On at most ten evenly spaced recordings of every task of the folder of recordings (recordings.py), samples are sorted
by their largest probability into ten bins of equal width, for three kinds of answers:

- `none`: without labels; key steps are matched with the annotated ones on the other recordings, one to one.
- `three`: three recordings are annotated, and the others are scored.
- `all but one`: three recordings are scored, each with all others annotated.

For each kind, the error is given for the memberships themselves and for `rgwot.keysteps.labelled.calibrated`, with the
share of samples that are right. The rows of these tasks are renewed in benchmarks/results/reliability.csv.

    REAL_RECORDINGS=FOLDER python benchmarks/reliability.py [TASK ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pages import RESULTS, table
from recordings import Task, recorded_options

import rgwot
from rgwot.evaluation.metrics import contingency, match
from rgwot.keysteps.labelled import calibrated
from rgwot.runtime.csv_files import write_csv

MOST, BINS = 10, 10
RECORD = RESULTS / "reliability.csv"
COLUMNS = ("task", "taught_by", "right", "error", "error_calibrated")
Judged = tuple[NDArray[np.float64], NDArray[np.bool_]]


def error(confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    """Return the expected calibration error of confidences (T,) in [0, 1].

    >>> error(np.array([0.9, 0.95, 0.9, 0.2]), np.array([True, True, False, False])).__round__(4)
    0.2375
    """
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [abs(np.sum(confidence[bins == one] - right[bins == one])) for one in range(BINS)]
    return float(sum(gaps) / len(right))


def judged(task: Task) -> Iterator[tuple[str, Judged]]:
    """Yield the memberships (T, K + 1) for every kind of answer, and whether the largest of each sample is right."""
    chosen = np.unique(np.linspace(0, len(task.stores) - 1, MOST).round().astype(int))
    videos = {str(at): task.stores[at].x for at in chosen}
    truth = {str(at): np.asarray(task.labels[at], dtype=np.int64) for at in chosen}
    names = list(videos)
    found = rgwot.discover(videos, fps=task.fps, K=task.K)
    shares = found.key_steps.probabilities or {}
    largest = {name: own[:, 1:].argmax(axis=1) for name, own in shares.items()}
    parts = []
    for name in names:
        others = [other for other in names if other != name]
        true, clusters = (np.concatenate([part[other] for other in others]) for part in (truth, largest))
        pairs = match(contingency(true, clusters, task.K + 1, task.K)[1:])
        steps = np.full(task.K, -1)
        steps[pairs.clusters] = pairs.classes + 1
        parts.append((shares[name], steps[largest[name]] == truth[name]))
    yield "none", joined(parts)
    teachers = [names[at] for at in (1, len(names) // 2, -2)]
    yield "three", joined([*taught(found, truth, teachers)])
    left = [names[at] for at in (0, len(names) // 3, -1)]
    alone = [taught(found, truth, [one for one in names if one != name]) for name in left]
    yield "all but one", joined([part for parts in alone for part in parts])


def taught(found: rgwot.Discovery, truth: dict[str, NDArray[np.int64]], teachers: list[str]) -> Iterator[Judged]:
    """Yield the answers for all recordings except ``teachers``, which are annotated."""
    shares = found.learn({name: truth[name] for name in teachers}).key_steps.probabilities or {}
    for name in truth.keys() - set(teachers):
        yield shares[name], shares[name].argmax(axis=1) == truth[name]


def joined(parts: list[Judged]) -> Judged:
    """Put recordings one after the other."""
    return np.concatenate([shares for shares, _ in parts]), np.concatenate([right for _, right in parts])


def main() -> None:
    """Renew the rows of the tasks in the record, and print all of them with the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    _, tasks = recorded_options(parser)
    rows = pd.read_csv(RECORD) if RECORD.is_file() else pd.DataFrame(columns=list(COLUMNS))
    for *_, name, read in tasks:
        made = []
        for kind, (shares, right) in judged(read()):
            errors = [error(own.max(axis=1), right) for own in (shares, calibrated(shares))]
            made.append((name, kind, float(right.mean()), *errors))
        rows = pd.concat([rows[rows["task"] != name], pd.DataFrame(made, columns=list(COLUMNS))])
    rows = rows.sort_values("task", kind="stable").round(4)
    write_csv(rows, RECORD)
    means = rows.drop(columns="task").groupby("taught_by", sort=False).mean().reset_index()
    every = pd.concat([rows, means.assign(task="mean")])[list(COLUMNS)]
    print(table(list(COLUMNS), [[*row[:2], *(f"{number:.3f}" for number in row[2:])] for row in every.to_numpy()]))


if __name__ == "__main__":
    main()
