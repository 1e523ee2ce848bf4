"""Tables of annotations with a header, and EgoProceL's three columns without one."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from pathlib import Path

from rgwot.datasets.annotations import read_three_columns
from rgwot.datasets.names import VIDEO_SUFFIXES
from rgwot.datasets.segment_rows import BACKGROUND_LABEL, SegmentRow, media_stem, read_seconds
from rgwot.datasets.settings import Options
from rgwot.datasets.text import DataFault, excerpt, read_lines, seconds_in
from rgwot.runtime.csv_files import text_of

#: Columns of a table in lower case; the first that exists is used.
STARTS, ENDS = ("start_s", "start"), ("end_s", "end", "stop")
#: The column with the time of a mark.
MOMENT = "time_s"
#: The column ``key_step`` is the last choice, because it has only numbers; the other columns have names.
LABELS = ("label", "name", "step", "key_step")
#: Columns with the length of a segment, which is compared with its start and end.
LENGTHS = ("duration_s", "duration")
#: Columns that say who annotated.
CODERS = ("coder", "annotator", "observer", "rater")
#: All columns of times, including those of BORIS.
TIME_COLUMNS = frozenset({*STARTS, *ENDS, MOMENT, "start (s)", "stop (s)", "time", "time offset (s)"})
#: Columns that must not occur twice.
READ_COLUMNS = TIME_COLUMNS | {*LABELS, *CODERS, "video", "scope", "behavior", "behavior type", "status", "subject"}
#: The columns of a table in words.
HEADINGS = (
    "start_s (or start), end_s (or end, stop) in seconds, or time_s for marks, and label (or name, step, key_step), "
    "with video if there are several"
)
#: A header is searched for in this many lines, because tables of BORIS before version 8 begin with other lines.
HEADER_LINES = 40


def records(path: Path, column: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the position, such as ``line 3``, and the fields (by column) of each row of a table with a header.

    The delimiter is a tab, semicolon or comma. The header is the first line that has the ``column`` or, if none has it,
    the first line of the file. Decimal commas in times (`TIME_COLUMNS`) become points.
    """
    lines = read_lines(path)
    at = next((at for at, line in enumerate(lines) if not column or column.lower() in header_columns(line.text)), 0)
    header, lines = lines[at].text, lines[at:]
    names = [name.strip() for name in next(csv.reader([header], delimiter=divider(header)))]
    low = [name.lower() for name in names]
    if twice := next((name for name in low if name in READ_COLUMNS and low.count(name) > 1), None):
        fault = f"two columns {twice!r}; expected every column once; rename or delete one"
        raise DataFault("columns", path, f"line {at + 1}", fault)
    reader = csv.reader((line.text + "\n" for line in lines[1:]), delimiter=divider(header), strict=True)
    table = []
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise DataFault("columns", path, f"line {at + reader.line_num + 1}", f"{error}; check the quotes") from None
        if fields is None:
            break
        where = f"line {at + reader.line_num + 1}"
        if not any(fields):
            continue
        if len(fields) != len(names):
            raise DataFault("columns", path, where, f"{len(fields)} fields; expected {len(names)}, as in the header")
        table.append((where, {name: text_of(field.strip()) for name, field in zip(names, fields, strict=True)}))
    yield from with_points(path, table, divider(header))


def with_points(path: Path, table: list[tuple[str, dict[str, str]]], sign: str) -> list[tuple[str, dict[str, str]]]:
    """Return the rows of a table with decimal points in its times; ``sign`` is its delimiter.

    Raises DataFault for points and commas in one table, and for commas that may separate thousands.
    """
    times = [(where, name, row[name]) for where, row in table for name in row if name.lower() in TIME_COLUMNS]
    commas = [(where, text) for where, _, text in times if "," in text]
    if not commas:
        return table
    where, text = commas[0]
    if other := next((text for _, _, text in times if re.search(r"\d\.\d", text)), None):
        raise DataFault(
            "time", path, where, f"{excerpt(text)} as a time, and {excerpt(other)}; expected one decimal sign"
        )
    if sign != ";" and all(re.fullmatch(r"[+-]?\d+,\d{3}", text) for _, text in commas):
        raise DataFault(
            "time",
            path,
            where,
            f"{excerpt(text)} as a time, in which the comma may separate thousands; expected a decimal point",
        )
    return [
        (where, {name: text.replace(",", ".") if name.lower() in TIME_COLUMNS else text for name, text in row.items()})
        for where, row in table
    ]


