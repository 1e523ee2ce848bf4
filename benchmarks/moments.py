"""Measure what answers about single moments are worth: F1 of all videos by the number of answers and a person's time.

On every task of the folder of recordings (recordings.py) moments are chosen in three ways: at random among all
samples, at random in randomly drawn segments that were found, or in rounds of ten by `rgwot suggest --moments`. The
annotated label of each moment, including background, is given to the decoder as a mark, and the other samples of all
videos are scored by name: `macro_task` without background. For comparison, whole videos are annotated as in
labelled.py, and other videos scored. Results are added line by line to benchmarks/results/moments.csv, and existing
ones are not measured again. A run without names of tasks then renews the tables of benchmarks/report/moments.md and the
figure docs/images/moments.svg.

    REAL_RECORDINGS=FOLDER python benchmarks/moments.py [--fps DATASET=NUMBER ...] [--runs 6] [TASK ...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import labelled
import numpy as np
import pandas as pd
from labelled import MACRO, OURS, PLUS, Labels, Seen, drawn
from numpy.typing import NDArray
from pages import CONFIGS, HOUSE, REPORT, RESULTS, renew, table
from recordings import recorded_options
from threadpoolctl import threadpool_limits

from rgwot.config.configuration import load_config, read_files
from rgwot.config.experiments import Experiments
from rgwot.evaluation.protocols import score_named
from rgwot.keysteps.interface import NO_CLUSTER, UNKNOWN
from rgwot.keysteps.labelled import decode_labelled
from rgwot.keysteps.ordering import generator_for
from rgwot.keysteps.settings import Labelled, MeanfieldSettings
from rgwot.keysteps.suggest import suggest_moments
from rgwot.runtime.csv_files import write_csv

RECORD, PAGE, FIGURE = RESULTS / "moments.csv", REPORT / "moments.md", HOUSE / "docs" / "images" / "moments.svg"
COLUMNS = ("dataset", "task", "way", "answers", "run", "seconds", "f1")
KEY = list(COLUMNS[:5])

ANSWERS = (10, 20, 40)
ROUND = 10
"""Number of moments that are suggested at a time; the next moments are chosen after these have answers."""

MOMENT_S, WATCHED, BORDER_S = 5.0, 1.5, 3.0
"""Seconds that a person needs: per moment; per second of a video; and per border in it."""

UNIFORM, FOUND, SUGGESTED = "random samples", "random found segments", "suggested"
WHOLE = "whole videos"


def uniform(seen: Seen, n: int, run: int) -> list[int]:
    """Draw samples uniformly."""
    return [int(at) for at in np.random.default_rng([0, run]).choice(len(seen.frames.x), n, replace=False)]


def of_found(seen: Seen, n: int, run: int) -> list[int]:
    """Draw a sample from every segment found without labels, in random order, before any segment is drawn again."""
    generator = np.random.default_rng([1, run])
    changed = np.concatenate([np.diff(part, prepend=UNKNOWN) != 0 for part in seen.split(seen.unsupervised(0))])
    segments = np.split(np.arange(len(changed)), np.flatnonzero(changed)[1:])
    chosen: list[int] = []
    while len(chosen) < n:
        for at in generator.permutation(len(segments)).tolist():
            free = np.setdiff1d(segments[at], chosen)
            if len(free):
                chosen.append(int(generator.choice(free)))
    return chosen[:n]


def suggested(seen: Seen, n: int, run: int) -> list[int]:
    """Choose samples in rounds, each with the answers about earlier samples."""
    chosen: list[int] = []
    while len(chosen) < n:
        frames, number = replace(seen.frames, given=answers(seen, chosen)), min(ROUND, n - len(chosen))
        chosen += suggest_moments(frames, seen.K, number, MeanfieldSettings(), np.random.default_rng(run))
    return chosen


WAYS: dict[str, Callable[[Seen, int, int], list[int]]] = {
    UNIFORM: uniform,
    FOUND: of_found,
    SUGGESTED: suggested,
}


def answers(seen: Seen, chosen: Sequence[int]) -> Labels:
    """Return the annotated classes of the chosen samples, as in `Frames`; the other samples are unknown."""
    truth = np.concatenate(seen.task.labels)
    given = np.full(len(truth), UNKNOWN)
    given[chosen] = np.where(truth[chosen] > 0, truth[chosen] - 1, NO_CLUSTER)
    return given


def taught(seen: Seen, chosen: Sequence[int], run: int) -> Labels:
    """Return the labels of all samples, learned from the answers about the chosen samples."""
    given = answers(seen, chosen)
    frames = replace(seen.frames, given=given, marked=given != UNKNOWN)
    return decode_labelled(frames, seen.K, generator_for(run), Labelled()).labels


def f1_of_others(seen: Seen, found: Labels, chosen: Sequence[int]) -> float:
    """Return F1, in percent, of the samples without an answer."""
    others = np.ones(len(found), dtype=bool)
    others[list(chosen)] = False
    parts = zip(seen.task.labels, seen.split(found + 1), seen.split(others), strict=True)
    pairs = [(truth[rest], prediction[rest]) for truth, prediction, rest in parts]
    truths, predictions = zip(*pairs, strict=True)
    return 100 * score_named(MACRO, truths, predictions, seen.K, "without").f1


def seconds_of_videos(labels: Sequence[NDArray[np.int64]], fps: float, videos: Sequence[int]) -> float:
    """Return the seconds that a person needs for whole videos with these true labels."""
    borders = sum(int((np.diff(np.pad(labels[video], 1)) != 0).sum()) for video in videos)
    return WATCHED * sum(len(labels[video]) for video in videos) / fps + BORDER_S * borders


def measure(seen: Seen, way: str, run: int, known: Collection[int] = ()) -> Iterator[dict[str, Any]]:
    """Measure a run for every number of answers, except ``known`` numbers."""
    if set(ANSWERS) <= set(known):
        return
    chosen = WAYS[way](seen, ANSWERS[-1], run)
    for n in (n for n in ANSWERS if n not in known):
        f1 = f1_of_others(seen, taught(seen, chosen[:n], run), chosen[:n])
        yield {"way": way, "answers": n, "run": run, "seconds": MOMENT_S * n, "f1": f1}


def whole_videos(seen: Seen, rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return lines for the rows of labelled.py of a task, with the seconds that a person needs."""
    labels, fps = seen.task.labels, seen.task.fps
    return [
        {"way": WHOLE, "answers": n, "run": draw, "f1": f1}
        | {"seconds": seconds_of_videos(labels, fps, drawn(len(labels), n, draw))}
        for n, draw, f1 in rows.loc[rows["method"] == OURS, ["n", "draw", "f1"]].itertuples(index=False)
    ]


