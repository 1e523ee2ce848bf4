"""The method as boxes and arrows, with the matrices of one pair of videos of our own run in the boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rgwot.reporting.figures.drawing import Drawing
from rgwot.reporting.figures.style import GREY, Axes, Drawn, sheet, step_legend, step_style, tell
from rgwot.reporting.figures.videos import Array, Pair, Side, named, of_pair, stretches, transport
from rgwot.reporting.tables.table import Place, Row
from rgwot.study.study import Study

BLUE, ORANGE, GREEN = "#0072B2", "#D55E00", "#009E73"
#: The drawing board: units across and up.
WIDE, HIGH = 100.0, 50.0


def method_overview(study: Study, dataset: Place, row: Row) -> Drawing:
    """Return a figure of the method as boxes and arrows, with the matrices of one pair of videos in the boxes."""
    caption = (
        "The method as boxes and arrows: solid for computation, dashed for gradients; the matrices are those of "
        "one pair of videos."
    )
    return of_pair(study, _draw, dataset, row, caption=caption)


def _draw(title: str, about: str, shown: Pair) -> Drawn:
    """Draw computation as solid arrows and gradients as dashed ones."""
    settings = shown.settings
    pair = shown.read(int(settings["train.N"]))
    values = matrices(*pair, settings)
    drawn, axes = sheet(height=4.35)
    axis = axes[0, 0]
    axis.set_xlim(0, WIDE)
    axis.set_ylim(0, HIGH)
    axis.set_aspect("equal")
    axis.set_axis_off()
    _inputs(axis, pair)
    _transport(axis, values, settings)
    _losses(axis, values, settings)
    step_legend(drawn, sorted({int(step) for side in pair for step in side.steps}), unmatched=False)
    caption = (
        f"{about}; matrices of {len(pair[0].x)} frames spread evenly over each video. Solid: computation, "
        "dashed: gradient. Blue: temporal alignment; orange, green: contrastive terms of X and Y"
    )
    tell(drawn, f"{title}: {named(pair)}", caption)
    return drawn


def matrices(x: Side, y: Side, settings: Mapping[str, Any]) -> dict[str, Array]:
    """Return the contents of the boxes: cost, prior, both structure matrices, plan and soft matches.

    ``P`` is softmax_j(x_i y_j / tau). Matrices are (N, N), but structure matrices (N + 1, N + 1), because they include
    the virtual frame (methods 3.3 to 3.6).
    """
    import torch

    from rgwot.transport import cosine_cost, relative_positions, structure_matrix_x, structure_matrix_y, temporal_prior

    n, r = len(x.x), float(settings["ot.r"])
    first, second = (torch.from_numpy(np.ascontiguousarray(side.x)) for side in (x, y))
    places = relative_positions(n, dtype=torch.float64)
    return {
        "C": cosine_cost(first[None], second[None])[0].numpy(),
        "R": temporal_prior(places, places).numpy(),
        "Cx": structure_matrix_x(n + 1, r, dtype=torch.float64).numpy(),
        "Cy": structure_matrix_y(n + 1, r, dtype=torch.float64).numpy(),
        "T": transport(x, y, settings)[1][1:, 1:],
        "P": torch.softmax(first @ second.T / float(settings["loss.tau"]), 1).numpy(),
    }


def _inputs(axis: Axes, pair: tuple[Side, Side]) -> None:
    """Draw both videos, the encoder that they share, and their embeddings."""
    for side, name, bottom in ((pair[0], "X", 32.0), (pair[1], "Y", 14.0)):
        for start, end, step in stretches(side.steps):
            axis.broken_barh([(1 + 11 * start, 11 * (end - start))], (bottom, 3.5), **step_style(step))
        axis.text(6.5, bottom + 4.3, f"frames {name}", ha="center", fontsize=7)
        _arrow(axis, [(12.4, bottom + 1.75), (15.6, bottom + 1.75)])
        _arrow(axis, [(28.4, bottom + 1.75), (31.6, bottom + 1.75)])
        _picture(axis, side.x.T[:24], (32, bottom - 2.5, 8.5, 8.5), f"embeddings {name}")
    _box(axis, (16, 12, 12, 25.5), "shared\nencoder\n\nconv4c maps,\n3-D conv,\nmax pool,\nFC, unit\nlength")


def _transport(axis: Axes, values: Mapping[str, Array], settings: Mapping[str, Any]) -> None:
    """Draw the matrices of the transport problem, the solver and the plan."""
    from rgwot.transport import structure_radius

    a = structure_radius(len(values["Cx"]), float(settings["ot.r"]))
    _picture(axis, values["C"], (48, 33, 8, 8), "cost C")
    _picture(axis, values["R"], (60, 33, 8, 8), "prior R")
    axis.text(58, 37, "+ρ", ha="center", va="center", fontsize=8)
    _picture(axis, values["Cx"], (48, 20.5, 8, 8), f"Cˣ, a = {a}")
    _picture(axis, values["Cy"], (60, 20.5, 8, 8), f"Cʸ, a = {a}")
    _arrow(axis, [(41, 34), (45, 34), (45, 37), (47.4, 37)])
    _arrow(axis, [(41, 17.5), (45, 17.5), (45, 37), (47.4, 37)])
    _box(axis, (72, 23, 12, 13), "fused GW\nsolver with\nvirtual frame\n(no gradient)")
    _arrow(axis, [(68.7, 37), (70, 37), (70, 32), (71.4, 32)])
    _arrow(axis, [(68.7, 24.5), (70, 24.5), (70, 27.5), (71.4, 27.5)])
    _picture(axis, values["T"], (88, 25, 9, 9), "plan T*")
    _arrow(axis, [(84.6, 29.5), (87.4, 29.5)])


def _losses(axis: Axes, values: Mapping[str, Array], settings: Mapping[str, Any]) -> None:
    """Draw the three losses, and the path of their gradients."""
    _picture(axis, values["P"], (66, 7.5, 9, 9), "soft matches P")
    _arrow(axis, [(41, 16), (53, 16), (53, 12), (65.4, 12)], BLUE)
    _arrow(axis, [(41, 32.5), (43, 32.5), (43, 12), (65.4, 12)], BLUE)
    _box(axis, (82, 9, 17, 6), "cross-entropy\n(T*, P)", BLUE)
    _arrow(axis, [(75.6, 12), (81.4, 12)], BLUE)
    _arrow(axis, [(92.5, 24.4), (92.5, 15.6)], BLUE)
    weight = f"β = {settings['cidm.beta']:g}"
    _box(axis, (48, 44.5, 17, 5), f"C-IDM(X), {weight}", ORANGE)
    _arrow(axis, [(36.2, 41.2), (36.2, 48), (47.4, 48)], ORANGE)
    _arrow(axis, [(47.4, 46), (38.5, 46), (22, 46), (22, 38.1)], ORANGE, gradient=True)
    _box(axis, (48, 3.8, 17, 5), f"C-IDM(Y), {weight}", GREEN)
    _arrow(axis, [(38, 11), (38, 7.5), (47.4, 7.5)], GREEN)
    _arrow(axis, [(47.4, 5.2), (24, 5.2), (24, 11.4)], GREEN, gradient=True)
    _arrow(axis, [(92.5, 8.4), (92.5, 1.5), (20, 1.5), (20, 11.4)], BLUE, gradient=True)


def _box(axis: Axes, place: tuple[float, float, float, float], text: str, colour: str = "#444444") -> None:
    from matplotlib.patches import FancyBboxPatch

    left, bottom, width, height = place
    axis.add_patch(
        FancyBboxPatch(
            (left, bottom), width, height, boxstyle="round,pad=0,rounding_size=1", facecolor=f"{colour}18",
            edgecolor=colour, linewidth=1.0,
        )
    )  # fmt: skip
    axis.text(left + width / 2, bottom + height / 2, text, ha="center", va="center", fontsize=7.5)


def _picture(axis: Axes, values: Array, place: tuple[float, float, float, float], name: str) -> None:
    """Draw a matrix as a small picture with a name above it."""
    left, bottom, width, height = place
    axis.imshow(
        values, vmin=min(0.0, float(values.min())), vmax=max(1e-12, float(values.max())), cmap="Greys",
        extent=(left, left + width, bottom, bottom + height), interpolation="nearest", aspect="auto", zorder=1,
    )  # fmt: skip
    frame: dict[str, Any] = {"facecolor": "none", "edgecolor": GREY, "linewidth": 0.5, "zorder": 2}
    axis.broken_barh([(left, width)], (bottom, height), **frame)
    axis.text(left + width / 2, bottom + height + 0.7, name, ha="center", fontsize=7)
    # A picture sets the limits of the axes to its own, so those of the drawing board are set again.
    axis.set_xlim(0, WIDE)
    axis.set_ylim(0, HIGH)


def _arrow(
    axis: Axes, points: Sequence[tuple[float, float]], colour: str = "#444444", *, gradient: bool = False
) -> None:
    """Draw an arrow along corners; dashed for a gradient."""
    line: dict[str, Any] = {"color": colour, "linewidth": 1.0, "linestyle": (0, (4, 2)) if gradient else "-"}
    xs, ys = zip(*points, strict=True)
    axis.plot(xs[:-1], ys[:-1], solid_joinstyle="miter", **line)
    head = {"arrowstyle": "-|>", "mutation_scale": 7, "shrinkA": 0, "shrinkB": 0}
    axis.annotate("", points[-1], points[-2], arrowprops=head | line)