def header_columns(header: str) -> list[str]:
    """Return the names of the columns of a table in lower case."""
    return [name.strip().strip('"').lower() for name in header.split(divider(header))]


def divider(header: str) -> str:
    """Return the delimiter of a table's columns; signs inside quotes do not count."""
    plain = re.sub(r'"[^"]*"', "", header)
    return next((sign for sign in "\t;" if sign in plain), ",")


def is_table(head: str) -> bool:
    """Return whether the first line has the columns of a table with a header."""
    names = set(header_columns(head.splitlines()[0] if head else ""))
    timed = MOMENT in names or (names.intersection(STARTS) and names.intersection(ENDS))
    return bool(timed and names.intersection(LABELS))


def unread_header(head: str) -> str:
    """Return the fault of a text that has a header, but no known columns in line 1; empty if it has no header."""
    lines = head.splitlines()
    at = next((at for at, line in enumerate(lines[:HEADER_LINES]) if is_table(line)), None)
    if at:
        return f"found the header in line {at + 1}, expected it in line 1; delete the lines before it"
    cells = next(csv.reader(lines[:1], delimiter=divider(lines[0])), []) if lines else []
    if len(cells) < 2 or "\0" in lines[0] or not all(math.isnan(seconds_in(cell.replace(",", "."))) for cell in cells):
        return ""
    return f"found the columns {', '.join(cell.strip() for cell in cells[:8])}; expected {HEADINGS}; rename them"


def read_table_rows(path: Path, options: Options) -> Iterator[SegmentRow]:
    """Read a table with a header, in which videos may be files; label 0 is background.

    Rows with another ``scope`` than ``task`` are left out. A row with ``time_s``, or without an end, is a mark.
    """
    coders: dict[str, str] = {}
    for where, row in records(path):
        low = {name.lower(): value for name, value in row.items()}
        for alternatives in (STARTS, ENDS):
            if len(two := [name for name in alternatives if low.get(name)]) > 1:
                fault = f"times in both {two[0]} and {two[1]}; expected one of them; delete the other column"
                raise DataFault("columns", path, where, fault)
        coder = next((low[name] for name in CODERS if low.get(name)), "")
        if coder and (other := coders.setdefault(low.get("video", ""), coder)) != coder:
            raise DataFault(
                "media", path, where,
                f"is by {coder!r}, but others are by {other!r}; expected one annotator per video; put the rows of each "
                "into a file of their own",
            )  # fmt: skip
        start, end, label = (
            next((low[name] for name in alternatives if name in low), "") for alternatives in (STARTS, ENDS, LABELS)
        )
        if low.get("scope", "task") != "task":
            continue
        moment = low.get(MOMENT, "")
        if moment and (start or end):
            fault = f"{MOMENT} {excerpt(moment)} beside {excerpt(start or end)}"
            raise DataFault(
                "columns", path, where, f"{fault}; expected {MOMENT} for a mark, or start and end for a segment"
            )
        start_s = read_seconds(path, where, moment or start)
        end_s = read_seconds(path, where, end) if end else start_s
        label = BACKGROUND_LABEL if label == "0" else label
        video = low.get("video") or path.stem
        if video.lower().endswith(tuple(VIDEO_SUFFIXES)):
            video = media_stem(video)
        length_s = next((seconds_in(low[name].replace(",", ".")) for name in LENGTHS if name in low), math.nan)
        yield SegmentRow(video, start_s, end_s, label, where, low.get("silence", ""), length_s if end else math.nan)


def read_without_header(path: Path, options: Options) -> Iterator[SegmentRow]:
    """Read EgoProceL's three columns; the number stands for a step without a name."""
    for row in read_three_columns(path, None).segments.to_dict("records"):
        yield SegmentRow(path.stem, row["start_s"], row["end_s"], row["name"] or f"key step {row['step_id']}", "")
