"""Ids of videos and tasks: file stems and folders made safe for paths, one to one."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from numbers import Integral
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote_to_bytes

from rgwot.runtime.errors import RgwotError
from rgwot.runtime.text import pairing_key

LONGEST_ID = 200
"""Longest usable id in bytes: file systems allow 255, and stores add suffixes and temporary names."""

VIDEO_TABLE = "videos.csv"
"""The table of a task's videos in the task's folder (`rgwot.datasets.video_table`)."""

SUBJECT = "subject"
"""The column of `VIDEO_TABLE` with the person in a video."""
GROUP = "group"
"""The default column of groups in `VIDEO_TABLE`."""

VIDEO_SUFFIXES = frozenset({
    ".mp4", ".avi", ".mkv", ".webm", ".mov", ".m4v", ".mts", ".m2ts", ".ts", ".mpg", ".mpeg", ".wmv", ".flv", ".3gp"
})  # fmt: skip

_AS_TABLE = "export annotations as a table start_s,end_s,label, or from ELAN or BORIS"
_AS_ARRAY = "save features as .npy or .csv"
_CONVERT = "convert videos: ffmpeg -i IN OUT.mp4"
#: Suffixes of files that are not read (here), but may belong to a study, with how to import them.
NOT_READ = {
    **dict.fromkeys((
        ".json", ".xml", ".srt", ".vtt", ".sbv", ".ass", ".xlsx", ".xls", ".ods", ".antx", ".anvil", ".cha", ".jsonl",
        ".docx", ".doc", ".odt", ".rtf", ".numbers",
    ), _AS_TABLE),
    **dict.fromkeys((".pkl", ".pickle", ".parquet", ".feather", ".tsv.gz", ".csv.gz", ".npy.gz"), _AS_ARRAY),
    **dict.fromkeys((
        ".mod", ".tod", ".vob", ".rm", ".rmvb", ".ogv", ".ogg", ".mxf", ".asf", ".divx", ".f4v", ".3g2", ".insv",
        ".360", ".braw", ".r3d", ".gif", ".dv", ".h264", ".h265", ".mjpeg",
    ), _CONVERT),
    **dict.fromkeys((
        ".csv", ".tsv", ".eaf", ".boris", ".boris.gz", ".textgrid"
    ), "put annotations into the folder of their videos"),
    **dict.fromkeys((".part", ".partial", ".crdownload", ".download", ".icloud", ".aria2"), "finish the download"),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".rar", ".7z", ".tar.gz", ".tar.xz"), "unpack the archive"),
    ".txt": "set labels_fps for a label per frame; otherwise " + _AS_TABLE,
}  # fmt: skip
#: Many files with these suffixes do not belong to a study, so only those named like a recording are reported.
COMMON = frozenset({".json", ".jsonl", ".xml", ".txt"})
#: Files beside recordings that are not part of a study: pictures, sounds, files of programs, documents and code.
_BESIDE = frozenset({
    ".pdf", ".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".heic", ".svg", ".wav", ".mp3", ".m4a", ".aac", ".flac",
    ".wma", ".opus", ".aif", ".aiff", ".thm", ".lrv", ".lrf", ".psfx", ".pfsx", ".etf", ".ecv", ".xmp", ".aae", ".gpx",
    ".md", ".rst", ".log", ".ini", ".cfg", ".db", ".bak", ".html", ".htm", ".css", ".js", ".py", ".pyc", ".ipynb", ".m",
    ".r", ".sh", ".bat", ".yaml", ".yml", ".toml", ".lnk", ".url", ".sha256", ".md5", ".nfo", ".lock", ".tmp",
})  # fmt: skip
_TEXTS = re.compile(r"(readme|license|licence|notice|changelog|makefile|thumbs|desktop)(\..*)?", re.IGNORECASE)


def way_in(path: str) -> str | None:
    """Return what to do with a file of a kind that is not read, or None if it is probably not part of a study.

    >>> way_in("tea/a.rm"), way_in("tea/cover.jpg"), way_in("tea/Readme"), way_in("tea/take 3")
    ('convert videos: ffmpeg -i IN OUT.mp4', None, None, 'give the file the suffix of its kind')
    """
    name = PurePosixPath(path).name.lower()
    if (known := next((suffix for suffix in NOT_READ if name.endswith(suffix)), None)) is not None:
        return None if name.startswith((".", "~")) and known != ".icloud" else NOT_READ[known]
    suffix = PurePosixPath(name).suffix
    if suffix in _BESIDE or name.startswith((".", "~")) or name.endswith("~") or _TEXTS.fullmatch(name):
        return None
    # ELAN numbers its backups.
    if suffix[1:].isdecimal():
        return None
    return "convert it to a kind that is read" if suffix else "give the file the suffix of its kind"


_UNSAFE = re.compile(rb"[^A-Za-z0-9._-]|^[.-]")


#: Names of DeepLabCut's files (and SuperAnimal's): suffixes after the name of the video.
_TRACKED = re.compile(
    r"(?P<video>.+?)(?P<network>(?:DLC|DeepCut)_.*?(?:shuffle|snapshot-)\d.*?|_superanimal_.+?)(?P<filtered>_filtered)?"
    r"(?P<derived>(?:_(?:id|bp|p\d+))*_labeled|_skeleton(?:_filtered)?)?"
)


def tracked_name(path: str) -> re.Match[str] | None:
    """Match the name of a DeepLabCut file; return None for other files.

    The groups are ``video`` (the stem of its video), ``network``, ``filtered``, and ``derived`` for a video with drawn
    points or a table of bone lengths, which has no points.

    >>> tracked_name("tea/Trial1DLC_resnet50_teaJan1shuffle1_1000_filtered.csv")["video"]
    'Trial1'
    """
    return _TRACKED.fullmatch(PurePosixPath(path).stem)


def points_chosen(paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split files into usable ones and DeepLabCut files without points or with a better alternative.

    For a video and network the filtered table is used. If two tables differ only in their suffix, the ``.csv`` is used,
    because its points have names.
    """
    best: dict[tuple[str, ...], str] = {}
    listed = list(paths)
    for path in listed:
        if (tracked := tracked_name(path)) is None:
            best[path,] = path
        elif not tracked["derived"]:
            key = (str(PurePosixPath(path).parent), tracked["video"], tracked["network"])
            best[key] = max(
                best.get(key, path),
                path,
                key=lambda file: ("_filtered." in file, file.lower().endswith(".csv")),
            )
    chosen = set(best.values())
    return [path for path in listed if path in chosen], [path for path in listed if path not in chosen]


