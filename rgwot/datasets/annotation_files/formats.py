"""The files of ELAN and MS-TCN, and tables with a header or without."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from rgwot.datasets.annotation_files.rows import Hints, SegmentRow, header_columns, media_stem, read_seconds, records
from rgwot.datasets.csv_files import read_three_columns
from rgwot.datasets.faults import DataFault
from rgwot.datasets.text import excerpt, read_lines
from rgwot.runtime.optional import optional

PYMPI = "pip install pympi-ling"

#: Columns of a table in lower case, the first that is there; ``key_step`` last, because names say more.
STARTS, ENDS = ("start_s", "start"), ("end_s", "end", "stop")
LABELS = ("label", "name", "step", "key_step")
#: Names of background, in lower case: GTEA's, Breakfast's and those of YouTube Instructions.
BACKGROUND_NAMES = frozenset({"background", "bg", "sil", "-1"})


def read_elan(path: Path, hints: Hints) -> Iterator[SegmentRow]:
    """Read the tier that is meant; the video is the first linked file, else the one of the file's own name.

    A gap or an empty value is background.
    """
    pympi = optional("pympi", path, PYMPI)
    with warnings.catch_warnings():
        # It complains of every version but three, and reads them.
        warnings.simplefilter("ignore")
        document = pympi.Eaf(str(path))
    media = [media_stem(one["MEDIA_URL"]) for one in document.get_linked_files()]
    # Those that only refer to annotations of another tier have no times.
    tier = hints.chosen(path, [name for name, (aligned, *_) in document.tiers.items() if aligned] or document.tiers)
    for start, end, value in document.get_annotation_data_for_tier(tier):
        if start is None or end is None:
            raise DataFault("time", path, tier, f"{value!r} has no time of its own; expected a tier with times")
        yield SegmentRow(
            media[0] if media else path.stem, start / 1000, end / 1000, value, f"tier {tier!r} at {start} ms"
        )


def read_mstcn(path: Path, hints: Hints) -> Iterator[SegmentRow]:
    """Read the runs of equal labels, one label per line; frame i, from 0, is at i / fps."""
    fps = hints.rate(path)
    labels = [line.text.strip() for line in read_lines(path)]
    while labels and not labels[-1]:
        labels.pop()
    odd = next((at for at, label in enumerate(labels) if not label or set("\t,;") & set(label)), None)
    if odd is not None:
        raise DataFault("columns", path, f"line {odd + 1}", f"{excerpt(labels[odd])}; expected one label per line")
    for label, run in groupby(enumerate(labels), key=lambda item: item[1]):
        frames = [frame for frame, _ in run]
        if label.lower() not in BACKGROUND_NAMES:
            start_s, end_s = float(frames[0] / fps), float((frames[-1] + 1) / fps)
            yield SegmentRow(path.stem, start_s, end_s, label, f"line {frames[0] + 1}")


def is_table(head: str) -> bool:
    """Return whether the first line has the columns of a table with a header."""
    names = set(header_columns(head.splitlines()[0] if head else ""))
    return all(names.intersection(known) for known in (STARTS, ENDS, LABELS))


def read_table_rows(path: Path, hints: Hints) -> Iterator[SegmentRow]:
    """Read a table with a header; a label of 0 or nothing is background. Of our own with scopes, that of the task."""
    for where, row in records(path):
        low = {name.lower(): value for name, value in row.items()}
        start, end, label = (next(low[name] for name in known if name in low) for known in (STARTS, ENDS, LABELS))
        if low.get("scope", "task") == "task":
            start_s, end_s = read_seconds(path, where, start), read_seconds(path, where, end)
            label = "" if label == "0" else label
            yield SegmentRow(low.get("video") or path.stem, start_s, end_s, label, where)


def read_without_header(path: Path, hints: Hints) -> Iterator[SegmentRow]:
    """Read EgoProceL's three columns; a step without a name goes by its number."""
    for row in read_three_columns(path, None).segments.to_dict("records"):
        yield SegmentRow(path.stem, row["start_s"], row["end_s"], row["name"] or f"key step {row['step_id']}", "")
