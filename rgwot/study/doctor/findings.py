"""Findings of the doctor: severity, rule, file and place of one fault, in one line of text."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rgwot.datasets.faults import Complaint, DataFault
from rgwot.runtime.errors import RgwotError

Severity = Literal["error", "warning", "note"]

_LINE = re.compile(r"line (\d+)")
_PLACED = re.compile(r"(?:(?P<where>line \d+|overlap): )?(?P<message>.*)", re.DOTALL)


@dataclass(frozen=True)
class Finding:
    """One thing to know about a dataset."""

    severity: Severity  #: ``error``: the stages refuse it; ``warning``: they use it and say so; ``note``: good to know
    rule: str  #: one word, such as ``pairing``; the same for all findings of a kind
    message: str  #: what was found, what was expected, what to do
    task: str | None = None  #: None if it concerns the whole dataset
    file: str | None = None  #: path below the root with ``/``; None if it concerns no single file
    where: str = ""  #: place in the file, such as ``line 3``

    @property
    def line(self) -> int | None:
        """Number of the line, from 1, or None."""
        match = _LINE.fullmatch(self.where)
        return int(match[1]) if match else None


def below(path: Path, root: Path) -> str:
    """Return a path relative to the root with ``/``, or unchanged if it is elsewhere."""
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def of_complaint(complaint: Complaint, root: Path, task: str | None) -> Finding:
    """Return the complaint of a reader as a finding."""
    return Finding(
        complaint.severity, complaint.rule, complaint.message, task, below(complaint.path, root), complaint.where
    )


def of_error(error: RgwotError | OSError, root: Path, file: str | None, rule: str, task: str | None) -> Finding:
    """Return an error as a finding.

    ``file`` (below ``root``) and ``rule`` apply unless the error names its own; file and line are taken from the
    beginning of its message if they stand there.
    """
    if isinstance(error, DataFault):
        return of_complaint(error.complaint, root, task)
    if isinstance(error, OSError):
        place = below(Path(os.fsdecode(error.filename)), root) if error.filename else file
        return Finding("error", rule, f"cannot be read ({error.strerror})", task, place)
    named = file_of(error)
    if named is None:
        return Finding("error", rule, str(error), task, file)
    match = _PLACED.fullmatch(str(error)[len(str(named)) + 2 :])
    where, message = (match["where"] or "", match["message"]) if match else ("", str(error))
    return Finding("error", rule, message, task, below(named, root), where)


def file_of(error: RgwotError) -> Path | None:
    """Return the file or folder that a message begins with, or None."""
    text = str(error)
    for colon in re.finditer(": ", text):
        path = Path(text[: colon.start()])
        try:
            if path.exists():
                return path
        except (OSError, ValueError):
            return None
    return None
