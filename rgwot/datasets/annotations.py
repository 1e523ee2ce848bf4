"""Annotated segments: the result of every reader, the checks for all layouts, and files of three columns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rgwot.datasets.text import CsvRow, DataFault, excerpt, judged, remark, rows
from rgwot.runtime.text import plain_name
from rgwot.timing import VideoInfo

if TYPE_CHECKING:
    import pandas as pd

    from rgwot.datasets.base import VideoEntry
    from rgwot.datasets.registry import TaskFacts
    from rgwot.datasets.settings import Options


TOLERATED_S = 1.0
"""If a segment ends more than this many seconds after the video, the annotation is taken for another video's."""

#: Names of background, in lower case, in GTEA, Breakfast, YouTube Instructions and `names/`.
BACKGROUND_NAMES = frozenset({"background", "bg", "sil", "-1", "-"})

NO_ROWS = "annotation without rows"
"""Why a video with an empty annotation is not scored."""

_DTYPES = {"start_s": "float64", "end_s": "float64", "step_id": "int64", "name": "object"}


@dataclass(frozen=True)
class AnnotatedSegment:
    """One annotated interval ``[start_s, end_s)`` and the place it was read from, such as ``line 3``.

    A mark (`rgwot.keysteps.given`) has ``end_s`` equal to ``start_s``.
    """

    where: str
    start_s: float
    end_s: float
    step_id: int
    name: str
    mark: bool = False


@dataclass(frozen=True)
class Annotation:
    """The key steps of one video."""

    #: Columns ``start_s,end_s`` (seconds), ``step_id`` (as in the file; 0 where steps have names only), ``name``; in
    #: file order, because a later row wins where segments overlap. Marks have equal start and end. A video without
    #: rows cannot be scored.
    segments: pd.DataFrame
    warnings: tuple[str, ...] = ()  #: one line each, with the file and, if known, its line number
    overlaps: int = 0  #: number of segments that start before an earlier one has ended
    overlap_s: float = 0.0  #: seconds covered more than once
    labelled_s: float | None = (
        None  #: end of the frame labels in seconds, if before the end of the video; the rest is not scored
    )
    background: tuple[tuple[float, float], ...] = ()  #: start and end of annotated background, in seconds
    marks: int = 0  #: number of marks, also of background
    silence: str = ""  #: how time without a segment is read (`rgwot.timing.SILENCES`), if the file says it

    def span(self, length_s: float, silence: str | None) -> tuple[float, float]:
        """Return the end of the last segment (0 if the video is labelled only in part) and ``length_s``."""
        if self.unscored(silence) or self.labelled_s is not None:
            return 0.0, length_s
        return max([*self.segments["end_s"], *(end_s for _, end_s in self.background)]), length_s

    @property
    def empty(self) -> bool:
        """Whether there is no segment or mark other than background."""
        return len(self.segments) == 0 and not self.marks

    @property
    def telling(self) -> pd.DataFrame:
        """The rows that label something: marks, and segments longer than 0."""
        lasts = self.segments["end_s"] > self.segments["start_s"]
        return self.segments[lasts | (self.marks > 0)]

    def unscored(self, silence: str | None) -> str:
        """Return why the video cannot be scored, or an empty text if it can.

        ``silence`` says how time without a segment is read in the dataset, unless the annotation itself says so.
        """
        if self.empty:
            return NO_ROWS
        if self.marks:
            alone = len(self.segments) + len(self.background) == self.marks
            return "only marks, which give no borders" if alone else "marks beside segments, so labelled in part"
        return "silence: until, so labelled in part" if (self.silence or silence) == "until" else ""


def steps_of(segments: pd.DataFrame) -> list[int | str]:
    """Return the step of every row of a table like `Annotation.segments`, possibly of many videos.

    A step is its id; in a row without an id, it is the id of other rows with the same name or, if there is none, the
    name.
    """
    pairs = list(zip(segments["step_id"].tolist(), segments["name"], strict=True))
    ids = {name: step for step, name in pairs if step}
    return [step or ids.get(name, name) for step, name in pairs]


