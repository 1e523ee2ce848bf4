"""Annotation files of three columns without a header: EgoProceL's, and CrossTask's."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rgwot.datasets.annotations import AnnotatedSegment, Annotation, Notes, build_annotation, id_ranges
from rgwot.datasets.text import CsvRow, excerpt, judged, rows
from rgwot.timing import VideoInfo

if TYPE_CHECKING:
    from rgwot.datasets.base import Options, VideoEntry
    from rgwot.datasets.registry import TaskFacts

THREE_COLUMNS = "start,end,<number> <name> in seconds, without a header"
STEP_FIRST = "step,start,end in seconds, without a header"

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# EGTEA writes a dot after the number; spreadsheets turn a number into 1.0.
_LABEL = re.compile(r"(?P<step>[+-]?[0-9]{1,18})(?:(?:\.(?P<zeros>0*))?\s+(?P<name>\S.*))?", re.DOTALL)
_STEP = re.compile(r"(?P<step>[+-]?[0-9]{1,18})(?P<zeros>\.0*)?")


def read_annotation(
    root: Path, entry: VideoEntry, facts: TaskFacts | None, clock: VideoInfo | None, options: Options
) -> Annotation:
    """Read the annotation of a video from a file in EgoProceL's form, for the layouts that have such files."""
    return read_three_columns(root / str(entry.annotation), None if facts is None else facts.step_ids, clock)


def read_three_columns(path: Path, step_ids: Collection[int] | None, clock: VideoInfo | None = None) -> Annotation:
    """Read one annotation file in EgoProceL's form: ``start,end,<int> <name>``.

    Without the ids of the task, every id from 1 is accepted; without a clock, the checks that need it are left out.

    Raises DataFault that names the file, the line, the offending text and what was expected.
    """

    def segment(row: CsvRow, notes: Notes) -> AnnotatedSegment:
        start, end = (_seconds(row, field) for field in row.fields[:2])
        step, name = _label(row, step_ids, notes)
        if "\ufffd" in row.line.text:
            notes.add("encoding", row.where, "the name holds bytes that are not UTF-8; shown as U+FFFD")
        return AnnotatedSegment(row.where, start, end, step, name)

    return _read(path, THREE_COLUMNS, segment, clock)


def read_step_first(
    path: Path,
    step_ids: Collection[int] | None,
    clock: VideoInfo | None = None,
    names: Mapping[int, str] | None = None,
) -> Annotation:
    """Read one annotation file in CrossTask's form, ``step,start,end``, which a conversion of ProceL uses as well.

    Overlaps and rows out of time order are normal there: counted, not warned about. The files do not hold the names of
    the steps, so they come as an argument; all else is as in `read_three_columns`.
    """

    def segment(row: CsvRow, notes: Notes) -> AnnotatedSegment:
        match = _STEP.fullmatch(row.fields[0])
        if len(row.fields) != 3 or match is None:
            found = f"{len(row.fields)} fields" if match else f"step {excerpt(row.fields[0])}"
            raise row.fault("columns", found, f"{STEP_FIRST}; a file with start,end,label has another layout")
        if match["zeros"]:
            notes.add("columns", row.where, "a step number with decimals; read as a whole number")
        start, end = (_seconds(row, field) for field in row.fields[1:])
        step = _step_id(row, match["step"], step_ids)
        return AnnotatedSegment(row.where, start, end, step, (names or {}).get(step, ""))

    return _read(path, STEP_FIRST, segment, clock)


def _read(
    path: Path, columns: str, segment: Callable[[CsvRow, Notes], AnnotatedSegment], clock: VideoInfo | None
) -> Annotation:
    notes = Notes(path)
    segments: list[AnnotatedSegment] = []
    for row in rows(path, columns):
        with judged():
            segments.append(segment(row, notes))
    return build_annotation(path, segments, notes, clock, overlap_is_normal=columns == STEP_FIRST)


def _label(row: CsvRow, step_ids: Collection[int] | None, notes: Notes) -> tuple[int, str]:
    text = ", ".join(row.fields[2:])
    if len(row.fields) > 3:
        notes.add("columns", row.where, "more than three fields; those from the third on are taken as the name")
    match = _LABEL.fullmatch(text)
    if match is None:
        expected = (
            "a whole number, a blank and a name, like '3 pour water' "
            "(columns start,end,label; a file with step,start,end has another layout)"
        )
        raise row.fault("columns", f"label {excerpt(text)}", expected)
    if match["name"] is None:
        notes.add("columns", row.where, "a step number without a name")
    if match["zeros"]:
        notes.add("columns", row.where, "a step number with decimals; read as a whole number")
    return _step_id(row, match["step"], step_ids), " ".join((match["name"] or "").split())


def _seconds(row: CsvRow, text: str) -> float:
    """Read a time: finite seconds from 0 with a decimal point."""
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if math.isfinite(value) and value >= 0:
        return value + 0.0
    raise row.fault(
        "time", f"{excerpt(text)} as a time", "finite seconds from 0 with a decimal point, like 12.5, and no header"
    )


def _step_id(row: CsvRow, digits: str, step_ids: Collection[int] | None) -> int:
    """Read a step id and check it against those of the task; 0 means background and is never stored."""
    step = int(digits)
    if step < 1:
        remedy = "background is what no row covers, so delete such rows (are these the labels of another release?)"
        raise row.fault("step", f"step id {step}", f"ids from 1; {remedy}")
    if step_ids is not None and step not in step_ids:
        remedy = "check that the file belongs to this task"
        raise row.fault("step", f"step id {step}", f"one of {id_ranges(step_ids)}; {remedy}")
    return step
