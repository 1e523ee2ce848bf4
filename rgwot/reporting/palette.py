"""Colours of key steps, the same in every figure and page."""

from __future__ import annotations

#: Okabe and Ito's colours, distinct to readers with any colour vision, then eight more; further steps repeat them,
#: patterned.
STEP_COLOURS = (
    "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#000000",
    "#882255", "#B2DF8A", "#A6761D", "#332288", "#FB9A99", "#CAB2D6", "#556B2F", "#7FE5D0",
)  # fmt: skip
BACKGROUND_COLOUR = "#D9D9D9"
UNMATCHED = "#FFFFFF"


def ink_on(colour: str) -> str:
    """Return black or white, whichever reads better on one of the colours."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    # Where the contrast of both is the same (WCAG 2).
    return "#FFFFFF" if (luminance + 0.05) ** 2 < 1.05 * 0.05 else "#000000"
