"""The share of time that a result chose from its videos (methods 5.7), in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rgwot.keysteps.relative_time import KEEPS, SAME_ORDER


def time_in_words(diagnostics: Mapping[str, Any]) -> str:
    """Say which share of time a result chose and why, from its ``diagnostics.json``; empty where it was set."""
    facts = (diagnostics.get("choices") or {}).get("time")
    if not facts:
        return ""
    if "why" in facts:
        return f"Time was left to the data, and has no share: {facts['why']}."
    J = {float(share): float(value) for share, value in facts["agreement"].items()}
    chosen, same_order, none = float(facts["chosen"]), float(facts["concordance"]), J[0.0]
    given = f"Time is given {chosen:.0%} of the squared length of an embedding"
    if not chosen:
        return f"Time is given no share: without it the labels of other videos foretell nothing (J {none:.3g})."
    if same_order < SAME_ORDER:
        measured = f"concordance {same_order:.3g}, {SAME_ORDER:g} is asked for"
        return f"{given}, a hint: videos differ in their order ({measured})."
    reached = J[chosen] >= KEEPS * none
    which = "it is the largest share that keeps" if reached else "the smallest share: none keeps"
    return (
        f"{given}{':' if reached else ','} {which} {KEEPS:.1%} of what labels explain without it (J {J[chosen]:.3g} "
        f"against {none:.3g})."
    )
