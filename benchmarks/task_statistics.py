"""Print a table of statistics by which recordings and signal tasks can be compared.

Recordings are in the folder that REAL_RECORDINGS names (`recordings.py`); nothing is printed about single recordings.

    REAL_RECORDINGS=FOLDER python benchmarks/task_statistics.py [--fps DATASET=NUMBER ...] [--worlds 3]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from pages import table
from recordings import SIGNALS, Task, find, rates_of

from rgwot.embedding.settings import Whitened
from rgwot.embedding.whitened import condition, fit_whitening, speed, standardise
from rgwot.evaluation.protocols import kendall_distance, mean_positions
from rgwot.keysteps.common_time import explained_share

Array = NDArray[np.float64]


def explained(videos: Sequence[Array], labels: NDArray[np.int64]) -> Array:
    """Return the share of the variance of each channel (D,) that lies between key steps; background is left out."""
    x = np.concatenate(videos)[labels > 0]
    steps = labels[labels > 0]
    mean = x.mean(axis=0)
    between = sum((steps == step).mean() * np.square(x[steps == step].mean(axis=0) - mean) for step in np.unique(steps))
    return np.asarray(between / np.maximum(x.var(axis=0), 1e-12))


def slope(z: Array, fps: float) -> float:
    """Return the slope of log power over log frequency of signals (T, D), from 0.03 Hz on."""
    frequency = np.fft.rfftfreq(len(z), 1 / fps)
    power = np.square(np.abs(np.fft.rfft(z * np.hanning(len(z))[:, None], axis=0))).mean(axis=1)
    edges = np.geomspace(0.03, 0.475 * fps, 12)
    bins = [(frequency >= low) & (frequency < high) for low, high in zip(edges[:-1], edges[1:], strict=True)]
    points = [(np.log(frequency[one].mean()), np.log(power[one].mean())) for one in bins if one.any()]
    return float(np.polyfit(*np.transpose(points), 1)[0])


def statistics(task: Task) -> dict[str, Sequence[float]]:
    """Return the compared statistics by name."""
    x = [store.x.astype(np.float64) for store in task.stores]
    z, labels, K = [standardise(one) for one in x], np.concatenate(task.labels), task.K
    starts = [np.flatnonzero(np.r_[True, np.diff(y) != 0]) for y in task.labels]
    found = [(y[s], np.diff(np.r_[s, len(y)])) for y, s in zip(task.labels, starts, strict=True)]
    counts = [int((steps > 0).sum()) for steps, _ in found]
    present = [len(set(steps[steps > 0])) for steps, _ in found]
    durations = np.concatenate([length[steps > 0] for steps, length in found]) / task.fps
    shares = np.bincount(labels, minlength=K + 1) / len(labels)
    places = [mean_positions(y[y > 0], np.flatnonzero(y > 0)) for y in task.labels]
    distances = [kendall_distance(first, second) for first, second in combinations(places, 2)]
    lags = [1, round(task.fps), round(4 * task.fps)]
    correlated = [np.median(np.mean([(one[lag:] * one[:-lag]).mean(axis=0) for one in z], axis=0)) for lag in lags]
    moves = [standardise(speed(one)) for one in z]
    time = [(np.arange(len(one)) + 0.5) / len(one) - 0.5 for one in z]
    trends = np.concatenate([np.square((one * t[:, None]).mean(axis=0)) * 12 for one, t in zip(z, time, strict=True)])
    scales, everywhere = np.std(np.concatenate(x), axis=0), np.stack([one.std(axis=0) for one in x])
    truths = []
    for block in (Whitened(), Whitened(speed=True)):
        conditioned = [condition(one, block) for one in x]
        whitening = fit_whitening(conditioned, block.D, block.floor)
        white = np.concatenate([whitening.apply(one) for one in conditioned])
        truths.append(100 * explained_share(white, labels, [len(one) for one in x]))
    return {
        "recordings": [len(x)],
        "samples of a recording, median": [np.median([len(one) for one in x])],
        "channels, key steps": [x[0].shape[1], K],
        "segments of a recording, 10, 50 and 90 %": np.percentile(counts, [10, 50, 90]),
        "their seconds, 10, 50 and 90 %": np.percentile(durations, [10, 50, 90]),
        "share of the rarest and the commonest key step, %": [100 * shares[1:].min(), 100 * shares[1:].max()],
        "background, %": [100 * shares[0]],
        "times that a key step comes": [np.mean([a / b for a, b in zip(counts, present, strict=True)])],
        "key steps that are missing, %": [100 * (1 - np.mean(present) / K)],
        "order distance between recordings, %": [100 * np.nanmean(distances)],
        "autocorrelation after a sample, 1 s and 4 s, median": correlated,
        "slope of the spectrum": [np.mean([slope(one, task.fps) for one in z])],
        "variance between key steps, median and 90 %, %": 100 * np.percentile(explained(z, labels), [50, 90]),
        "the same of log speed": 100 * np.percentile(explained(moves, labels), [50, 90]),
        "J of the annotation, whitened, and with speed, %": truths,
        "variance along a linear trend, median and 90 %, %": 100 * np.percentile(trends, [50, 90]),
        "spread of log gain between recordings": [
            np.median(np.log(everywhere[:, everywhere.min(axis=0) > 0]).std(axis=0))
        ],
        "largest scale of a channel over the smallest": [scales.max() / scales[scales > 0].min()],
    }


def main() -> None:
    """Print a table with a column per task; a signal task has the mean over seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fps", action="append", default=[], metavar="DATASET=NUMBER", help="samples per second")
    parser.add_argument("--worlds", type=int, default=3, help="seeds of the signal tasks")
    options = parser.parse_args()
    columns: dict[str, list[dict[str, Sequence[float]]]] = {}
    for world, dataset, name, read in find(
        os.environ.get("REAL_RECORDINGS"), rates_of(options.fps), SIGNALS, options.worlds, []
    ):
        columns.setdefault(dataset if world == "signals" else name, []).append(statistics(read()))
    lines = []
    for row in next(iter(columns.values()))[0]:
        means = [np.mean([one[row] for one in several], axis=0) for several in columns.values()]
        lines.append([row, *(", ".join(f"{value:.3g}" for value in mean) for mean in means)])
    print(table(["", *columns], lines))


if __name__ == "__main__":
    main()
