"""The formats of annotations; a file's reader is chosen by suffix and content."""

from __future__ import annotations

import logging
import math
import os
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from rgwot.datasets import annotation_tables, boris
from rgwot.datasets.annotations import (
    BACKGROUND_NAMES,
    TOLERATED_S,
    AnnotatedSegment,
    Annotation,
    Complaints,
    build_annotation,
)
from rgwot.datasets.elan import read_elan, read_textgrid
from rgwot.datasets.mstcn import label_rate, read_mstcn
from rgwot.datasets.segment_rows import BACKGROUND_LABEL, SegmentRow
from rgwot.datasets.settings import Options
from rgwot.datasets.text import DataFault, judged, read_bytes
from rgwot.runtime.errors import RgwotError, first_line
from rgwot.runtime.text import pairing_key, plain_name
from rgwot.timing import SILENCES, VideoInfo, parse_rate, short_rate

if TYPE_CHECKING:
    import pandas as pd

    from rgwot.datasets.base import VideoEntry

_LOG = logging.getLogger(__name__)
_HEAD = 4096
# Durations are rounded, and some include the last frame.
_LENGTH_S = 0.25


def _has(*marks: str) -> Callable[[str], bool]:
    return lambda head: all(mark in head for mark in marks)


@dataclass(frozen=True)
class _Reader:
    """A reader of one annotation format."""

    read: Callable[[Path, Options], Iterable[SegmentRow]]  #: its errors for damaged files become `DataFault`
    suffixes: tuple[str, ...]  #: suffixes of the format's files, in lower case
    description: str
    fits: Callable[[str], bool] = _has()  #: whether the beginning of a file with these suffixes is in this format
    many: tuple[str, ...] = ()  #: a file that may annotate many videos has one of these near its beginning
    counts: bool = False  #: whether the format counts frames, so that `Options.labels_fps` is needed


#: The format of a file is the first that has its suffix and fits its beginning. Rows with a label in `BACKGROUND_NAMES`
#: are background.
ANNOTATION_READERS: Mapping[str, _Reader] = {
    "elan": _Reader(read_elan, (".eaf",), "a tier of ELAN", _has("ANNOTATION_DOCUMENT")),
    "textgrid": _Reader(read_textgrid, (".textgrid",), "a tier of a TextGrid of Praat"),
    "boris": _Reader(
        boris.read_boris,
        (".boris", ".boris.gz", ".tsv", ".csv"),
        "a project or an exported table of BORIS",
        boris.is_boris,
        many=("{", boris.MANY),
    ),
    "mstcn": _Reader(read_mstcn, (".txt",), "a label per frame, one per line, as in MS-TCN", counts=True),
    "table": _Reader(
        annotation_tables.read_table_rows,
        (".csv", ".tsv"),
        f"columns {annotation_tables.HEADINGS}",
        annotation_tables.is_table,
        many=("video",),
    ),
    "three_columns": _Reader(
        annotation_tables.read_without_header,
        (".csv",),
        "start,end,<number> <name> without a header, as in EgoProceL",
    ),
}


