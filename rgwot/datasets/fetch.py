"""Downloads of published features, from ``sources.csv`` or a mirror, into ``data/NAME``.

Files are written beside their place under a hidden name, from where an interrupted download goes on, and nothing that
is there is written over. `pooch` begins a download anew, of which one has 14 GB, and knows neither ``file://`` nor a
limit of size.
"""

from __future__ import annotations

import csv
import errno
import logging
import re
import shutil
import struct
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from urllib.parse import quote, unquote, urlsplit

from rgwot.datasets.registry import match_name
from rgwot.runtime.errors import RgwotError, first_line
from rgwot.runtime.files import report_full_disk
from rgwot.runtime.progress import Progress
from rgwot.runtime.provenance import sha256

log = logging.getLogger(__name__)

BYTES_AT_ONCE = 2**20
"""Bytes that are read at once."""

SILENCE_S = 60.0
"""Seconds without a byte after which a download stops."""

LARGEST_DOWNLOAD = 10**11
"""Bytes of a download at most, where no size is published."""

LARGEST_LIST = 10**7
"""Bytes of a list of checksums at most; what is behind is not read."""

SIZE_MARGIN = 1.2
"""How many times the published size, which is rounded, a download may have at most."""

ZIP_RATIO = 100
"""How many times its size an archive may take when it is unpacked; features shrink at most tenfold."""

_UNSOUND = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError, EOFError,
    ValueError, LookupError,
)  # fmt: skip
#: Of the system's errors those that an archive causes: names that no file can have, a member below one that is a file.
_UNSOUND_NAMES = (errno.EINVAL, errno.ENAMETOOLONG, errno.EILSEQ, errno.EEXIST, errno.ENOTDIR, errno.EISDIR)

_AGAIN = "run the same again, it goes on from there"


@dataclass(frozen=True)
class DownloadFile:
    """One file of a download: a row of ``sources.csv``."""

    name: str
    folder: str  #: below data
    file: str  #: its place in the folder, empty where all is by hand
    address: str
    size: str  #: as published, for people
    sha256: str  #: itself, or the address of a list as ``sha256sum`` writes it; empty where none is published
    terms: str
    by_hand: str  #: what no address gives


def sources(name: str | None = None) -> list[DownloadFile]:
    """Return the files of a download, or of all; RgwotError for a name that is not known."""
    text = files("rgwot.datasets").joinpath("sources.csv").read_text(encoding="utf-8")
    rows = [DownloadFile(**row) for row in csv.DictReader(text.splitlines())]
    if name is None:
        return rows
    release = match_name(name, dict.fromkeys(row.name for row in rows), "download")
    return [row for row in rows if row.name == release]


def fetch(rows: list[DownloadFile], data: Path, mirror: str = "") -> list[Path]:
    """Download the files of ``rows`` below ``data`` and return them.

    Zips are unpacked where they lie, also one that a browser put there. With a ``mirror``, an address of folders named
    as those below ``data``, nothing comes from elsewhere; of a ``file://`` mirror the whole folder is
    taken, with what is else added by hand.

    Raises
    ------
    RgwotError
        When an address cannot be read or ends early, a checksum is another, or an archive is damaged; what is
        finished stays.
    """
    files = []
    for row in _mirrored(rows, mirror) if mirror else rows:
        if not row.file:
            continue
        target = data / row.folder / row.file
        done = target.with_name(f".{target.name}.fetched")
        zipped = target.suffix == ".zip"
        if done.exists() or (target.exists() and not zipped):
            log.info("%s: there already, kept", target)
            continue
        with report_full_disk(target):
            digest = _download(row, target) if not target.exists() else ""
            if zipped:
                _unpack(target)
            done.write_text(f"{digest}  {row.address}\n", encoding="utf-8")
        files.append(target)
    return files


def _mirrored(rows: list[DownloadFile], mirror: str) -> Iterator[DownloadFile]:
    base, known = mirror.rstrip("/"), {row.file: row.sha256 for row in rows if row.file}
    name, folder = rows[0].name, rows[0].folder
    wanted, sums = list(known), ""
    if base.startswith("file:"):
        local = Path(unquote(urlsplit(base).path)) / folder
        wanted = [path.relative_to(local).as_posix() for path in sorted(local.rglob("*")) if path.is_file()]
        if not wanted:
            raise RgwotError(f"{local}: no such folder, or nothing in it; expected a copy of {name}; correct --from")
        sums = f"{base}/{folder}/SHA256SUMS" if "SHA256SUMS" in wanted else ""
    for file in wanted:
        digest = known.get(file, "")
        # Where the checksums are a list of the site, that of the mirror stands for it.
        digest = sums if digest.startswith("http") else digest
        yield DownloadFile(name, folder, file, f"{base}/{quote(folder)}/{quote(file)}", "", digest, "", "")


@contextmanager
def _opened(address: str, start: int = 0, version: str = "") -> Iterator[tuple[BinaryIO, int, int | None, str]]:
    """Open an address from byte ``start``, or from its beginning where that is not the version begun.

    Yields a stream, the byte at which it begins, the bytes of the whole file where they are stated, and what tells one
    version of the file from another, empty where nothing does.
    """
    headers = {"User-Agent": "rgwot", "Accept-Encoding": "identity"}
    if start and version:
        headers |= {"Range": f"bytes={start}-", "If-Range": version}
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=SILENCE_S) as answer:
        # Files of this machine have no status, and come whole.
        start = start if answer.status == 206 else 0
        length = answer.headers.get("Content-Length")
        found = answer.headers.get("ETag") or ""
        # A weak one does not promise the same bytes.
        found = answer.headers.get("Last-Modified") or "" if not found or found.startswith("W/") else found
        yield answer, start, None if length is None else start + int(length), found


