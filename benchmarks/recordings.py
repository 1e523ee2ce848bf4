"""Answers on recordings of people at work, which are not part of the project: `first` and RGWOT+ beside equal segments.

REAL_RECORDINGS names a folder of `{dataset}/{task}/{recording}.npy`, features (T, D), each with a `.csv` of the same
name: lines `start_s,end_s,number name`, numbers from 1 up. K is as annotated. Nothing is written.

    REAL_RECORDINGS=FOLDER python benchmarks/recordings.py --fps openpack=4 --fps jigsaws=5 [--seeds 3] [TASK ...]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from rgwot.config.methods import FAMILIES
from rgwot.config.settings import Settings, build
from rgwot.embedding.whitened import condition, fit_whitening
from rgwot.evaluation.protocols import PROTOCOLS, score
from rgwot.keysteps.choices import choose, with_time
from rgwot.keysteps.consensus import decode_consensus
from rgwot.keysteps.interface import Frames
from rgwot.keysteps.meanfield import decode_meanfield

Array = np.ndarray


def read(folder: Path, fps: float) -> tuple[list[Array], list[Array]]:
    """Read features and labels of every recording of a task, 0 where nothing is annotated."""
    features, labels = [], []
    for path in sorted(folder.glob("*.npy")):
        x = np.load(path, allow_pickle=False).astype(np.float64)
        times, y = np.arange(len(x)) / fps, np.zeros(len(x), dtype=np.int64)
        for line in path.with_suffix(".csv").read_text(encoding="utf-8").splitlines():
            start, end, step = line.split(",", 2)
            y[(times >= float(start)) & (times < float(end))] = int(step.split()[0])
        features.append(x)
        labels.append(y)
    return features, labels


def frames(x: list[Array], settings: Settings, fps: float) -> Frames:
    """Whiten the recordings of a task."""
    block = settings.whiten
    videos = [condition(one, block) for one in x]
    whitening = fit_whitening(videos, block.D, block.floor)
    white = np.concatenate([whitening.apply(video) for video in videos]).astype(np.float64)
    return Frames(white, tuple(len(one) for one in x), fps)


def answers(x: list[Array], K: int, fps: float, seed: int) -> dict[str, tuple[Array, str]]:
    """Return labels and a remark of every answer."""
    generator = np.random.default_rng
    plain = build({"decode.K": K}, "first")
    began = time.process_time()
    first = decode_meanfield(frames(x, plain, fps), K, plain, generator([seed, 0])).labels
    middle = time.process_time()
    plus = build({**FAMILIES["rgwot-plus"].overrides, "decode.K": K}, "rgwot-plus")
    made = frames(x, plus, fps)
    # Whether there are views decides whether anything is chosen; time is chosen by the samples alone.
    choices = choose(made.x, np.zeros((2, len(made.x), 1)), made.lengths, plus, seed)
    timed = Frames(with_time(made.x, made.lengths, choices.time), made.lengths, fps)
    found = decode_consensus(timed, K, plus, generator([seed, 0])).labels
    ended = time.process_time()
    segments = np.concatenate([np.arange(len(one)) * K // len(one) for one in x])
    return {
        "equal segments": (segments, ""),
        "first": (first, f"{middle - began:.0f} s"),
        "RGWOT+": (found, f"{ended - middle:.0f} s, time {choices.time:g}"),
    }


def main() -> None:
    """Print a table of one line per task and answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", help="names of tasks; left out, all of the folder")
    parser.add_argument("--fps", action="append", default=[], help="samples per second of a dataset: NAME=NUMBER")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    root = os.environ.get("REAL_RECORDINGS")
    if not root:
        sys.exit("REAL_RECORDINGS: not set; expected a folder of recordings. Synthetic tasks: make bench-answers")
    rates = {name: float(rate) for name, _, rate in (one.partition("=") for one in options.fps)}
    print("task | answer | macro_task F1 | strict_task F1 | of the last seed")
    for folder in sorted(Path(root).glob("*/*")):
        if options.tasks and folder.name not in options.tasks:
            continue
        dataset = folder.parent.name
        if dataset not in rates:
            sys.exit(f"--fps: found no rate of {dataset}, expected --fps {dataset}=NUMBER")
        x, truths = read(folder, rates[dataset])
        K = max(int(y.max()) for y in truths)
        borders = np.cumsum([len(one) for one in x])[:-1]
        values: dict[str, list[list[float]]] = {}
        remarks = {}
        for seed in range(options.seeds):
            with threadpool_limits(1):
                made = answers(x, K, rates[dataset], seed)
            for name, (labels, remark) in made.items():
                parts = np.split(labels, borders)
                scores = [
                    score(PROTOCOLS[one], truths, parts, K, K, "without").f1 for one in ("macro_task", "strict_task")
                ]
                values.setdefault(name, []).append([100 * value for value in scores])
                remarks[name] = remark
        for name, found in values.items():
            spread = np.std(found, axis=0, ddof=1) if len(found) > 1 else np.zeros(2)
            cells = [f"{m:.1f} ± {s:.1f}" for m, s in zip(np.mean(found, axis=0), spread, strict=True)]
            print(folder.name, name, *cells, remarks[name], sep=" | ", flush=True)


if __name__ == "__main__":
    main()
