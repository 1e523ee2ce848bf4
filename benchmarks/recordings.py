"""Score recipes on the tasks for developing methods: recordings of people at work, and synthetic tasks.

REAL_RECORDINGS names a folder of features (T, D) or maps (T, D, H, W), `{dataset}/{task}/{recording}.npy`, each with a
`.csv` of the same name, which has lines `start_s,end_s,number name` with numbers from 1. The samples per second are in
`{dataset}/fps`, or given by `--fps`. Without the folder, only synthetic tasks are scored: those of signals.py, and
video tasks whose features exist (`DEVELOPMENT` of answers.py, or those of held_out_tasks.yaml). Features are labelled
at their times, K is as annotated, and nothing is written without `--record`. A recipe is one of `RECIPES`, or
METHOD/DECODER with ids as in the paths of scores.

    REAL_RECORDINGS=FOLDER python benchmarks/recordings.py [--seeds 3] [--tasks NAME ...] [--recipes RECIPE ...]
    snakemake --configfile benchmarks/held_out_tasks.yaml -- $(python benchmarks/recordings.py --split once --targets)
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import human
import numpy as np
import pandas as pd
import signals
from answers import DEVELOPMENT
from bootstrap import compare
from human import task_of
from numpy.typing import NDArray
from pages import CONFIGS, HOUSE, RESULTS, table
from threadpoolctl import threadpool_limits

from rgwot.blocks import join_id, nested
from rgwot.config.configuration import load_config, read_file, read_files
from rgwot.config.experiments import Experiments, split_id
from rgwot.embedding.settings import Embedding, Whitened
from rgwot.evaluation.protocols import PROTOCOLS, order_distance, score
from rgwot.features.index import open_stores
from rgwot.keysteps.common_time import choose_share
from rgwot.keysteps.extended import extended
from rgwot.keysteps.interface import Frames, directions
from rgwot.keysteps.meanfield import minimise_energy, segment
from rgwot.keysteps.ordering import generator_for
from rgwot.keysteps.settings import Clustering, MeanfieldSettings, resolved_K
from rgwot.paths import ANNOTATIONS, INDEX, at
from rgwot.records import read_annotations
from rgwot.runtime.csv_files import write_csv
from rgwot.timing import labels_at

RECORD = RESULTS / "recordings.csv"
SIGNALS = ("signal_ordered", "signal_repeating", "signal_rare")
SEGMENTS, BEFORE = "segments", "before"
#: Labels of recipes; `before` is the first answer of an early revision, before methods were developed on recordings.
RECIPES = {
    SEGMENTS: "K equal segments",
    "raw/kmeans": "raw features, k-means",
    "whitened/kmeans": "whitened features, k-means",
    BEFORE: "first answer, before",
    "whitened/meanfield": "whitened features, mean field",
    "rgwot-plus/consensus": "RGWOT+",
}
PLAIN = {
    "whiten.smooth": 0.02, "whiten.D": 32, "whiten.floor": 1e-4, "whiten.grid": 1, "whiten.speed": False,
    "whiten.variability": False, "meanfield.alpha": 0.2, "meanfield.epsilon": 0.07,
    "meanfield.lambda": 0.05, "meanfield.lambda_video": 0.05, "meanfield.window": 0.02, "meanfield.inner": 5,
    "meanfield.max_iterations": 100, "meanfield.tolerance": 1e-5, "meanfield.restarts": 10,
}  # fmt: skip
FULL_BATCH_LIMIT = 10_000  # number of samples above which `before` used mini-batches
SCORES = ("macro", "strict", "order", "macro_background")
COLUMNS = ("world", "dataset", "task", "K", "recipe", "seed", *SCORES, "cpu_s", "time", "surplus")


@dataclass(frozen=True)
class Recording:
    """Features x of one recording, with the interface of a feature store: features (T, D) are maps of 1 x 1."""

    path: Path
    x: NDArray[np.float32]
    dtype: str = "float16"  # the type in which a store would keep it

    def __len__(self) -> int:
        return len(self.x)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """``(T, D, H, W)``."""
        return (*self.x.shape, 1, 1)[:4]

    @property
    def video(self) -> str:
        """The path of the file, by which an embedding identifies the recording."""
        return str(self.path)

    def frames(self, indices: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the features of some samples, (n, D, H, W)."""
        return self.x[indices].reshape(len(indices), *self.shape[1:])


