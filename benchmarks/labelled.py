"""Measure what a few annotated videos are worth: F1 of the other videos by the number of annotated ones and by method.

On every task of the folder of recordings (recordings.py) some videos are drawn, their labels between the first and the
last annotated segment are given to a method, and the other videos are scored by name: `macro_task` without background.
If no video is annotated, clusters are matched with key steps. Results are added line by line to
benchmarks/results/labelled.csv, and existing ones are not measured again. A run without names of tasks or methods then
renews the tables of benchmarks/report/labelled.md and the figure docs/images/labelled.svg.

    pip install -e '.[peers]'
    REAL_RECORDINGS=FOLDER python benchmarks/labelled.py [--fps DATASET=NUMBER ...] [--methods METHOD ...] [TASK ...]
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pages import CONFIGS, HOUSE, REPORT, RESULTS, renew, table
from recordings import Task, decoded, embedded, recorded_options
from threadpoolctl import threadpool_limits

from rgwot.config.configuration import load_config, read_files
from rgwot.config.experiments import Experiments
from rgwot.config.methods import DECODERS
from rgwot.embedding.whitened import smooth
from rgwot.evaluation.protocols import PROTOCOLS, background_detection, score, score_named
from rgwot.keysteps.consensus import LEAST_PROBABILITY, WINDOW, Classifier, Components, in_context
from rgwot.keysteps.interface import NO_CLUSTER, UNKNOWN, Frames, directions
from rgwot.keysteps.labelled import decode_labelled
from rgwot.keysteps.ordering import generator_for
from rgwot.keysteps.settings import Labelled, MeanfieldSettings
from rgwot.keysteps.suggest import suggest
from rgwot.runtime.csv_files import write_csv

RECORD, PAGE, FIGURE = RESULTS / "labelled.csv", REPORT / "labelled.md", HOUSE / "docs" / "images" / "labelled.svg"
COLUMNS = ("dataset", "task", "method", "n", "draw", "f1", "background_f1", "cpu_s")
KEY = list(COLUMNS[:5])
MACRO = PROTOCOLS["macro_task"]

NUMBERS = (1, 2, 3, 5, 8)
FEW = 3
"""Larger numbers of annotated videos are measured only on tasks with at least three times as many videos."""

MARKED_VIDEOS = (3, 5)
"""Numbers of videos in which marks take the place of segments."""

SEEDS = 3
"""Seeds of methods without labels."""

ALIGNED = 200
"""Number of samples of a video that are aligned by dynamic time warping."""

TRANSPORTED = 64
"""Number of samples of a video that are aligned by transport."""

MOST_TICC = 6_000
"""Number of samples of a task that TICC segments; longer tasks are thinned evenly."""

WITH_BACKGROUND = ("vts_balloon", "vts_tissue", "bottlecap", "utkinect")
"""Tasks of the folder with more than 10 % background."""

Labels = NDArray[np.int64]


@dataclass
class Seen:
    """A task as methods see it: embeddings of RGWOT+, and features scaled to a standard deviation of 1 per channel."""

    task: Task
    frames: Frames
    raw: Frames
    unsupervised: Callable[[int], Labels]
    aligned: dict[tuple[int, int], Any] = field(default_factory=dict)

    @classmethod
    def read(cls, task: Task, experiments: Experiments) -> Seen:
        """Embed the samples of a task."""
        decoder = f"consensus@K={task.K}"
        rule = experiments.decoding("rgwot-plus", decoder, "")
        frames = embedded(task, experiments.embedding("rgwot-plus", ""), 0)
        x = np.concatenate([store.x for store in task.stores]).astype(np.float64)
        x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-9)
        return cls(task, frames, replace(frames, x=x), lambda seed: decoded(frames, rule, seed)[0])

    @property
    def K(self) -> int:  # noqa: N802
        """Number of key steps."""
        return self.task.K

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Split values of all samples by video."""
        return np.split(values, np.cumsum(self.frames.lengths)[:-1])

    def few(self, values: NDArray[Any], n: int) -> list[NDArray[Any]]:
        """Return n evenly spaced samples of every video; if a video is shorter, some of its samples occur twice."""
        return [part[np.linspace(0, len(part) - 1, n).round().astype(int)] for part in self.split(values)]

    def full(self, labels: Labels, video: int) -> Labels:
        """Return a label for every sample of a video: that of the nearest of the evenly spaced samples with labels."""
        T, n = self.frames.lengths[video], len(labels)
        return labels[np.round(np.arange(T) * (n - 1) / max(T - 1, 1)).astype(int)]

    @cached_property
    def context(self) -> NDArray[np.float64]:
        """The input of a classifier: components of embeddings in context, with relative time."""
        seen = in_context(self.frames, timed=True)
        return Components.fit(seen, 1).apply(seen)

    @cached_property
    def plans(self) -> dict[tuple[int, int], NDArray[np.float32]]:
        """The plans of RGWOT's transport problem between the real frames of every pair of videos."""
        import torch

        from rgwot.losses.settings import PROBLEM, FusedGromovWasserstein
        from rgwot.transport.matching import align_frames

        settings = FusedGromovWasserstein()
        x = torch.from_numpy(np.stack(self.few(directions(self.frames.x), TRANSPORTED)))
        first, second = np.triu_indices(len(x), 1)
        found = {}
        for start in range(0, len(first), 64):
            i, j = first[start : start + 64], second[start : start + 64]
            weights = align_frames(x[i], x[j], **{key: getattr(settings, key) for key in PROBLEM}).weights.numpy()
            for a, b, plan in zip(i.tolist(), j.tolist(), weights.astype(np.float32), strict=True):
                found[a, b], found[b, a] = plan, plan.T
        return found

    def warped(self, video: int, other: int) -> tuple[float, list[tuple[int, int]]]:
        """Align two videos by dynamic time warping; return the cost and the pairs of samples."""
        from dtaidistance import dtw, dtw_ndim

        if (video, other) not in self.aligned:
            x = self.few(directions(self.frames.x), ALIGNED)
            cost, sums = dtw_ndim.warping_paths_fast(x[video], x[other])
            self.aligned[video, other] = cost, dtw.best_path(sums)
        return self.aligned[video, other]


