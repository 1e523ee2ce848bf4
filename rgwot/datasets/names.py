"""Video ids: file stems made safe for paths, one to one."""

from __future__ import annotations

import os
import re
import unicodedata
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_to_bytes

from rgwot.runtime.errors import RgwotError

LONGEST_ID = 200
"""Bytes of the longest usable id: file systems end at 255, and stores add suffixes and temporary names."""

VIDEO_TABLE = "videos.csv"
"""In the folder of a task, what is known of its videos (`rgwot.datasets.video_table`)."""

GROUP = "group"
"""The column of that table that groups are read from, unless another is named."""

VIDEO_SUFFIXES = frozenset({".mp4", ".avi", ".mkv", ".webm", ".mov", ".m4v"})

_UNSAFE = re.compile(rb"[^A-Za-z0-9._-]|^[.-]")


def video_id(stem: str) -> str:
    """Percent-encode a file stem: every byte outside ``[A-Za-z0-9._-]`` and a leading ``.`` or ``-``.

    Different stems have different ids, because ``%`` itself is encoded. Undecodable bytes come as the operating system
    escapes them.

    >>> video_id("-aB cD.x")
    '%2DaB%20cD.x'
    """
    return _UNSAFE.sub(lambda match: b"%%%02X" % match[0][0], os.fsencode(stem)).decode("ascii")


def id_of(name: Any) -> str:
    """Return the id of a video by its name; RgwotError for a name that is no text, empty or too long."""
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
    """Return the stem as it is compared between videos and annotations: Unicode composed, case kept.

    Some systems store accents decomposed, so one name copied between two disks can differ in bytes. Case is
    kept because YouTube ids are case-sensitive.
    """
    return unicodedata.normalize("NFC", stem)


@lru_cache(maxsize=4096)
def folded(name: str) -> str:
    """Return a name without case and punctuation, as names in the configuration are compared.

    >>> folded("EGTEA_Gaze+") == folded("egtea-gaze")
    True
    """
    return re.sub(r"[\W_]+", "", name.casefold())
