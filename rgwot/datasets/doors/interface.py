"""What the reader of a format is given and gives, and the choice of the reader by suffix and content."""

from __future__ import annotations

import gzip
import json
import logging
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from rgwot.datasets.annotations import Annotation, Notes, Segment, VideoClock, checked
from rgwot.datasets.faults import DataFault
from rgwot.datasets.names import pairing_key
from rgwot.datasets.text import LARGEST, read_bytes
from rgwot.runtime.errors import RgwotError, first_line
from rgwot.timing import parse_rate

if TYPE_CHECKING:
    import pandas as pd

_LOG = logging.getLogger(__name__)

#: The tier that exports write and readers prefer, where a format has several.
TIER = "key steps"

_HEAD = 4096


@dataclass(frozen=True)
class Format:
    """A format of annotations."""

    suffixes: tuple[str, ...]  #: of its files, in lower case
    description: str
    many: str = ""  #: what stands at the beginning of a file that may annotate many videos; empty: none may
    counts: bool = False  #: whether it counts frames, so that `Hints.fps` is needed


#: Format ``x`` is read by ``rgwot.datasets.doors.x``, a `Door`; of those with a suffix, by the first that a file fits.
FORMATS: Mapping[str, Format] = {
    "elan": Format((".eaf",), "a tier of ELAN"),
    "praat": Format((".textgrid",), "an interval tier of Praat"),
    "boris": Format((".boris", ".boris.gz"), "a project of BORIS", many="{"),
    "boris_aggregated": Format((".tsv", ".csv"), "aggregated events of BORIS", many="Observation id"),
    "boris_tabular": Format((".tsv", ".csv"), "tabular events of BORIS", many="Observation id"),
    "label_studio": Format((".json",), "timeline labels of Label Studio, exported as JSON", many="{", counts=True),
    "mstcn": Format((".txt",), "a label per line and frame, as MS-TCN has it", counts=True),
    "table": Format((".csv", ".tsv"), "columns start_s, end_s, label, and video if there are several", many="video"),
    "three_columns": Format((".csv",), "start,end,<number> <name> without a header, as EgoProceL has it"),
}


@dataclass(frozen=True)
class Hints:
    """What a file does not say of itself: which tier is meant, and how many frames per second its labels have."""

    tier: str | None = None
    fps: Fraction | None = None

    def rate(self, path: Path) -> Fraction:
        """Return the rate; DataFault where it is not given."""
        if self.fps is None:
            raise DataFault(
                "time",
                path,
                "",
                "counts frames and states no rate; expected frames per second; set labels_fps (or fps)",
            )
        return self.fps

    def chosen(self, path: Path, tiers: Iterable[str]) -> str:
        """Return the tier that is meant: by name, else `TIER`, else the only one; DataFault where it is not clear."""
        known = list(tiers)
        wanted = self.tier or (TIER if TIER in known else known[0] if len(known) == 1 else None)
        if wanted not in known:
            found = f"no tier {self.tier!r}; " if self.tier else ""
            raise DataFault(
                "tier", path, "", f"{found}found {', '.join(map(repr, known)) or 'no tier of intervals'}; expected one "
                "that is meant; set tier"
            )  # fmt: skip
        return str(wanted)


class Row(NamedTuple):
    """A segment as a file has it: ``video`` is the stem of the video's file, ``where`` the place, like ``line 3``."""

    video: str
    start_s: float
    end_s: float
    label: str
    where: str


