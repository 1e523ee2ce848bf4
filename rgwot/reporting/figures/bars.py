"""Key steps of single videos as bars: ground truth above the answers of one or several methods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rgwot import paths
from rgwot.diagnostics import Diagnostics
from rgwot.evaluation.metrics import IntArray
from rgwot.evaluation.protocols import PROTOCOLS, score
from rgwot.paths import Tree
from rgwot.reporting.figures.drawing import Drawing, drawing
from rgwot.reporting.figures.style import Axes, Drawn, number_step, sheet, step_legend, step_style, tell
from rgwot.reporting.figures.videos import (
    OF_TASK,
    Labelled,
    TaskLabels,
    matched_steps,
    runs_to_draw,
    stretches,
    tasks_to_draw,
    told,
)
from rgwot.reporting.tables.table import Place, Row, check_known, once
from rgwot.study.datasets import known_K
from rgwot.study.study import Study, Task

#: Columns of text beside the bars: their heads, and the distance in points from the bars to the end of each column.
HEADS: Mapping[str, Mapping[str, float]] = {
    "collapse": {"cosine": 30, "λ₁": 54, "entropy": 88, "labels": 116, "": 178},
    "scores": {"A": 24, "B": 52, "segments": 94},
}
#: A segment at least this share of the bar carries the number of its step.
NUMBERED = 0.035
OF_RUN = (paths.SEGMENTS, paths.DIAGNOSTICS)
Shown = tuple[Tree, int | None, Labelled]
"""A task, its registered number of key steps, and its runs."""


class _Bar(NamedTuple):
    """One bar: its name, the step of every scored frame (T,), and the texts beside it."""

    label: str
    steps: IntArray
    beside: tuple[str, ...]
    degenerate: bool = False


def step_bars(
    study: Study, dataset: Place, rows: Sequence[Row], beside: str, tasks: Sequence[str] = (), n_tasks: int = 1
) -> Drawing:
    """Return a figure of key steps over time: a bar for the ground truth and one for each of ``rows``.

    Columns of text stand beside the bars; ``beside`` is the key of `HEADS` that chooses them. The first annotated video
    of each task is shown.
    """
    once("runs", [row.id for row in rows])
    check_known("beside", [beside], HEADS)
    chosen, seeds = tasks_to_draw(study, dataset, tasks, n_tasks), study.config.seeds[:1]
    runs = [runs_to_draw(study, task, rows, seeds, trained=False) for task in chosen]
    shown = tuple(
        (task, known_K(Task(study, task.dataset, task.task)), of_task)
        for task, of_task in zip(chosen, runs, strict=True)
    )
    files = [task.at(file) for task in chosen for file in OF_TASK]
    files += [task.at(file, run) for task, _, of_task in shown for _, run in of_task for file in OF_RUN]
    caption = (
        "Key steps over the share of each video: ground truth on top, then one bar per method; a cluster has the "
        "colour of the step it is matched to."
    )
    scoring = "one clustering per video, clusters matched to steps per video, background a class, exact labels"
    return drawing(
        study, _draw, (shown, beside), files, caption=caption, places=[dataset],
        notes=[*told(chosen, runs[0]), scoring], seeds=seeds, protocols="micro_video, macro_video",
    )  # fmt: skip


def _draw(title: str, about: str, tasks: Sequence[Shown], beside: str) -> Drawn:
    """Draw ground truth and predictions over relative time, one group per video."""
    groups = [_bars(task, beside) for task in tasks]
    sizes = [len(bars) for _, bars in groups]
    drawn, axes = sheet(
        len(groups), height=0.2 * sum(sizes) + 0.28 * len(groups) + 1.25, height_ratios=[n + 1 for n in sizes]
    )
    for number, (axis, (name, bars)) in enumerate(zip(axes[:, 0], groups, strict=True)):
        axis.set_title(name, loc="left", pad=3)
        _group(axis, bars, HEADS[beside], headed=number == 0)
        axis.tick_params(axis="x", labelbottom=number == len(groups) - 1)
    axes[-1, 0].set_xlabel("share of the video")
    steps = sorted({int(step) for _, bars in groups for bar in bars for step in set(bar.steps.tolist())})
    step_legend(drawn, steps, unmatched=-1 in steps)
    note = "; beside the bars: F1 (%) of protocols A and B, and the number of segments"
    if beside == "collapse":
        note = f": {degenerate_text([bar.degenerate for _, bars in groups for bar in bars[1:]])}"
    tell(drawn, f"{title}{note}", about)
    return drawn


def _bars(shown: Shown, beside: str) -> tuple[str, list[_Bar]]:
    """Return the text above the bars of the first video of a task, and the bars."""
    task, key_steps, runs = shown
    labels = TaskLabels.of(task, key_steps)
    read = [(label, *labels.labelled(task, run)) for label, run in runs]
    (video,) = labels.choose(1, set.intersection(*(set(labelled) for _, labelled, _ in read)))
    truth = read[0][1][video].truth["exact"]
    bars = [_Bar("ground truth", truth, ("", "", str(len(stretches(truth)))) if beside == "scores" else ())]
    for label, labelled, diagnostics in read:
        prediction, K = labelled[video].prediction["video"], diagnostics.K
        texts, degenerate = collapse_facts(diagnostics, video)
        if beside == "scores":
            both = (PROTOCOLS[name] for name in ("micro_video", "macro_video"))
            scores = [score(bar, [truth], [prediction], labels.n_key_steps, K).f1 for bar in both]
            texts = (*(f"{100 * value:.1f}" for value in scores), str(len(stretches(prediction))))
        bars.append(_Bar(label, matched_steps(truth, prediction, labels.n_key_steps, K), texts, degenerate))
    return f"{task.task}, {labels.name(video)}", bars


def collapse_facts(diagnostics: Diagnostics, video: str) -> tuple[tuple[str, ...], bool]:
    """Return diagnostics of collapse for a video's clustering as text, and whether it counts as degenerate.

    Mean pairwise cosine of the embeddings, largest eigenvalue of their directions, mean membership entropy (1:
    uniform), distinct labels (methods 5.9); a dash stands for a value that the decoder lacks.
    """
    scope = diagnostics.video
    assert scope is not None
    assert scope.videos is not None
    facts = scope.videos[video]
    measured = facts.mean_pairwise_cosine, facts.lambda_1, facts.membership_entropy
    numbers = ["–" if value is None or math.isnan(value) else f"{value:.2f}" for value in measured]
    degenerate = bool(facts.degenerate)
    return (*numbers, str(facts.distinct_labels), "degenerate" if degenerate else "not degenerate"), degenerate


def degenerate_text(degenerate: Sequence[bool]) -> str:
    """Return a clause on how many of the drawn clusterings collapsed."""
    count = sum(degenerate)
    return f"{count or 'none'} of the {len(degenerate)} clusterings drawn {'are' if count > 1 else 'is'} degenerate"


def _group(axis: Axes, bars: Sequence[_Bar], heads: Mapping[str, float], *, headed: bool) -> None:
    for position, bar in enumerate(bars):
        draw_steps(axis, bar.steps, position)
    axis.set_yticks(range(len(bars)), [bar.label for bar in bars])
    axis.set_ylim(len(bars) - 0.5, -0.5)
    axis.set_xlim(0, 1)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    for position, row in enumerate([tuple(heads) if headed else (), *(bar.beside for bar in bars)], start=-1):
        for place, text in zip(heads.values(), row, strict=False):
            axis.annotate(
                text, (1, position), (place, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                ha="right", va="center", fontsize=7, annotation_clip=False,
            )  # fmt: skip


def draw_steps(axis: Axes, steps: IntArray, position: float) -> None:
    """Draw the step of every frame (T,) as one bar over [0, 1]."""
    for start, end, step in stretches(steps):
        axis.broken_barh([(start, end - start)], (position - 0.4, 0.8), **step_style(step))
        if step > 0 and end - start >= NUMBERED:
            number_step(axis, (start + end) / 2, position, step)
