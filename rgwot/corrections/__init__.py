"""Corrections of key steps by people: edits that are kept as data and replayed on any result of the task."""

from __future__ import annotations

from rgwot.corrections.edits import Edit, parse_edits, read_corrections, write_corrections
from rgwot.corrections.replay import Corrected, apply_corrections, reference

__all__ = [
    "Corrected",
    "Edit",
    "apply_corrections",
    "parse_edits",
    "read_corrections",
    "reference",
    "write_corrections",
]
