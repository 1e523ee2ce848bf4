"""Learners of task graphs: functions of a `Tally` that return `Needs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rgwot.procedure.learners.counted import chain, intersection, precedence
from rgwot.procedure.learners.needs import Needs
from rgwot.procedure.learners.robust import SLIP_FOUND, robust

#: By name; the settings of a learner are the keyword arguments of its function.
LEARNERS: Mapping[str, Callable[..., Needs]] = {
    learner.__name__: learner for learner in (chain, intersection, precedence, robust)
}

#: Settings for key steps that a decoder found, of the learners that have any: `learn(recordings, **FOUND["robust"])`.
FOUND: Mapping[str, Mapping[str, float]] = {"robust": {"slip": SLIP_FOUND}}

__all__ = ["FOUND", "LEARNERS", "Needs"]
