"""The share of time that a result chose from its videos (methods 5.7): its curve, in words and as a figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rgwot.keysteps.relative_time import KEEPS, SAME_ORDER
from rgwot.records import read_diagnostics
from rgwot.reporting.figures.style import COLUMN, GREY, LINE_COLOURS, PAGE, Axes, Drawn, sheet, styled, tell
from rgwot.runtime.errors import RgwotError


class Curve(NamedTuple):
    """The choice of a share of time, and the evidence it was read from.

    ``found`` has the J of every share that was tried, in ascending order. ``title`` and ``words`` say what was chosen,
    and why, in a few words and in a sentence. ``least`` is the J that had to be reached for more than a hint, or None
    where there was none without time.
    """

    found: Mapping[float, float]
    chosen: float
    title: str
    words: str
    least: float | None


TRIED, AGREEMENT = "share of time", "J of the embedding"
"""Axes of a `Curve`."""


class ShownChoices(NamedTuple):
    """The choices of one result: a curve per choice that was made, or ``why`` none could be made, as a sentence."""

    curves: tuple[Curve, ...] = ()
    why: str = ""

    def __bool__(self) -> bool:
        """Whether there is anything to say."""
        return bool(self.curves or self.why)


def shown_choices(diagnostics: Mapping[str, Any]) -> ShownChoices:
    """Read the choices of a result from its ``diagnostics.json``; a decoder that chooses nothing has none."""
    facts = (diagnostics.get("choices") or {}).get("time")
    if not facts:
        return ShownChoices()
    if "why" in facts:
        return ShownChoices(why=f"Time was left to the data, and has no share: {facts['why']}.")
    J = {float(share): float(value) for share, value in facts["agreement"].items()}
    return ShownChoices((_time(dict(sorted(J.items())), float(facts["chosen"]), float(facts["concordance"])),))


def _time(found: dict[float, float], chosen: float, same_order: float) -> Curve:
    none = found[0.0]
    given = f"Time is given {chosen:.0%} of the squared length of an embedding"
    if not chosen:
        words = f"Time is given no share: without it the labels of other videos foretell nothing (J {none:.3g})."
    elif same_order < SAME_ORDER:
        measured = f"concordance {same_order:.3g}, {SAME_ORDER:g} is asked for"
        words = f"{given}, a hint: videos differ in their order ({measured})."
    else:
        reached = found[chosen] >= KEEPS * none
        which = "it is the largest share that keeps" if reached else "the smallest share: none keeps"
        words = (
            f"{given}{':' if reached else ','} {which} {KEEPS:.1%} of what labels explain without it, dotted (J "
            f"{found[chosen]:.3g} against {none:.3g})."
        )
    title = f"{chosen:.0%} time" if chosen else "no time"
    return Curve(found, chosen, title, words, KEEPS * none if none > 0 else None)


def choice_curves(diagnostics_json: Path, about: str) -> Drawn:
    """Draw the evidence over everything that was tried, what was chosen marked."""
    choices = shown_choices(read_diagnostics(diagnostics_json))
    if not choices.curves:
        raise RgwotError(
            f"{diagnostics_json}: {choices.why or 'nothing was left to the data, so no choice was made.'} "
            "Expected a result with a choice, such as rgwot-plus/consensus"
        )
    n = len(choices.curves)
    with styled():
        figure, axes = sheet(1, n, height=2.5, width=COLUMN if n == 1 else PAGE)
        for axis, curve in zip(axes[0], choices.curves, strict=True):
            draw_choice(axis, curve)
        tell(figure, "What was left to the data", about)
    return figure


def draw_choice(axis: Axes, curve: Curve) -> None:
    """Draw the evidence over everything that was tried, and what was chosen."""
    tried = list(curve.found)
    axis.plot(tried, list(curve.found.values()), color=LINE_COLOURS[0], marker="o")
    if curve.least is not None:
        axis.axhline(curve.least, color=GREY, linewidth=0.8, linestyle=":", label="asked for")
    chosen: dict[str, Any] = {"color": LINE_COLOURS[1], "marker": "D", "markersize": 7, "linestyle": "none"}
    axis.plot([curve.chosen], [curve.found[curve.chosen]], label="chosen", zorder=3, **chosen)
    axis.set_title(curve.title, loc="left")
    axis.set_xlabel(TRIED)
    axis.set_ylabel(AGREEMENT)
    axis.set_xticks(tried, minor=True)
    axis.margins(y=0.15)
    axis.legend(loc="best")