def _download(row: DownloadFile, target: Path) -> str:
    """Download one file to its place, and return its SHA-256."""
    part, note = (target.with_name(f".{target.name}.{end}") for end in ("part", "version"))
    target.parent.mkdir(parents=True, exist_ok=True)
    expected, most = _published(row), _limit(row.size)
    # The last byte is asked for again: from behind the end of a whole file nothing can be had.
    have = max(0, part.stat().st_size - 1) if part.exists() else 0
    try:
        begun = note.read_text(encoding="utf-8") if note.exists() else ""
        with _opened(row.address, have, begun) as (stream, start, total, version):
            note.write_text(version, encoding="utf-8")
            if (total or 0) > most:
                raise _too_large(row, most, part)
            with part.open("r+b" if start else "wb") as output:
                output.seek(start)
                steps = max(1, (total or 0) // BYTES_AT_ONCE)
                with Progress(log, target.name, steps, start // BYTES_AT_ONCE, "MiB") as progress:
                    while block := stream.read(BYTES_AT_ONCE):
                        output.write(block)
                        progress.advance(len(block) // BYTES_AT_ONCE)
                        if output.tell() > most:
                            raise _too_large(row, most, part)
                size = output.tell()
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(error, OSError) and not isinstance(error, urllib.error.URLError | TimeoutError | ConnectionError):
            raise
        raise RgwotError(
            f"{row.address}: cannot be read ({error}); look at the address in a browser, or {_AGAIN}"
        ) from None
    if total is not None and size != total:
        raise RgwotError(f"{row.address}: ended after {size} of {total} bytes; {_AGAIN}")
    digest = sha256(part)
    note.unlink()
    if expected and digest != expected:
        part.unlink()
        raise RgwotError(
            f"{row.address}: SHA-256 is {digest}, expected {expected}; the download is removed; fetch it again"
        )
    part.rename(target)
    return digest


def _limit(size: str) -> int:
    """Return the bytes that a download may have, by its size as published, such as ``about 30 GB``.

    >>> _limit("13.92 GB"), _limit("unknown")
    (16704000000, 100000000000)
    """
    match = re.search(r"([\d.]+) GB", size)
    return int(float(match[1]) * 1e9 * SIZE_MARGIN) if match else LARGEST_DOWNLOAD


def _too_large(row: DownloadFile, most: int, part: Path) -> RgwotError:
    part.unlink(missing_ok=True)
    return RgwotError(
        f"{row.address}: more than {most / 1e9:.3g} GB, expected {row.size or 'less'}; the download is removed; "
        "look at the address in a browser"
    )


def _published(row: DownloadFile) -> str:
    """Return the published SHA-256 of a file, empty where there is none."""
    if ":" not in row.sha256:
        return row.sha256
    try:
        with _opened(row.sha256) as (stream, *_):
            lines = stream.read(LARGEST_LIST).decode("utf-8", "replace").splitlines()
    except (OSError, HTTPException) as error:
        raise RgwotError(f"{row.sha256}: cannot be read ({error}); {_AGAIN}") from None
    # Either is the form of sha256sum: two blanks, or a blank and an asterisk.
    listed = {name.strip().lstrip("*./"): digest for digest, _, name in (line.partition(" ") for line in lines)}
    last = PurePosixPath(row.file).name
    checksum = listed.get(row.file) or next(
        (entry for name, entry in listed.items() if PurePosixPath(name).name == last), ""
    )
    if not checksum:
        log.warning("%s: no checksum is published for %s; it is not checked", row.sha256, row.file)
    return checksum.lower()


def _unpack(archive: Path) -> None:
    """Unpack a zip into the folder it lies in and remove it; nothing leaves the folder, nothing is written over."""
    folder, aside = archive.parent, archive.with_name(f".{archive.name}.unpacked")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        with zipfile.ZipFile(archive) as content:
            size, most = sum(member.file_size for member in content.infolist()), ZIP_RATIO * archive.stat().st_size
            if size > most:
                raise zipfile.LargeZipFile(f"{size} bytes unpacked, expected at most {most}")
            for member in content.infolist():
                there = folder / member.filename
                file = next((path for path in there.parents if folder in path.parents and path.is_file()), None)
                if file:
                    raise RgwotError(
                        f"{archive}: {file} is a file, expected a folder; nothing was unpacked; move it away"
                    )
                if not member.is_dir() and there.exists() and there.stat().st_size != member.file_size:
                    raise RgwotError(
                        f"{archive}: {member.filename!r} is there already, with another size; nothing was unpacked; "
                        "move it away"
                    )
            # Names that lead elsewhere are made harmless, and links plain files.
            for member in content.infolist():
                content.extract(member, aside)
    except (*_UNSOUND, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _UNSOUND_NAMES:
            raise
        archive.unlink()
        raise RgwotError(f"{archive}: not a sound zip ({first_line(error)}); it is removed; fetch it again") from None
    else:
        for path in sorted(aside.rglob("*")):
            place = folder / path.relative_to(aside)
            # Of an unpacking that was killed, some are in place.
            if path.is_file() and not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                path.rename(place)
        archive.unlink()
    finally:
        shutil.rmtree(aside, ignore_errors=True)