@dataclass(frozen=True)
class Task:
    """Videos or recordings of one task, their labels (T,), the number of key steps, and samples per second."""

    stores: Sequence[Any]
    labels: Sequence[NDArray[np.int64]]
    K: int
    fps: float


Found = tuple[str, str, str, Callable[[], Task]]
"""World, data set and name of a task, and a function that reads it."""


def rates_of(given: Sequence[str]) -> dict[str, float]:
    """Read the samples per second of datasets from NAME=NUMBER."""
    return {name: float(rate) for name, _, rate in (one.partition("=") for one in given)}


def find(root: str | None, rates: dict[str, float], kinds: Sequence[str], worlds: int, parts: Any) -> Iterator[Found]:
    """Find the tasks of the folder of recordings, the signal tasks, and the video tasks whose features exist."""
    for folder in sorted({path.parent for path in Path(root).glob("*/*/*.npy")}) if root else ():
        dataset, noted = folder.parent.name, folder.parent / "fps"
        if dataset not in rates and not noted.is_file():
            sys.exit(f"{noted}: not found; expected the samples per second of {dataset}, or --fps {dataset}=NUMBER")
        fps = rates.get(dataset) or float(noted.read_text(encoding="utf-8"))
        yield "real", dataset, folder.name, partial(recorded, folder, fps)
    for kind, seed in product(kinds, range(worlds)):
        yield "signals", kind, f"{kind}_{seed}", partial(signal, kind, seed)
    for part in parts:
        if (HOUSE / at(INDEX, **part)).exists() and (HOUSE / at(ANNOTATIONS, **part)).exists():
            yield "video", "video", part["dataset"], partial(video, part)
        else:
            print(f"{part['dataset']}: no features yet, left out; make them as `--help` says", file=sys.stderr)


def recorded_options(parser: argparse.ArgumentParser) -> tuple[argparse.Namespace, list[Found]]:
    """Read the options of a script, and find the tasks named by them in the folder of recordings."""
    parser.add_argument("tasks", nargs="*", help="names of tasks; left out, all of the folder")
    parser.add_argument("--fps", nargs="+", action="extend", default=[], help="samples per second: DATASET=NUMBER")
    options = parser.parse_args()
    root = os.environ.get("REAL_RECORDINGS")
    if not root:
        sys.exit("REAL_RECORDINGS: not set; expected a folder of recordings")
    found = find(root, rates_of(options.fps), (), 0, ())
    return options, [one for one in found if not options.tasks or one[2] in options.tasks]


