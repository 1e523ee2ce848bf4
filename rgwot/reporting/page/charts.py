"""Line charts of a page: what a result left to the data, laid out for a template, and training curves as pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rgwot.records import TERMS
from rgwot.reporting.choices import Curve

#: Two numbers below the axis of a chart need so much between their middles, in CSS pixels.
APART = 26
#: Edges of the axes of a chart in CSS pixels; outside stand numbers and labels.
LEFT, RIGHT, TOP, BOTTOM = 52, 288, 28, 132
_INK = "#222222"


class Chart(NamedTuple):
    """A curve laid out in a drawing of fixed size, in CSS pixels rightwards and downwards.

    ``points`` and ``chosen`` are (x, y) of the values tried and of the chosen one, ``x_numbers`` and ``y_numbers``
    place and text at the axes, ``least`` the y of the agreement that was asked for. ``described`` says it in words, for
    those who do not see it.
    """

    curve: Curve
    points: tuple[tuple[float, float], ...]
    chosen: tuple[float, float]
    x_numbers: tuple[tuple[float, str], ...]
    y_numbers: tuple[tuple[float, str], ...]
    least: float | None
    described: str
    width: int = 300
    height: int = 180
    left: int = LEFT
    right: int = RIGHT
    top: int = TOP
    bottom: int = BOTTOM


def chart(curve: Curve) -> Chart:
    """Lay a curve out: linear axes from the least to the largest value."""
    levels = [*curve.agreement, *([] if curve.least is None else [curve.least])]
    low, high = min(levels), max(levels)
    start, end = curve.tried[0], curve.tried[-1]

    def across(value: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * _share(value, start, end), 1)

    def down(value: float) -> float:
        return round(BOTTOM - (BOTTOM - TOP) * _share(value, low, high), 1)

    pairs = list(zip(curve.tried, curve.agreement, strict=True))
    points = tuple((across(value), down(agreement)) for value, agreement in pairs)
    values = ", ".join(f"{value:g}: {agreement:.3g}" for value, agreement in pairs)
    return Chart(
        curve,
        points,
        points[curve.tried.index(curve.chosen)],
        tuple((across(value), f"{value:g}") for value in curve.labelled(APART / (RIGHT - LEFT))),
        tuple((down(value), f"{value:.3g}") for value in dict.fromkeys((low, high))),
        None if curve.least is None else down(curve.least),
        f"{curve.agreement_label}, by {curve.tried_label}: {values}; chosen: {curve.chosen:g}",
    )


def _share(value: float, start: float, end: float) -> float:
    return (value - start) / (end - start) if end > start else 0.5


def curve_pictures(curves: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Draw the losses of all trainings, a colour per method and a line style per seed.

    Returns ``wide`` and ``narrow``, SVG in base64; nothing when nothing was trained.
    """
    if not curves:
        return {}
    return {"wide": _draw(curves, 3, (12.0, 3.8)), "narrow": _draw(curves, 1, (4.2, 8.4))}


def _draw(curves: Sequence[Mapping[str, Any]], columns: int, size: tuple[float, float]) -> str:
    # The figure alone, without pyplot: nothing global is changed.
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from rgwot.reporting.figures.style import DASHES, LINE_COLOURS

    methods = list(dict.fromkeys(curve["method"] for curve in curves))
    seeds = sorted({curve["seed"] for curve in curves})
    with rc_context({"svg.hashsalt": "rgwot", "svg.fonttype": "path"}):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(len(TERMS) // columns, columns, squeeze=False, sharex=True).ravel()
        for axis, (term, title) in zip(axes, TERMS.items(), strict=True):
            for curve in curves:
                axis.plot(
                    curve["step"],
                    curve[term],
                    color=LINE_COLOURS[methods.index(curve["method"]) % len(LINE_COLOURS)],
                    linestyle=DASHES[seeds.index(curve["seed"]) % len(DASHES)],
                    linewidth=1.4,
                    label=f"{curve['method']}, seed {curve['seed']}",
                )
            # A term that reaches zero has no logarithm.
            if all(min(curve[term]) > 0 for curve in curves):
                axis.set_yscale("log")
            axis.set_title(title, fontsize=11, loc="left", color=_INK)
            axis.tick_params(labelsize=9, labelcolor=_INK)
            axis.grid(alpha=0.3)
            axis.spines[["top", "right"]].set_visible(False)
        for axis in axes[-columns:]:
            axis.set_xlabel("iteration", fontsize=10, color=_INK)
        handles, labels = axes[0].get_legend_handles_labels()
        ncols = min(3 if columns > 1 else 1, len(labels))
        figure.legend(handles, labels, loc="outside lower center", ncols=ncols, fontsize=10, frameon=False)
        written = io.BytesIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    return base64.b64encode(written.getvalue()).decode()
