"""Downloads of published features, from ``sources.csv`` or a mirror, into ``data/NAME``.

A download is written to a hidden file beside its target, so that it can be resumed, and existing files are never
overwritten. `pooch` is not used: it cannot resume a download (one has 14 GB), and lacks ``file://`` and size limits.
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
"""Number of bytes that are read at once."""

SILENCE_S = 60.0
"""A download stops after this many seconds without data."""

LARGEST_DOWNLOAD = 10**11
"""Largest download in bytes if no size is published."""

LARGEST_LIST = 10**7
"""At most this many bytes of a list of checksums are read."""

SIZE_MARGIN = 1.2
"""Largest ratio of a download to its published size, which is rounded."""

ZIP_RATIO = 100
"""Largest ratio of unpacked to packed bytes; features shrink at most tenfold."""

_UNSOUND = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError, EOFError,
    ValueError, LookupError,
)  # fmt: skip
#: System errors that an archive can cause: impossible file names, and members below a member that is a file.
_UNSOUND_NAMES = (errno.EINVAL, errno.ENAMETOOLONG, errno.EILSEQ, errno.EEXIST, errno.ENOTDIR, errno.EISDIR)

_AGAIN = "run the command again to resume"


@dataclass(frozen=True)
class DownloadFile:
    """A file of a download: a row of ``sources.csv``."""

    name: str
    folder: str  #: the folder of the download below data
    file: str  #: path of the file in the folder, empty if everything is done by hand
    address: str
    size: str  #: as published, for display and as a limit of the download
    sha256: str  #: the digest, or the address of a list in the form of ``sha256sum``; empty if none is published
    terms: str
    by_hand: str  #: steps to do by hand, if there is no address


def sources(name: str | None = None) -> list[DownloadFile]:
    """Return the files of a download, or of all downloads; raise RgwotError for an unknown name."""
    text = files("rgwot.datasets").joinpath("sources.csv").read_text(encoding="utf-8")
    rows = [DownloadFile(**row) for row in csv.DictReader(text.splitlines())]
    if name is None:
        return rows
    release = match_name(name, dict.fromkeys(row.name for row in rows), "download")
    return [row for row in rows if row.name == release]


def fetch(rows: list[DownloadFile], data: Path, mirror: str = "") -> list[Path]:
    """Download the files of ``rows`` below ``data`` and return them.

    Zip files are unpacked in place, including those that a browser put there. ``mirror`` is the address of folders with
    the same names as below ``data``; everything is then downloaded from there. The whole folder of a ``file://`` mirror
    is copied, with files that were added by hand.

    Raises
    ------
    RgwotError
        If an address cannot be read or ends early, a checksum differs, or an archive is damaged. Finished files stay.
    """
    files = []
    for row in _mirrored(rows, mirror) if mirror else rows:
        if not row.file:
            continue
        target = data / row.folder / row.file
        done = target.with_name(f".{target.name}.fetched")
        zipped = target.suffix == ".zip"
        if done.exists() or (target.exists() and not zipped):
            log.info("%s: exists already, so it is not downloaded", target)
            continue
        with report_full_disk(target):
            digest = _download(row, target) if not target.exists() else ""
            if zipped:
                _unpack(target)
            done.write_text(f"{digest}  {row.address}\n", encoding="utf-8")
        files.append(target)
    return files


def _mirrored(rows: list[DownloadFile], mirror: str) -> Iterator[DownloadFile]:
    base, published = mirror.rstrip("/"), {row.file: row.sha256 for row in rows if row.file}
    name, folder = rows[0].name, rows[0].folder
    files, sums = list(published), ""
    if base.startswith("file:"):
        local = Path(unquote(urlsplit(base).path)) / folder
        files = [path.relative_to(local).as_posix() for path in sorted(local.rglob("*")) if path.is_file()]
        if not files:
            raise RgwotError(f"{local}: no such folder, or nothing in it; expected a copy of {name}; correct --from")
        sums = f"{base}/{folder}/SHA256SUMS" if "SHA256SUMS" in files else ""
    for file in files:
        digest = published.get(file, "")
        # If the original site has a list of checksums (an address), the mirror's own list is used instead.
        digest = sums if digest.startswith("http") else digest
        yield DownloadFile(name, folder, file, f"{base}/{quote(folder)}/{quote(file)}", "", digest, "", "")


@contextmanager
def _opened(address: str, start: int = 0, version: str = "") -> Iterator[tuple[BinaryIO, int, int | None, str]]:
    """Open an address from byte ``start``, or from its beginning if the file has changed since.

    Yields a stream, the byte at which it begins, the size of the whole file if known, and a tag of the file's version,
    which may be empty.
    """
    headers = {"User-Agent": "rgwot", "Accept-Encoding": "identity"}
    if start and version:
        headers |= {"Range": f"bytes={start}-", "If-Range": version}
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=SILENCE_S) as answer:
        # Only an answer with status 206 begins at ``start``; local files have no status, and are read as a whole.
        start = start if answer.status == 206 else 0
        length = answer.headers.get("Content-Length")
        tag = answer.headers.get("ETag") or ""
        # A weak ETag does not guarantee the same bytes, so the time of the last change is used instead.
        tag = answer.headers.get("Last-Modified") or "" if not tag or tag.startswith("W/") else tag
        yield answer, start, None if length is None else start + int(length), tag


def _download(row: DownloadFile, target: Path) -> str:
    """Download one file to ``target``, and return its SHA-256."""
    part, note = (target.with_name(f".{target.name}.{end}") for end in ("part", "version"))
    target.parent.mkdir(parents=True, exist_ok=True)
    expected, most = _published(row), _limit(row.size)
    # The last byte is requested again, because a request that starts after the end would fail.
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
    except RgwotError:
        raise
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(error, OSError) and not isinstance(error, urllib.error.URLError | TimeoutError | ConnectionError):
            raise
        raise RgwotError(
            f"{row.address}: cannot be read ({error}); open the address in a browser, or {_AGAIN}"
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
    """Return the largest number of bytes that a download may have, given its published size, such as ``about 30 GB``.

    >>> _limit("13.92 GB"), _limit("unknown")
    (16704000000, 100000000000)
    """
    match = re.search(r"([\d.]+) GB", size)
    return int(float(match[1]) * 1e9 * SIZE_MARGIN) if match else LARGEST_DOWNLOAD


def _too_large(row: DownloadFile, most: int, part: Path) -> RgwotError:
    part.unlink(missing_ok=True)
    return RgwotError(
        f"{row.address}: more than {most / 1e9:.3g} GB, expected {row.size or 'less'}; the download is removed; "
        "open the address in a browser"
    )


def _published(row: DownloadFile) -> str:
    """Return the published SHA-256 of a file, or an empty text."""
    if ":" not in row.sha256:
        return row.sha256
    try:
        with _opened(row.sha256) as (stream, *_):
            lines = stream.read(LARGEST_LIST).decode("utf-8", "replace").splitlines()
    except (OSError, HTTPException) as error:
        raise RgwotError(f"{row.sha256}: cannot be read ({error}); {_AGAIN}") from None
    # Between digest and name, sha256sum writes two blanks, or a blank and an asterisk.
    listed = {name.strip().lstrip("*./"): digest for digest, _, name in (line.partition(" ") for line in lines)}
    last = PurePosixPath(row.file).name
    checksum = listed.get(row.file) or next(
        (entry for name, entry in listed.items() if PurePosixPath(name).name == last), ""
    )
    if not checksum:
        log.warning("%s: no checksum is published for %s, so it is not checked", row.sha256, row.file)
    return checksum.lower()


def _unpack(archive: Path) -> None:
    """Unpack a zip file into its folder and remove it; nothing is written elsewhere or overwritten."""
    folder, aside = archive.parent, archive.with_name(f".{archive.name}.unpacked")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        with zipfile.ZipFile(archive) as content:
            size, most = sum(member.file_size for member in content.infolist()), ZIP_RATIO * archive.stat().st_size
            if size > most:
                raise zipfile.LargeZipFile(f"{size} bytes unpacked, expected at most {most}")
            for member in content.infolist():
                target = folder / member.filename
                file = next((path for path in target.parents if folder in path.parents and path.is_file()), None)
                if file:
                    raise RgwotError(
                        f"{archive}: {file} is a file, expected a folder; nothing was unpacked; move the file away"
                    )
                if not member.is_dir() and target.exists() and target.stat().st_size != member.file_size:
                    raise RgwotError(
                        f"{archive}: {member.filename!r} exists already with another size, so nothing was unpacked; "
                        "move the existing file away"
                    )
            # Safe for any archive: zipfile makes paths to other folders harmless, and links become plain files.
            for member in content.infolist():
                content.extract(member, aside)
    except (*_UNSOUND, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _UNSOUND_NAMES:
            raise
        archive.unlink()
        raise RgwotError(f"{archive}: damaged ({first_line(error)}) and therefore removed; fetch it again") from None
    else:
        for path in sorted(aside.rglob("*")):
            place = folder / path.relative_to(aside)
            # Some files are in place already if an earlier unpacking was killed.
            if path.is_file() and not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                path.rename(place)
        archive.unlink()
    finally:
        shutil.rmtree(aside, ignore_errors=True)
