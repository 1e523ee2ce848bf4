"""Readers of annotations by ELAN, MS-TCN and BORIS and of tables, and their common parts.

BORIS writes projects (``.boris``, JSON, possibly packed) and tables of events. State events come in pairs; time that no
pair covers is background. The video is the media file or, without one, has the name of the observation.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import mimetypes
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import groupby, pairwise
from pathlib import Path, PureWindowsPath
from typing import Any, NamedTuple

from rgwot.datasets.annotations import read_three_columns
from rgwot.datasets.names import VIDEO_SUFFIXES
from rgwot.datasets.settings import Options
from rgwot.datasets.text import (
    LARGEST_TEXT,
    DataFault,
    decode_text,
    encoding_of,
    excerpt,
    read_bytes,
    read_lines,
    seconds_in,
)
from rgwot.runtime.csv_files import text_of
from rgwot.runtime.errors import optional

#: The tier that exports write and that readers prefer if there are several.
TIER = "key steps"
#: The tier of marks: each of its annotations is a mark at its start, because ELAN has no annotation without length.
MARKS_TIER = "key step marks"
#: What an export adds to the name of a BORIS behaviour with point events, because a behaviour has one kind of events.
POINT = " (mark)"
#: Begins the behaviours of BORIS that tell how a video deviates; they are no labels.
DEVIATION = "deviation: "


class SegmentRow(NamedTuple):
    """A segment of a file, or a mark, whose start is its end.

    ``video`` is the stem of the video's file, ``where`` a position, such as ``line 3``.
    """

    video: str
    start_s: float
    end_s: float
    label: str
    where: str
    silence: str = ""  #: what time without a segment means in this video, if the file says it
    length_s: float = math.nan  #: the length that the file states beside start and end


def label_rate(path: Path, options: Options) -> Fraction:
    """Return the rate of labels of frames per second; raise DataFault if it is not set."""
    if options.labels_fps is None:
        fault = "counts frames without a rate; expected frames per second; set labels_fps (or fps)"
        raise DataFault("time", path, "", fault)
    return Fraction(options.labels_fps)


def chosen_tier(path: Path, options: Options, tiers: Iterable[str]) -> str:
    """Return the tier to read: by name, `TIER`, or the only one; raise DataFault if it is not clear."""
    names = list(tiers)
    tier = options.tier or (TIER if TIER in names else names[0] if len(names) == 1 else None)
    if tier not in names:
        fault = f"no tier {options.tier!r}; " if options.tier else ""
        fault += f"found {', '.join(map(repr, names)) or 'no tier of intervals'}"
        raise DataFault("tier", path, "", f"{fault}; expected one tier to read; set tier")
    return str(tier)


def read_json(path: Path) -> Any:
    """Read JSON, packed by gzip or not."""
    content = read_bytes(path)
    if path.suffix.lower() == ".gz":
        with gzip.open(path) as file:
            content = file.read(LARGEST_TEXT + 1)
    if len(content) > LARGEST_TEXT:
        raise ValueError(f"unpacks to more than {LARGEST_TEXT} bytes")
    return json.loads(decode_text(path, content))


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


def read_seconds(path: Path, where: str, text: str) -> float:
    """Read a time in seconds (`seconds_in`)."""
    value = seconds_in(text)
    if not math.isfinite(value):
        raise DataFault(
            "time", path, where,
            f"{excerpt(text)} as a time; expected seconds with a decimal point, or mm:ss; if this is a row of units or "
            "a comment, delete it",
        )  # fmt: skip
    return value


def media_stem(path: str) -> str:
    r"""Return the stem of a media file from a path of any operating system; only the name counts.

    >>> media_stem("C:\\films\\a b.mp4"), media_stem("../films/a b.mp4")
    ('a b', 'a b')
    """
    return PureWindowsPath(path).stem


PYMPI = "pip install pympi-ling"

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
#: The label of background.
BACKGROUND_LABEL = "background"


def read_elan(path: Path, options: Options) -> Iterator[SegmentRow]:
    """Read the chosen tier of an ELAN file.

    The annotated video is the linked media file (`_film`) or, without one, the video with the name of the ELAN file.

    A gap or an empty value is background. Annotations of the tier `MARKS_TIER` are marks at their starts.
    """
    document = _elan_document(path)
    video = path.stem
    if linked := document.get_linked_files():
        medium = _film(path.stem, linked)
        video = media_stem(medium["MEDIA_URL"])
        # If none is named like the file, which may have another name, it is not clear whose clock counts.
        films = [medium] if video == path.stem else [medium, *(other for other in linked if not _sound(other))]
        for film in films:
            name = excerpt(media_stem(film["MEDIA_URL"]))
            _check_offset(path, f"its medium {name}", film.get("TIME_ORIGIN"), "ms")
    units = document.header.get("TIME_UNITS", "milliseconds")
    if units not in _UNITS:
        raise DataFault("time", path, "", f"TIME_UNITS {excerpt(units)}; expected one of {', '.join(_UNITS)}")
    # By default only tiers with times of their own: those of the others are those of their parents.
    timed = [name for name, (aligned, *_) in document.tiers.items() if aligned]
    tiers = [MARKS_TIER] if MARKS_TIER in timed and options.tier != MARKS_TIER else []
    # A file may have marks alone.
    if timed != tiers or options.tier:
        known = document.tiers if options.tier else timed or document.tiers
        tiers.append(chosen_tier(path, options, [name for name in known if name not in tiers]))
    for tier in tiers:
        spans = _elan_spans(document, tier)
        children = [name for name, (*_, about, _) in document.tiers.items() if about.get("PARENT_REF") == tier]
        if options.tier is None and children and spans and all(not value or value.isdecimal() for *_, value in spans):
            raise DataFault(
                "tier", path, "",
                f"tier {tier!r} has only numbers, and depending on it {', '.join(map(repr, children))}; set tier to "
                "the one with the names of steps",
            )  # fmt: skip
        for start, end, value in spans:
            if start is None or end is None:
                raise DataFault("time", path, tier, f"{value!r} has no time; expected a tier with times")
            start_s, end_s = (float(at / _UNITS[units]) for at in (start, start if tier == MARKS_TIER else end))
            yield SegmentRow(video, start_s, end_s, value, f"tier {tier!r} at {start_s:.3f} s")


class _Attributes(dict[str, str]):
    """The attributes of an ELAN file; pympi deletes one that files of other programs do not have."""

    def __delitem__(self, key: str) -> None:
        self.pop(key, None)


def _elan_document(path: Path) -> Any:
    """Read an ELAN file of any version, with or without a schema."""
    document = optional("pympi", path, PYMPI).Eaf()
    document.tiers.clear()
    document.adocument = _Attributes()
    optional("pympi.Elan", path, PYMPI).parse_eaf(str(path), document, suppress_version_warning=True)
    return document


def _elan_spans(document: Any, tier: str) -> list[tuple[float | None, float | None, str]]:
    """Return start, end (None if unknown) and value of the annotations of a tier.

    As ELAN shows them: parts of an annotation without times of their own are equally long, and other children have the
    times of their parents.
    """

    def depth(name: str) -> int:
        parent = document.tiers[name][2].get("PARENT_REF")
        return 0 if parent not in document.tiers else 1 + depth(parent)

    times, spans = dict(document.timeslots), dict[str, tuple[Any, Any]]()
    for name in sorted(document.tiers, key=depth):
        aligned, references, *_ = document.tiers[name]
        following = {begin: end for begin, end, *_ in aligned.values()}
        for begin in following:
            chain = [begin, following[begin]]
            while times[chain[-1]] is None and chain[-1] in following and len(chain) <= len(following):
                chain.append(following[chain[-1]])
            first, last = times[chain[0]], times[chain[-1]]
            if first is not None and last is not None:
                times |= {slot: first + (last - first) * at / (len(chain) - 1) for at, slot in enumerate(chain)}
        spans |= {ident: (times[begin], times[end]) for ident, (begin, end, *_) in aligned.items()}
        parts: dict[str, list[str]] = defaultdict(list)
        for ident, (parent, _, previous, _) in references.items():
            siblings = parts[parent]
            siblings.insert(siblings.index(previous) + 1 if previous in siblings else len(siblings), ident)
        for parent, siblings in parts.items():
            start, end = spans[parent]
            length = None if start is None or end is None else (end - start) / len(siblings)
            for at, ident in enumerate(siblings):
                spans[ident] = (None, None) if length is None else (start + at * length, start + (at + 1) * length)
    aligned, references, *_ = document.tiers[tier]
    values = {ident: value for ident, (*_, value, _) in aligned.items()}
    values |= {ident: value for ident, (_, value, *_) in references.items()}
    return [(*spans[ident], value) for ident, value in values.items()]


#: ELAN's units of time, per second.
_UNITS = {"milliseconds": Fraction(1000), "PAL-frames": Fraction(25), "NTSC-frames": Fraction(30000, 1001)}


def _film(stem: str, linked: Iterable[Mapping[str, str]]) -> Mapping[str, str]:
    """Return the medium of an ELAN file that is the video: no sound, and preferably named like the file (``stem``)."""
    return min(linked, key=lambda medium: (_sound(medium), media_stem(medium["MEDIA_URL"]) != stem))


def _sound(medium: Mapping[str, str]) -> bool:
    kind = mimetypes.guess_type(PureWindowsPath(medium["MEDIA_URL"]).name)[0] or medium.get("MIME_TYPE", "")
    return kind.startswith("audio")


def read_textgrid(path: Path, options: Options) -> Iterator[SegmentRow]:
    """Read the chosen tier of a TextGrid of Praat; intervals without text are background, points are marks."""
    praat = optional("pympi.Praat", path, PYMPI)
    grid = praat.TextGrid(str(path), codec=encoding_of(path, read_bytes(path)))
    tiers = {tier.name: tier for tier in grid.get_tiers()}
    if len(tiers) < grid.tier_num:
        raise DataFault("tier", path, "", "two tiers have the same name; expected different names; rename one")
    tier = tiers[chosen_tier(path, options, tiers)]
    for start_s, *end_s, text in tier.get_intervals(sort=True):
        until_s = end_s[0] if end_s else start_s
        yield SegmentRow(path.stem, start_s, until_s, text, f"tier {tier.name!r} at {start_s:.3f} s")


def read_mstcn(path: Path, options: Options) -> Iterator[SegmentRow]:
    """Read the runs of equal labels, one label per line; frame i, from 0, is at i / fps."""
    fps = label_rate(path, options)
    labels = [line.text.strip() for line in read_lines(path)]
    while labels and not labels[-1]:
        labels.pop()
    odd = next((at for at, label in enumerate(labels) if not label or set("\t,;") & set(label)), None)
    numbers = [label.partition(" ")[0] for label in labels]
    if odd is None and len(labels) > 2 and any(" " in label for label in labels) and all(map(str.isdecimal, numbers)):
        # Numbers of frames make every line a label of its own.
        odd = 0 if all(int(after) - int(before) == 1 for before, after in pairwise(numbers)) else None
    if odd is not None:
        raise DataFault("columns", path, f"line {odd + 1}", f"{excerpt(labels[odd])}; expected one label per line")
    for label, run in groupby(enumerate(labels), key=lambda item: item[1]):
        frames = [frame for frame, _ in run]
        start_s, end_s = float(frames[0] / fps), float((frames[-1] + 1) / fps)
        yield SegmentRow(path.stem, start_s, end_s, label, f"line {frames[0] + 1}")


def is_table(head: str) -> bool:
    """Return whether the first line has the columns of a table with a header."""
    names = set(header_columns(head.splitlines()[0] if head else ""))
    timed = MOMENT in names or (names.intersection(STARTS) and names.intersection(ENDS))
    return bool(timed and names.intersection(LABELS))


def unread_header(head: str) -> str:
    """Return the fault of a text that has a header, but no known columns in its first line; empty without a header."""
    lines = head.splitlines()
    at = next((at for at, line in enumerate(lines[:_HEADER_LINES]) if is_table(line)), None)
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
                f"is by {coder!r}, like others by {other!r}; expected one annotator per video; put the rows of each "
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


START, STOP = "Start (s)", "Stop (s)"
#: A column in the header of a table of many observations.
MANY = "Observation id"
# Before version 8 a table begins with lines about its only observation; the header is expected within so many lines.
_HEADER_LINES = 40


class StateEvent(NamedTuple):
    """A state event: its place in the file, time, subject, behaviour and modifiers; START or STOP, if the file says."""

    where: str
    time_s: float
    subject: str
    code: str
    modifiers: str
    kind: str = ""


def is_boris(head: str) -> bool:
    """Return whether a file begins like a BORIS project, packed or not, or an exported table of any version."""
    table = "Behavior" in head and (MANY in head or "Media file path" in head)
    return head.startswith("\x1f") or head.lstrip().startswith("{") or table


def read_boris(path: Path, options: Options) -> Iterator[SegmentRow]:
    """Read a BORIS project, a table with an interval per row, or a table with a start or stop per row."""
    if path.suffix.lower() in (".boris", ".gz"):
        return read_project(path, options)
    header = "\n".join(line.text for line in read_lines(path)[:_HEADER_LINES])
    return (read_aggregated if START in header and STOP in header else read_tabular)(path, options)


def read_project(path: Path, options: Options) -> Iterator[SegmentRow]:
    """Read all observations; the video is the file in the first player."""
    project = read_json(path)
    points = {
        behaviour["code"] for behaviour in project["behaviors_conf"].values() if behaviour["type"].startswith("Point")
    }
    videos: dict[str, str] = {}
    for name, observation in project["observations"].items():
        where = f"observation {name!r}"
        media = (observation.get("file") or {}).get("1") or []
        if len(media) > 1:
            raise DataFault(
                "media", path, where, f"{len(media)} media files in sequence; expected one; code each video separately"
            )
        offsets = (observation.get("media_info") or {}).get("offset") or {}
        # The file may be named like a video in another player.
        players = (observation.get("file") or {}).items()
        mine = [number for number, names in players if path.stem in map(media_stem, names or [])]
        for offset in (observation.get("time offset"), *(offsets.get(number) for number in ("1", *mine))):
            _check_offset(path, where, offset)
        video = media_stem(media[0]) if media else text_of(name)
        if (other := videos.setdefault(video, name)) != name:
            raise _observed_twice(path, where, video, other)
        events = []
        for time, subject, code, modifiers, *_ in observation["events"]:
            if time == "NA":
                raise DataFault("media", path, where, "is of pictures, which have no times; expected one of a video")
            event = StateEvent(f"{where} at {time} s", float(time), subject, text_of(code), modifiers)
            if not event.code.startswith(DEVIATION):
                events += _ends(event) if code in points else [event]
        yield from _paired(path, video, events)


def read_aggregated(path: Path, options: Options) -> Iterator[SegmentRow]:
    """Read a table with an interval or point event per row."""
    for where, row, video in _of_videos(path):
        if row["Behavior"].startswith(DEVIATION):
            continue
        start_s, stop_s = (read_seconds(path, where, row[column]) for column in (START, STOP))
        label = row["Behavior"].removesuffix(POINT) if start_s == stop_s else row["Behavior"]
        yield SegmentRow(video, start_s, stop_s, label, where)


def read_tabular(path: Path, options: Options) -> Iterator[SegmentRow]:
    """Read a table with a start or stop per row."""
    events: dict[str, list[StateEvent]] = defaultdict(list)
    for where, row, video in _of_videos(path):
        if row["Behavior"].startswith(DEVIATION):
            continue
        kind = row.get("Behavior type") or row["Status"]
        modifiers = "|".join(row[column] for column in row if column.startswith("Modifier"))
        event = StateEvent(where, read_seconds(path, where, row["Time"]), row["Subject"], row["Behavior"], modifiers)
        kind = kind.upper()
        events[video] += _ends(event) if kind == "POINT" else [event._replace(kind=kind)]
    for video, events_here in events.items():
        yield from _paired(path, video, events_here)


def _ends(point: StateEvent) -> list[StateEvent]:
    """Return a point event as the start and the end of its step, at the same time."""
    return [point._replace(code=point.code.removesuffix(POINT))] * 2


def _paired(path: Path, video: str, events: Iterable[StateEvent]) -> Iterator[SegmentRow]:
    """Yield segments; events with the same subject, behaviour and modifiers start and stop a segment in turn."""
    behaviours: dict[tuple[str, ...], list[StateEvent]] = defaultdict(list)
    for event in sorted(events, key=lambda event: event.time_s):
        behaviours[event[2:5]].append(event)
    segments: list[SegmentRow] = []
    for waiting in behaviours.values():
        start: StateEvent | None = None
        while waiting:
            expected = "START" if start is None else "STOP"
            # Of two events at one time, the one that fits comes first.
            now = [at for at, event in enumerate(waiting) if event.time_s == waiting[0].time_s]
            event = waiting.pop(next((at for at in now if waiting[at].kind in ("", expected)), 0))
            if event.kind not in ("", expected):
                since = f"has run since {start.time_s:g} s ({start.where})" if start else "does not run"
                raise DataFault(
                    "pairing", path, event.where,
                    f"{event.kind} of {event.code!r}, which {since}; expected START and STOP in turn; correct them",
                )  # fmt: skip
            if start is None:
                start = event
            else:
                segments.append(SegmentRow(video, start.time_s, event.time_s, event.code, start.where))
                start = None
        if start is not None:
            raise DataFault(
                "pairing", path, start.where, f"{start.code!r} starts and never stops; expected a second event; add it"
            )
    yield from sorted(segments, key=lambda row: row.start_s)


def _of_videos(path: Path) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield the rows of a BORIS table with their places and videos; columns differ between versions.

    Before version 8, a table with a start or stop per row begins with lines about its only observation.
    """
    table, videos, observed = list(records(path, "Behavior")), dict[str, str](), dict[str, str]()
    if table and not any(column in table[0][1] for column in ("Time", START)):
        where = table[0][0]
        raise DataFault("time", path, where, "is of pictures, which have no times; expected one of a video")
    for where, row in table:
        name, media = row.get("Observation id", path.stem), _media(row)
        if media and videos.setdefault(name, media) != media:
            fault = f"{videos[name]!r} and {media!r} in sequence in observation {name!r}"
            raise DataFault("media", path, where, f"{fault}; expected one media file; code each video separately")
    for where, row in table:
        _check_offset(path, where, row.get("Time offset (s)"))
        name = row.get("Observation id", path.stem)
        video = videos.get(name, name)
        if (other := observed.setdefault(video, name)) != name:
            raise _observed_twice(path, where, video, other)
        yield where, row, video


def _observed_twice(path: Path, where: str, video: str, other: str) -> DataFault:
    return DataFault(
        "media", path, where,
        f"is of {video!r}, like observation {other!r}; expected one observation per video; if two people coded it, "
        "export the observations of each into a file of their own",
    )  # fmt: skip


def _media(row: dict[str, str]) -> str:
    """Return the stem of the media file of a row, empty if BORIS had none or did not find it."""
    media = row.get("Media file name") or row.get("Media file path") or row.get("Media file") or "NA"
    # One file in several players is listed once for each.
    stems = {media_stem(part) for part in media.split(";")}
    return "" if media.lower() in ("na", "not found") else stems.pop() if len(stems) == 1 else media_stem(media)


def _check_offset(path: Path, where: str, offset: str | float | None, unit: str = "s") -> None:
    """Raise DataFault if the clock of the annotations does not start with the video."""
    if offset not in (None, "", "NA") and float(offset):
        raise DataFault(
            "time", path, where, f"time offset {offset} {unit}; expected 0, so that times start with the video"
        )
