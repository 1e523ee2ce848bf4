"""Saving of files that people change in the window: at once, where the commands expect them, never over other content.

A page gives the digest of the content that it has read or saved last. A file with another content was changed since, by
another program or in another window, and stays. Every file is checked by the reader of the commands before it is
written, and renamed into place, so that there is never half a file.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rgwot.runtime.errors import RgwotError, one_line
from rgwot.runtime.files import replacing

#: The folder of the window's own files in the folder of a study.
OWN = Path(".rgwot")


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
    read
        A function that reads a file as the commands do, and raises RgwotError if it is wrong.
    taken
        Why the file at ``path``, or another one in its place, is somebody else's, whatever its content; or an empty
        text.
    """

    path: Path
    read: Callable[[Path], Any]
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
    """Reads and saves files, one after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def read(self, target: Target) -> tuple[str, Any]:
        """Return the digest of a file and its content as `Target.read` returns it; without a file, empty and None.

        Raises
        ------
        SomebodyElses
            If the file is to stay, because it is taken or cannot be read.
        """
        if target.taken:
            raise SomebodyElses(target.path, target.taken)
        with self._lock:
            while True:
                digest = digest_of(target.path)
                try:
                    content = target.read(target.path) if digest else None
                except RgwotError as error:
                    raise SomebodyElses(target.path, f"cannot be read ({one_line(error)})") from error
                # Another program may have written the file while it was read.
                if digest_of(target.path) == digest:
                    return digest, content

    def save(self, target: Target, text: str | None, base: str, apart: bool = False) -> tuple[Path, str]:
        """Write a file, or remove it if ``text`` is None; return its path and its new digest.

        Parameters
        ----------
        target
            The file.
        text
            Its content, or None.
        base
            The digest that `read` or an earlier call returned.
        apart
            Whether to write a new file beside the target instead, under the name that `SomebodyElses` offered.

        Raises
        ------
        SomebodyElses
            If the file has neither the content with the digest ``base`` nor the one that is to be written.
        RgwotError
            If the commands could not read the content, the disk is full, or the folder cannot be written to.
        """
        with self._lock:
            if apart:
                target = Target(free_name(target.path), target.read)
                base = ""
            content = None if text is None else text.encode()
            digest = "" if content is None else hashlib.sha256(content).hexdigest()
            # A page that was not told that its file is saved sends it again.
            if not target.taken and digest_of(target.path) == digest:
                return target.path, digest
            self._check(target, base)
            if content is None:
                target.path.unlink()
                return target.path, digest
            with replacing(target.path) as temporary:
                temporary.write_bytes(content)
                target.read(temporary)
                # Check once more, because another program may have written the file while it was read.
                self._check(target, base)
            return target.path, digest

    def _check(self, target: Target, base: str) -> None:
        if target.taken:
            raise SomebodyElses(target.path, target.taken)
        if digest_of(target.path) != base:
            raise SomebodyElses(target.path, "was changed since this page has read it" if base else "is there already")