def video_id(stem: str) -> str:
    """Percent-encode a file stem: every byte outside ``[A-Za-z0-9._-]`` and a leading ``.`` or ``-``.

    Different stems have different ids, because ``%`` itself is encoded. Undecodable bytes keep the escapes of the
    operating system.

    >>> video_id("-aB cD.x")
    '%2DaB%20cD.x'
    """
    return _UNSAFE.sub(lambda match: b"%%%02X" % match[0][0], os.fsencode(stem)).decode("ascii")


def id_of(name: object) -> str:
    """Return the id of a video by its name; raise RgwotError if the name is not text, empty or too long."""
    if not isinstance(name, str) or not name:
        raise RgwotError(f"features: found the name {name!r}, expected a text that is not empty")
    ident = video_id(name)
    if len(ident) > LONGEST_ID:
        raise RgwotError(f"features: name {name[:40]!r}...: {len(ident)} characters, expected at most {LONGEST_ID}")
    return ident


def name_of_recording(name: Any) -> Any:
    """Return the name of a recording; an integer becomes its text.

    >>> name_of_recording(7), name_of_recording("a")
    ('7', 'a')
    """
    return str(int(name)) if isinstance(name, Integral) and not isinstance(name, bool) else name


def stem_of(video: str) -> str:
    """Return the file stem behind a video id, the inverse of `video_id`.

    >>> stem_of("%2DaB%20cD.x")
    '-aB cD.x'
    """
    return os.fsdecode(unquote_to_bytes(video))


# Names of parts of a recording: "part", or a letter after a number.
_PARTS = (
    re.compile(
        r"(?P<base>.+?)[ _.(-]*(?:part|pt|teil|chapter|partie|parte|seg|segment|chunk|cd|dis[ck])[ _.-]*"
        r"(?P<part>\d{1,3}|[a-h]|[iv]{1,4}|one|two|three|four)(?:[ _.-]*of[ _.-]*\d+)?\)?",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<base>.+?)[ _.(-]*(?P<part>\d{1,4})[ _-]*of[ _-]*\d{1,4}\)?", re.IGNORECASE),
    re.compile(r"(?P<base>.*\d)[ _.-]?(?P<part>[a-h])", re.IGNORECASE),
)
# GoPro's chapters (never takes): GX020007 follows GX010007, GP010007 follows GOPR0007, and GHAA0002 follows GHAA0001.
_GOPRO = re.compile(
    r"(?<![^\W_])G(?:OPR|P(?P<old>\d\d)|(?P<kind>[HXLS])(?P<part>\d\d)|(?P<loop>[HXLS][A-Z]{2}))(?P<number>\d{4})(?!\d)",
    re.IGNORECASE,
)
# The start of a recording in its name, such as 20260101_100000, 2026-01-01 at 10.00.00, 260101-100000, 01.01.2026
# 10h00m00s, 10-00-00, or seconds or milliseconds since 1970.
_START = re.compile(
    r"(?<!\d)(?:(?:(?P<date>20\d\d[-_.]?\d\d[-_.]?\d\d)|(?P<day_first>\d\d[-_.]\d\d[-_.]20\d\d)|(?P<short>\d{6}))"
    r"(?:[-_. T]{0,3}|[ _]?(?:at|um|kl)[ _]?)(?P<time>\d\d[-_.:h]?\d\d[-_.:m]?\d\d)s?(?:[.,]?\d{3})?"
    r"|(?P<clock>\d\d(?P<between>[-_.:])\d\d(?P=between)\d\d)|(?P<epoch>1[0-9]{9})(?P<ms>\d{3})?)(?!\d)"
)
# Names have whole seconds, and cameras need a moment between two files.
_BREAK_S = 2.0
_DAY_S = 86_400.0


