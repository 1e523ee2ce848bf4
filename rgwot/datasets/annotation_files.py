"""The formats of annotations, and the choice of the reader of a file by suffix and content."""

from __future__ import annotations

import logging
import math
import os
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from rgwot.datasets import annotation_formats as formats
from rgwot.datasets.annotation_formats import Hints, SegmentRow
from rgwot.datasets.annotations import BACKGROUND_NAMES, AnnotatedSegment, Annotation, Notes, build_annotation
from rgwot.datasets.names import pairing_key
from rgwot.datasets.text import DataFault, read_bytes
from rgwot.runtime.errors import RgwotError, first_line
from rgwot.timing import VideoInfo, parse_rate

if TYPE_CHECKING:
    import pandas as pd

_LOG = logging.getLogger(__name__)
_HEAD = 4096


def _has(*marks: str) -> Callable[[str], bool]:
    return lambda head: all(mark in head for mark in marks)


@dataclass(frozen=True)
class Reader:
    """A format of annotations."""

    read: Callable[[Path, Hints], Iterable[SegmentRow]]  #: whatever it raises on a damaged file becomes a `DataFault`
    suffixes: tuple[str, ...]  #: of its files, in lower case
    description: str
    fits: Callable[[str], bool] = _has()  #: whether a file that begins like this, with such a suffix, is of it
    many: tuple[str, ...] = ()  #: one of these stands at the beginning of a file that may annotate many videos
    counts: bool = False  #: whether it counts frames, so that `Hints.fps` is needed


#: Of those with the suffix of a file, it is of the first that it fits. Rows hold no background.
ANNOTATION_READERS: Mapping[str, Reader] = {
    "elan": Reader(formats.read_elan, (".eaf",), "a tier of ELAN", _has("ANNOTATION_DOCUMENT")),
    "boris": Reader(
        formats.read_boris,
        (".boris", ".boris.gz", ".tsv", ".csv"),
        "a project or an exported table of BORIS",
        formats.is_boris,
        many=("{", formats.MANY),
    ),
    "mstcn": Reader(formats.read_mstcn, (".txt",), "a label per line and frame, as MS-TCN has it", counts=True),
    "table": Reader(
        formats.read_table_rows,
        (".csv", ".tsv"),
        "columns start_s, end_s, label, and video if there are several",
        formats.is_table,
        many=("video",),
    ),
    "three_columns": Reader(
        formats.read_without_header, (".csv",), "start,end,<number> <name> without a header, as EgoProceL has it"
    ),
}


