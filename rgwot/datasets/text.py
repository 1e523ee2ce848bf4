"""Text files written by people and programs: encodings, line ends, quotes, and faults in data files."""

from __future__ import annotations

import csv
import logging
import math
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from rgwot.runtime.errors import RgwotError

_LOG = logging.getLogger(__name__)

Severity = Literal["error", "warning", "note"]
"""``error``: the stages refuse the file; ``warning``: they use it and warn; ``note``: good to know."""


@dataclass(frozen=True)
class Complaint:
    """A fault at one place of a file."""

    severity: Severity
    rule: str  #: one word, such as ``time_order``, by which `rgwot doctor` groups faults
    path: Path
    where: str  #: place in the file, such as ``line 3``; empty for the file as a whole
    message: str  #: what is wrong, what was expected and what to do, without file and place


class DataFault(RgwotError):
    """Error: a data file breaks a rule; the text names the file and the place."""

    def __init__(self, rule: str, path: Path, where: str, message: str) -> None:
        super().__init__(f"{path}: {where}: {message}" if where else f"{path}: {message}")
        self.complaint = Complaint("error", rule, path, where, message)


_COLLECTED: ContextVar[list[Complaint] | None] = ContextVar("collected", default=None)


@contextmanager
def collecting() -> Iterator[list[Complaint]]:
    """Let readers continue after a fault, and collect their faults and warnings in a list.

    A fault of the whole file, such as its encoding, still ends the reading with a `DataFault`.
    """
    complaints: list[Complaint] = []
    token = _COLLECTED.set(complaints)
    try:
        yield complaints
    finally:
        _COLLECTED.reset(token)


@contextmanager
def judged() -> Iterator[None]:
    """Context for reading a part of a file: a `DataFault` is raised or, inside `collecting`, only recorded."""
    try:
        yield
    except DataFault as fault:
        collected = _COLLECTED.get()
        if collected is None:
            raise
        collected.append(fault.complaint)


def remark(rule: str, path: Path, where: str, message: str, severity: Severity = "warning") -> None:
    """Record a complaint if faults are being collected."""
    collected = _COLLECTED.get()
    if collected is not None:
        collected.append(Complaint(severity, rule, path, where, message))


def tell(rule: str, path: Path, message: str, severity: Severity = "warning") -> None:
    """Record a complaint about a whole file if faults are being collected, and log it otherwise."""
    if _COLLECTED.get() is None:
        _LOG.warning("%s: %s", path, message)
    remark(rule, path, "", message, severity)


def _warn(path: Path, message: str) -> None:
    """Record or log a warning on the encoding of a file; it is logged once, although each video reads the file."""
    if _COLLECTED.get() is None:
        _log_once(f"{path}: {message}")
    remark("encoding", path, "", message)


_log_once = lru_cache(_LOG.warning)

LARGEST_TEXT = 64 * 2**20
"""Largest annotation in bytes; annotations have a few kilobytes, so a larger file is something else."""


class _TextLine(NamedTuple):
    """A line of a text file, numbered from 1."""

    number: int
    text: str


@dataclass(frozen=True)
class CsvRow:
    """A row of a comma-separated file: the line on which it begins, and its fields without surrounding blanks."""

    path: Path
    line: _TextLine
    fields: tuple[str, ...]

    @property
    def where(self) -> str:
        """Place of the row in the file."""
        return f"line {self.line.number}"

    def fault(self, rule: str, problem: str, expected: str) -> DataFault:
        """Return a fault of this row."""
        return DataFault(rule, self.path, self.where, f"{problem} in {excerpt(self.line.text)}; expected {expected}")


_CLOCK = re.compile(r"(?:(?P<h>\d{1,3}):)?(?P<m>\d{1,2}):(?P<s>\d{1,2}(?:\.\d*)?)")


def seconds_in(text: str) -> float:
    """Return a time in seconds from a number or ``(h:)mm:ss``, or NaN for other texts.

    >>> seconds_in("1:02.5"), seconds_in("1:00:02"), seconds_in("12.5"), seconds_in("0:75")
    (62.5, 3602.0, 12.5, nan)
    """
    match = _CLOCK.fullmatch(text.strip())
    try:
        if match is None:
            return float(text)
        hours, minutes, seconds = int(match["h"] or 0), int(match["m"]), float(match["s"])
    except ValueError:
        return math.nan
    return 3600 * hours + 60 * minutes + seconds if seconds < 60 and (minutes < 60 or not match["h"]) else math.nan