def said(labels: Labels) -> Labels:
    """Return the labels, as in `Frames`, that people give to a video with true key steps (T,), where 0 is background.

    Time before the first and after the last key step is unknown, as in `rgwot.timing.given_labels`.
    """
    inside = np.flatnonzero(labels > 0)
    given = np.full(len(labels), UNKNOWN)
    if len(inside):
        part = slice(inside[0], inside[-1] + 1)
        given[part] = np.where(labels[part] > 0, labels[part] - 1, NO_CLUSTER)
    return given


def drawn(videos: int, n: int, draw: int) -> list[int]:
    """Draw n of the videos of a task."""
    return [int(video) for video in np.random.default_rng([n, draw]).choice(videos, n, replace=False)]


def numbers_of(videos: int) -> list[int]:
    """Return the numbers of annotated videos for a task: those in `NUMBERS` that leave enough videos to score."""
    return [n for n in NUMBERS if (n <= FEW and n < videos) or videos >= 3 * n]


def named(labels: NDArray[Any], K: int) -> Labels:
    """Return labels in which background, class K, is `NO_CLUSTER`."""
    return np.where(labels == K, NO_CLUSTER, labels).astype(np.int64)


def ours(seen: Seen, given: Labels, videos: Sequence[int], draw: int) -> Labels:
    """Label with RGWOT+, which learns from the given labels."""
    return decode_labelled(replace(seen.frames, given=given), seen.K, generator_for(draw), Labelled()).labels


def classified_raw(seen: Seen, given: Labels, videos: Sequence[int], draw: int) -> Labels:
    """Label single samples by linear discriminant analysis with a shrunken covariance."""
    known, classes = given != UNKNOWN, np.where(given == NO_CLUSTER, seen.K, given)
    learned = Classifier.fit(seen.raw.x[known], classes[known], seen.K + 1)
    return named(learned.probabilities(seen.raw.x).argmax(axis=1), seen.K)


def classified(seen: Seen, given: Labels, videos: Sequence[int], draw: int) -> Labels:
    """Apply `classified_raw` to embeddings in context with relative time; average log probabilities over a window."""
    known, classes = given != UNKNOWN, np.where(given == NO_CLUSTER, seen.K, given)
    learned = Classifier.fit(seen.context[known], classes[known], seen.K + 1)
    log_p = np.log(np.maximum(learned.probabilities(seen.context), LEAST_PROBABILITY))
    return named(np.concatenate([smooth(part, WINDOW) for part in seen.split(log_p)]).argmax(axis=1), seen.K)


