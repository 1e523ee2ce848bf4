"""CrossTask's annotation files: ``step,start,end``, no header; also used by a conversion of ProceL."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from rgwot.datasets.annotations import Annotation, Notes, Segment, VideoClock, checked, seconds, step_number
from rgwot.datasets.faults import DataFault, judged
from rgwot.datasets.text import excerpt, read_text, rows

COLUMNS = "step,start,end in seconds, without a header"

_STEP = re.compile(r"(?P<step>[+-]?[0-9]{1,18})(?P<zeros>\.0*)?")


def read_step_first(
    path: Path,
    step_ids: Collection[int] | None,
    clock: VideoClock | None = None,
    names: Mapping[int, str] | None = None,
) -> Annotation:
    """Read one annotation file in CrossTask's layout.

    Overlaps and rows out of time order are normal there: counted, not warned about.

    Parameters
    ----------
    path
        The file.
    step_ids
        The ids of the task; None accepts every id from 1.
    clock
        Duration and rate of the video; None skips the checks that need them.
    names
        Names of the steps, which these files do not hold.

    Raises
    ------
    DataFault
        Names the file, the line, the offending text and what was expected.
    """
    notes, named = Notes(path), names or {}
    segments: list[Segment] = []
    for row in rows(read_text(path), COLUMNS):
        with judged():
            where = f"line {row.line}"
            if not segments and all(re.fullmatch(r"[A-Za-z_ ]+", field) for field in row.fields):
                found = f"header {excerpt(row.text)}; expected {COLUMNS}; delete that line"
                raise DataFault("columns", path, where, found)
            match = _STEP.fullmatch(row.fields[0])
            if len(row.fields) != 3 or match is None:
                found = f"{len(row.fields)} fields" if match else f"step {excerpt(row.fields[0])}"
                raise DataFault(
                    "columns",
                    path,
                    where,
                    f"{found} in {excerpt(row.text)}; expected {COLUMNS}; "
                    "a file with start,end,label has another layout",
                )
            if match["zeros"]:
                notes.add("columns", where, "a step number with decimals; read as a whole number")
            start, end = (seconds(field, path, where, row.text) for field in row.fields[1:])
            step = step_number(match["step"], path, where, row.text, step_ids)
            segments.append(Segment(where, start, end, step, named.get(step, "")))
    return checked(path, segments, notes, clock, overlap_is_normal=True)
