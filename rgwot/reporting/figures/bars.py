"""Key steps of single videos as bars: ground truth above the answers of one or several methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rgwot.evaluation.metrics import IntArray
from rgwot.reporting.figures.labels import TaskLabels, matched_steps, stretches, video_f1
from rgwot.reporting.figures.plan import Plan, PlannedTask
from rgwot.reporting.figures.spec import Bars
from rgwot.reporting.figures.style import number_step, plain, sheet, step_legend, step_style, styled, tell

#: Columns of text beside the bars: their heads, and how far right of the bars each ends, in points.
HEADS = {
    "collapse": {"cosine": 30, "λ₁": 54, "entropy": 88, "labels": 116, "": 178},
    "scores": {"A": 24, "B": 52, "segments": 94},
}
#: A segment at least this share of the bar carries the number of its step.
NUMBERED = 0.035


@dataclass(frozen=True)
class Bar:
    """One bar: what it is called, the step of every scored frame (T,), and what stands beside it."""

    label: str
    steps: IntArray
    beside: tuple[str, ...]
    degenerate: bool = False


@dataclass(frozen=True)
class Group:
    """The bars of one video."""

    title: str
    bars: tuple[Bar, ...]


def collapse_facts(diagnostics: dict[str, Any], video: str) -> tuple[tuple[str, ...], bool]:
    """Return what tells collapse of one video's clustering, as text, and whether it counts as degenerate.

    Mean pairwise cosine of the embeddings, largest eigenvalue of their directions, mean membership entropy (1:
    uniform), distinct labels (methods 5.9); a dash where the decoder has none.
    """
    facts = diagnostics["video"]["videos"][video]
    keys = ("mean_pairwise_cosine", "lambda_1", "membership_entropy")
    numbers = [f"{facts[key]:.2f}" if facts.get(key) is not None else "–" for key in keys]
    degenerate = bool(facts["degenerate"])
    return (*numbers, str(facts["distinct_labels"]), "degenerate" if degenerate else "not degenerate"), degenerate


def task_groups(plan: Plan, task: PlannedTask, figure: Bars) -> list[Group]:
    """Compute the bars of the videos of one task."""
    labels = TaskLabels.of(task)
    read = [(run.label, *labels.labelled(run)) for run in task.runs]
    groups = []
    decoded = set.intersection(*(set(videos) for _, videos, _ in read))
    for video in labels.choose(task.videos, figure.n_videos, decoded):
        truth = read[0][1][video].truth["exact"]
        count = str(len(stretches(truth)))
        bars = [Bar("ground truth", truth, ("", "", count) if figure.beside == "scores" else ())]
        for label, videos, diagnostics in read:
            prediction, K = videos[video].prediction["video"], int(diagnostics["K"])
            beside, degenerate = collapse_facts(diagnostics, video)
            if figure.beside == "scores":
                scores = [
                    video_f1(protocol, truth, prediction, labels.n_key_steps, K)
                    for protocol in ("micro_video", "macro_video")
                ]
                beside = (*(f"{100 * value:.1f}" for value in scores), str(len(stretches(prediction))))
            bars.append(Bar(label, matched_steps(truth, prediction, labels.n_key_steps, K), beside, degenerate))
        groups.append(Group(f"{task.task}, {labels.name(video)}", tuple(bars)))
    return groups


def draw_bars(plan: Plan) -> Figure:
    """Draw ground truth and predictions of the planned videos over relative time."""
    figure = plan.figure
    assert isinstance(figure, Bars)
    groups = [group for task in plan.tasks for group in task_groups(plan, task, figure)]
    title = figure.title
    if figure.beside == "collapse":
        title += f": {degenerate_text([bar for group in groups for bar in group.bars[1:]])}"
    else:
        title += "; beside the bars: F1 (%) of protocols A and B, and the number of segments"
    return bars_figure(groups, HEADS[figure.beside], title, plan.about)


def degenerate_text(bars: Sequence[Bar]) -> str:
    """Say how many of the runs drawn collapsed; a figure of degenerate solutions may have none to show."""
    found = sum(bar.degenerate for bar in bars)
    return f"{found or 'none'} of the {len(bars)} clusterings drawn {'are' if found > 1 else 'is'} degenerate"


def bars_figure(groups: Sequence[Group], heads: Mapping[str, float], title: str, about: str) -> Figure:
    """Draw groups of bars, one above the other, with columns of text at their right."""
    sizes = [len(group.bars) for group in groups]
    with styled():
        drawn, axes = sheet(
            len(groups), height=0.2 * sum(sizes) + 0.28 * len(groups) + 1.25, height_ratios=[n + 1 for n in sizes]
        )
        for number, (axis, group) in enumerate(zip(axes[:, 0], groups, strict=True)):
            _group(axis, group, heads, headed=number == 0)
            axis.tick_params(axis="x", labelbottom=number == len(groups) - 1)
        axes[-1, 0].set_xlabel("share of the video")
        steps = sorted({int(step) for group in groups for bar in group.bars for step in set(bar.steps.tolist())})
        step_legend(drawn, steps, unmatched=-1 in steps)
        tell(drawn, title, about)
    return drawn


def _group(axis: Axes, group: Group, heads: Mapping[str, float], *, headed: bool) -> None:
    for position, bar in enumerate(group.bars):
        draw_steps(axis, bar.steps, position)
    axis.set_yticks(range(len(group.bars)), [bar.label for bar in group.bars])
    axis.set_ylim(len(group.bars) - 0.5, -0.5)
    axis.set_xlim(0, 1)
    axis.set_title(group.title, loc="left", pad=3)
    axis.tick_params(axis="y", length=0)
    plain(axis)
    for position, row in enumerate([tuple(heads) if headed else (), *(bar.beside for bar in group.bars)], start=-1):
        for place, text in zip(heads.values(), row, strict=False):
            axis.annotate(
                text, (1, position), (place, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                ha="right", va="center", fontsize=7, annotation_clip=False,
            )  # fmt: skip


def draw_steps(axis: Axes, steps: IntArray, position: float, height: float = 0.8) -> None:
    """Draw the step of every frame (T,) as one bar over [0, 1]."""
    for start, end, step in stretches(steps):
        axis.broken_barh([(start, end - start)], (position - height / 2, height), **step_style(step))
        if step > 0 and end - start >= NUMBERED:
            number_step(axis, (start + end) / 2, position, step)