class Door(Protocol):
    """A module that reads one format. Labels of background are no rows."""

    def fits(self, head: str) -> bool:
        """Return whether a file that begins like this, with a suffix of the format, is of it."""

    def read(self, path: Path, hints: Hints) -> Iterable[Row]:
        """Read the segments; whatever a damaged file raises becomes a `DataFault`."""


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the suffix of an annotation in lower case, ``.boris.gz`` as one."""
    name = os.fspath(path).lower()
    return ".boris.gz" if name.endswith(".boris.gz") else os.path.splitext(name)[1]


def format_of(path: Path) -> str:
    """Return the format of a file; DataFault if its suffix or its content is of none."""
    suffix = suffix_of(path)
    known = [name for name, about in FORMATS.items() if suffix in about.suffixes]
    if not known:
        every = suffixes(Hints(fps=Fraction(1)))
        raise DataFault("file", path, "", f"suffix {suffix!r}; expected an annotation: one of {', '.join(every)}")
    head = _head(path)
    for name in known:
        if _door(name).fits(head):
            return name
    raise DataFault(
        "file", path, "", f"not recognised; expected {' or '.join(FORMATS[name].description for name in known)}"
    )


def suffixes(hints: Hints) -> tuple[str, ...]:
    """Return the suffixes of annotations that can be read with what is known of them."""
    usable = (about for about in FORMATS.values() if hints.fps is not None or not about.counts)
    return tuple(dict.fromkeys(suffix for about in usable for suffix in about.suffixes))


def annotates_many(path: Path) -> bool:
    """Return whether an annotation may be of many videos, by its content; one that cannot be read is of none."""
    try:
        many = FORMATS[format_of(path)].many
        return bool(many) and (path.suffix.lower() == ".gz" or many in _head(path))
    except DataFault:
        return False


def read_segments(
    path: str | os.PathLike[str], *, tier: str | None = None, fps: str | float | Fraction | None = None
) -> pd.DataFrame:
    """Read the segments of one file in any of the `FORMATS`, recognised by suffix and content.

    Parameters
    ----------
    path
        The file.
    tier
        Of ELAN and Praat: the tier; without it the tier ``key steps``, or the only one.
    fps
        Of Label Studio and MS-TCN, which count frames: frames per second.

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
    kept = [row for row in rows if row.end_s > row.start_s]
    if len(kept) < len(rows):
        _LOG.warning("%s: %d events without length are left out", path, len(rows) - len(kept))
    table = pd.DataFrame([row[:4] for row in kept], columns=["video", "start_s", "end_s", "label"])
    return table.astype({"video": object, "start_s": float, "end_s": float, "label": object})


def read_annotation(path: Path, names: Iterable[str], hints: Hints, clock: VideoClock | None) -> Annotation:
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
    segments = (Segment(row.where, row.start_s, row.end_s, 0, row.label) for row in rows if row.end_s > row.start_s)
    return checked(path, segments, notes, clock, overlap_is_normal=False)


def _rows(path: Path, hints: Hints) -> list[Row]:
    name = format_of(path)
    try:
        rows = [row._replace(label=" ".join(row.label.split())) for row in _door(name).read(path, hints)]
    except RgwotError:
        raise
    except Exception as error:  # noqa: BLE001 (parsers of other people raise anything on a damaged file)
        raise DataFault(
            "file", path, "", f"cannot be read ({type(error).__name__}: {first_line(error)[:100]}); expected "
            f"{FORMATS[name].description}; export it again"
        ) from error  # fmt: skip
    for row in rows:
        if not (math.isfinite(row.start_s) and math.isfinite(row.end_s) and 0 <= row.start_s <= row.end_s):
            raise DataFault(
                "time_order", path, row.where,
                f"{row.label!r} from {row.start_s:g} to {row.end_s:g} s; expected 0 <= start <= end; correct the times",
            )  # fmt: skip
    return [row for row in rows if row.label]


def _door(name: str) -> Door:
    return cast(Door, import_module(f"rgwot.datasets.doors.{name}"))


def _head(path: Path) -> str:
    return read_bytes(path)[:_HEAD].decode("utf-8-sig", errors="replace")


def read_json(path: Path) -> Any:
    """Read JSON, packed by gzip or not."""
    content = read_bytes(path)
    if path.suffix.lower() == ".gz":
        with gzip.open(path) as file:
            content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"unpacks to more than {LARGEST} bytes")
    return json.loads(content)
