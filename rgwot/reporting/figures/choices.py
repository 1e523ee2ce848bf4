"""The curves that a result's choices were read from, a panel per choice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rgwot.records import read_diagnostics
from rgwot.reporting.choices import Curve, shown_choices
from rgwot.reporting.figures.style import COLUMN, GREY, LINE_COLOURS, PAGE, Axes, Drawn, sheet, styled, tell
from rgwot.runtime.errors import RgwotError


def choice_curves(diagnostics_json: Path, about: str) -> Drawn:
    """Draw how far views of the features agree over everything that was tried, what was chosen marked."""
    choices = shown_choices(read_diagnostics(diagnostics_json), diagnostics_json)
    if not choices.curves:
        raise RgwotError(
            f"{diagnostics_json}: {choices.why or 'nothing was left to the data, so no choice was made.'} "
            "Expected a result with a choice, such as rgwot-plus/consensus@K=auto"
        )
    n = len(choices.curves)
    with styled():
        figure, axes = sheet(1, n, height=2.5, width=COLUMN if n == 1 else PAGE)
        for axis, curve in zip(axes[0], choices.curves, strict=True):
            draw_choice(axis, curve)
        tell(figure, "What was left to the data", about)
    return figure


def draw_choice(axis: Axes, curve: Curve) -> None:
    """Draw how far views agree over everything that was tried, and what was chosen."""
    axis.plot(curve.tried, curve.agreement, color=LINE_COLOURS[0], marker="o")
    if curve.least is not None:
        axis.axhline(curve.least, color=GREY, linewidth=0.8, linestyle=":", label="asked of background")
    at = curve.agreement[curve.tried.index(curve.chosen)]
    chosen: dict[str, Any] = {"color": LINE_COLOURS[1], "marker": "D", "markersize": 7, "linestyle": "none"}
    axis.plot([curve.chosen], [at], label="chosen", zorder=3, **chosen)
    axis.set_title(curve.title, loc="left")
    axis.set_xlabel(curve.tried_label)
    axis.set_ylabel(curve.agreement_label)
    labelled = curve.labelled(0.12)
    axis.set_xticks(labelled, [f"{value:g}" for value in labelled])
    axis.set_xticks(curve.tried, minor=True)
    axis.margins(y=0.15)
    axis.legend(loc="best")