def warped(seen: Seen, given: Labels, videos: Sequence[int], draw: int) -> Labels:
    """Return the labels of the nearest annotated video, by dynamic time warping; unknown time is background."""
    labels = [np.maximum(part, NO_CLUSTER) for part in seen.few(given, ALIGNED)]
    found = []
    for video, T in enumerate(seen.frames.lengths):
        if video in videos:
            found.append(np.full(T, NO_CLUSTER))
            continue
        nearest = min(videos, key=lambda other: seen.warped(video, other)[0])
        carried = np.empty(ALIGNED, dtype=np.int64)
        for i, j in seen.warped(video, nearest)[1]:
            carried[i] = labels[nearest][j]
        found.append(seen.full(carried, video))
    return np.concatenate(found)


def transported(seen: Seen, given: Labels, videos: Sequence[int], draw: int) -> Labels:
    """Return the labels of all annotated videos, weighted by transported mass; unknown time is background."""
    classes = [np.where(part < 0, seen.K, part) for part in seen.few(given, TRANSPORTED)]
    found = []
    for video, T in enumerate(seen.frames.lengths):
        if video in videos:
            found.append(np.full(T, NO_CLUSTER))
            continue
        mass = np.sum([seen.plans[video, other] @ np.eye(seen.K + 1)[classes[other]] for other in videos], axis=0)
        heaviest = mass.argmax(axis=1)
        found.append(seen.full(named(heaviest, seen.K), video))
    return np.concatenate(found)


def hmm(seen: Seen, given: Labels, videos: Sequence[int], draw: int, rounds: int = 0) -> Labels:
    """Hidden Markov model with a Gaussian per labelled class, then ``rounds`` of EM on all videos.

    All classes have the same covariance, shrunken (Ledoit and Wolf, 2004). On average over tasks, this is better than
    diagonal covariances, and embeddings of RGWOT+ are better than features or embeddings in context.
    """
    from hmmlearn.hmm import GaussianHMM
    from sklearn.covariance import ledoit_wolf

    x, classes = seen.frames.x, np.where(given == NO_CLUSTER, seen.K, given)
    known = classes != UNKNOWN
    used, places = np.unique(classes[known], return_inverse=True)
    means = np.stack([x[classes == label].mean(axis=0) for label in used])
    first, moved = np.ones(seen.K + 1), np.full((seen.K + 1,) * 2, 1 / (seen.K + 1))
    for part in seen.split(classes):
        part = part[part != UNKNOWN]
        if len(part):
            first[part[0]] += 1
            np.add.at(moved, (part[:-1], part[1:]), 1)
    model = GaussianHMM(len(used), "tied", n_iter=rounds, tol=0, init_params="")
    covariance = ledoit_wolf(x[known] - means[places], assume_centered=True)[0]
    model.means_, model.covars_ = means, covariance + 1e-6 * np.trace(covariance) / len(covariance) * np.eye(x.shape[1])
    model.startprob_ = first[used] / first[used].sum()
    moved = moved[np.ix_(used, used)]
    model.transmat_ = moved / moved.sum(axis=1, keepdims=True)
    if rounds:
        model.fit(x, seen.frames.lengths)
    return named(used[model.predict(x, seen.frames.lengths)], seen.K)


def hmm_em(seen: Seen, given: Labels, videos: Sequence[int], draw: int) -> Labels:
    """`hmm` with three rounds of EM."""
    return hmm(seen, given, videos, draw, 3)


def marks(given: Labels, rng: np.random.Generator) -> Labels:
    """Return the labels (T,) of one random sample in each labelled segment of ``given`` (T,); the rest is unknown."""
    starts = np.flatnonzero(np.diff(given, prepend=UNKNOWN - 1) != 0)
    kept = np.full(len(given), UNKNOWN)
    for start, end in zip(starts, [*starts[1:], len(given)], strict=True):
        at = int(rng.integers(start, end))
        kept[at] = given[at]
    return kept


def marked(seen: Seen, given: Labels, videos: Sequence[int], draw: int) -> Labels:
    """Apply `ours` with one mark instead of each segment, including segments of background."""
    rng = np.random.default_rng([len(videos), draw, 1])
    kept = np.concatenate([marks(part, rng) for part in seen.split(given)])
    return ours(replace(seen, frames=replace(seen.frames, marked=kept != UNKNOWN)), kept, videos, draw)


