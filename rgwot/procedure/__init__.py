"""The procedure of a task, learned from recordings of it: what must come before what, and where a video deviates."""

from __future__ import annotations

from rgwot.procedure.differences import deviations
from rgwot.procedure.interface import Deviation, Edge, Event, Node, Procedure, Recording
from rgwot.procedure.learners import LEARNERS
from rgwot.procedure.learning import learn, recordings_from_segments

__all__ = [
    "LEARNERS",
    "Deviation",
    "Edge",
    "Event",
    "Node",
    "Procedure",
    "Recording",
    "deviations",
    "learn",
    "recordings_from_segments",
]
