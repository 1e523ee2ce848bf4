"""Colours of key steps, the same in every figure and page."""

from __future__ import annotations

#: Okabe and Ito's colours, distinct to readers with any colour vision; further steps repeat them, patterned.
STEP_COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#000000")
BACKGROUND = "#D9D9D9"
UNMATCHED = "#FFFFFF"


#: Those that white letters read better on.
_DARK = ("#0072B2", "#000000")


def ink_on(colour: str) -> str:
    """Return black or white, whichever reads better on one of the colours."""
    return "#FFFFFF" if colour in _DARK else "#000000"
