"""What a result left to the data (methods 5.7): a curve and a sentence per choice, and the figure of the curves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rgwot.keysteps.choices import ASKED, FILLED, KEEPS, OFFERED, PRESSED, SAME_ORDER, disturbed
from rgwot.records import read_diagnostics
from rgwot.reporting.figures.style import COLUMN, GREY, LINE_COLOURS, PAGE, Axes, Drawn, sheet, styled, tell
from rgwot.runtime.errors import RgwotError


class Curve(NamedTuple):
    """One choice, and the evidence it was read from.

    ``found`` has what was tried, in ascending order, and what was found for each; ``tried_label`` and
    ``agreement_label`` say in words what the two are. ``title`` and ``words`` say what was chosen, and why, in a few
    words and in a sentence. ``least`` is what had to be reached for another choice than 0, or None where the largest
    was taken.
    """

    found: Mapping[float, float]
    chosen: float
    tried_label: str
    agreement_label: str
    title: str
    words: str
    least: float | None = None


class ShownChoices(NamedTuple):
    """The choices of one result: a curve per choice that was made, or ``why`` none could be made, as a sentence."""

    curves: tuple[Curve, ...] = ()
    why: str = ""

    def __bool__(self) -> bool:
        """Whether there is anything to say."""
        return bool(self.curves or self.why)


def shown_choices(diagnostics: Mapping[str, Any]) -> ShownChoices:
    """Read the choices of a result from its ``diagnostics.json``; a decoder that chooses nothing has none."""
    facts = diagnostics.get("choices") or {}
    if "why" in facts:
        why = f"K, time or background were left to the data, which could not choose: {facts['why']}."
        return ShownChoices(why=f"{why} Time and background that were left to it are 0.")
    curves = []
    for name, make in {"K": _key_steps, "surplus": _background, "time": _time}.items():
        if name in facts:
            found = {float(value): float(agreement) for value, agreement in facts[name]["agreement"].items()}
            curves.append(make(diagnostics, dict(sorted(found.items())), float(facts[name]["chosen"])))
    return ShownChoices(tuple(curves))


def _key_steps(diagnostics: Mapping[str, Any], found: dict[float, float], chosen: float) -> Curve:
    K, surplus = int(diagnostics["K"]), int(diagnostics["surplus"])
    key_steps = _count(K, "key step")
    if diagnostics["choices"]["K"]["by"] == "views":
        labels = ("recurring activities tried", "adjusted Rand index of two views")
        words = (
            f"{key_steps}: two views of the features agree best on {chosen:g} recurring activities "
            f"(adjusted Rand index {found[chosen]:.3g})"
        )
    else:
        labels = ("recurring activities offered", "of which a video fills")
        words = (
            f"{key_steps}: of {OFFERED} recurring activities offered a video fills {found[OFFERED]:.3g}, "
            f"and {FILLED:.0%} of that is {chosen:g}; a guess, which the tree of key steps helps to judge"
        )
    if chosen != K:
        words += f"; {surplus} of them are the background that decode.surplus asks for"
    words += "."
    return Curve(found, chosen, *labels, f"{chosen:g} recurring, {key_steps}", words)


def _background(diagnostics: Mapping[str, Any], found: dict[float, float], chosen: float) -> Curve:
    surplus = int(diagnostics["surplus"])
    evidence = {name: float(diagnostics["choices"]["surplus"]["evidence"][name]) for name in ASKED}
    asked = (
        f"background takes labels that keep {ASKED['J']:.1%} of their J as they go on with {PRESSED:.0%} of time, a "
        f"concordance of {ASKED['concordance']:g} and a disorder of {ASKED['disorder']:g}, dotted"
    )
    seen = "they keep {J:.1%}, with a concordance of {concordance:.2g} and a disorder of {disorder:.3g}".format(
        **evidence
    )
    if surplus:
        title = f"{_count(surplus, 'cluster')} of background"
        words = f"{_count(surplus, 'cluster')} beyond K became background: {asked}; {seen}."
    else:
        title, words = "no background", f"Nothing is called background: {asked}; {seen}."
    return Curve(found, chosen, "share of time", "disorder", title, words, ASKED["disorder"])


def _time(diagnostics: Mapping[str, Any], found: dict[float, float], chosen: float) -> Curve:
    none = found[0.0]
    least = KEEPS * none if none > 0 else None
    title = f"{chosen:.0%} time" if chosen else "no time"
    if chosen:
        given = f"Time is given {chosen:.0%} of the squared length of an embedding"
        same_order = float(diagnostics["choices"]["time"]["concordance"])
        surplus = diagnostics["choices"].get("surplus")
        if surplus and disturbed(surplus["evidence"]):
            words = f"{given}, as much as background takes."
        elif same_order < SAME_ORDER:
            words = (
                f"{given}, a hint: videos differ in their order (concordance {same_order:.3g}, {SAME_ORDER:g} is asked "
                "for)."
            )
        else:
            reached = found[chosen] >= KEEPS * none
            which = "it is the largest share that keeps" if reached else "the smallest share: none keeps"
            words = (
                f"{given}{':' if reached else ','} {which} {KEEPS:.1%} of what labels explain without it, dotted (J "
                f"{found[chosen]:.3g} against {none:.3g})."
            )
    else:
        words = f"Time is given no share: without it the labels of other videos foretell nothing (J {none:.3g})."
    return Curve(found, chosen, "share of time", "J of the embedding", title, words, least)


def _count(number: float, one: str) -> str:
    return f"{number:g} {one}{'' if number == 1 else 's'}"


def choice_curves(diagnostics_json: Path, about: str) -> Drawn:
    """Draw the evidence over everything that was tried, what was chosen marked."""
    choices = shown_choices(read_diagnostics(diagnostics_json))
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
    """Draw the evidence over everything that was tried, and what was chosen."""
    tried = list(curve.found)
    axis.plot(tried, list(curve.found.values()), color=LINE_COLOURS[0], marker="o")
    if curve.least is not None:
        axis.axhline(curve.least, color=GREY, linewidth=0.8, linestyle=":", label="asked for")
    chosen: dict[str, Any] = {"color": LINE_COLOURS[1], "marker": "D", "markersize": 7, "linestyle": "none"}
    axis.plot([curve.chosen], [curve.found[curve.chosen]], label="chosen", zorder=3, **chosen)
    axis.set_title(curve.title, loc="left")
    axis.set_xlabel(curve.tried_label)
    axis.set_ylabel(curve.agreement_label)
    axis.set_xticks(tried, minor=True)
    axis.margins(y=0.15)
    axis.legend(loc="best")
