"""Needs from people who err and from key steps that were found."""

from __future__ import annotations

from rgwot.procedure.learners.needs import Needs
from rgwot.procedure.learners.precedence import precedence
from rgwot.procedure.tally import Tally


def robust(tally: Tally) -> Needs:
    """Learn needs."""
    return precedence(tally, above=0.85)
