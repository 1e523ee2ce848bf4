"""Small line charts as the page draws them: where in a drawing of fixed size everything goes, in CSS pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rgwot.reporting.choices import Curve

#: Two numbers below the axis need so much between their middles.
APART = 26


@dataclass(frozen=True)
class Chart:
    """A curve, laid out.

    Attributes
    ----------
    curve
        What is drawn.
    points
        (x, y) of every value tried, rightwards and downwards.
    chosen
        (x, y) of the chosen one.
    x_numbers, y_numbers
        Place and text of the numbers at the axes.
    least
        y of the agreement that was asked for, or None.
    described
        The values in words, for those who do not see it.
    width, height
        Of the drawing.
    left, right, top, bottom
        Edges of the axes; outside stand numbers and labels.
    """

    width: ClassVar[int] = 300
    height: ClassVar[int] = 180
    left: ClassVar[int] = 52
    right: ClassVar[int] = 288
    top: ClassVar[int] = 28
    bottom: ClassVar[int] = 132

    curve: Curve
    points: tuple[tuple[float, float], ...]
    chosen: tuple[float, float]
    x_numbers: tuple[tuple[float, str], ...]
    y_numbers: tuple[tuple[float, str], ...]
    least: float | None
    described: str


def chart(curve: Curve) -> Chart:
    """Lay a curve out: linear axes from the least to the largest value."""
    levels = [*curve.agreement, *([] if curve.least is None else [curve.least])]
    width, height = Chart.right - Chart.left, Chart.bottom - Chart.top
    low, high = min(levels), max(levels)
    start, end = curve.tried[0], curve.tried[-1]

    def across(value: float) -> float:
        return round(Chart.left + width * _share(value, start, end), 1)

    def down(value: float) -> float:
        return round(Chart.bottom - height * _share(value, low, high), 1)

    points = tuple(
        (across(value), down(agreement)) for value, agreement in zip(curve.tried, curve.agreement, strict=True)
    )
    told = ", ".join(
        f"{value:g}: {agreement:.3g}" for value, agreement in zip(curve.tried, curve.agreement, strict=True)
    )
    return Chart(
        curve,
        points,
        points[curve.tried.index(curve.chosen)],
        tuple((across(value), f"{value:g}") for value in curve.labelled(APART / width)),
        tuple((down(value), f"{value:.3g}") for value in dict.fromkeys((low, high))),
        None if curve.least is None else down(curve.least),
        f"{curve.agreement_label}, by {curve.tried_label}: {told}; chosen: {curve.chosen:g}",
    )


def _share(value: float, start: float, end: float) -> float:
    return (value - start) / (end - start) if end > start else 0.5