Taught = Callable[[Seen, Labels, Sequence[int], int], Labels]
PLUS, EQUAL = "RGWOT+", "K equal segments"
OURS, SUGGESTED, CLASSIFIER = "RGWOT+ taught", "RGWOT+ taught, suggested videos", "classifier, context and time"
MARKED, EVERYWHERE = "RGWOT+ taught, marks", "RGWOT+ taught, marks in every video"
HMM = "HMM, labelled states"
TAUGHT: dict[str, Taught] = {
    OURS: ours,
    MARKED: marked,
    EVERYWHERE: marked,
    CLASSIFIER: classified,
    "classifier, raw samples": classified_raw,
    "nearest by DTW": warped,
    "transport plans of RGWOT": transported,
    HMM: hmm,
    f"{HMM}, EM": hmm_em,
}


def equal_segments(seen: Seen, seed: int) -> Labels:
    """K equal segments of every video."""
    return np.concatenate([np.arange(T) * seen.K // T for T in seen.frames.lengths])


def by_peer(decoder: str, most: int | None = None) -> Callable[[Seen, int], Labels]:
    """Return a decoder of `peers` on the same embeddings, which sees at most ``most`` samples of a task."""

    def label(seen: Seen, seed: int) -> Labels:
        from rgwot.timing import thinned

        chosen, lengths, nearest = thinned(seen.frames.lengths, most or len(seen.frames.x))
        few = replace(seen.frames, x=seen.frames.x[chosen], lengths=lengths, native_fps=())
        return DECODERS[decoder]()(few, seen.K, generator_for(seed)).labels[nearest]

    return label


UNTAUGHT: dict[str, Callable[[Seen, int], Labels]] = {
    PLUS: lambda seen, seed: seen.unsupervised(seed),
    EQUAL: equal_segments,
    "HMM": by_peer("hmm"),
    "TICC": by_peer("ticc", MOST_TICC),
}
METHODS = (*UNTAUGHT, OURS, SUGGESTED, *(name for name in TAUGHT if name != OURS))


def told(seen: Seen, videos: Sequence[int]) -> Labels:
    """Return the labels (T,) of a task if people label only the given ``videos``."""
    labels = enumerate(seen.task.labels)
    return np.concatenate([said(truth) if v in videos else np.full(len(truth), UNKNOWN) for v, truth in labels])


def scored(seen: Seen, found: Labels, videos: Sequence[int]) -> tuple[list[Labels], list[Labels]]:
    """Return true and found key steps, from 1, of all videos except the given ones."""
    parts, rest = seen.split(found + 1), [v for v in range(len(seen.task.labels)) if v not in videos]
    return [seen.task.labels[v] for v in rest], [parts[v] for v in rest]


def macro_f1(seen: Seen, found: Labels, videos: Sequence[int]) -> float:
    """Return the F1 by name of all videos except the given ones, in percent."""
    return 100 * score_named(MACRO, *scored(seen, found, videos), seen.K, "without").f1


def measure(seen: Seen, method: str, n: int, draw: int) -> dict[str, float]:
    """Return the scores of a method on the videos without given labels, in percent, and its processor time."""
    videos: list[int] = []
    if n == 0:
        began = time.process_time()
        found = UNTAUGHT[method](seen, draw)
    else:
        videos = drawn(len(seen.task.labels), n, draw)
        if method == SUGGESTED:
            videos = suggest(seen.frames, seen.K, n, MeanfieldSettings(), np.random.default_rng(draw))
        given = told(seen, videos)
        began = time.process_time()
        found = TAUGHT[OURS if method == SUGGESTED else method](seen, given, videos, draw)
    taken = time.process_time() - began
    # If every video has marks, all samples are scored, because no video is left.
    videos = [] if method == EVERYWHERE else videos
    truths, predictions = scored(seen, found, videos)
    if n == 0:
        clusters = seen.K + int((found == NO_CLUSTER).any())
        f1 = 100 * score(MACRO, truths, predictions, seen.K, clusters, "without").f1
    else:
        f1 = macro_f1(seen, found, videos)
    background = background_detection(truths, predictions, says_background=True).f1
    return {"f1": f1, "background_f1": 100 * background, "cpu_s": taken}


def cells(seen: Seen, methods: Sequence[str], draws: int) -> list[tuple[str, int, int]]:
    """Return the measurements for a task: method, number of annotated videos, and draw or seed."""
    found: list[tuple[str, int, int]] = []
    for method in methods:
        if method in UNTAUGHT:
            found += [(method, 0, seed) for seed in range(1 if method == EQUAL else min(SEEDS, draws))]
        else:
            V = len(seen.task.labels)
            numbers = {EVERYWHERE: [V], MARKED: MARKED_VIDEOS}.get(method, numbers_of(V))
            numbers = [n for n in numbers if method != SUGGESTED or n <= FEW]
            found += [(method, n, draw) for n in numbers for draw in range(draws)]
    return found


def read_record() -> pd.DataFrame:
    """Return all lines that were measured, in the order of methods."""
    if not RECORD.exists():
        return pd.DataFrame(columns=COLUMNS)
    rows = pd.read_csv(RECORD)
    rows["method"] = pd.Categorical(rows["method"], METHODS, ordered=True)
    return rows.sort_values(KEY, ignore_index=True).astype({"method": str})


def add(line: dict[str, Any]) -> None:
    """Add a line to the record at once, so that no measurement is lost."""
    new = not RECORD.exists()
    pd.DataFrame([line]).reindex(columns=COLUMNS).round(4).to_csv(RECORD, mode="a", header=new, index=False)


def by_task(rows: pd.DataFrame, what: str = "f1") -> pd.DataFrame:
    """Return the means over draws: a row by data set and task, a column by method and number of annotated videos."""
    return rows.pivot_table(index=["dataset", "task"], columns=["method", "n"], values=what, aggfunc="mean", sort=False)


def measured(values: pd.DataFrame, n: int) -> pd.Series[bool]:
    """Return which tasks have a value for n annotated videos."""
    return values.loc[:, values.columns.get_level_values("n") == n].notna().any(axis=1)


def late_tasks(values: pd.DataFrame) -> pd.DataFrame:
    """Return the tasks that have enough videos for every number of annotated videos."""
    return values[measured(values, NUMBERS[-1])]


def printed(rows: pd.DataFrame) -> str:
    """Write tables in Markdown: means over tasks and over data sets, backgrounds, tasks one by one, and times."""
    everywhere, rows = rows[rows["method"] == EVERYWHERE], rows[rows["method"] != EVERYWHERE]
    numbers, blocks = sorted(rows["n"].unique()), []
    spread = rows.groupby(["method", "n", "dataset", "task"])["f1"].std(ddof=1).groupby(["method", "n"]).mean()

    def means(values: pd.DataFrame, spreads: bool = False) -> str:
        """Write means over rows, with the number of rows if a method has not been measured on all.

        Numbers of annotated videos that some rows lack are left out, so that all values of a line are means over the
        same rows.
        """
        lines, numbers_here = [], [n for n in numbers if measured(values, n).all()]
        for method in (name for name in METHODS if name in values.columns.levels[0]):
            line = [method]
            for n in numbers_here:
                known = values[method, n].dropna() if (method, n) in values else pd.Series(dtype=float)
                text = f"{known.mean():.1f}" if len(known) else ""
                deviation = spread.get((method, n), np.nan)
                text += f" ± {deviation:.1f}" if spreads and np.isfinite(deviation) else ""
                line.append(f"{text} ({len(known)})" if 0 < len(known) < len(values) else text)
            lines.append(line)
        return table(["method", *(f"n = {n}" for n in numbers_here)], lines)

    f1 = by_task(rows)
    blocks += [
        f"Mean over {len(f1)} tasks ± mean over tasks of the standard deviation over draws or seeds; in brackets"
    ]
    blocks[-1] += ", the number of tasks if a method was not measured on all:"
    blocks += [means(f1, spreads=True)]
    late = late_tasks(f1)
    if len(late):
        blocks += [f"Mean over the {len(late)} of them that have every number, up to n = {NUMBERS[-1]}:", means(late)]
    blocks += ["Mean over data sets:", means(f1.groupby(level="dataset").mean())]
    background = by_task(rows, "background_f1")
    background = background[[task in WITH_BACKGROUND for _, task in background.index]]
    if len(background):
        blocks += [
            f"F1 of background, mean over the {len(background)} tasks with more than 10 % of it:",
            means(background),
        ]
    shown = [(PLUS, 0), *((method, n) for method in (OURS, MARKED, SUGGESTED, HMM, CLASSIFIER) for n in numbers if n)]
    shown = [key for key in shown if key in f1]
    deviations, lines = rows.groupby(["task", "method", "n"])["f1"].std(ddof=1), []
    for method, n in shown:
        texts = []
        for _, task in f1.index:
            value, deviation = f1.xs(task, level="task")[method, n].iloc[0], deviations.get((task, method, n), np.nan)
            texts.append(
                "" if np.isnan(value) else f"{value:.1f}" + ("" if np.isnan(deviation) else f" ± {deviation:.1f}")
            )
        lines.append([f"{method}, {n}", *texts])
    if len(everywhere):
        each = everywhere.groupby("task")["f1"].mean()
        texts = [f"{each[task]:.1f}" if task in each else "" for _, task in f1.index]
        lines.append([f"{EVERYWHERE}, all samples", *texts])
        blocks += [f"Marks in every video, all samples scored: {each.mean():.1f}, mean over {len(each)} tasks."]
    blocks += ["Tasks one by one, mean ± standard deviation over draws or seeds:"]
    blocks.append(table(["method, n", *f1.index.get_level_values("task")], lines))
    taken = by_task(rows, "cpu_s")
    if OURS not in taken:
        return "\n\n".join(blocks)
    ratios = (taken[OURS].mean(axis=1) / taken[PLUS, 0]).dropna()
    with_labels, without = taken[OURS].mean(axis=1).mean(), taken[PLUS, 0].mean()
    blocks.append(
        f"Decoding with labels takes {ratios.mean():.2f} times the processor time of decoding without, at most "
        f"{ratios.max():.2f} times (on one task); on average {with_labels:.1f} s and {without:.1f} s."
    )
    return "\n\n".join(blocks)


def draw(rows: pd.DataFrame) -> None:
    """Draw F1 against the number of annotated videos: for all tasks, and for tasks that have all numbers."""
    from rgwot.reporting.figures.style import sheet, styled

    f1 = by_task(rows[rows["method"] != EVERYWHERE])
    late = late_tasks(f1)
    parts = [
        (f"{len(f1)} tasks", f1, [n for n in (0, *NUMBERS) if measured(f1, n).all()]),
        (f"the {len(late)} of them with {3 * NUMBERS[-1]} videos or more", late, [0, *NUMBERS]),
    ]
    with styled():
        figure, axes = sheet(1, 2, height=3.2, sharey=True)
        for axis, (title, values, numbers) in zip(axes[0], parts, strict=True):
            whole = values.loc[:, values.notna().all()].mean()
            for method in UNTAUGHT:
                if (method, 0) in whole:
                    axis.axhline(whole[method, 0], color="0.6", linestyle=":", linewidth=0.8)
                    axis.annotate(method, (numbers[-1], whole[method, 0]), ha="right", va="bottom", color="0.4")
            for method in (name for name in METHODS if name not in UNTAUGHT and name != EVERYWHERE):
                there = [n for n in numbers if (method, n) in whole]
                mine = method in (OURS, SUGGESTED, MARKED)
                look: dict[str, Any] = {"linewidth": 2, "color": "C0"} if mine else {}
                look["linestyle"] = {SUGGESTED: "--", MARKED: ":"}.get(method, "-")
                axis.plot(there, [whole[method, n] for n in there], marker="o", label=method, **look)
            axis.set(title=title, xlabel="annotated videos", xticks=numbers)
        axes[0][0].set_ylabel("macro_task F1 of the other videos, %")
        figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        figure.savefig(FIGURE, metadata={"Date": None})


def main() -> None:
    """Measure missing lines, then renew the page and the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS, metavar="METHOD")
    parser.add_argument("--draws", type=int, default=6, help="draws of every number of annotated videos")
    options, tasks = recorded_options(parser)
    experiments = Experiments(load_config(read_files([HOUSE / name for name in CONFIGS])))
    for _, dataset, name, read in tasks:
        with threadpool_limits(1), warnings.catch_warnings():
            # Peers warn if there are few labels.
            warnings.simplefilter("ignore")
            seen = Seen.read(read(), experiments)
            for cell in cells(seen, options.methods, options.draws):
                # Read the record before every measurement, because several of these commands may run at a time.
                if (dataset, name, *cell) not in set(read_record()[KEY].itertuples(index=False, name=None)):
                    line = dict(zip(KEY, (dataset, name, *cell), strict=True)) | measure(seen, *cell)
                    add(line)
                    print(name, *cell, f"{line['f1']:.1f}", file=sys.stderr, flush=True)
    if options.tasks or set(options.methods) != set(METHODS):
        return
    rows = read_record()
    write_csv(rows, RECORD)
    renew(PAGE, "labelled", "labelled", printed(rows))
    draw(rows)


if __name__ == "__main__":
    main()
