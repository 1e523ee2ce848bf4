"""Edits of key steps, and the file ``corrections/{dataset}/{task}.yaml`` that keeps them.

There is one edit a line::

    - {edit: rename, step: [[monday, 1.5, 9], [tuesday, 2, 8]], name: pour water, by: Ann, when: 2026-03-02}
    - {edit: border, segment: [monday, 1.5, 9], end: 9.4, why: the hand still moves}

A segment is ``[video, start, end]`` in seconds. A key step is the list of all its segments in one video or more, as
they were when the edit was made: numbers belong to one result, segments hold for every one.
"""

from __future__ import annotations

import math
import os
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from rgwot.runtime.errors import RgwotError, nearest
from rgwot.runtime.files import write_text
from rgwot.runtime.yaml_text import read_yaml

#: Characters of a name at most.
LONGEST = 80

Segment = tuple[str, float, float]
"""Video, start and end in seconds."""
Step = tuple[Segment, ...] | int
"""A key step by its segments, or, of a result in memory, by its number."""

#: What every kind of edit needs, and what it may have; of a border start or end is needed.
KINDS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    kind: (frozenset(needs.split()), frozenset(may.split()))
    for kind, needs, may in (
        ("merge", "step into", ""),
        ("rename", "step name", ""),
        ("split", "step part", "name"),
        ("background", "step", ""),
        ("delete", "segment", ""),
        ("border", "segment", "start end"),
        ("assign", "segment", "step name"),
    )
}
_SAID = ("by", "when", "why")
_HEAD = "# Corrections of key steps, one a line, replayed in this order; delete a line to undo it.\n"


@dataclass(frozen=True)
class Edit:
    """One correction.

    Attributes
    ----------
    edit
        ``merge`` (``step`` becomes part of ``into``), ``rename``, ``split`` (``part`` of ``step`` becomes a key step of
        its own), ``background`` (``step`` is none), ``delete`` (``segment`` becomes background), ``border``
        (``segment`` starts at ``start`` or ends at ``end``), ``assign`` (the time of ``segment`` is given to ``step``,
        else to the key step called ``name``, else to background).
    by, when, why
        Who made it, on which day, and the reason; each may be empty.
    """

    edit: str
    step: Step = ()
    into: Step = ()
    part: tuple[Segment, ...] = ()
    segment: Segment | None = None
    start: float | None = None
    end: float | None = None
    name: str = ""
    by: str = ""
    when: str = ""
    why: str = ""

    def plain(self) -> dict[str, Any]:
        """Return what its line holds."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {key: value for key, value in values.items() if value not in ((), "", None)}


def read_corrections(path: str | os.PathLike[str] | None) -> list[Edit]:
    """Read a file of corrections; no file, no corrections. RgwotError for a wrong one."""
    content = None if path is None or not Path(path).exists() else read_yaml(path)
    return [] if content is None else parse_edits(content, str(path))


def write_corrections(edits: Sequence[Edit], path: str | os.PathLike[str]) -> None:
    """Write a file of corrections, one line per edit."""
    form: dict[str, Any] = {"default_flow_style": True, "allow_unicode": True, "sort_keys": False, "width": math.inf}
    lines = [f"- {yaml.safe_dump(edit.plain(), **form)}" for edit in edits]
    write_text(_HEAD + "".join(lines), path)


def parse_edits(content: Any, where: str = "corrections", numbers: bool = False) -> list[Edit]:
    """Return edits from plain data, a list of mappings; RgwotError, with ``where``, for what is wrong in it.

    With ``numbers`` a key step may be given by its number in the result at hand.
    """
    if isinstance(content, (str, bytes, Mapping)) or not isinstance(content, Sequence):
        raise RgwotError(f"{where}: found {type(content).__name__}, expected a list of edits")
    return [
        one if isinstance(one, Edit) else _edit(f"{where}: edit {at}", one, numbers)
        for at, one in enumerate(content, start=1)
    ]


def _edit(where: str, entry: Any, numbers: bool) -> Edit:
    if not isinstance(entry, Mapping) or "edit" not in entry:
        raise RgwotError(f"{where}: found {str(entry)[:80]!r}, expected a mapping with the key edit")
    kind = str(entry["edit"])
    if kind not in KINDS:
        raise RgwotError(f"{where}: unknown edit {kind!r}; {nearest(kind, KINDS)}")
    needs, may = KINDS[kind]
    given = set(entry) - {"edit", *_SAID}
    if not needs <= given <= needs | may or (kind == "border" and len(given) != 2):
        optional = f", and {' or '.join(sorted(may))}" if may else ""
        raise RgwotError(
            f"{where}: {kind}: found {', '.join(sorted(map(str, given))) or 'nothing'}, "
            f"expected {', '.join(sorted(needs))}{optional}"
        )
    values: dict[str, Any] = {"edit": kind}
    readers = {"name": checked_name, "segment": _segment, "start": _seconds, "end": _seconds}
    for key in given:
        by_number = numbers and key in ("step", "into") and isinstance(entry[key], int)
        values[key] = entry[key] if by_number else readers.get(key, _segments)(f"{where}: {key}", entry[key])
    # Unquoted, YAML takes a day for a date.
    values |= {key: str(entry[key]) for key in _SAID if entry.get(key) is not None}
    return Edit(**values)


def checked_name(where: str, name: Any) -> str:
    """Return the name of a key step without spaces around it; RgwotError where it is none."""
    # Unquoted, YAML takes some names for numbers, dates or truth values.
    if not isinstance(name, str):
        raise RgwotError(f"{where}: found {name!r}, expected a name; put it in quotes")
    text = name.strip()
    if not 0 < len(text) <= LONGEST or any(unicodedata.category(letter) == "Cc" for letter in text):
        raise RgwotError(f"{where}: found {name[:100]!r}, expected a name in one line, of 1 to {LONGEST} characters")
    return text


def _segments(where: str, value: Any) -> tuple[Segment, ...]:
    if not isinstance(value, (list, tuple)) or not value:
        raise RgwotError(f"{where}: found {str(value)[:80]!r}, expected a list of segments [video, start, end]")
    return tuple(_segment(where, one) for one in value)


def _segment(where: str, value: Any) -> Segment:
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        raise RgwotError(f"{where}: found {str(value)[:80]!r}, expected [video, start, end]")
    video, start, end = str(value[0]), _seconds(where, value[1]), _seconds(where, value[2])
    if end <= start:
        raise RgwotError(f"{where}: found {start:g} to {end:g} s of {video!r}, expected an end after the start")
    return video, start, end


def _seconds(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise RgwotError(f"{where}: found {value!r}, expected seconds, 0 or more")
    return float(value)