def recorded_tasks(description: str | None, seeds: int) -> tuple[int, Iterator[tuple[str, Task]]]:
    """Read the options of a script on the folder of recordings; return the number of seeds, and its tasks by name."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=seeds)
    options, tasks = recorded_options(parser)
    return options.seeds, ((name, read()) for *_, name, read in tasks)


def recorded(folder: Path, fps: float) -> Task:
    """Read the recordings of a task."""
    stores, labels = [], []
    for path in sorted(folder.glob("*.npy")):
        x = np.load(path, allow_pickle=False).astype(np.float32)
        lines = [line.split(",", 2) for line in path.with_suffix(".csv").read_text(encoding="utf-8").splitlines()]
        segments = pd.DataFrame(lines, columns=["start_s", "end_s", "key_step"])
        segments["key_step"] = segments["key_step"].str.split().str[0]
        stores.append(Recording(path, x))
        labels.append(labels_at(segments, np.arange(len(x)) / fps))
    return Task(stores, labels, max(int(y.max()) for y in labels), fps)


def signal(name: str, seed: int) -> Task:
    """Make a signal task."""
    made = signals.make_task(name, seed)
    stores = [Recording(Path(name, str(number)), x) for number, x in enumerate(made.features)]
    return Task(stores, made.labels, made.K, made.fps)


def video(part: dict[str, str]) -> Task:
    """Read the features and labels of a video task."""
    index = HOUSE / at(INDEX, **part)
    stores = open_stores(index, index.parent)
    annotated = read_annotations(HOUSE / at(ANNOTATIONS, **part))
    labels = [labels_at(annotated[annotated["video"] == store.video], store.time_s) for store in stores]
    return Task(stores, labels, int(annotated["key_step"].max()), float(stores[0].attributes["fps"]))


def embedded(task: Task, embedding: Embedding, seed: int) -> Frames:
    """Embed the samples of a task as the workflow does."""
    embed = embedding(task.stores, seed)
    x = np.concatenate([embed(store).embedding for store in task.stores]).astype(np.float64)
    return Frames(x, tuple(len(store) for store in task.stores), task.fps)


def decoded(frames: Frames, decoder: Clustering, seed: int) -> tuple[NDArray[np.int64], float]:
    """Label samples as the workflow does: labels (T,), and the weight of time."""
    K, share, common = resolved_K(decoder.K), decoder.time, None
    if isinstance(share, str):
        share, common, _ = choose_share(frames.x, frames.lengths, K, MeanfieldSettings(), seed)
    run = extended(decoder, share, decoder.surplus, common)
    return run(frames, K, generator_for(seed)).labels, share


def first_before(task: Task, seed: int) -> NDArray[np.int64]:
    """Label by whitened features and mean field as in `before`, with mini-batches if a task is long."""
    settings = MeanfieldSettings.of(nested(PLAIN), BEFORE)
    embed = Whitened.of(nested(PLAIN), BEFORE)(task.stores, seed)
    x = np.concatenate([embed(store).embedding for store in task.stores]).astype(np.float64)
    lengths, generator = [len(store) for store in task.stores], generator_for(seed)
    if len(x) <= FULL_BATCH_LIMIT:
        return segment(x, lengths, task.K, settings, generator).labels

    from sklearn.cluster import MiniBatchKMeans

    unit = directions(x)
    restarts, random = settings.restarts, int(generator.integers(2**31 - 1))
    start = MiniBatchKMeans(task.K, n_init=restarts, random_state=random).fit(unit - unit.mean(axis=0)).labels_
    return minimise_energy(x, lengths, np.eye(task.K)[start], settings).labels


def answer(task: Task, recipe: str, seed: int, experiments: Experiments) -> dict[str, Any]:
    """Return scores of one recipe on a task, its processor time, the weight of time and the surplus."""
    began = time.process_time()
    found: dict[str, Any] = {}
    if recipe == SEGMENTS:
        labels = np.concatenate([np.arange(len(store)) * task.K // len(store) for store in task.stores])
    elif recipe == BEFORE:
        labels = first_before(task, seed)
    else:
        method, decoder = recipe.split("/")
        base, keys = split_id(decoder)
        rule = experiments.decoding(method, join_id(base, {**keys, "K": str(task.K)}), "")
        assert isinstance(rule, Clustering)
        labels, share = decoded(embedded(task, experiments.embedding(method, ""), seed), rule, seed)
        found = {"time": share, "surplus": rule.surplus}
    found["cpu_s"] = time.process_time() - began
    parts = np.split(labels, np.cumsum([len(store) for store in task.stores])[:-1])
    # Background, if it is looked for, is one more cluster.
    scored = (task.labels, parts, task.K, task.K + int(found.get("surplus", 0) > 0))
    macro, strict = PROTOCOLS["macro_task"], PROTOCOLS["strict_task"]
    found["macro"], found["strict"] = (100 * score(protocol, *scored, "without").f1 for protocol in (macro, strict))
    found["macro_background"] = 100 * score(macro, *scored, "with").f1
    found["order"] = 100 * order_distance(*scored, "without")
    return {"K": task.K, "recipe": recipe, "seed": seed} | found


def render(rows: pd.DataFrame) -> str:
    """Write all scores as tables in Markdown: by task, as means by world, and with one data set left out in turn."""
    scores = rows.groupby(["world", "dataset", "task", "recipe"], sort=False)
    mean, spread = scores[[*SCORES, "cpu_s"]].mean(), scores["macro"].std(ddof=1)
    lines = []
    for key, values in mean.iterrows():
        here = scores.get_group(key)
        said = [", ".join(f"{value:g}" for value in here[one].dropna()) or "–" for one in ("time", "surplus")]
        deviation = "–" if np.isnan(spread[key]) else f"{spread[key]:.1f}"
        numbers = [*(f"{values[name]:.1f}" for name in SCORES), deviation, f"{values['cpu_s']:.1f}"]
        lines.append([f"{key[2]} (K {here['K'].iloc[0]})", key[3], *numbers, *said])
    head = ["macro_task", "strict_task", "order ↓", "macro, with background", "sd of macro", "CPU s"]
    blocks = [table(["task", "recipe", *head, "time", "background clusters"], lines)]
    by_set = mean.groupby(["world", "dataset", "recipe"], sort=False).mean()
    for world, part in mean.groupby("world", sort=False):
        means = [one.groupby("recipe", sort=False).mean() for one in (part, by_set.loc[world])]
        here = rows[rows["world"] == world]
        values = {
            name: [of_task.to_numpy() for _, of_task in of_recipe.groupby("task")["macro"]]
            for name, of_recipe in here.groupby("recipe", sort=False)
        }
        lines = []
        for name, own in values.items():
            ratio = "{:.2f} ({:.2f} to {:.2f})".format(*compare(own, values[BEFORE])) if BEFORE in values else "–"
            numbers = [f"{one.loc[name, score]:.1f}" for score in SCORES[:3] for one in means]
            lines.append([RECIPES.get(name, name), *numbers, ratio])
        heads = [f"{one}, {by}" for one in head[:3] for by in ("tasks", "data sets")]
        blocks += [f"### {world}: {here['task'].nunique()} tasks"]
        blocks += [table(["mean over", *heads, "ratio of macro to before (95 %)"], lines)]
    macro, lines = by_set["macro"].unstack("recipe")[list(dict.fromkeys(rows["recipe"]))], []
    for left in macro.index if len(macro) > 1 else ():
        others = macro.drop(index=left).mean()
        best = f"{others.idxmax()}: {macro.loc[left, others.idxmax()]:.1f}"
        lines.append([left[1], *(f"{value:.1f}" for value in others), best])
    heads = ["data set left out", *macro.columns, "the best of these on what was left out"]
    return "\n\n".join([*blocks, "### macro_task, mean over the other data sets", table(heads, lines)])


def main() -> None:
    """Score every recipe on every task that exists."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", metavar="NAME", help="tasks, data sets, worlds (real, signals, video)")
    parser.add_argument("--recipes", nargs="+", default=list(RECIPES), metavar="RECIPE", help=", ".join(RECIPES))
    parser.add_argument("--seeds", type=int, default=3, help="seeds of the methods")
    parser.add_argument("--worlds", type=int, default=1, help="seeds of the signal tasks: a task of each kind per seed")
    parser.add_argument("--signals", nargs="+", default=SIGNALS, choices=list(signals.RECIPES), help="signal tasks")
    parser.add_argument("--split", choices=("choose", "once"), default="choose", help="which video tasks")
    parser.add_argument("--fps", action="append", default=[], metavar="DATASET=NUMBER", help="samples per second")
    parser.add_argument("--record", action="store_true", help=f"renew {RECORD.relative_to(HOUSE)}")
    parser.add_argument(
        "--targets",
        action="store_true",
        help="print the files that video tasks need, and stop",
    )
    options = parser.parse_args()
    once = HOUSE / "benchmarks" / "held_out_tasks.yaml"
    names = list(read_file(once)["datasets"]) if options.split == "once" else DEVELOPMENT["choose"]
    config = load_config(read_files([*(HOUSE / name for name in CONFIGS), once]))
    parts = [{"dataset": name, "task": task_of(config, name)} for name in names]
    if options.targets:
        human.render(names)
        print(*(at(path, **part) for part in parts for path in (INDEX, ANNOTATIONS)))
        return
    root = os.environ.get("REAL_RECORDINGS")
    if not root:
        print("REAL_RECORDINGS: not set; recordings are left out, synthetic tasks are scored", file=sys.stderr)
    elif not any(Path(root).glob("*/*/*.npy")):
        sys.exit(f"REAL_RECORDINGS: found no {root}/DATASET/TASK/RECORDING.npy; expected features of recordings there")
    rates = rates_of(options.fps)
    experiments, rows = Experiments(config), []
    for *names, read in find(root, rates, options.signals, options.worlds, parts):
        if options.tasks and not set(options.tasks) & set(names):
            continue
        task = read()
        # Results that do not depend on the seed are made once.
        for recipe, seed in product(options.recipes, range(options.seeds)):
            if recipe != SEGMENTS or not seed:
                with threadpool_limits(1):
                    made = answer(task, recipe, seed, experiments)
                rows.append(dict(zip(("world", "dataset", "task"), names, strict=True)) | made)
                print(names[-1], recipe, seed, *(f"{made[one]:.1f}" for one in (*SCORES, "cpu_s")), file=sys.stderr)
    if not rows:
        sys.exit(f"--tasks: found none of {', '.join(options.tasks)}, expected names of tasks, data sets or worlds")
    frame = pd.DataFrame(rows).reindex(columns=COLUMNS)
    print(render(frame))
    if options.record:
        write_csv(frame.round(4), RECORD)


if __name__ == "__main__":
    main()