def excerpt(text: str) -> str:
    """Return a text in quotes, cut to a length that fits one message."""
    return repr(text if len(text) <= 80 else text[:77] + "...")


def read_bytes(path: Path) -> bytes:
    """Read the bytes of a text file; raise DataFault if it cannot be read or is far too large."""
    try:
        size = path.stat().st_size
        if size > LARGEST_TEXT:
            raise DataFault(
                "file",
                path,
                "",
                f"has {size} bytes; expected a text file of at most {LARGEST_TEXT}; check that this is the right file",
            )
        return path.read_bytes()
    except OSError as error:
        raise DataFault("file", path, "", f"cannot be read ({error.strerror}); expected a text file") from error


def encoding_of(path: Path, data: bytes) -> str:
    """Return Python's name for the encoding of a text: by its byte order mark, UTF-8, or otherwise Windows-1252.

    In Windows-1252 each byte is one character, so different words stay different; a warning is given.

    Raises DataFault if the bytes fit none of these.
    """
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in data:
        fault = "NUL bytes (UTF-16 without a mark, or a binary file)"
        raise DataFault("encoding", path, "", f"{fault}; expected UTF-8 text; save the file as UTF-8")
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if encoding == "cp1252":
            odd = next(line for line in text.splitlines() if not line.isascii())
            _warn(path, f"is not UTF-8, so it is read as Windows-1252, such as {excerpt(odd)}; save the file as UTF-8")
        elif "\ufffd" in text:
            _warn(
                path,
                "has U+FFFD characters, which replace letters, so different words may look the same",
            )
        return encoding
    raise DataFault(
        "encoding", path, "", "is neither UTF-8 nor Windows-1252; expected UTF-8 text; save the file as UTF-8"
    )


def decode_text(path: Path, data: bytes) -> str:
    """Decode the bytes of a file (`encoding_of`), without the byte order mark."""
    try:
        text = data.decode(encoding_of(path, data))
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise DataFault(
            "encoding", path, "", "is marked as UTF-16, but is not UTF-16; expected UTF-8 text; save the file as UTF-8"
        )
    return text


def read_text(path: Path) -> str:
    """Read a text in UTF-8 or another encoding of `encoding_of`; line ends (LF, CRLF or CR) become LF.

    Raises DataFault if the file cannot be read, is far too large, or is not text.
    """
    return decode_text(path, read_bytes(path)).replace("\r\n", "\n").replace("\r", "\n")


def read_lines(path: Path) -> list[_TextLine]:
    """Return the lines of a text (`read_text`)."""
    return [_TextLine(number, line) for number, line in enumerate(read_text(path).split("\n"), start=1)]


def filled_lines(path: Path) -> list[_TextLine]:
    """Return the lines of a text (`read_lines`) without blank lines."""
    return [line for line in read_lines(path) if line.text.strip()]


def rows(path: Path, columns: str) -> Iterator[CsvRow]:
    """Yield the rows of a comma-separated file without blank lines; messages name the expected ``columns``.

    Raises DataFault if quotes are not closed or a row has fewer than three fields.
    """
    lines = read_lines(path)
    reader = csv.reader((line.text + "\n" for line in lines), strict=True, skipinitialspace=True)
    while reader.line_num < len(lines):
        line = lines[reader.line_num]
        try:
            row = CsvRow(path, line, tuple(field.strip() for field in next(reader)))
        except csv.Error as error:
            fault = f"{excerpt(line.text)} is not comma-separated text ({error}); expected {columns}; check the quotes"
            raise DataFault("columns", path, f"line {line.number}", fault) from error
        if not line.text.strip() and len(row.fields) <= 1:
            continue
        if len(row.fields) < 3:
            signs = ((";", "semicolons"), ("\t", "tabs"))
            wrong = next((name for sign, name in signs if line.text.count(sign) >= 2), "")
            remedy = f"the delimiter seems to be {wrong}; use commas" if wrong else "add what is missing"
            with judged():
                raise row.fault("columns", f"{len(row.fields)} fields", f"{columns}; {remedy}")
        else:
            yield row
