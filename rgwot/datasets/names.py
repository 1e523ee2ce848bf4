"""Video ids: file stems made safe for paths, one to one."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote_to_bytes

from rgwot.runtime.errors import RgwotError

LONGEST_ID = 200
"""Longest usable id in bytes: file systems allow 255, and stores add suffixes and temporary names."""

VIDEO_TABLE = "videos.csv"
"""The table of a task's videos in the task's folder (`rgwot.datasets.video_table`)."""

GROUP = "group"
"""The default column of groups in that table."""

VIDEO_SUFFIXES = frozenset({
    ".mp4", ".avi", ".mkv", ".webm", ".mov", ".m4v", ".mts", ".m2ts", ".ts", ".mpg", ".mpeg", ".wmv", ".flv", ".3gp"
})  # fmt: skip

_AS_TABLE = "export annotations as a table start_s,end_s,label, or from ELAN or BORIS"
_AS_ARRAY = "save features as .npy or .csv"
_CONVERT = "convert videos: ffmpeg -i IN OUT.mp4"
#: Suffixes of files that are not read, but may be a part of a study, with the way in.
NOT_READ = {
    **dict.fromkeys((
        ".json", ".xml", ".srt", ".vtt", ".sbv", ".ass", ".xlsx", ".xls", ".ods", ".antx", ".anvil", ".cha", ".jsonl"
    ), _AS_TABLE),
    **dict.fromkeys((".pkl", ".pickle", ".parquet", ".feather", ".tsv.gz", ".csv.gz", ".npy.gz"), _AS_ARRAY),
    **dict.fromkeys((
        ".mod", ".tod", ".vob", ".rm", ".rmvb", ".ogv", ".ogg", ".mxf", ".asf", ".divx", ".f4v", ".3g2", ".insv",
        ".360", ".braw", ".r3d", ".gif", ".dv", ".h264", ".h265", ".mjpeg",
    ), _CONVERT),
    ".txt": "set labels_fps for a label per frame; otherwise " + _AS_TABLE,
}  # fmt: skip
#: Of these, many are no part of a study, so that only files named like a recording are told.
COMMON = frozenset({".json", ".jsonl", ".xml", ".txt"})

_UNSAFE = re.compile(rb"[^A-Za-z0-9._-]|^[.-]")


#: Names of DeepLabCut's files (and SuperAnimal's): suffixes after the name of the video.
_TRACKED = re.compile(
    r"(?P<video>.+?)(?P<network>(?:DLC|DeepCut)_.*?(?:shuffle|snapshot-)\d.*?|_superanimal_.+?)(?P<filtered>_filtered)?"
    r"(?P<derived>(?:_(?:id|bp|p\d+))*_labeled|_skeleton(?:_filtered)?)?"
)


def tracked_name(path: str) -> re.Match[str] | None:
    """Match the name of a DeepLabCut file; return None for other files.

    The groups are ``video`` (the stem of its video), ``network``, ``filtered``, and ``derived`` for a video with drawn
    points or a table of bone lengths, which is no table of points.

    >>> tracked_name("tea/Trial1DLC_resnet50_teaJan1shuffle1_1000_filtered.csv")["video"]
    'Trial1'
    """
    return _TRACKED.fullmatch(PurePosixPath(path).stem)


def points_chosen(paths: Iterable[str]) -> tuple[list[str], list[str]]:
    """Split files into usable ones and DeepLabCut files without points or with a better alternative.

    For a video and network the filtered table is used. If two tables differ only in their suffix, the ``.csv`` is used,
    in which points have names.
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


def id_of(name: Any) -> str:
    """Return the id of a video by its name; raise RgwotError if the name is not text, empty or too long."""
    if not isinstance(name, str) or not name:
        raise RgwotError(f"features: found the name {name!r}, expected a text that is not empty")
    ident = video_id(name)
    if len(ident) > LONGEST_ID:
        raise RgwotError(f"features: name {name[:40]!r}...: {len(ident)} characters, expected at most {LONGEST_ID}")
    return ident


def stem_of(video: str) -> str:
    """Return the file stem behind a video id, the inverse of `video_id`.

    >>> stem_of("%2DaB%20cD.x")
    '-aB cD.x'
    """
    return os.fsdecode(unquote_to_bytes(video))


def pairing_key(stem: str) -> str:
    """Return the stem for comparison between videos and annotations: composed Unicode, with case.

    Some systems store decomposed accents, so the bytes of a name can change when a file is copied. Case matters
    because YouTube ids are case-sensitive.
    """
    return unicodedata.normalize("NFC", stem)


# Names of parts of a recording: "part", a letter after a number, and chapters of GoPro cameras.
_PARTS = (
    re.compile(r"(?P<base>.+?)[ _.-]*(?:part|pt|teil|chapter)[ _.-]*(?P<part>\d{1,2}|[a-h])", re.IGNORECASE),
    re.compile(r"(?P<base>.*\d)[ _.-]?(?P<part>[a-h])", re.IGNORECASE),
    re.compile(r"G[HXLP](?P<part>\d\d)(?P<base>\d{4})"),
    re.compile(r"GOPR(?P<part>)(?P<base>\d{4})"),
)


def parts_among(names: Iterable[str]) -> list[list[str]]:
    """Return groups of names that look like parts of one recording.

    >>> parts_among(["r0b", "r0a", "r1", "r2", "GX010007", "GX020007", "tea part 2"])
    [['r0a', 'r0b'], ['GX010007', 'GX020007']]
    """
    parts: dict[str, dict[str, str]] = {}
    for name in names:
        match = next(filter(None, (form.fullmatch(name) for form in _PARTS)), None)
        if match is not None:
            parts.setdefault(match["base"], {})[match["part"]] = name
    return [[name for _, name in sorted(numbered.items())] for numbered in parts.values() if len(numbered) > 1]


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """Return a name without case and punctuation, as names in the configuration are compared.

    >>> folded("EGTEA_Gaze+") == folded("egtea-gaze")
    True
    """
    return re.sub(r"[\W_]+", "", name.casefold())
