"""Transport plans of one pair of videos: both solvers, with and without an active structural prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rgwot.reporting.figures.drawing import Drawing
from rgwot.reporting.figures.style import HATCHES, LINE_COLOURS, Axes, Drawn, sheet, step_legend, step_style, tell
from rgwot.reporting.figures.videos import (
    Array,
    Pair,
    Side,
    TaskLabels,
    named,
    of_pair,
    shares,
    side_of,
    stretches,
    transport,
)
from rgwot.reporting.tables.table import Place, Row
from rgwot.runtime.errors import RgwotError
from rgwot.study.study import Study

if TYPE_CHECKING:
    from rgwot.embedding.interface import EmbeddedVideo

SOLVERS = ("parity", "converged")


def solver_plans(study: Study, dataset: Place, row: Row, radii: Sequence[float]) -> Drawing:
    """Return a figure of cost and transport plans of one pair of videos, by both solvers and at two radii."""
    caption = (
        "Cost and transport plans of one pair of videos, by the solver of the public code (parity) and the "
        "converged one, at two radii of the structural prior, with true steps on both axes."
    )
    return of_pair(study, _draw, dataset, row, tuple(radii), caption=caption)


def _draw(title: str, about: str, shown: Pair, radii: tuple[float, float]) -> Drawn:
    """Draw the cost, four plans and the mass on the virtual frame."""
    settings = shown.settings
    N = int(settings["train.N"])
    pair = shown.read(N)
    solved = {(solver, r): transport(*pair, settings, solver=solver, r=r) for r in radii for solver in SOLVERS}
    plans = {key: plan for key, (_, plan) in solved.items()}
    drawn, axes = sheet(2, 3, height=5.4)
    # The cost is the same for all solvers and radii, so the first is drawn.
    picture = _cost(axes[0, 0], next(iter(solved.values()))[0], pair, settings)
    drawn.colorbar(picture, ax=axes[0, 0], location="right", aspect=25)
    _virtual(axes[1, 0], {f"{solver}\nr = {r:g}": plan for (solver, r), plan in plans.items()})
    top = max(float(np.quantile(shares(plan)[:, 1:], 0.995)) for plan in plans.values())
    for axis, ((solver, r), plan) in zip((*axes[0, 1:], *axes[1, 1:]), plans.items(), strict=True):
        picture = _plan(axis, plan, pair, solver, r, vmax=top)
    look: dict[str, Any] = {"location": "right", "aspect": 40, "shrink": 0.6, "extend": "max"}
    drawn.colorbar(picture, ax=axes[:, 1:], label="share of a frame of X", **look)
    _tell(drawn, title, pair, f"{about}; {N} frames spread evenly over each video, true steps on both axes", settings)
    return drawn


def draw_plan(
    embedded: Mapping[str, EmbeddedVideo], labels: TaskLabels, settings: Mapping[str, Any], title: str
) -> Drawn:
    """Draw cost and transport plan of the first two videos, with the dotted ``settings`` of their training.

    True steps on the axes are background where a video is not annotated. Raises RgwotError if there is only one video.
    """
    if len(embedded) < 2:
        raise RgwotError(f"{title}: found {len(embedded)} video, expected two; a plan is between two videos")
    N, solver, r = int(settings["train.N"]), str(settings["ot.solver"]), float(settings["ot.r"])
    first, second = list(embedded)[:2]
    pair = side_of(first, embedded[first], labels, N), side_of(second, embedded[second], labels, N)
    cost, plan = transport(*pair, settings)
    drawn, axes = sheet(1, 3, height=3.3)
    drawn.colorbar(_cost(axes[0, 0], cost, pair, settings), ax=axes[0, 0], location="bottom", aspect=25)
    picture = _plan(axes[0, 1], plan, pair, solver, r)
    drawn.colorbar(picture, ax=axes[0, 1], location="bottom", aspect=25, label="share of a frame of X")
    _virtual(axes[0, 2], {"": plan})
    _tell(drawn, title, pair, f"{N} frames spread evenly over each video", settings)
    return drawn


def _cost(axis: Axes, cost: Array, pair: tuple[Side, Side], settings: Mapping[str, Any]) -> Any:
    axis.set_title(f"cost C + ρ R\nvirtual frame: ζ = {settings['ot.zeta']:g}")
    return _matrix(axis, cost[1:, 1:], *pair, cmap="Greys_r")


def _plan(axis: Axes, plan: Array, pair: tuple[Side, Side], solver: str, r: float, **options: Any) -> Any:
    from rgwot.transport import structure_radius

    a = structure_radius(len(plan), r)
    axis.set_title(f"T*, {solver}\nr = {r:g} (a = {a}: prior {'acts' if a else 'off'})")
    return _matrix(axis, shares(plan)[:, 1:], *pair, cmap="Greys", vmin=0, **options)


def _tell(drawn: Drawn, title: str, pair: tuple[Side, Side], about: str, settings: Mapping[str, Any]) -> None:
    """Add the legend, the title and the caption with the settings of the transport."""
    step_legend(drawn, sorted({step for side in pair for step in side.steps.tolist()}), unmatched=False)
    keys = {"α": "ot.alpha", "ε": "ot.epsilon", "ρ": "ot.rho", "ζ": "ot.zeta"}
    values = ", ".join(f"{symbol} = {settings[key]:g}" for symbol, key in keys.items())
    tell(drawn, f"{title}: {named(pair)}", f"{about}; {values}")


def virtual_share(plan: Array) -> float:
    """Return the share of the mass of the real rows of a plan (N + 1, M + 1) that lies in its first column.

    >>> virtual_share(np.array([[0.1, 0.1], [0.2, 0.6]]))
    0.25
    """
    real = plan[1:]
    return float(real[:, 0].sum() / real.sum())


def _matrix(axis: Axes, values: Array, x: Side, y: Side, **options: Any) -> Any:
    """Draw a matrix (N, M) with the true steps of both videos next to its axes; the frames of X run downwards."""
    n, m = values.shape
    picture = axis.imshow(values, extent=(0, m, n, 0), aspect="auto", interpolation="nearest", **options)
    wide, high = 0.05 * m, 0.05 * n
    for start, end, step in stretches(x.steps):
        axis.broken_barh([(-1.4 * wide, wide)], (start * n, (end - start) * n), clip_on=False, **step_style(step))
    for start, end, step in stretches(y.steps):
        axis.broken_barh([(start * m, (end - start) * m)], (n + 0.4 * high, high), clip_on=False, **step_style(step))
    axis.set_xlim(-1.5 * wide, m)
    axis.set_ylim(n + 1.5 * high, 0)
    axis.set(xticks=[], yticks=[])
    axis.set_xlabel("frames of Y →", fontsize=7)
    axis.set_ylabel("← frames of X", fontsize=7)
    axis.spines[:].set_visible(False)
    return picture


def _virtual(axis: Axes, plans: dict[str, Array]) -> None:
    """Draw how much of each video goes to the virtual frame."""
    values = np.array([(virtual_share(plan), virtual_share(plan.T)) for plan in plans.values()])
    for side, label in enumerate(("X", "Y")):
        bars = axis.barh(
            np.arange(len(values)) + (side - 0.5) * 0.38, 100 * values[:, side], 0.36, label=label,
            color=LINE_COLOURS[4 + side], hatch=HATCHES[side], edgecolor="#000000", linewidth=0.4,
        )  # fmt: skip
        axis.bar_label(bars, fmt="%.0f", fontsize=7, padding=1)
    axis.set_yticks(range(len(values)), list(plans))
    axis.set_ylim(len(values) + 0.3, -0.6)
    axis.margins(x=0.15)
    axis.set_xlabel("mass on the virtual frame, %")
    axis.set_title("left unmatched")
    axis.legend(loc="lower right", ncols=2, handlelength=1.2, columnspacing=1)
