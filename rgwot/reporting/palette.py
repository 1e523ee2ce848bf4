"""Colours of key steps, the same in every figure and page."""

from __future__ import annotations

#: Okabe and Ito's colours, distinct to readers with any colour vision; further steps repeat them, patterned.
STEP_COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#000000")
BACKGROUND = "#D9D9D9"
UNMATCHED = "#FFFFFF"


def luminance(colour: str) -> float:
    """Return the relative luminance of ``#RRGGBB``, 0 for black to 1 for white (WCAG 2.2).

    >>> round(luminance("#FFFFFF"), 3), luminance("#000000")
    (1.0, 0.0)
    """
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colours, 1 to 21 (WCAG 2.2).

    >>> round(contrast("#000000", "#FFFFFF"), 1)
    21.0
    """
    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def ink_on(colour: str) -> str:
    """Return black or white, whichever reads better on a colour.

    >>> ink_on("#F0E442"), ink_on("#0072B2")
    ('#000000', '#FFFFFF')
    """
    return max(("#000000", "#FFFFFF"), key=lambda ink: contrast(ink, colour))
