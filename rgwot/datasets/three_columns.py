"""EgoProceL's annotation files: ``start,end,<int> <name>``, no header."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from rgwot.datasets.annotations import Annotation, Notes, Segment, VideoClock, checked, seconds, step_number
from rgwot.datasets.faults import DataFault, judged
from rgwot.datasets.text import Fields, excerpt, read_text, rows

COLUMNS = "start,end,<number> <name> in seconds, without a header"

# EGTEA writes a dot after the number; spreadsheets turn a number into 1.0.
_LABEL = re.compile(r"(?P<step>[+-]?[0-9]{1,18})(?:\.(?P<zeros>0*))?\s+(?P<name>\S.*)", re.DOTALL)
_BARE = re.compile(r"[+-]?[0-9]{1,18}")


def _label(row: Fields, path: Path, step_ids: Collection[int] | None, notes: Notes) -> tuple[int, str]:
    where, text = f"line {row.line}", ", ".join(row.fields[2:])
    if len(row.fields) > 3:
        notes.add("columns", where, "more than three fields; those from the third on are taken as the name")
    if _BARE.fullmatch(text):
        notes.add("columns", where, "a step number without a name")
        return step_number(text, path, where, row.text, step_ids), ""
    match = _LABEL.fullmatch(text)
    if match is None:
        raise DataFault(
            "columns",
            path,
            where,
            f"label {excerpt(text)} in {excerpt(row.text)}; expected a whole number, a blank and a name, like "
            "'3 pour water' (columns start,end,label; a file with step,start,end has another layout)",
        )
    if match["zeros"]:
        notes.add("columns", where, "a step number with decimals; read as a whole number")
    return step_number(match["step"], path, where, row.text, step_ids), " ".join(match["name"].split())


def read_three_columns(path: Path, step_ids: Collection[int] | None, clock: VideoClock | None = None) -> Annotation:
    """Read one annotation file in EgoProceL's layout.

    Parameters
    ----------
    path
        The file.
    step_ids
        The ids of the task; None accepts every id from 1.
    clock
        Duration and rate of the video; None skips the checks that need them.

    Raises
    ------
    DataFault
        Names the file, the line, the offending text and what was expected.
    """
    text, notes = read_text(path), Notes(path)
    segments: list[Segment] = []
    for row in rows(text, COLUMNS):
        with judged():
            where = f"line {row.line}"
            if not segments and all(re.fullmatch(r"[A-Za-z_ ]+", field) for field in row.fields):
                found = f"header {excerpt(row.text)}; expected {COLUMNS}; delete that line"
                raise DataFault("columns", path, where, found)
            start, end = (seconds(field, path, where, row.text) for field in row.fields[:2])
            step, name = _label(row, path, step_ids, notes)
            if row.line in text.undecodable:
                notes.add("encoding", where, "the name holds bytes that are not UTF-8; shown as U+FFFD")
            segments.append(Segment(where, start, end, step, name))
    return checked(path, segments, notes, clock, overlap_is_normal=False)