def read_record() -> pd.DataFrame:
    """Return all lines that were measured, sorted."""
    if not RECORD.exists():
        return pd.DataFrame(columns=COLUMNS)
    return pd.read_csv(RECORD).sort_values(KEY, ignore_index=True)


def answered(task: str, way: str, run: int) -> set[int]:
    """Return the numbers of answers (or videos) that have been measured already in a run."""
    rows = read_record()
    return set(rows[(rows["task"] == task) & (rows["way"] == way) & (rows["run"] == run)]["answers"])


def add(line: dict[str, Any]) -> None:
    """Add a line to the record at once, so that no measurement is lost."""
    new = not RECORD.exists()
    pd.DataFrame([line]).reindex(columns=COLUMNS).round(4).to_csv(RECORD, mode="a", header=new, index=False)


def printed(rows: pd.DataFrame) -> str:
    """Write tables in Markdown: means over tasks and data sets, tasks one by one, and a person's time."""
    moments = rows[rows["way"] != WHOLE]
    f1 = moments.pivot_table(index=["dataset", "task"], columns=["way", "answers"], values="f1", sort=False)
    numbers, ways = sorted(moments["answers"].unique()), [way for way in WAYS if way in f1.columns.levels[0]]

    def means(values: pd.DataFrame) -> str:
        lines = [[way, *(f"{values[way, n].mean():.1f}" for n in numbers)] for way in ways]
        return table(["way", *(f"{n} answers" for n in numbers)], lines)

    spread = moments.groupby(["task", "way", "answers"])["f1"].std(ddof=1)
    lines = [
        [f"{way}, {n}"]
        + [f"{f1.loc[key, (way, n)]:.1f} ± {spread.get((key[1], way, n), np.nan):.1f}" for key in f1.index]
        for way in ways
        for n in numbers
    ]
    times = rows.pivot_table(index=["way", "answers"], values=["seconds", "f1"])
    return "\n\n".join(
        [
            f"Mean over {len(f1)} tasks and {moments['run'].nunique()} runs:",
            means(f1),
            "Mean over data sets:",
            means(f1.groupby(level="dataset").mean()),
            "Tasks one by one, mean ± standard deviation over runs:",
            table(["way, answers", *f1.index.get_level_values("task")], lines),
            "A person's seconds, mean over tasks:",
            table(
                ["way", "answers or videos", "seconds", "F1"],
                [[key[0], str(key[1]), f"{row['seconds']:.0f}", f"{row['f1']:.1f}"] for key, row in times.iterrows()],
            ),
        ]
    )


