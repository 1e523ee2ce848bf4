"""Transport plans of one pair of videos: both solvers, with and without an active structural prior."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from rgwot.config.radius import structure_radius
from rgwot.reporting.figures.labels import TaskLabels, stretches
from rgwot.reporting.figures.pairs import Array, PairPlan, Side, read_pair, transport
from rgwot.reporting.figures.plan import Plan
from rgwot.reporting.figures.spec import TransportPlans
from rgwot.reporting.figures.style import HATCHES, LINE_COLOURS, sheet, step_legend, step_style, styled, tell

SOLVERS = ("parity", "converged")


def shares(plan: Array) -> Array:
    """Return the share of each real frame of X that goes to each frame of Y, (N, M + 1); the virtual one first.

    >>> shares(np.array([[0.1, 0.1], [0.2, 0.6]])).tolist()
    [[0.25, 0.7499999999999999]]
    """
    real = plan[1:]
    return np.asarray(real / real.sum(axis=1, keepdims=True))


def radius_text(r: float, frames: int) -> str:
    """Say what a radius comes to.

    >>> radius_text(0.02, 33), radius_text(0.1, 33)
    ('r = 0.02 (a = 0: prior off)', 'r = 0.1 (a = 3: prior acts)')
    """
    a = structure_radius(frames, r)
    return f"r = {r:g} (a = {a}: prior {'acts' if a else 'off'})"


def draw_plans(plan: Plan) -> Figure:
    """Draw the cost, four plans and the mass on the virtual frame."""
    figure = plan.figure
    assert isinstance(figure, TransportPlans)
    task = plan.tasks[0]
    settings = task.settings
    N = int(settings["train.N"])
    x, y = read_pair(task, TaskLabels.of(task), N)
    solved = {(solver, r): transport(x, y, settings, solver=solver, r=r) for r in figure.radii for solver in SOLVERS}
    with styled():
        drawn, axes = sheet(2, 3, height=5.4)
        _cost(axes[0, 0], next(iter(solved.values())), x, y, settings, drawn)
        _virtual(axes[1, 0], {f"{solver}\nr = {r:g}": one for (solver, r), one in solved.items()})
        top = max(float(np.quantile(shares(one.plan)[:, 1:], 0.995)) for one in solved.values())
        for axis, ((solver, r), one) in zip((*axes[0, 1:], *axes[1, 1:]), solved.items(), strict=True):
            picture = _matrix(axis, shares(one.plan)[:, 1:], x, y, cmap="Greys", vmin=0, vmax=top)
            axis.set_title(f"T*, {solver}\n{radius_text(r, N + 1)}")
        drawn.colorbar(
            picture,
            ax=axes[:, 1:],
            location="right",
            aspect=40,
            shrink=0.6,
            label="share of a frame of X",
            extend="max",
        )
        steps = sorted({*x.steps.tolist(), *y.steps.tolist()})
        step_legend(drawn, steps, unmatched=False)
        tell(
            drawn,
            f"{figure.title}: X = {x.name}, Y = {y.name}",
            f"{plan.about}; {N} frames spread evenly over each video, true steps on both axes; "
            f"α = {settings['ot.alpha']:g}, ε = {settings['ot.epsilon']:g}, ρ = {settings['ot.rho']:g}, "
            f"ζ = {settings['ot.zeta']:g}",
        )
    return drawn


def _matrix(axis: Axes, values: Array, x: Side, y: Side, **options: Any) -> Any:
    """Draw a matrix (N, M) with the true steps of both videos beside its axes; frames of X go down."""
    n, m = values.shape
    picture = axis.imshow(values, extent=(0, m, n, 0), aspect="auto", interpolation="nearest", **options)
    wide, high = 0.05 * m, 0.05 * n
    for start, end, step in stretches(x.steps):
        axis.add_patch(Rectangle((-1.4 * wide, start * n), wide, (end - start) * n, clip_on=False, **step_style(step)))
    for start, end, step in stretches(y.steps):
        place = (start * m, n + 0.4 * high)
        axis.add_patch(Rectangle(place, (end - start) * m, high, clip_on=False, **step_style(step)))
    axis.set_xlim(-1.5 * wide, m)
    axis.set_ylim(n + 1.5 * high, 0)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_xlabel("frames of Y →", fontsize=7)
    axis.set_ylabel("← frames of X", fontsize=7)
    axis.spines[:].set_visible(False)
    return picture


def _cost(axis: Axes, solved: PairPlan, x: Side, y: Side, settings: dict[str, Any], drawn: Figure) -> None:
    picture = _matrix(axis, solved.cost[1:, 1:], x, y, cmap="Greys_r")
    axis.set_title(f"cost C + ρ R\nvirtual frame: ζ = {settings['ot.zeta']:g}")
    drawn.colorbar(picture, ax=axis, location="right", aspect=25)


def _virtual(axis: Axes, solved: dict[str, PairPlan]) -> None:
    """Draw how much of each video goes to the virtual frame."""
    values = np.array([one.to_virtual() for one in solved.values()])
    for side, label in enumerate(("X", "Y")):
        bars = axis.barh(
            np.arange(len(values)) + (side - 0.5) * 0.38, 100 * values[:, side], 0.36, label=label,
            color=LINE_COLOURS[4 + side], hatch=HATCHES[side], edgecolor="#000000", linewidth=0.4,
        )  # fmt: skip
        axis.bar_label(bars, fmt="%.0f", fontsize=7, padding=1)
    axis.set_yticks(range(len(values)), list(solved))
    axis.set_ylim(len(values) + 0.3, -0.6)
    axis.margins(x=0.15)
    axis.set_xlabel("mass on the virtual frame, %")
    axis.set_title("left unmatched")
    axis.legend(loc="lower right", ncols=2, handlelength=1.2, columnspacing=1)
    axis.spines[["top", "right"]].set_visible(False)
