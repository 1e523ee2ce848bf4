"""Faults of data files, with the rule they break: raised one by one, or all of a file collected in one reading."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rgwot.runtime.errors import RgwotError


@dataclass(frozen=True)
class Complaint:
    """What is wrong at one place of a file."""

    severity: Literal["error", "warning"]  #: the stages refuse the file, or they use it and say so
    rule: str  #: one word, such as ``time_order``, by which the doctor sorts
    path: Path
    where: str  #: place in the file, such as ``line 3``; empty for the file as a whole
    message: str  #: what was found, expected and to be done, without file and place


class DataFault(RgwotError):
    """A data file that breaks a rule; the text names the file and the place."""

    def __init__(self, rule: str, path: Path, where: str, message: str) -> None:
        super().__init__(f"{path}: {where}: {message}" if where else f"{path}: {message}")
        self.complaint = Complaint("error", rule, path, where, message)


_COLLECTED: ContextVar[list[Complaint] | None] = ContextVar("collected", default=None)


@contextmanager
def collecting() -> Iterator[list[Complaint]]:
    """Let the readers go on after a fault; what they find, warnings too, gathers in the list.

    A fault of the file as a whole, such as its encoding, still ends the reading with a `DataFault`.
    """
    found: list[Complaint] = []
    token = _COLLECTED.set(found)
    try:
        yield found
    finally:
        _COLLECTED.reset(token)


@contextmanager
def judged() -> Iterator[None]:
    """Guard one place of a file: a fault ends the reading, or is collected and the place skipped."""
    try:
        yield
    except DataFault as fault:
        found = _COLLECTED.get()
        if found is None:
            raise
        found.append(fault.complaint)


def remark(rule: str, path: Path, where: str, message: str) -> None:
    """Record a warning where faults are being collected."""
    found = _COLLECTED.get()
    if found is not None:
        found.append(Complaint("warning", rule, path, where, message))
