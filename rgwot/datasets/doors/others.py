"""The files of ELAN, Praat, Audacity, Label Studio and MS-TCN, and tables with a header or without."""

from __future__ import annotations

import re
import warnings
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from rgwot.datasets.csv_files import read_three_columns
from rgwot.datasets.doors.rows import Hints, Row, columns_of, media_stem, number, read_json, records
from rgwot.datasets.faults import DataFault
from rgwot.datasets.text import excerpt, filled_lines, read_bytes, read_lines
from rgwot.runtime.optional import optional
from rgwot.timing import parse_rate

PYMPI = "pip install pympi-ling"

#: Columns of a table in lower case, the first that is there; ``key_step`` last, because names say more.
STARTS, ENDS = ("start_s", "start"), ("end_s", "end", "stop")
LABELS = ("label", "name", "step", "key_step")
#: Names of background, in lower case: GTEA's, Breakfast's and those of YouTube Instructions.
BACKGROUND = frozenset({"background", "bg", "sil", "-1"})
#: Files uploaded to Label Studio get eight digits and a hyphen in front of their names.
_UPLOADED = re.compile(r"/upload/.*/[0-9a-f]{8}-(?=[^/]+$)")


def read_elan(path: Path, hints: Hints) -> Iterator[Row]:
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
        yield Row(media[0] if media else path.stem, start / 1000, end / 1000, value, f"tier {tier!r} at {start} ms")


def read_praat(path: Path, hints: Hints) -> Iterator[Row]:
    """Read the interval tier that is meant, of the video of the file's own name; an empty interval is background."""
    pympi = optional("pympi", path, PYMPI)
    wide = read_bytes(path).startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    grid = pympi.TextGrid(str(path), codec="utf-16" if wide else "utf-8-sig")
    tiers = {tier.name: tier for tier in grid.get_tiers() if tier.tier_type == "IntervalTier"}
    tier = hints.chosen(path, tiers)
    for place, (start_s, end_s, text) in enumerate(tiers[tier].get_intervals(), 1):
        # BORIS writes this where Praat has nothing.
        if text != "null":
            yield Row(path.stem, start_s, end_s, text, f"interval {place}")


def read_audacity(path: Path, hints: Hints) -> Iterator[Row]:
    """Read labels of Audacity, in seconds, of the video of the file's own name."""
    for line in filled_lines(path):
        # A backslash begins the frequencies of the label above.
        if not line.text.startswith("\\"):
            where, (start, end, label) = f"line {line.number}", line.text.split("\t", 2)
            yield Row(path.stem, number(path, where, start), number(path, where, end), label, where)


def read_label_studio(path: Path, hints: Hints) -> Iterator[Row]:
    """Read the annotation of every task that was not cancelled.

    Its labels are of ranges of frames; the first frame is 1, and both ends are included.
    """
    tasks = read_json(path)
    for place, task in enumerate(tasks if isinstance(tasks, list) else [tasks], 1):
        stated = task["data"].get("fps")
        fps = hints.rate(path) if stated is None else parse_rate(stated)
        kept = [one for one in task["annotations"] if not one.get("was_cancelled")]
        if len(kept) > 1:
            raise DataFault(
                "annotators", path, f"task {place}", f"{len(kept)} annotations; expected one; export one annotator's"
            )
        for result in kept[0]["result"] if kept else ():
            # A project may have other kinds of labels as well.
            value = result["value"]
            for span in value["ranges"] if "timelinelabels" in value else ():
                start_s, end_s = float((span["start"] - 1) / fps), float(span["end"] / fps)
                for label in value["timelinelabels"]:
                    yield Row(_video(task["data"]), start_s, end_s, label, f"task {place}, frame {span['start']}")


def _video(data: dict[str, object]) -> str:
    """Return the stem of the video of a task of Label Studio: under ``video``, or the first text there is."""
    address = str(data.get("video") or next(value for value in data.values() if isinstance(value, str)))
    parts = urlsplit(address)
    # Local files are asked for as /data/local-files/?d=folder/name.mp4.
    local = parse_qs(parts.query).get("d")
    return media_stem(local[0] if local else _UPLOADED.sub("/", unquote(parts.path)))


def read_mstcn(path: Path, hints: Hints) -> Iterator[Row]:
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
        if label.lower() not in BACKGROUND:
            start_s, end_s = float(frames[0] / fps), float((frames[-1] + 1) / fps)
            yield Row(path.stem, start_s, end_s, label, f"line {frames[0] + 1}")


def is_table(head: str) -> bool:
    """Return whether the first line has the columns of a table with a header."""
    names = set(columns_of(head.splitlines()[0] if head else ""))
    return all(names.intersection(known) for known in (STARTS, ENDS, LABELS))


def read_table(path: Path, hints: Hints) -> Iterator[Row]:
    """Read a table with a header; a label of 0 or nothing is background. Of our own with scopes, that of the task."""
    for where, row in records(path):
        low = {name.lower(): value for name, value in row.items()}
        start, end, label = (next(low[name] for name in known if name in low) for known in (STARTS, ENDS, LABELS))
        if low.get("scope", "task") == "task":
            start_s, end_s = number(path, where, start), number(path, where, end)
            label = "" if label == "0" else label
            yield Row(low.get("video") or path.stem, start_s, end_s, label, where)


def read_without_header(path: Path, hints: Hints) -> Iterator[Row]:
    """Read EgoProceL's three columns; a step without a name goes by its number."""
    for row in read_three_columns(path, None).segments.to_dict("records"):
        yield Row(path.stem, row["start_s"], row["end_s"], row["name"] or f"key step {row['step_id']}", "")