def chapters_among(lengths: Mapping[str, float | None]) -> list[list[str]]:
    """Return groups of names that are chapters of one recording, from names and lengths in seconds.

    They have GoPro's names, or each name has the time at which the chapter before it ends.

    >>> chapters_among({"GX010007": None, "GX020007": None, "GX010008": None})
    [['GX010007', 'GX020007']]
    >>> chapters_among({"cam_20260101_100000": 10.0, "cam_20260101_100010": 10.0, "cam_20260101_101500": 8.0})
    [['cam_20260101_100000', 'cam_20260101_100010']]
    """
    numbered: dict[tuple[str, ...], dict[str, str]] = {}
    started: dict[str, list[tuple[float, str]]] = {}
    for name in lengths:
        if (match := _GOPRO.search(name)) is not None:
            kind, number = match["kind"] or match["loop"] or "P", match["number"]
            base, part = ("", number) if match["loop"] else (number, match["part"] or match["old"] or "")
            around = name[: match.start()], name[match.end() :]
            numbered.setdefault((*around, kind.upper(), base), {})[part] = name
        elif (match := _START.search(name)) is not None and (start := _start_s(match)) is not None:
            other = re.sub(r"\d+", "", name[: match.start()] + name[match.end() :])
            started.setdefault(other, []).append((start, name))
    chapters = [[name for _, name in sorted(parts.items())] for parts in numbered.values()]
    for timed in started.values():
        end_s = math.inf
        for start, name in sorted(timed):
            if abs(start - end_s) > _BREAK_S:
                chapters.append([])
            chapters[-1].append(name)
            end_s = start + (lengths[name] or math.inf)
        # A clock without a date begins again at midnight.
        first, (start, name) = end_s - _DAY_S, min(timed)
        if start < _DAY_S and abs(start - first) <= _BREAK_S and name not in chapters[-1]:
            following = next(names for names in chapters if names[0] == name)
            chapters.remove(following)
            chapters[-1] += following
    return [names for names in chapters if len(names) > 1]


def _start_s(match: re.Match[str]) -> float | None:
    """Return the time of `_START` in seconds, or None if its digits are not a time."""
    if match["epoch"]:
        return float(f"{match['epoch']}.{match['ms'] or 0}")
    forms = {"date": "%Y%m%d%H%M%S", "day_first": "%d%m%Y%H%M%S", "short": "%y%m%d%H%M%S", "clock": "%H%M%S"}
    kind = next(kind for kind in forms if match[kind])
    try:
        moment = datetime.strptime(re.sub(r"\D", "", match[kind] + (match["time"] or "")), forms[kind])
    except ValueError:
        return None
    # Years before 1970 have no time stamp on some systems.
    return moment.replace(tzinfo=UTC, year=max(moment.year, 1970)).timestamp()


def parts_among(names: Iterable[str]) -> list[list[str]]:
    """Return groups of names that look like parts of one recording.

    >>> parts_among(["r0b", "r0a", "r1", "r2", "tea part 2"])
    [['r0a', 'r0b']]
    """
    parts: dict[str, dict[str, str]] = {}
    for name in names:
        match = next(filter(None, (form.fullmatch(name) for form in _PARTS)), None)
        if match is not None:
            parts.setdefault(match["base"], {})[match["part"]] = name
    return [[name for _, name in sorted(numbered.items())] for numbered in parts.values() if len(numbered) > 1]


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """Return a name or id without case and punctuation, as names in the configuration are compared.

    >>> folded("EGTEA_Gaze+") == folded("egtea-gaze")
    True
    """
    return re.sub(r"[\W_]+", "", pairing_key(stem_of(name)).casefold())
