"""Test our methods and an HMM, which learn from three annotated videos, on videos with key steps in another order.

On every task of the folder of recordings (recordings.py), methods learn from three annotated videos, as in labelled.py,
and the other videos are changed before they are embedded:

- free: the segments of every video, including background, come in random order; F1 is that of labelled.py.
- moved: in a quarter of the videos, one step is moved past two or more other steps (in five tasks with a fixed order).
- sham: in a quarter of the videos, the middle of one step is cut out, or its halves are exchanged (same tasks).

Three samples on either side of a seam are blended. For moved and sham blocks, ``right`` is the share of their samples
that get their step, and ``usual`` the same share before the change, learned from the same videos. Results are added
line by line to benchmarks/results/labelled_order.csv, and existing ones are not measured again. A run without names of
tasks then renews the tables of benchmarks/report/labelled.md.

    pip install -e '.[peers]'
    REAL_RECORDINGS=FOLDER python benchmarks/changed.py [--changes CHANGE ...] [--draws 6] [TASK ...]
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from labelled import HMM, OURS, PAGE, TAUGHT, Labels, Seen, drawn, macro_f1, told
from numpy.typing import NDArray
from pages import CONFIGS, HOUSE, RESULTS, renew, table
from recordings import Task, recorded_options
from threadpoolctl import threadpool_limits

from rgwot.config.configuration import load_config, read_files
from rgwot.config.experiments import Experiments
from rgwot.runtime.csv_files import write_csv

RECORD = RESULTS / "labelled_order.csv"
FREE, MOVED, SHAM = CHANGES = ("free", "moved", "sham")
METHODS = (OURS, HMM)
COLUMNS = ("dataset", "task", "change", "method", "draw", "f1", "right", "usual", "samples", "cpu_s")
KEY = list(COLUMNS[:5])

TEACHERS = 3
"""Number of annotated videos, which are not changed."""

ORDERED = ("openpack", "utkinect", "cholec80", "tug_spsw", "bottlecap")
"""Tasks that keep an order, in which single steps are moved."""

MOST = 24
"""Of a task in which steps are moved, the first so many videos are used."""

SHARE = 0.25
"""Share of the videos that are changed by moved and sham blocks."""

BLENDED = 3
"""Number of samples on either side of a seam that are blended."""

SHORTEST = 0.03
"""Least share of a video that a moved step lasts."""

Part = tuple[NDArray[np.float32], Labels]


@dataclass(frozen=True)
class Changed:
    """A task after changes: its annotated videos, and the step of the changed block by video."""

    task: Task
    teachers: list[int]
    blocks: dict[int, int]


def segments(y: Labels) -> list[tuple[int, int, int]]:
    """Return first sample, end and step of every segment of labels (T,), background (0) included."""
    borders = np.flatnonzero(np.diff(y)) + 1
    return [(int(a), int(b), int(y[a])) for a, b in zip([0, *borders], [*borders, len(y)], strict=True)]


def joined(parts: Sequence[Part]) -> Part:
    """Concatenate parts, and blend the features of the samples at their seams linearly."""
    parts = [part for part in parts if len(part[1])]
    x, y = np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])
    for seam in np.cumsum([len(part[1]) for part in parts])[:-1]:
        first, last = max(seam - BLENDED, 0), min(seam + BLENDED, len(x)) - 1
        if last > first:
            x[first : last + 1] = np.linspace(x[first], x[last], last - first + 1)
    return x, y


def cut(x: NDArray[np.float32], y: Labels, *ranges: tuple[int, int]) -> Part:
    """Return the parts of a video between the samples of ranges, joined in this order."""
    return joined([(x[a:b], y[a:b]) for a, b in ranges])


def shuffled(x: NDArray[np.float32], y: Labels, rng: np.random.Generator) -> Part:
    """Return a video with its segments in random order."""
    parts = segments(y)
    return cut(x, y, *(parts[at][:2] for at in rng.permutation(len(parts))))


def block_changed(x: NDArray[np.float32], y: Labels, change: str, rng: np.random.Generator) -> tuple[Part, int] | None:
    """Return a video after a change of a step that occurs once, and the step; None if no step can be changed."""
    parts = segments(y)
    steps = [step for *_, step in parts]
    once = [at for at, (a, b, k) in enumerate(parts) if k and b - a >= SHORTEST * len(y) and steps.count(k) == 1]
    if not once:
        return None
    at = int(rng.choice(once))
    a, b, step = parts[at]
    if change == SHAM:
        if rng.random() < 0.5:
            third = (b - a) // 3
            return cut(x, y, (0, a + third), (b - third, len(y))), step
        middle = (a + b) // 2
        return cut(x, y, (0, a), (middle, b), (a, middle), (b, len(y))), step
    starts = [*(start for start, _, _ in parts), len(y)]
    between = [steps[place:at] if place <= at else steps[at + 1 : place] for place in range(len(starts))]
    places = [start for start, passed in zip(starts, between, strict=True) if np.count_nonzero(passed) >= 2]
    if not places:
        return None
    to = int(rng.choice(places))
    low, high = min(to, a), max(to, b)
    rest = ((low, a), (b, high))
    order = ((a, b), *rest) if to < a else (*rest, (a, b))
    return cut(x, y, (0, low), *order, (high, len(y))), step


def changed(task: Task, change: str, draw: int) -> Changed:
    """Draw the annotated videos, and change other videos."""
    made: dict[int, Part] = {}
    blocks = {}
    if change == FREE:
        teachers = drawn(len(task.stores), TEACHERS, draw)
        for video, (store, y) in enumerate(zip(task.stores, task.labels, strict=True)):
            if video not in teachers:
                made[video] = shuffled(store.x, y, np.random.default_rng([draw, video]))
    else:
        task = replace(task, stores=task.stores[:MOST], labels=task.labels[:MOST])
        rng = np.random.default_rng([draw, 5])
        rest = [int(video) for video in rng.permutation(len(task.stores))]
        for _ in range(max(1, round(SHARE * len(rest)))):
            for video in rest:
                found = block_changed(task.stores[video].x, task.labels[video], change, rng)
                if found:
                    made[video], blocks[video] = found
                    rest = [other for other in rest if other != video]
                    break
        teachers = rest[:TEACHERS]
    stores = [replace(store, x=made[v][0]) if v in made else store for v, store in enumerate(task.stores)]
    labels = [made[v][1] if v in made else y for v, y in enumerate(task.labels)]
    return Changed(replace(task, stores=stores, labels=labels), teachers, blocks)


def right(seen: Seen, found: Labels, blocks: dict[int, int]) -> list[bool]:
    """Return, for each sample of the changed steps, whether it is labelled with its step."""
    parts = seen.split(found + 1)
    return [bool(one) for v, k in blocks.items() for one in parts[v][seen.task.labels[v] == k] == k]


def measure(
    task: Task, change: str, draw: int, methods: Sequence[str], experiments: Experiments
) -> list[dict[str, Any]]:
    """Return a line of the record for every method, without the columns of data set and task."""
    made, lines = changed(task, change, draw), []
    after = Seen.read(made.task, experiments)
    before = None
    if made.blocks:
        count = len(made.task.stores)
        before = Seen.read(replace(task, stores=task.stores[:count], labels=task.labels[:count]), experiments)
    for method in methods:
        line: dict[str, Any] = {"change": change, "method": method, "draw": draw}
        began = time.process_time()
        found = TAUGHT[method](after, told(after, made.teachers), made.teachers, draw)
        line |= {"cpu_s": time.process_time() - began, "f1": macro_f1(after, found, made.teachers)}
        if before:
            usual = TAUGHT[method](before, told(before, made.teachers), made.teachers, draw)
            hits = right(after, found, made.blocks)
            line |= {"right": 100 * np.mean(hits), "samples": len(hits)}
            line["usual"] = 100 * np.mean(right(before, usual, made.blocks))
        lines.append(line)
    return lines


def printed(rows: pd.DataFrame) -> str:
    """Write tables in Markdown: F1 of free order by task, and shares of moved and sham blocks."""
    blocks, free = [], rows[rows["change"] == FREE]
    if len(free):
        f1 = free.pivot_table(index=["dataset", "task"], columns="method", values="f1")[list(METHODS)]
        lines = [
            [task, *(f"{value:.1f}" for value in values)]
            for (_, task), values in zip(f1.index, f1.to_numpy(), strict=True)
        ]
        sets = f1.groupby(level="dataset").mean()
        lines += [
            [f"data set {name}", *(f"{v:.1f}" for v in values)]
            for name, values in zip(sets.index, sets.to_numpy(), strict=True)
        ]
        lines += [["mean over tasks", *(f"{value:.1f}" for value in f1.mean())]]
        draws = free["draw"].nunique()
        blocks += [f"Segments in random order, {TEACHERS} videos teach, F1 of the others, {draws} draws:"]
        blocks += [table(["task", *METHODS], lines)]
    lines = []
    for (change, method), part in rows[rows["change"] != FREE].groupby(["change", "method"]):
        for name, some in [*part.groupby("task"), ("pooled", part)]:
            shares = [np.average(some[what], weights=some["samples"]) for what in ("usual", "right")]
            lines.append([f"{change}, {method}, {name}", *(f"{v:.1f}" for v in shares), f"{some['samples'].sum():.0f}"])
    if lines:
        blocks += ["Samples of moved and sham blocks that get their step, in percent, before and after the change:"]
        blocks += [table(["change, method, task", "before", "after", "samples after"], lines)]
    return "\n\n".join(blocks)


def read_record() -> pd.DataFrame:
    """Return all lines that were measured."""
    return pd.read_csv(RECORD).sort_values(KEY, ignore_index=True) if RECORD.exists() else pd.DataFrame(columns=COLUMNS)


def main() -> None:
    """Measure missing lines, then renew the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", nargs="+", default=CHANGES, choices=CHANGES, metavar="CHANGE")
    parser.add_argument("--draws", type=int, default=6)
    options, tasks = recorded_options(parser)
    experiments = Experiments(load_config(read_files([HOUSE / name for name in CONFIGS])))
    for (_, dataset, name, read), change in product(tasks, options.changes):
        if change != FREE and name not in ORDERED:
            continue
        for draw in range(options.draws):
            done = set(read_record()[KEY].itertuples(index=False, name=None))
            missing = [method for method in METHODS if (dataset, name, change, method, draw) not in done]
            if not missing:
                continue
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                lines = measure(read(), change, draw, missing, experiments)
            rows = pd.DataFrame(lines).assign(dataset=dataset, task=name).reindex(columns=COLUMNS).round(4)
            rows.to_csv(RECORD, mode="a", header=not RECORD.exists(), index=False)
            print(rows.to_string(index=False, header=False), file=sys.stderr, flush=True)
    if not options.tasks:
        rows = read_record()
        write_csv(rows, RECORD)
        renew(PAGE, "changed", "labelled", printed(rows))


if __name__ == "__main__":
    main()
