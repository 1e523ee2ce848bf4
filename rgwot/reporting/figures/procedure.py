"""A procedure as a graph, from left to right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from rgwot.procedure.facts import questioned, step_title
from rgwot.procedure.interface import END, START
from rgwot.reporting.figures.style import GREY, SMALLEST, Drawn, ink_on, sheet, step_style, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rgwot.procedure.interface import Procedure

#: Largest width and height of a step in inches.
WIDE, HIGH = 1.3, 0.75


def draw_procedure(procedure: Procedure, names: Mapping[int, str] | None = None, axis: Axes | None = None) -> Drawn:
    """Draw the key steps of a procedure as boxes and its needs as arrows; return the figure.

    A step stands to the right of all steps that it needs. Below are the key steps that may come in either order.
    """
    places = layers(procedure)
    columns, rows = 1 + max(x for x, _ in places.values()), 1 + max(y for _, y in places.values())
    with styled():
        if axis is None:
            new, drawn = sheet(height=HIGH * rows + 0.5)
            new.set_figwidth(max(WIDE * columns, 4))
        axes = drawn[0][0] if axis is None else axis
        nodes = {node.key_step: node for node in procedure.nodes}
        for edge in procedure.edges:
            (x0, y0), (x1, y1) = places[edge.before], places[edge.after]
            likely = edge.before == START or edge.after == END or not questioned(edge)
            # An arrow that passes other columns is bent, so that it does not cross boxes of its row.
            bend = -0.5 / (x1 - x0) if x1 - x0 > 1 and y0 == y1 else 0.0
            axes.annotate(
                "", (x1, -y1), (x0, -y0),
                arrowprops={
                    "arrowstyle": "-|>", "color": GREY, "linestyle": "-" if likely else "--", "linewidth": 0.9,
                    "shrinkA": 24, "shrinkB": 24, "connectionstyle": f"arc3,rad={bend}",
                },
            )  # fmt: skip
            if edge.agree < edge.both:
                text = f"{edge.agree} of {edge.both}"
                axes.text((x0 + x1) / 2, -(y0 + y1) / 2 + 0.08, text, ha="center", fontsize=SMALLEST - 1, color=GREY)
        for step, (x, y) in places.items():
            style = step_style(step) if isinstance(step, int) else {"facecolor": "#FFFFFF"}
            box = {
                "boxstyle": "round,pad=0.5", **style, "linewidth": 0.9, "edgecolor": GREY,
                "linestyle": "--" if step in nodes and nodes[step].optional else "-",
            }  # fmt: skip
            text = str(step).lower()
            if isinstance(step, int):
                text = f"{step_title(step, names)}\n{nodes[step].n_videos} of {procedure.n_videos}"
            ink = ink_on(str(style["facecolor"]))
            axes.text(x, -y, text, ha="center", va="center", fontsize=SMALLEST, color=ink, bbox=box)
        axes.set_xlim(-0.6, columns - 0.4)
        axes.set_ylim(-rows + 0.4, 0.6)
        axes.set_axis_off()
        if procedure.groups:
            groups = "; ".join(", ".join(step_title(step, names) for step in group) for group in procedure.groups)
            axes.text(0, 0, f"in either order: {groups}", transform=axes.transAxes, fontsize=SMALLEST, va="top")
    return cast("Drawn", axes.figure)


def layers(procedure: Procedure) -> dict[int | str, tuple[int, int]]:
    """Return column and row of key steps, START and END: right of all needs, and in a column by consensus order."""
    column: dict[int | str, int] = {START: 0}
    steps: list[int | str] = [*procedure.order, END]
    # In the consensus order, every step comes after the steps that it needs.
    for step in steps:
        column[step] = 1 + max((column[edge.before] for edge in procedure.edges if edge.after == step), default=0)
    taken: dict[int, int] = {}
    places = {}
    for step, x in column.items():
        places[step] = (x, taken.get(x, 0))
        taken[x] = taken.get(x, 0) + 1
    return places
