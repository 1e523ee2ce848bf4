"""Measure how first answers change with the seed, and with changes that mean nothing to a person.

For each task of the folder of recordings (recordings.py), first the F1 of all seeds (`macro_task`, without background),
their standard deviation, the adjusted Rand index (ARI) of each to the first, and the number of seeds whose answer warns
that another is possible. Then, for the first seed, the ARI between the answer and the answer after each change:

- scale, constant: each channel is multiplied by a factor between 1/4 and 4, or shifted by as many standard deviations
- round, float16: values are rounded to a thousandth of a standard deviation, or to half precision
- less: the recording of median length is left out
- half: every second sample is left out
- cut: the recording of median length is cut in two; the other recordings are compared

    REAL_RECORDINGS=FOLDER python benchmarks/stability.py [TASK ...] [--seeds 10] [--changes CHANGE ...] [--record]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lengths import Labels, median, segmented
from numpy.typing import NDArray
from pages import CONFIGS, HOUSE, RESULTS
from recordings import Recording, Task, recorded_options
from sklearn.metrics import adjusted_rand_score

from rgwot.config.configuration import load_config, read_files
from rgwot.config.experiments import Experiments
from rgwot.evaluation.protocols import PROTOCOLS, score
from rgwot.keysteps.warnings import COMPETING
from rgwot.runtime.csv_files import write_csv

RECORD = RESULTS / "stability.csv"
Values = NDArray[np.float32]
Made = tuple[Task, Callable[[Labels], Labels]]
"""A task after a change, and a function that takes from the labels of the unchanged task those to compare with."""


def per_channel(values: NDArray[Any], x: Values) -> NDArray[Any]:
    """Return values (D,) that broadcast with features (T, D) or maps (T, D, H, W)."""
    return values.reshape(1, -1, *(1,) * (x.ndim - 2))


def with_values(task: Task, change: Callable[[Values], Values]) -> Made:
    """Change the values of all recordings."""
    stores = [Recording(store.path, np.asarray(change(store.x), dtype=np.float32)) for store in task.stores]
    return replace(task, stores=stores), list


def deviations(task: Task) -> NDArray[np.float64]:
    """Return the standard deviation of each channel, 1 where it is 0."""
    x = np.concatenate([np.moveaxis(store.x, 1, -1).reshape(-1, store.x.shape[1]) for store in task.stores])
    sd = x.std(axis=0, dtype=np.float64)
    return np.asarray(np.where(sd > 0, sd, 1.0))


def factors(task: Task) -> NDArray[np.float64]:
    """Draw a factor between 1/4 and 4 for each channel."""
    exponents = np.random.default_rng(0).uniform(-1, 1, task.stores[0].x.shape[1])
    return np.asarray(4.0**exponents)


def but(one: int, parts: Sequence[Any]) -> list[Any]:
    """Return all but one element."""
    return [part for at, part in enumerate(parts) if at != one]


def less(task: Task) -> Made:
    """Leave a recording out."""
    one = median(task)
    return replace(task, stores=but(one, task.stores), labels=but(one, task.labels)), lambda labels: but(one, labels)


def half(task: Task) -> Made:
    """Leave every second sample out."""
    stores = [Recording(store.path, store.x[::2]) for store in task.stores]
    made = replace(task, stores=stores, labels=[y[::2] for y in task.labels], fps=task.fps / 2)
    return made, lambda labels: [y[::2] for y in labels]


def cut(task: Task) -> Made:
    """Cut a recording in two, which stand at the end."""
    one = median(task)
    x, y, path = task.stores[one].x, task.labels[one], task.stores[one].path
    at = len(x) // 2
    parts = [Recording(Path(f"{path}_{name}"), part) for name, part in (("a", x[:at]), ("b", x[at:]))]
    stores, labels = [*but(one, task.stores), *parts], [*but(one, task.labels), y[:at], y[at:]]
    return replace(task, stores=stores, labels=labels), lambda found: but(one, found)


CHANGES: dict[str, Callable[[Task], Made]] = {
    "scale": lambda task: with_values(task, lambda x: x * per_channel(factors(task), x)),
    "constant": lambda task: with_values(task, lambda x: x + per_channel(factors(task) * deviations(task), x)),
    "round": lambda task: with_values(
        task, lambda x: np.round(x / per_channel(deviations(task), x), 3) * per_channel(deviations(task), x)
    ),
    "float16": lambda task: with_values(task, lambda x: x.astype(np.float16)),
    "less": less,
    "half": half,
    "cut": cut,
}


def alike(found: Labels, other: Labels) -> float:
    """Return the adjusted Rand index of labels, whose last videos may have no counterpart."""
    pairs = list(zip(found, other, strict=False))
    return float(adjusted_rand_score(*(np.concatenate(part) for part in zip(*pairs, strict=True))))


def measured(task: Task, seeds: int, changes: Sequence[str], experiments: Experiments) -> Iterator[dict[str, Any]]:
    """Yield a line per seed, then a line per change."""
    base: Labels = []
    for seed in range(seeds):
        found, warnings = segmented(task, [], seed, experiments)
        base = base or found
        f1 = score(PROTOCOLS["macro_task"], task.labels, [y - 1 for y in found], task.K, task.K, "without").f1
        competing = any(warning.startswith(COMPETING) for warning in warnings)
        yield {"what": "seed", "seed": seed, "f1": 100 * f1, "alike": alike(base, found), "competing": competing}
    for name in changes:
        here, counterpart = CHANGES[name](task)
        found, _ = segmented(here, [], 0, experiments)
        yield {"what": name, "seed": 0, "alike": alike(counterpart(base), found)}


def main() -> None:
    """Print the lines of every task, and with ``--record`` write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--changes", nargs="*", default=list(CHANGES), choices=list(CHANGES), metavar="CHANGE")
    parser.add_argument("--record", action="store_true", help=f"renew the lines in {RECORD.relative_to(HOUSE)}")
    options, tasks = recorded_options(parser)
    experiments, rows = Experiments(load_config(read_files([HOUSE / name for name in CONFIGS]))), []
    for *_, name, read in tasks:
        here = pd.DataFrame(measured(read(), options.seeds, options.changes, experiments)).assign(task=name)
        seeds = here[here["what"] == "seed"]
        print(
            f"{name}: F1 {seeds['f1'].mean():.1f}, sd {seeds['f1'].std():.2f}, told that another answer is possible "
            f"{int(seeds['competing'].sum())} of {len(seeds)}, ARI of seeds {seeds['alike'].iloc[1:].min():.2f} to "
            f"{seeds['alike'].iloc[1:].max():.2f};",
            ", ".join(f"{row.what} {row.alike:.2f}" for row in here[here["what"] != "seed"].itertuples()),
            flush=True,
        )
        rows.append(here)
    if options.record:
        made = pd.concat(rows)
        if RECORD.exists():
            before = pd.read_csv(RECORD)
            made = pd.concat([before[~before["task"].isin(made["task"])], made])
        columns = ["task", "what", "seed", "f1", "alike", "competing"]
        write_csv(made.sort_values("task", kind="stable")[columns].round(4), RECORD)


if __name__ == "__main__":
    main()