def draw(rows: pd.DataFrame) -> None:
    """Draw mean F1 of the tasks against the mean seconds of a person."""
    from rgwot.reporting.figures.style import sheet, styled

    means = rows.groupby(["way", "answers", "task"])[["seconds", "f1"]].mean().groupby(["way", "answers"]).mean()
    whole = rows[rows["way"] == WHOLE].groupby("answers")["task"].nunique()
    complete = whole.index[whole == rows["task"].nunique()]
    others = labelled.read_record()
    others = others[(others["method"] == PLUS) & others["task"].isin(rows["task"])]
    without = others.groupby("task")["f1"].mean()
    with styled():
        figure, axes = sheet(1, 1, height=3.2)
        axis = axes[0][0]
        for way in (SUGGESTED, FOUND, UNIFORM, WHOLE):
            points = means.loc[way] if way in means.index else means.iloc[:0].droplevel(0)
            points = points.loc[complete] if way == WHOLE else points
            look: dict[str, Any] = {"linewidth": 2, "color": "C0"} if way == SUGGESTED else {}
            axis.plot(points["seconds"], points["f1"], marker="o", label=way, **look)
        if len(without):
            axis.axhline(without.mean(), color="0.6", linestyle=":", linewidth=0.8, label="no labels")
        axis.set(xscale="log", xlabel="seconds of a person", ylabel="macro_task F1, %")
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        figure.savefig(FIGURE, metadata={"Date": None})


def main() -> None:
    """Measure missing lines, then renew the page and the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS, metavar="WAY")
    parser.add_argument("--runs", type=int, default=6, help="runs of every way")
    options, tasks = recorded_options(parser)
    experiments = Experiments(load_config(read_files([HOUSE / name for name in CONFIGS])))
    of_videos = labelled.read_record()
    for _, dataset, name, read in tasks:
        with threadpool_limits(1):
            seen = Seen.read(read(), experiments)
            answer = seen.unsupervised
            found: dict[int, Labels] = {}
            seen.unsupervised = lambda seed, answer=answer, found=found: found.setdefault(seed, answer(seed))
            for run, way in ((run, way) for run in range(options.runs) for way in options.ways):
                for line in measure(seen, way, run, answered(name, way, run)):
                    add({"dataset": dataset, "task": name} | line)
                    print(name, way, run, line["answers"], f"{line['f1']:.1f}", file=sys.stderr, flush=True)
            for line in whole_videos(seen, of_videos[of_videos["task"] == name]):
                if line["answers"] not in answered(name, WHOLE, line["run"]):
                    add({"dataset": dataset, "task": name} | line)
    if options.tasks or set(options.ways) != set(WAYS):
        return
    rows = read_record()
    write_csv(rows, RECORD)
    renew(PAGE, "moments", "moments", printed(rows))
    draw(rows)


if __name__ == "__main__":
    main()
