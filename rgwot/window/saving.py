"""Saving of files that people change in the window: at once, where the commands expect them, never over others' files.

A file may be replaced if this server wrote it, or if the page that sends the new content was made from it; the page
then sends the digest of the file that it read. All other files are somebody else's work. Every new file is checked by
the reader of the commands and then renamed into place, so that there is never half a file.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import replacing, write_json

#: The folder of the window's own files in the folder of a study.
OWN = Path(".rgwot")
#: The last two digests of each file that this and earlier servers wrote, by path. The new digest is noted before the
#: file is written, and a server may be killed in between.
_REGISTER = OWN / "saved.json"
_LAST = 2


class SomebodyElses(RgwotError):
    """Error: a file must not be replaced; ``apart`` is a free name beside it."""

    def __init__(self, path: Path, why: str) -> None:
        self.apart = free_name(path)
        super().__init__(f"{path}: {why}; it stays as it is; save as {self.apart.name} instead")


@dataclass(frozen=True)
class Target:
    """A file that a page may save.

    Attributes
    ----------
    path
        Where the commands expect it.
    check
        A function that reads a file as the commands do, and raises RgwotError if it is wrong.
    taken
        Why the file at ``path``, or another one in its place, is somebody else's, whatever its content; or an empty
        text.
    """

    path: Path
    check: Callable[[Path], Any]
    taken: str = ""


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits, or an empty text if there is no file."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""


def free_name(path: Path) -> Path:
    """Return a path beside another path, its name with the lowest number that no file has yet."""
    number = 1
    while (apart := path.with_name(f"{path.stem}.{number}{path.suffix}")).exists():
        number += 1
    return apart


class Saving:
    """Saves files, one after the other, and remembers which are its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        try:
            self._own: dict[str, list[str]] = json.loads(_REGISTER.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self._own = {}

    def base(self, target: Target, page_ns: int) -> str:
        """Return the digest of a file that a page made at ``page_ns`` may replace; empty if there is no file.

        Raises
        ------
        SomebodyElses
            If the file must not be replaced.
        """
        digest = digest_of(target.path)
        if target.taken:
            raise SomebodyElses(target.path, target.taken)
        if digest and digest not in self._own.get(str(target.path), ()) and target.path.stat().st_mtime_ns > page_ns:
            raise SomebodyElses(target.path, "was changed since this page was made")
        return digest

    def save(self, target: Target, text: str | None, base: str, apart: bool = False) -> tuple[Path, str]:
        """Write a file, or remove it if ``text`` is None; return its path and its new digest.

        Parameters
        ----------
        target
            The file.
        text
            Its content, or None.
        base
            The digest that `base` or an earlier call returned.
        apart
            Whether to write a new file beside the target instead, under the name that `SomebodyElses` offered.

        Raises
        ------
        SomebodyElses
            If the content of the file does not have the digest ``base``.
        RgwotError
            If the commands could not read the content, the disk is full, or the folder cannot be written to.
        """
        with self._lock:
            if apart:
                target = Target(free_name(target.path), target.check)
                base = ""
            self._check(target, base)
            if text is None:
                target.path.unlink(missing_ok=True)
                digest = ""
            else:
                content = text.encode()
                with replacing(target.path) as temporary:
                    temporary.write_bytes(content)
                    target.check(temporary)
                    # Check once more, because somebody else may have written the file while it was read.
                    self._check(target, base)
                    digest = hashlib.sha256(content).hexdigest()
                    self._note(target.path, digest)
            return target.path, digest

    def _check(self, target: Target, base: str) -> None:
        if target.taken:
            raise SomebodyElses(target.path, target.taken)
        if digest_of(target.path) != base:
            raise SomebodyElses(target.path, "was changed by somebody else" if base else "is there already")

    def _note(self, path: Path, digest: str) -> None:
        self._own[str(path)] = [*self._own.get(str(path), ()), digest][-_LAST:]
        write_json(self._own, _REGISTER)
