"""What a result left to the data (methods 5.7): a curve and a sentence per choice, for figure and page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from rgwot.keysteps.choices import GAIN, KEY_STEP_SHARE
from rgwot.runtime.errors import RgwotError

_J = "agreement of views J"


@dataclass(frozen=True)
class Curve:
    """One choice, and the agreement of views it was read from.

    Attributes
    ----------
    setting
        ``decode.K``, ``decode.surplus`` or ``decode.time``.
    tried, agreement
        What was tried, in ascending order, and how far views agreed on it; equally many.
    chosen
        One of ``tried``.
    tried_label, agreement_label
        What the two are, in words.
    title
        What was chosen, in a few words.
    words
        What was chosen and why, in a sentence.
    least
        Agreement that had to be reached for another choice than 0, or None where the largest was taken.
    """

    setting: str
    tried: tuple[float, ...]
    agreement: tuple[float, ...]
    chosen: float
    tried_label: str
    agreement_label: str
    title: str
    words: str
    least: float | None = None

    def labelled(self, apart: float) -> tuple[float, ...]:
        """Return which of ``tried`` get a number on the axis: the chosen one, and others that far from each other.

        Parameters
        ----------
        apart
            Share of the axis that two numbers need between their middles.
        """
        room = apart * (self.tried[-1] - self.tried[0])
        told = [self.chosen]
        for value in self.tried:
            if all(abs(value - other) >= room for other in told) and value not in told:
                told.append(value)
        return tuple(sorted(told))


@dataclass(frozen=True)
class ShownChoices:
    """The choices of one result.

    Attributes
    ----------
    curves
        One per choice that was made.
    why
        Why none could be made, as a sentence; empty where none was asked for, and where all were made.
    """

    curves: tuple[Curve, ...] = ()
    why: str = ""

    def __bool__(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.curves or self.why)


def shown_choices(diagnostics: Mapping[str, Any], path: str | Path) -> ShownChoices:
    """Read the choices of a result.

    Parameters
    ----------
    diagnostics
        Content of ``diagnostics.json``. A result of a decoder that chooses nothing has no ``choices``.
    path
        Where it was read from, for errors.

    Raises
    ------
    RgwotError
        If the choices are not as `rgwot.keysteps.choices` writes them.
    """
    try:
        return _read(diagnostics)
    except (AttributeError, KeyError, TypeError, ValueError):
        found = str(diagnostics.get("choices"))
        raise RgwotError(
            f"{path}: choices: found {found[:80]}, expected for each of K, surplus and time what was chosen and the "
            "agreement of all that was tried; decode again"
        ) from None


def _read(diagnostics: Mapping[str, Any]) -> ShownChoices:
    facts = diagnostics.get("choices") or {}
    if "why" in facts:
        why = f"K, time or background were left to the data, which could not choose: {facts['why']}."
        return ShownChoices(why=f"{why} Time and background that were left to it are 0.")
    curves = []
    if "K" in facts:
        curves.append(_key_steps(diagnostics, *_curve(facts["K"])))
    if "surplus" in facts:
        curves.append(_background(*_curve(facts["surplus"])))
    if "time" in facts:
        curves.append(_time(*_curve(facts["time"])))
    return ShownChoices(tuple(curves))


def _curve(fact: Mapping[str, Any]) -> tuple[dict[float, float], float]:
    found = sorted((float(value), float(agreement)) for value, agreement in fact["agreement"].items())
    chosen = float(fact["chosen"])
    if chosen not in dict(found) or not all(math.isfinite(number) for pair in found for number in pair):
        raise ValueError
    return dict(found), chosen


def _key_steps(diagnostics: Mapping[str, Any], found: dict[float, float], chosen: float) -> Curve:
    K, surplus = int(diagnostics["K"]), int(diagnostics["surplus"])
    words = (
        f"{_count(K, 'key step')}: of {min(found):g} to {max(found):g} recurring activities, two views of the features "
        f"agree nearly best from {chosen:g} on{', the most that were tried' if chosen == max(found) else ''} "
        f"(adjusted Rand index {found[chosen]:.3g})"
    )
    if chosen == K:
        words += ", all of them key steps, because none is background."
    elif "surplus" in diagnostics["choices"]:
        share = Fraction(KEY_STEP_SHARE).limit_denominator(10)
        words += f"; where there is background, {share} of the activities are key steps."
    else:
        words += f"; {surplus} of them are the background that decode.surplus asks for."
    return Curve(
        "decode.K",
        tuple(found),
        tuple(found.values()),
        chosen,
        "recurring activities tried",
        "adjusted Rand index of two views",
        f"{chosen:g} recurring, {_count(K, 'key step')}",
        words,
    )


def _background(found: dict[float, float], chosen: float) -> Curve:
    none = found[0.0]
    if chosen:
        words = (
            f"{_count(chosen, 'cluster')} beyond K became background: it is the most with which one view foretells the "
            f"other at least {GAIN:g} times as well as without, dotted (J {found[chosen]:.3g} against {none:.3g})."
        )
    else:
        words = (
            f"Nothing is called background: with no number of clusters beyond K does one view foretell the other "
            f"{GAIN:g} times as well as without{', dotted' if none > 0 else ''} (J {none:.3g})."
        )
    return Curve(
        "decode.surplus",
        tuple(found),
        tuple(found.values()),
        chosen,
        "clusters beyond K",
        _J,
        f"{_count(chosen, 'cluster')} of background" if chosen else "no background",
        words,
        GAIN * none if none > 0 else None,
    )


def _time(found: dict[float, float], chosen: float) -> Curve:
    if chosen:
        words = (
            f"Time is given {chosen:.0%} of the squared length of an embedding: with that share one view foretells the "
            f"other best (J {found[chosen]:.3g})."
        )
    else:
        words = f"Time is given no share: without it one view foretells the other best (J {found[chosen]:.3g})."
    return Curve(
        "decode.time",
        tuple(found),
        tuple(found.values()),
        chosen,
        "share of time",
        _J,
        f"{chosen:.0%} time" if chosen else "no time",
        words,
    )


def _count(number: float, one: str) -> str:
    return f"{number:g} {one}{'' if number == 1 else 's'}"
