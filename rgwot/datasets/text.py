"""Text files as people and programs leave them: encodings, line ends, quotes."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rgwot.datasets.faults import DataFault, refuse

LARGEST = 64 * 2**20
"""Bytes; an annotation is a few kilobytes, so anything larger is another file under its name."""

_BYTE_ORDER_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


@dataclass(frozen=True)
class Text:
    """Lines of a text file.

    Attributes
    ----------
    path
        The file, for messages.
    lines
        Lines without their ends; line 1 is ``lines[0]``.
    undecodable
        Numbers of the lines that hold bytes that are not UTF-8 (replaced by U+FFFD).
    """

    path: Path
    lines: tuple[str, ...]
    undecodable: tuple[int, ...] = ()


def excerpt(text: str) -> str:
    """Return a text in quotes, cut to a length that fits one message."""
    return repr(text if len(text) <= 80 else text[:77] + "...")


def read_text(path: Path) -> Text:
    """Read UTF-8 text with or without a byte order mark and with LF, CRLF or CR line ends.

    Raises
    ------
    DataFault
        If the file cannot be read, is far too large, or is UTF-16 or binary.
    """
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise DataFault(
                "file", path, "", f"{size} bytes; expected a text file of at most {LARGEST}; is it another file?"
            )
        data = path.read_bytes()
    except OSError as error:
        raise DataFault("file", path, "", f"cannot be read ({error.strerror}); expected a text file") from error
    encoding = _BYTE_ORDER_MARKS.get(data[:2])
    if encoding or b"\0" in data:
        found = f"{encoding} text" if encoding else "NUL bytes (UTF-16 without a mark, or a binary file)"
        raise DataFault("encoding", path, "", f"{found}; expected UTF-8 text; save the file as UTF-8")
    data = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines, undecodable = [], []
    for number, line in enumerate(data.split(b"\n"), start=1):
        try:
            lines.append(line.decode("utf-8"))
        except UnicodeDecodeError:
            lines.append(line.decode("utf-8", errors="replace"))
            undecodable.append(number)
    return Text(path, tuple(lines), tuple(undecodable))


@dataclass(frozen=True)
class Fields:
    """A row of a comma-separated file: number of its first line, fields stripped, and the line itself."""

    line: int
    fields: tuple[str, ...]
    text: str


def rows(text: Text, columns: str) -> Iterator[Fields]:
    """Yield the rows of comma-separated text, blank lines left out.

    Parameters
    ----------
    text
        The file.
    columns
        What a row should look like, for messages; three columns are required at least.

    Raises
    ------
    DataFault
        If quotes are not closed or a row has fewer than three fields.
    """
    reader = csv.reader((line + "\n" for line in text.lines), strict=True, skipinitialspace=True)
    while True:
        first = reader.line_num + 1
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise DataFault(
                "columns",
                text.path,
                f"line {first}",
                f"{excerpt(text.lines[first - 1])} is not comma-separated text ({error}); expected {columns}; "
                "check the quotes",
            ) from error
        if fields is None:
            return
        line = text.lines[first - 1]
        if not line.strip() and len(fields) <= 1:
            continue
        if len(fields) < 3:
            wrong = next((name for sign, name in ((";", "semicolons"), ("\t", "tabs")) if line.count(sign) >= 2), "")
            remedy = f"the delimiter seems to be {wrong}; use commas" if wrong else "add what is missing"
            found = f"{len(fields)} fields in {excerpt(line)}; expected {columns}; {remedy}"
            refuse(DataFault("columns", text.path, f"line {first}", found))
            continue
        yield Fields(first, tuple(field.strip() for field in fields), line)
