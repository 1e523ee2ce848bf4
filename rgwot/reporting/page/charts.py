"""Line charts of a page as pictures: training curves, and the curves that choices were read from."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

from rgwot.records import TERMS
from rgwot.reporting.choices import Curve
from rgwot.reporting.figures.choices import draw_choice
from rgwot.reporting.figures.style import DASHES, LINE_COLOURS, Drawn

_INK = "#222222"


def _sheet(size: tuple[float, float]) -> Drawn:
    # The figure alone, without pyplot: nothing global is changed.
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def _svg(figure: Drawn) -> str:
    """Return a figure as SVG in base64, the same bytes for the same figure."""
    from matplotlib import rc_context

    written = io.BytesIO()
    with rc_context({"svg.hashsalt": "rgwot", "svg.fonttype": "path", "text.parse_math": False}):
        figure.savefig(written, format="svg", metadata={"Date": None})
    return base64.b64encode(written.getvalue()).decode()


def choice_picture(curve: Curve) -> tuple[str, str, str]:
    """Return what a choice says in words, its curve as SVG in base64, and the curve for those who do not see it."""
    figure = _sheet((3.4, 2.5))
    draw_choice(figure.subplots(), curve)
    pairs = zip(curve.tried, curve.agreement, strict=True)
    values = ", ".join(f"{value:g}: {agreement:.3g}" for value, agreement in pairs)
    described = f"{curve.agreement_label}, by {curve.tried_label}: {values}; chosen: {curve.chosen:g}"
    return curve.words, _svg(figure), described


def curve_pictures(curves: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Draw the losses of all trainings, a colour per method and a line style per seed.

    Returns ``wide`` and ``narrow``, SVG in base64; nothing when nothing was trained.
    """
    return {"wide": _losses(curves, 3, (12.0, 3.8)), "narrow": _losses(curves, 1, (4.2, 8.4))} if curves else {}


def _losses(curves: Sequence[Mapping[str, Any]], columns: int, size: tuple[float, float]) -> str:
    methods = list(dict.fromkeys(curve["method"] for curve in curves))
    seeds = sorted({curve["seed"] for curve in curves})
    figure = _sheet(size)
    axes = figure.subplots(len(TERMS) // columns, columns, squeeze=False, sharex=True).ravel()
    for axis, (term, title) in zip(axes, TERMS.items(), strict=True):
        for curve in curves:
            look: dict[str, Any] = {
                "color": LINE_COLOURS[methods.index(curve["method"]) % len(LINE_COLOURS)],
                "linestyle": DASHES[seeds.index(curve["seed"]) % len(DASHES)],
            }
            axis.plot(
                curve["step"], curve[term], linewidth=1.4, label=f"{curve['method']}, seed {curve['seed']}", **look
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
    return _svg(figure)