TEXTS = (".csv", ".tsv", ".txt")
"""Suffixes of files that may be empty: that of a video without a segment."""


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the suffix of an annotation in lower case, ``.boris.gz`` as one."""
    name = os.fspath(path).lower()
    return ".boris.gz" if name.endswith(".boris.gz") else os.path.splitext(name)[1]


def format_of(path: Path) -> str:
    """Return the format of a file; DataFault if its suffix or its content is of none."""
    suffix = suffix_of(path)
    known = [name for name, about in ANNOTATION_READERS.items() if suffix in about.suffixes]
    if not known:
        every = suffixes(Hints(fps=Fraction(1)))
        raise DataFault("file", path, "", f"suffix {suffix!r}; expected an annotation: one of {', '.join(every)}")
    head = _head(path)
    if suffix in TEXTS and not head.strip():
        return known[-1]
    for name in known:
        if ANNOTATION_READERS[name].fits(head):
            return name
    raise DataFault(
        "file",
        path,
        "",
        f"not recognised; expected {' or '.join(ANNOTATION_READERS[name].description for name in known)}",
    )


def suffixes(hints: Hints) -> tuple[str, ...]:
    """Return the suffixes of annotations that can be read, whichever format of a suffix they have, with these hints."""
    known = dict.fromkeys(suffix for about in ANNOTATION_READERS.values() for suffix in about.suffixes)
    counting = {suffix for about in ANNOTATION_READERS.values() if about.counts for suffix in about.suffixes}
    return tuple(suffix for suffix in known if hints.fps is not None or suffix not in counting)


def annotates_many(path: Path) -> bool:
    """Return whether an annotation may be of many videos, by its content; one that cannot be read is of none."""
    try:
        many = ANNOTATION_READERS[format_of(path)].many
        return bool(many) and (path.suffix.lower() == ".gz" or any(mark in _head(path) for mark in many))
    except DataFault:
        return False


def read_annotation_file(
    path: str | os.PathLike[str],
    *,
    tier: str | None = None,
    fps: str | float | Fraction | None = None,
) -> pd.DataFrame:
    """Read the segments of one file in any of the `ANNOTATION_READERS`, recognised by suffix and content.

    Parameters
    ----------
    path
        The file.
    tier
        Of ELAN: the tier; without it the tier ``key steps``, or the only one.
    fps
        Of MS-TCN, which counts frames: frames per second.

    Returns
    -------
    pandas.DataFrame
        Columns ``video`` (the stem of its file), ``start_s``, ``end_s`` (seconds, start < end) and ``label``, in the
        order of the file. Background is in none.

    Raises
    ------
    RgwotError
        In one line, when the file is damaged or of another kind.
    """
    import pandas as pd

    path = Path(path)
    rows = _rows(path, Hints(tier, None if fps is None else parse_rate(fps)))
    segments = [row for row in rows if row.end_s > row.start_s]
    if len(segments) < len(rows):
        _LOG.warning("%s: %d events without length are left out", path, len(rows) - len(segments))
    segments = [row for row in segments if row.label.lower() not in BACKGROUND_NAMES]
    table = pd.DataFrame(segments, columns=list(SegmentRow._fields), dtype=object).astype(
        {"start_s": float, "end_s": float}
    )
    return table[["video", "start_s", "end_s", "label"]]


def read_annotation(path: Path, names: Iterable[str], hints: Hints, clock: VideoInfo | None) -> Annotation:
    """Read the annotation of one video, which goes by any of ``names`` in a file of many.

    Steps have names and no numbers: ``step_id`` is 0.
    """
    notes, wanted = Notes(path), {pairing_key(name) for name in names}
    rows = _rows(path, hints)
    # A file of the video's own name that holds one video is of that, whatever it calls it.
    if len({row.video for row in rows}) > 1 or pairing_key(path.stem) not in wanted:
        rows = [row for row in rows if pairing_key(row.video) in wanted]
    for row in rows:
        if row.start_s == row.end_s:
            notes.add("short", row.where, "no length; left out")
    segments = (
        AnnotatedSegment(row.where, row.start_s, row.end_s, 0, row.label) for row in rows if row.end_s > row.start_s
    )
    return build_annotation(path, segments, notes, clock, overlap_is_normal=False)


def _rows(path: Path, hints: Hints) -> list[SegmentRow]:
    name = format_of(path)
    if suffix_of(path) in TEXTS and not _head(path).strip():
        return []
    try:
        rows = [row._replace(label=" ".join(row.label.split())) for row in ANNOTATION_READERS[name].read(path, hints)]
    except RgwotError:
        raise
    except Exception as error:  # noqa: BLE001 (parsers of other people raise anything on a damaged file)
        raise DataFault(
            "file", path, "", f"cannot be read ({type(error).__name__}: {first_line(error)[:100]}); expected "
            f"{ANNOTATION_READERS[name].description}; export it again"
        ) from error  # fmt: skip
    for row in rows:
        if row.video in ("", ".."):
            raise DataFault(
                "media", path, row.where, "the link to its video names no file; expected one; link it again"
            )
        if not (math.isfinite(row.start_s) and math.isfinite(row.end_s) and 0 <= row.start_s <= row.end_s):
            raise DataFault(
                "time_order", path, row.where,
                f"{row.label!r} from {row.start_s:g} to {row.end_s:g} s; expected 0 <= start <= end; correct the times",
            )  # fmt: skip
    return [row for row in rows if row.label]


def _head(path: Path) -> str:
    # Marks of formats are ASCII in all encodings that are read.
    head = read_bytes(path)[:_HEAD]
    marked = head.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    return head.decode("utf-16" if marked else "utf-8-sig", errors="replace")
