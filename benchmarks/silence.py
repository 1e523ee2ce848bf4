"""Measure incomplete labels: only one step, a step without labels, annotated videos left out in turn, one more mark.

On every task of the folder of recordings (recordings.py), with drawn annotated videos:

- `only`: one step is annotated, and all other time is not this step (`silence: only`). ``f1`` and ``share`` are those
  of this step in the other videos, beside its F1 if all steps are annotated (``f1_all``), and its true share.
- `uncovered`: whether a missing step is reported (`rgwot.keysteps.uncovered`) if all segments of one step are
  unlabelled, if no segment is, or if a fifth of all segments of any step are (`partly`).
- `left_out`: the share of frames that get their label when annotated videos label each other, and F1 of the others.
- `again`: processor time of decoding with marks, then with one more mark and a cache; and of decoding with whole
  segments, then once more with a cache.

Results are added line by line to benchmarks/results/silence.csv; existing ones are not measured again. The means are
printed.

    REAL_RECORDINGS=FOLDER python benchmarks/silence.py [--parts PART ...] [--draws 1] [TASK ...]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from labelled import MACRO, Labels, Seen, drawn, numbers_of, said
from numpy.typing import NDArray
from pages import CONFIGS, HOUSE, RESULTS
from recordings import recorded_options
from threadpoolctl import threadpool_limits

from rgwot.config.configuration import load_config, read_files
from rgwot.config.experiments import Experiments
from rgwot.embedding.interface import EmbeddedTask, EmbeddedVideo
from rgwot.evaluation.protocols import score_named
from rgwot.keysteps.interface import NO_CLUSTER, UNKNOWN, Given
from rgwot.keysteps.labelled import Kept, decode_labelled
from rgwot.keysteps.left_out import leave_one_out
from rgwot.keysteps.ordering import generator_for
from rgwot.keysteps.settings import Labelled
from rgwot.keysteps.uncovered import uncovered
from rgwot.timing import runs

RECORD = RESULTS / "silence.csv"
COLUMNS = ("dataset", "task", "part", "what", "n", "draw", "value", "beside")
KEY = list(COLUMNS[:6])
TEACHING = 3
PARTLY = 0.2
"""Share of segments without a label in the case in which no step is missing (`partly`)."""

SETTINGS = Labelled()
Line = tuple[str, int, int, float, float]
"""The name of a measurement, the annotated videos, the draw, and two values (COLUMNS)."""


def given_by(seen: Seen, videos: Sequence[int]) -> Labels:
    """Return the labels (T,) that people give to some videos, as in `Frames`."""
    every = enumerate(seen.task.labels)
    return np.concatenate([said(truth) if v in videos else np.full(len(truth), UNKNOWN) for v, truth in every])


def others_of(seen: Seen, videos: Sequence[int]) -> NDArray[np.bool_]:
    """Return which samples (T,) are of other videos."""
    return ~np.isin(np.repeat(np.arange(len(seen.frames.lengths)), seen.frames.lengths), videos)


def f1(truth: NDArray[np.bool_], found: NDArray[np.bool_]) -> float:
    """Return 2 |both| / (|truth| + |found|)."""
    return float(2 * (truth & found).sum() / max(truth.sum() + found.sum(), 1))


def decode(
    seen: Seen, K: int, given: Labels, draw: int, marked: NDArray[np.bool_] | None = None, kept: Kept | None = None
) -> Labels:
    """Label all samples, learning from the given labels."""
    frames = replace(seen.frames, given=given, marked=marked)
    return decode_labelled(frames, K, generator_for(draw), SETTINGS, kept).labels


def only(seen: Seen, draws: int) -> Iterator[Line]:
    """Measure F1 and share of every step, if only this step is annotated."""
    truth = np.concatenate(list(seen.task.labels))
    for draw in range(draws):
        videos, kept = drawn(len(seen.task.labels), TEACHING, draw), Kept()
        rest = others_of(seen, videos)
        every = decode(seen, seen.K, given_by(seen, videos), draw, kept=kept)
        for step in range(1, seen.K + 1):
            own = truth == step
            if own[rest].any() and own[~rest].any():
                found = decode(seen, 1, np.where(rest, UNKNOWN, np.where(own, 0, NO_CLUSTER)), draw, kept=kept) == 0
                f1_all = 100 * f1(own[rest], every[rest] == step - 1)
                yield f"f1 {step}", TEACHING, draw, 100 * f1(own[rest], found[rest]), f1_all
                yield f"share {step}", TEACHING, draw, 100 * found[rest].mean(), 100 * own[rest].mean()


def embedded_task(seen: Seen) -> EmbeddedTask:
    """Return the embeddings of all videos."""
    x, fps = seen.split(seen.frames.x), seen.frames.features_fps
    videos = {str(v): EmbeddedVideo(part, np.arange(len(part)) / fps, len(part) / fps, fps) for v, part in enumerate(x)}
    return EmbeddedTask(videos, (), fps, "rgwot-plus")


def told(seen: Seen, draws: int) -> Iterator[Line]:
    """Measure whether a missing step is reported, and the share of the time that is reported."""
    task = embedded_task(seen)
    for draw in range(draws):
        videos = drawn(len(seen.task.labels), TEACHING, draw)
        whole = given_by(seen, videos) + 1
        generator, partly = np.random.default_rng(draw), whole.copy()
        for step, start, end in zip(*runs(whole), strict=True):
            if step > UNKNOWN + 1 and generator.random() < PARTLY:
                partly[start:end] = UNKNOWN + 1
        steps = [step for step in range(1, seen.K + 1) if (whole == step).any()]
        cases = {"nothing": whole, "partly": partly}
        cases |= {f"step {step}": np.where(whole == step, UNKNOWN + 1, whole) for step in steps}
        for what, labels in cases.items():
            own = {str(v): part for v, part in enumerate(seen.split(labels)) if v in videos}
            found = uncovered(task, Given(own, {}, seen.K))
            yield what, TEACHING, draw, float(found is not None), 100 * found["share"] if found else np.nan


def left(seen: Seen, draws: int) -> Iterator[Line]:
    """Measure how well annotated videos label each other when left out in turn, and F1 of the other videos."""
    task = embedded_task(seen)
    for n in (number for number in numbers_of(len(seen.task.labels)) if number in (3, 5)):
        for draw in range(draws):
            videos, kept = drawn(len(seen.task.labels), n, draw), Kept()
            given = given_by(seen, videos)
            own = {str(v): part for v, part in enumerate(seen.split(given + 1)) if v in videos}

            def run(frames: Any, K: int, generator: np.random.Generator, kept: Kept = kept) -> Any:
                return decode_labelled(frames, K, generator, SETTINGS, kept)

            found = leave_one_out(task, Given(own, {}, seen.K), run, 0, draw)
            assert found is not None
            parts = seen.split(decode(seen, seen.K, given, draw, kept=kept) + 1)
            rest = [v for v in range(len(parts)) if v not in videos]
            truths, answers = [seen.task.labels[v] for v in rest], [parts[v] for v in rest]
            beside = 100 * score_named(MACRO, truths, answers, seen.K, "without").f1
            yield "frames right", n, draw, 100 * found.facts.frames_right, beside


def again(seen: Seen, draws: int) -> Iterator[Line]:
    """Measure processor times with all marks but one, then with all; and with whole segments, then once more."""
    for draw in range(draws):
        given = given_by(seen, drawn(len(seen.task.labels), TEACHING, draw))
        generator, marks = np.random.default_rng(draw), np.zeros(len(given), dtype=bool)
        for label, start, end in zip(*runs(given), strict=True):
            marks[generator.integers(start, end)] = label != UNKNOWN
        fewer = marks.copy()
        fewer[generator.choice(np.flatnonzero(marks))] = False
        kept, taken = Kept(), []
        for marked in (fewer, marks):
            began = time.process_time()
            decode(seen, seen.K, np.where(marked, given, UNKNOWN), draw, marked, kept)
            taken.append(time.process_time() - began)
        yield "marks", TEACHING, draw, *taken
        kept, taken = Kept(), []
        for _ in range(2):
            began = time.process_time()
            decode(seen, seen.K, given, draw, kept=kept)
            taken.append(time.process_time() - began)
        yield "segments", TEACHING, draw, *taken


PARTS: dict[str, Callable[[Seen, int], Iterator[Line]]] = {
    "only": only, "uncovered": told, "left_out": left, "again": again,
}  # fmt: skip


def printed(rows: pd.DataFrame) -> str:
    """Return the means over draws and steps by task, and over tasks."""
    rows = rows.assign(what=[what.split()[0] for what in rows["what"]])
    by_task = rows.groupby(["part", "what", "n", "task"], sort=False)[["value", "beside"]].mean()
    means = by_task.groupby(["part", "what", "n"], sort=False).mean().assign(task="mean")
    both = pd.concat([by_task, means.set_index("task", append=True)])
    return both.round(2).to_string()


def main() -> None:
    """Measure missing lines, and print means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS), metavar="PART")
    parser.add_argument("--draws", type=int, default=1, help="draws of annotated videos")
    options, tasks = recorded_options(parser)
    experiments = Experiments(load_config(read_files([HOUSE / name for name in CONFIGS])))
    for _, dataset, name, read in tasks:
        with threadpool_limits(1):
            seen = Seen.read(read(), experiments)
            for part in options.parts:
                rows = pd.read_csv(RECORD) if RECORD.exists() else pd.DataFrame(columns=COLUMNS)
                here = rows[(rows["task"] == name) & (rows["part"] == part)]
                if here["draw"].nunique() >= options.draws:
                    continue
                lines = [(dataset, name, part, *line) for line in PARTS[part](seen, options.draws)]
                new = pd.DataFrame(lines, columns=COLUMNS).round(3)
                new.to_csv(RECORD, mode="a", header=not RECORD.exists(), index=False)
                print(printed(new), file=sys.stderr, flush=True)
    print(printed(pd.read_csv(RECORD).drop_duplicates(KEY, keep="last")))


if __name__ == "__main__":
    main()