def in_order(step: int | str) -> tuple[bool, list[int | str]]:
    """Return a sort key that puts ids before names, and sorts numbers in names by value.

    >>> sorted(["step 10", "step 2", 7], key=in_order)
    [7, 'step 2', 'step 10']
    """
    if not isinstance(step, str):
        return False, [step]
    return True, [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", step)]


class Complaints:
    """Collects the complaints about a file, so that each kind is one warning for all of its rows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._places: dict[str, list[str]] = {}

    def add(self, rule: str, where: str, message: str) -> None:
        """Collect a complaint: ``message``, on the ``rule``, about the place ``where`` of the file."""
        remark(rule, self._path, where, message)
        self._places.setdefault(message, []).append(where)

    def lines(self) -> tuple[str, ...]:
        """Return one line per kind of complaint."""
        lines = []
        for message, places in self._places.items():
            more = f" and {len(places) - 5} more" if len(places) > 5 else ""
            lines.append(f"{self._path}: {', '.join(places[:5])}{more}: {message}")
        return tuple(lines)


def id_ranges(ids: Iterable[int]) -> str:
    """Write ids briefly.

    >>> id_ranges([1, 2, 3, 5])
    '1-3, 5'
    """
    runs: list[list[int]] = []
    for value in sorted(ids):
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def build_annotation(
    path: Path,
    segments: Iterable[AnnotatedSegment],
    notes: Complaints,
    clock: VideoInfo | None,
    *,
    overlap_is_normal: bool,
) -> Annotation:
    """Check segments in file order by the rules for all layouts, and build the table.

    Without a clock, the checks that need it are left out. In releases with intended overlaps, these are counted without
    a warning. Segments without an id and with one of `BACKGROUND_NAMES` are background.

    Raises DataFault if a segment ends before it starts, starts after the video or ends more than a second after it.
    """
    import pandas as pd

    rows: dict[tuple[float, float, int, str], None] = {}
    background: list[tuple[float, float]] = []
    marks = 0
    for segment in segments:
        with judged():
            if clock is not None and clock.start_s:
                segment = _from_first_frame(segment, path, clock, notes)
            start_s, end_s = segment.start_s, segment.end_s
            if end_s < start_s:
                fault = f"end {end_s:g} before start {start_s:g}"
                raise DataFault(
                    "time_order", path, segment.where, f"{fault}; expected start <= end; swap the two times"
                )
            if clock is not None and not segment.mark:
                end_s = _clipped(segment, path, clock, notes)
            if segment.step_id == 0 and segment.name.lower() in BACKGROUND_NAMES:
                background.append((start_s, end_s))
                marks += segment.mark
                continue
            key = (start_s, end_s, segment.step_id, segment.name)
            if key in rows:
                notes.add("duplicate", segment.where, "repeats an earlier row; dropped")
                continue
            marks += segment.mark
            if not segment.mark and (end_s == start_s or (clock is not None and (end_s - start_s) * clock.fps < 1)):
                notes.add("short", segment.where, "shorter than a frame; kept, but labels at most one frame")
            rows[key] = None
    overlaps, overlap_s = overlapping((start_s, end_s) for start_s, end_s, _, _ in rows)
    if overlaps and not overlap_is_normal:
        fault = f"{overlaps} segments overlap for {overlap_s:g} s; the later row of the file is used there"
        notes.add("overlap", "overlap", fault)
    table = pd.DataFrame(list(rows), columns=list(_DTYPES)).astype(_DTYPES)
    return Annotation(table, notes.lines(), overlaps, overlap_s, background=tuple(background), marks=marks)


def _from_first_frame(segment: AnnotatedSegment, path: Path, clock: VideoInfo, notes: Complaints) -> AnnotatedSegment:
    """Return a segment with times from the first frame instead of a player's times."""
    start_s, end_s = (round(time_s - clock.start_s, 6) for time_s in (segment.start_s, segment.end_s))
    if end_s < 0 or (end_s == 0 and not segment.mark):
        fault = f"{segment.start_s:g}-{segment.end_s:g} s, before the first frame, which a player shows at"
        raise DataFault(
            "past_end", path, segment.where,
            f"{fault} {clock.start_s:g} s; expected a player's times; are these times from the first frame? then add "
            f"{clock.start_s:g} to all of them",
        )  # fmt: skip
    if start_s < 0:
        notes.add("past_end", segment.where, f"starts before the first frame ({clock.start_s:g} s); clipped")
    return replace(segment, start_s=max(start_s, 0.0), end_s=end_s)


def _clipped(segment: AnnotatedSegment, path: Path, clock: VideoInfo, notes: Complaints) -> float:
    """Return the end of a segment within its video."""
    beyond = segment.end_s - clock.duration_s
    if beyond > TOLERATED_S or segment.start_s > clock.duration_s:
        fault = f"segment {segment.start_s:g}-{segment.end_s:g} s of a video of {clock.duration_s:g} s"
        expected = "expected it to end within the video; wrong video, rate or unit?"
        raise DataFault("past_end", path, segment.where, f"{fault}; {expected}")
    # Annotators round times, and containers round durations. A segment that ends less than a frame after the video does
    # not suggest another video's annotation; clipping it changes no label, because no frame begins after the end.
    if beyond * clock.fps >= 1:
        notes.add("past_end", segment.where, f"ends after the video ({clock.duration_s:g} s); clipped")
    return min(segment.end_s, clock.duration_s)


def overlapping(spans: Iterable[tuple[float, float]]) -> tuple[int, float]:
    """Return how many spans (start, end) begin before an earlier one has ended, and the seconds covered twice."""
    count, covered_twice, reached = 0, 0.0, -math.inf
    for start_s, end_s in sorted(spans):
        if start_s < min(reached, end_s):
            count += 1
            covered_twice += min(reached, end_s) - start_s
        reached = max(reached, end_s)
    return count, covered_twice


THREE_COLUMNS = "start,end,<number> <name> in seconds, without a header"
STEP_FIRST = "step,start,end in seconds, without a header"

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# EGTEA writes a dot after the number, and spreadsheets turn 1 into 1.0.
_LABEL = re.compile(r"(?P<step>[+-]?[0-9]{1,18})(?:(?:\.(?P<zeros>0*))?\s+(?P<name>\S.*))?", re.DOTALL)
_STEP = re.compile(r"(?P<step>[+-]?[0-9]{1,18})(?P<zeros>\.0*)?")


def read_entry(
    root: Path, entry: VideoEntry, facts: TaskFacts | None, clock: VideoInfo | None, options: Options
) -> Annotation:
    """Read the annotation of a video from a file in EgoProceL's form, for layouts with such files."""
    return read_three_columns(root / str(entry.annotation), None if facts is None else facts.step_ids, clock)


def read_three_columns(path: Path, step_ids: Collection[int] | None, clock: VideoInfo | None = None) -> Annotation:
    """Read one annotation file in EgoProceL's form: ``start,end,<int> <name>``.

    Without the ids of the task, every id from 1 is accepted; without a clock, the checks that need it are left out.

    Raises DataFault with the file, the line, the wrong text and the expected one.
    """

    def segment(row: CsvRow, notes: Complaints) -> AnnotatedSegment:
        start, end = (_seconds(row, field) for field in row.fields[:2])
        step, name = _label(row, step_ids, notes)
        return AnnotatedSegment(row.where, start, end, step, name)

    return _read(path, THREE_COLUMNS, segment, clock)


def read_step_first(
    path: Path,
    step_ids: Collection[int] | None,
    clock: VideoInfo | None = None,
    names: Mapping[int, str] | None = None,
) -> Annotation:
    """Read one annotation file in CrossTask's form, ``step,start,end``.

    Overlaps and rows out of time order are normal in this form, so they are counted without a warning. The files lack
    the names of the steps, which are an argument. Otherwise this is like `read_three_columns`.
    """

    def segment(row: CsvRow, notes: Complaints) -> AnnotatedSegment:
        match = _STEP.fullmatch(row.fields[0])
        if len(row.fields) != 3 or match is None:
            fault = f"{len(row.fields)} fields" if match else f"step {excerpt(row.fields[0])}"
            raise row.fault("columns", fault, f"{STEP_FIRST}; a file with start,end,label has another layout")
        if match["zeros"]:
            notes.add("columns", row.where, "a step number with decimals; read as a whole number")
        start, end = (_seconds(row, field) for field in row.fields[1:])
        step = _step_id(row, match["step"], step_ids)
        return AnnotatedSegment(row.where, start, end, step, (names or {}).get(step, ""))

    return _read(path, STEP_FIRST, segment, clock)


def _read(
    path: Path, columns: str, segment: Callable[[CsvRow, Complaints], AnnotatedSegment], clock: VideoInfo | None
) -> Annotation:
    notes = Complaints(path)
    segments: list[AnnotatedSegment] = []
    for row in rows(path, columns):
        with judged():
            segments.append(segment(row, notes))
    return build_annotation(path, segments, notes, clock, overlap_is_normal=columns == STEP_FIRST)


def _label(row: CsvRow, step_ids: Collection[int] | None, notes: Complaints) -> tuple[int, str]:
    text = ", ".join(row.fields[2:])
    if len(row.fields) > 3:
        notes.add("columns", row.where, "more than three fields; all from the third on are read as the name")
    match = _LABEL.fullmatch(text)
    if match is None:
        expected = (
            "a whole number, a blank and a name, like '3 pour water', or start,end,label in line 1 for names alone "
            "(a file with step,start,end has another layout)"
        )
        raise row.fault("columns", f"label {excerpt(text)}", expected)
    if match["name"] is None:
        notes.add("columns", row.where, "a step number without a name")
    if match["zeros"]:
        notes.add("columns", row.where, "a step number with decimals; read as a whole number")
    return _step_id(row, match["step"], step_ids), plain_name(match["name"] or "")


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
