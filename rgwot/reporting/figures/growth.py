"""A score over the number of training videos, one line per method."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rgwot.records import read_scores
from rgwot.reporting.figures.curves import (
    FEATURES,
    PRINTED,
    curve,
    lines_of,
    read_rows,
    reported_points,
    seed_values,
    sweep_scores,
)
from rgwot.reporting.figures.plan import Plan, PlannedSweep
from rgwot.reporting.figures.spec import Growth, ReportedCurve
from rgwot.reporting.figures.style import DASHES, GREY, PAGE, sheet, styled, tell
from rgwot.reporting.figures.sweep import STAR, draw_curve

#: A thin line from a name to the height it stands for.
LEADER = {"arrowstyle": "-", "linewidth": 0.4, "color": "#999999", "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)}


def draw_growth(plan: Plan) -> Figure:
    """Draw lines of measured scores, levels of answers without training, and what papers report at their size."""
    figure = plan.figure
    assert isinstance(figure, Growth)
    sweep, panel = plan.sweeps[0], figure.panel
    table, scores = read_rows(sweep.rows_at), sweep_scores(sweep)
    with styled():
        drawn, axes = sheet(1, 1, height=3.6, width=PAGE)
        axis = axes[0, 0]
        ends: list[tuple[float, str, str]] = []
        for number, (line, rows) in enumerate(lines_of(sweep).items()):
            found = curve(sweep, rows, table, scores, figure.metric, figure)
            draw_curve(axis, found, number, figure.names.get(line, line))
        ends += _levels(axis, plan, figure)
        if panel.reported is not None:
            ends += _reported(axis, panel.reported, figure, sweep)
        _beside(axis, ends)
        told = {float(panel.reported.x)} if panel.reported and not isinstance(panel.reported.x, str) else set()
        sizes = sorted({row.value for row in sweep.rows if row.trained} | told)
        axis.set_xticks(sizes, [f"{size:g}" for size in sizes])
        axis.set_xlabel(panel.label)
        axis.set_ylabel(f"{PRINTED[figure.metric]}, %")
        axis.set_ylim(bottom=0)
        axis.spines[["top", "right"]].set_visible(False)
        drawn.legend(loc="outside lower center", ncols=6)
        band = (
            "; line: mean over seeds (each draws its own videos), band: least to largest" if len(plan.seeds) > 1 else ""
        )
        tell(
            drawn,
            figure.title,
            f"{plan.about}{band}; scored on all videos of the task{FEATURES if panel.reported else ''}",
        )
    return drawn


def _levels(axis: Axes, plan: Plan, figure: Growth) -> list[tuple[float, str, str]]:
    """Draw answers that need no training as horizontal lines; return their heights and names."""
    ends = []
    for number, level in enumerate(figure.levels):
        runs = [run for run in plan.levels if (run.method, run.decoder) == (level.method, level.decoder)]
        scores = read_scores([run.path("scores") for run in runs])
        value = 100 * float(seed_values(scores, runs, figure.metric, figure).mean())
        axis.axhline(value, color=GREY, linewidth=0.9, linestyle=DASHES[1 + number % (len(DASHES) - 1)])
        ends.append((value, level.label, GREY))
    return ends


def _reported(axis: Axes, reported: ReportedCurve, figure: Growth, sweep: PlannedSweep) -> list[tuple[float, str, str]]:
    """Mark what papers report at their number of videos; return the heights and names."""
    ends = []
    for method in figure.reported_methods:
        one = reported.model_copy(update={"where": {**reported.where, "method": method}})
        for points in reported_points(one, sweep, [figure.metric]).values():
            for x, value in points:
                axis.plot([x], [100 * value], color="#FFFFFF", zorder=5, **STAR)
                ends.append((100 * value, f"{method}, {reported.mark}", "#000000"))
    return ends


def _beside(axis: Axes, ends: list[tuple[float, str, str]], apart: float = 3.6) -> None:
    """Write names at the right of the axis at their heights, moved apart where they would touch."""
    placed = spread([height for height, _, _ in ends], apart)
    for place, (height, name, colour) in zip(placed, ends, strict=True):
        axis.annotate(
            f"{name} {height:.1f}", (1, height), (1.03, place), xycoords=("axes fraction", "data"), color=colour,
            textcoords=("axes fraction", "data"), va="center", fontsize=7, annotation_clip=False,
            arrowprops=LEADER,
        )  # fmt: skip


def spread(heights: list[float], apart: float) -> list[float]:
    """Move heights up, from the lowest on, so that neighbours are at least ``apart``; the order stays.

    >>> spread([10.0, 11.0, 30.0], 4.0)
    [10.0, 14.0, 30.0]
    """
    placed = list(heights)
    last = float("-inf")
    for index in sorted(range(len(heights)), key=heights.__getitem__):
        placed[index] = last = max(heights[index], last + apart)
    return placed