TEXTS = (".csv", ".tsv", ".txt")
"""Suffixes of files that may be empty, for a video without a segment."""


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the suffix of an annotation in lower case; ``.boris.gz`` is one suffix."""
    name = os.fspath(path).lower()
    return ".boris.gz" if name.endswith(".boris.gz") else os.path.splitext(name)[1]


def format_of(path: Path) -> str:
    """Return the format of a file; raise DataFault if its suffix or content fits no format."""
    suffix = suffix_of(path)
    readers = [name for name, reader in ANNOTATION_READERS.items() if suffix in reader.suffixes]
    if not readers:
        every = suffixes(Options(labels_fps="1"))
        raise DataFault("file", path, "", f"suffix {suffix!r}; expected an annotation: one of {', '.join(every)}")
    head = _head(path)
    if suffix in TEXTS and not head.strip():
        return readers[-1]
    for name in readers:
        fault = annotation_tables.unread_header(head) if name == "three_columns" else ""
        if not fault and ANNOTATION_READERS[name].fits(head):
            return name
    if suffix in (".csv", ".tsv") and (fault := annotation_tables.unread_header(head)):
        raise DataFault("columns", path, "", fault)
    raise DataFault(
        "file",
        path,
        "",
        f"not recognised; expected {' or '.join(ANNOTATION_READERS[name].description for name in readers)}",
    )


def suffixes(options: Options) -> tuple[str, ...]:
    """Return the suffixes of all formats that can be read with these options."""
    every = dict.fromkeys(suffix for reader in ANNOTATION_READERS.values() for suffix in reader.suffixes)
    counting = {suffix for reader in ANNOTATION_READERS.values() if reader.counts for suffix in reader.suffixes}
    return tuple(suffix for suffix in every if options.labels_fps is not None or suffix not in counting)


def annotates_many(path: Path) -> bool:
    """Return whether the content of a file may annotate many videos; False if it cannot be read."""
    try:
        marks = ANNOTATION_READERS[format_of(path)].many
        return bool(marks) and (path.suffix.lower() == ".gz" or any(mark in _head(path) for mark in marks))
    except DataFault:
        return False


def read_annotation_file(
    path: str | os.PathLike[str],
    *,
    tier: str | None = None,
    fps: str | float | Fraction | None = None,
    marks: bool = False,
) -> pd.DataFrame:
    """Read the segments of one file in any of the `ANNOTATION_READERS`, recognised by suffix and content.

    Parameters
    ----------
    path
        The file.
    tier
        The tier of an ELAN file; by default the tier ``key steps``, or the only one.
    fps
        Frames per second of an MS-TCN file, which counts frames.
    marks
        Whether to return also marks (start and end are equal), background (labelled ``background``), and the column
        ``silence`` if the file has it.

    Returns
    -------
    pandas.DataFrame
        Columns ``video`` (the stem of its file), ``start_s``, ``end_s`` (seconds, start < end) and ``label``, in the
        order of the file; by default without background.

    Raises
    ------
    RgwotError
        If the file is damaged or of another kind.
    """
    import pandas as pd

    path = Path(path)
    options = Options(tier=tier, labels_fps=None if fps is None else str(parse_rate(fps)))
    rows = [row for row in _rows(path, options) if row.label]
    if marks:
        segments = [row._replace(label=_step(row)) for row in rows]
    else:
        segments = [row for row in rows if row.end_s > row.start_s]
        if len(segments) < len(rows):
            _LOG.warning("%s: %d events without length are left out", path, len(rows) - len(segments))
        segments = [row for row in segments if row.label.lower() not in BACKGROUND_NAMES]
    table = pd.DataFrame(segments, columns=list(SegmentRow._fields), dtype=object).astype(
        {"start_s": float, "end_s": float}
    )
    said = ["silence"] if marks and any(row.silence for row in rows) else []
    return table[["video", "start_s", "end_s", "label", *said]]


def read_annotation(path: Path, names: Iterable[str], options: Options, clock: VideoInfo | None) -> Annotation:
    """Read the annotation of a video; a file of many videos may call this video by any of ``names``.

    Steps have names and no numbers: ``step_id`` is 0.
    """
    notes, keys = Complaints(path), {pairing_key(name) for name in names}
    every = _rows(path, options)
    # If the file is named like the video and annotates one video, all rows are of this video, whatever its name in the
    # file.
    rows, named = every, pairing_key(path.stem) in keys
    if len(videos := list(dict.fromkeys(row.video for row in every))) > 1 or not named:
        rows = [row for row in every if pairing_key(row.video) in keys]
    if named and every and not rows:
        raise DataFault(
            "media", path, "",
            f"has rows of {', '.join(map(repr, videos[:3]))}, but none of this video; expected rows of this video; "
            "correct the names, or rename the file if it is of these videos",
        )  # fmt: skip
    for row in rows:
        if not row.label and row.end_s > row.start_s and format_of(path) == "table":
            notes.add("label", row.where, "a segment without a label; left out")
    rows = [row for row in rows if row.label]
    # If every row has the same duration, it is the duration of the video.
    for row in rows if len({row.length_s for row in rows}) > 1 else ():
        length_s = row.end_s - row.start_s
        if min(abs(row.length_s - length_s), abs(row.length_s - 1000 * length_s)) > _LENGTH_S:
            notes.add(
                "columns",
                row.where,
                "the duration is not the time from start to end; which of them is right? start and end are used",
            )
    silence = _silence(path, rows)
    labelled_s = None
    if clock is not None and ANNOTATION_READERS[format_of(path)].counts:
        # Labels of frames are timed from the first frame, not by the clock of a player.
        clock, labelled_s = replace(clock, start_s=0.0), rows[-1].end_s if rows else 0.0
        if abs(labelled_s - clock.duration_s) > TOLERATED_S:
            lines = round(labelled_s * label_rate(path, options))
            fitting = short_rate(lines / clock.duration_s) if lines else 0
            notes.add(
                "unit",
                f"line {lines}",
                f"is the last, at {labelled_s:g} of {clock.duration_s:g} s; expected the end of the video; correct "
                f"labels_fps ({options.labels_fps}): {lines} lines fit {float(fitting):g} per second",
            )
    rows = _with_marks(path, rows, notes, clock, overlap_is_normal=format_of(path) == "boris")
    segments = (
        AnnotatedSegment(row.where, row.start_s, row.end_s, 0, row.label, row.end_s == row.start_s) for row in rows
    )
    annotation = build_annotation(path, segments, notes, clock, overlap_is_normal=False)
    partly = labelled_s is not None and clock is not None and labelled_s < clock.duration_s
    return replace(annotation, silence=silence, labelled_s=labelled_s if partly else None)


def _silence(path: Path, rows: Iterable[SegmentRow]) -> str:
    """Return how time without a segment is read in a video, or an empty text if the file does not say it."""
    words = {row.silence: row.where for row in rows if row.silence}
    for word, where in words.items():
        if word not in SILENCES:
            raise DataFault("silence", path, where, f"silence {word!r}; expected one of {', '.join(SILENCES)}")
    if len(words) > 1:
        raise DataFault("silence", path, "", f"silence {' and '.join(words)}; expected one word per video")
    return next(iter(words), "")


def _with_marks(
    path: Path, rows: Iterable[SegmentRow], notes: Complaints, clock: VideoInfo | None, *, overlap_is_normal: bool
) -> list[SegmentRow]:
    """Return the rows of a video without the marks inside segments of the same step, which are redundant.

    If ``overlap_is_normal``, as in BORIS, which codes several behaviours at a time, marks inside segments of other
    steps are left out, too.

    Raises DataFault for a mark outside the video or inside a segment of another step, and for two steps at one moment.
    """
    kept: list[SegmentRow] = []
    segments = [row for row in rows if row.end_s > row.start_s]
    marked: dict[float, str] = {}
    for row in rows:
        if row.end_s > row.start_s:
            kept.append(row)
            continue
        with judged():
            if clock is not None and row.start_s > clock.start_s + clock.duration_s:
                fault = f"mark of {row.label!r} at {row.start_s:g} s of a video of {clock.duration_s:g} s"
                raise DataFault("past_end", path, row.where, f"{fault}; expected it inside the video; correct the time")
            over = [_step(other) for other in segments if other.start_s <= row.start_s < other.end_s]
            if over and over[-1] != _step(row):
                fault = f"mark of {row.label!r} at {row.start_s:g} s, inside a segment of {over[-1]!r}"
                if not overlap_is_normal:
                    raise DataFault(
                        "overlap", path, row.where,
                        f"{fault}; expected one step per moment; delete the mark or correct the segment",
                    )  # fmt: skip
                notes.add("overlap", row.where, "a point event inside a segment of another step; left out")
            elif not over:
                if marked.setdefault(row.start_s, _step(row)) != _step(row):
                    raise DataFault(
                        "overlap", path, row.where,
                        f"marks of {marked[row.start_s]!r} and {row.label!r} at {row.start_s:g} s; expected one step "
                        "per moment; delete one",
                    )  # fmt: skip
                kept.append(row)
    return kept


def _step(row: SegmentRow) -> str:
    return BACKGROUND_LABEL if row.label.lower() in BACKGROUND_NAMES else row.label


def _rows(path: Path, options: Options) -> list[SegmentRow]:
    name = format_of(path)
    if suffix_of(path) in TEXTS and not _head(path).strip():
        return []
    try:
        rows = [row._replace(label=plain_name(row.label)) for row in ANNOTATION_READERS[name].read(path, options)]
    except RgwotError:
        raise
    except Exception as error:  # noqa: BLE001 (third-party parsers may raise any error for a damaged file)
        raise DataFault(
            "file", path, "", f"cannot be read ({type(error).__name__}: {first_line(error)[:100]}); expected "
            f"{ANNOTATION_READERS[name].description}; export it again"
        ) from error  # fmt: skip
    for row in rows:
        if row.video in ("", ".."):
            raise DataFault(
                "media", path, row.where, "the link to its video names no file; expected a video file; link it again"
            )
        if not (math.isfinite(row.start_s) and math.isfinite(row.end_s) and 0 <= row.start_s <= row.end_s):
            raise DataFault(
                "time_order", path, row.where,
                f"{row.label!r} from {row.start_s:g} to {row.end_s:g} s; expected 0 <= start <= end; correct the times",
            )  # fmt: skip
    return rows


def of_no_video(root: Path, entries: Iterable[VideoEntry], options: Options) -> Iterator[tuple[Path, str]]:
    """Yield each file of several videos (`_Reader.many`) that has rows of videos outside the task, with a warning.

    A file that cannot be read is skipped, because its fault is reported when it is read for a video.
    """
    entries = list(entries)
    keys = {pairing_key(name) for entry in entries for name in (entry.name, entry.video)}
    for path in dict.fromkeys(root / entry.annotation for entry in entries if entry.annotation is not None):
        if not annotates_many(path):
            continue
        try:
            videos = list(dict.fromkeys(row.video for row in _rows(path, options)))
        except DataFault:
            continue
        others = [video for video in videos if pairing_key(video) not in keys]
        if others and (len(videos) > 1 or pairing_key(path.stem) not in keys):
            line = f"{len(others)} of the {len(videos)} videos in it are not in this task, such as {others[0]!r}"
            yield path, f"{line}; their rows are left out; correct their names if they belong to this task"


def _head(path: Path) -> str:
    # The texts by which formats are recognised are ASCII, so other characters may be replaced.
    head = read_bytes(path)[:_HEAD]
    marked = head.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    return head.decode("utf-16" if marked else "utf-8-sig", errors="replace")
