"""Measure how a recording of four times its length affects its own key steps, and those of other recordings.

The recording of median length is made longer: at its end, its last 2 % are repeated back and forth, which is not scored
(``idle``), or it is slowed down (``slow``). Key steps are named by one matching over the task. ``one`` is F1 of this
recording, ``others`` is F1 of the other recordings, and ``alike`` is the adjusted Rand index between their labels and
those from the unchanged task; ``seed`` is the unchanged task with another seed. With ``--taught n``, n other evenly
spaced recordings are annotated. The folder of recordings is that of recordings.py.

    REAL_RECORDINGS=FOLDER python benchmarks/lengths.py [TASK ...] [--what idle slow] [--taught 0 3] [--record]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from labelled import said
from numpy.typing import NDArray
from pages import CONFIGS, HOUSE, RESULTS
from recordings import Recording, Task, recorded_options
from sklearn.metrics import adjusted_rand_score

from rgwot.blocks import join_id
from rgwot.config.configuration import load_config, read_files
from rgwot.config.experiments import Experiments
from rgwot.embedding.interface import EmbeddedTask, EmbeddedVideo
from rgwot.evaluation.protocols import PROTOCOLS, kept_frames, pooled_matching, score_named
from rgwot.keysteps.decode import find_key_steps
from rgwot.keysteps.interface import Given
from rgwot.keysteps.settings import Decoder, Labelled
from rgwot.runtime.csv_files import write_csv
from rgwot.timing import predicted_labels

RECORD = RESULTS / "lengths.csv"
TIMES = 4
IDLE = 0.02
Labels = list[NDArray[np.int64]]


def longer(x: NDArray[np.float32], labels: NDArray[np.int64], what: str) -> tuple[NDArray[np.float32], Any]:
    """Return features and labels of a recording made `TIMES` as long."""
    if what == "idle":
        last = x[-max(2, round(IDLE * len(x))) :]
        swing = np.concatenate([last[::-1], last])
        more = np.resize(np.arange(len(swing)), (TIMES - 1) * len(x))
        return np.concatenate([x, swing[more]]), np.concatenate([labels, np.zeros(len(more), dtype=np.int64)])
    at = np.arange(TIMES * len(x)) / TIMES
    before = np.floor(at).astype(np.int64)
    after = np.minimum(before + 1, len(x) - 1)
    share = (at - before).astype(np.float32).reshape(-1, *(1,) * (x.ndim - 1))
    return x[before] * (1 - share) + x[after] * share, labels[before]


def median(task: Task) -> int:
    """Return the recording of median length."""
    lengths = [len(store) for store in task.stores]
    return int(np.argsort(lengths, kind="stable")[(len(lengths) - 1) // 2])


def with_longer(task: Task, one: int, what: str) -> Task:
    """Return the task with its recording ``one`` longer."""
    stores, labels = list(task.stores), list(task.labels)
    x, labels[one] = longer(stores[one].x, labels[one], what)
    stores[one] = Recording(Path(stores[one].video), x)
    return replace(task, stores=stores, labels=labels)


def segmented(task: Task, taught: Sequence[int], seed: int, experiments: Experiments) -> tuple[Labels, Sequence[str]]:
    """Label all samples as the workflow does: from 1, 0 for background; and return its warnings."""
    embed = experiments.embedding("rgwot-plus", "")(task.stores, seed)
    times = [np.arange(len(store)) / task.fps for store in task.stores]
    names = [f"{at:03}" for at in range(len(times))]
    videos = {
        name: EmbeddedVideo(embed(store).embedding, time_s, len(store) / task.fps, task.fps)
        for name, store, time_s in zip(names, task.stores, times, strict=True)
    }
    rule: Decoder = Labelled()
    given = None
    if taught:
        given = Given({names[at]: said(task.labels[at]) + 1 for at in taught}, {}, task.K)
    else:
        rule = experiments.decoding("rgwot-plus", join_id("consensus", {"K": str(task.K)}), "")
    embedded = EmbeddedTask(videos, (), task.fps, "rgwot-plus")
    found = find_key_steps(embedded, rule, seed=seed, alone=False, labels_given=given)
    segments = found.segments["task"]
    labels = [
        predicted_labels(segments[name]["start_s"], segments[name]["end_s"], segments[name]["key_step"], time_s)
        for name, time_s in zip(names, times, strict=True)
    ]
    return labels, found.diagnostics.warnings or ()


def scores(task: Task, found: Labels, one: int, others: Sequence[int], taught: bool) -> tuple[float, float]:
    """Return F1 of one recording and of the others, with one matching over the task unless labels have names."""
    if not taught:
        pairs = kept_frames([task.labels[at] for at in (one, *others)], [found[at] for at in (one, *others)], "without")
        step = pooled_matching(pairs, task.K, task.K, "without")
        unmatched = task.K + 1
        found = [np.array([step.get(int(k), unmatched) for k in part]) for part in found]

    def f1(videos: Sequence[int]) -> float:
        truth, named = [task.labels[at] for at in videos], [found[at] for at in videos]
        return 100 * score_named(PROTOCOLS["macro_task"], truth, named, task.K, "without").f1

    return f1([one]), f1(others)


def measured(task: Task, what: Sequence[str], n: int, experiments: Experiments) -> Iterator[dict[str, Any]]:
    """Yield scores of the unchanged task, of this task with another seed, and of the task with a longer recording."""
    one = median(task)
    rest = [at for at in range(len(task.stores)) if at != one]
    taught = [rest[at] for at in np.linspace(0, len(rest) - 1, n + 2).round().astype(int)[1:-1]]
    others = [at for at in rest if at not in taught]
    base: Labels = []
    for name in ("base", *(["seed"] if not n else []), *what):
        here = task if name in ("base", "seed") else with_longer(task, one, name)
        found, _ = segmented(here, taught, int(name == "seed"), experiments)
        base = base or found
        alike = adjusted_rand_score(*(np.concatenate([part[at] for at in others]) for part in (base, found)))
        f1, f1_others = scores(here, found, one, others, bool(n))
        yield {"taught": n, "what": name, "one": f1, "others": f1_others, "alike": alike}


def main() -> None:
    """Print, and with ``--record`` write, a line per task and recording."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", nargs="+", default=["idle", "slow"], choices=["idle", "slow"])
    parser.add_argument("--taught", nargs="+", type=int, default=[0, 3], metavar="N")
    parser.add_argument("--record", action="store_true")
    options, tasks = recorded_options(parser)
    experiments, rows = Experiments(load_config(read_files([HOUSE / name for name in CONFIGS]))), []
    for *_, name, read in tasks:
        task = read()
        for n in options.taught:
            for row in measured(task, options.what, n, experiments):
                rows.append({"task": name, **row})
                print(*(f"{v:.1f}" if k in ("one", "others") else v for k, v in rows[-1].items()), flush=True)
    if options.record:
        write_csv(pd.DataFrame(rows).round(3), RECORD)


if __name__ == "__main__":
    main()
