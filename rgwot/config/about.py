"""Extensions of the library describe themselves in their own file, whose name they bear.

A loss, a decoder, an embedding, an extractor, a layout or a kind of figure is one module of its room with a constant
``ABOUT``, of literals alone::

    ABOUT = {"description": "k-means, no smoothing", "reads": ("decode.restarts",)}

Every plan asks for these constants and must not wait for PyTorch or scipy, so they are read as text and no module is
imported.

A file of one's own need not lie in the package: folders that the environment variable ``RGWOT_EXTENSIONS`` lists have
rooms of the same names, such as ``losses``, and a file there is imported as if it were in the package's. They are code,
as anything on ``PYTHONPATH`` is.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from rgwot.runtime.errors import RgwotError

LIBRARY = Path(__file__).resolve().parents[1]
EXTENSIONS = "RGWOT_EXTENSIONS"
LITERAL = re.compile(r"^ABOUT = (\{[^\n]+\}$|\{\n.*?^\})", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class About:
    """Metadata of a loss, decoder or the like, read without importing it.

    Attributes
    ----------
    name
        Its name in settings and ids.
    description, source
        What it does and where it comes from, in a few words.
    reads
        Blocks of the settings, or single dotted keys, that affect it.
    place
        Its place in printed lists; by default the last, by name.
    module
        Its module, if it was found by its file.
    """

    name: str
    description: str
    source: str = ""
    reads: tuple[str, ...] = ()
    place: int = 1000
    module: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.reads, tuple):
            raise TypeError(f"reads: found {self.reads!r}, expected a tuple of keys")

    def takes(self, key: str) -> bool:
        """Whether it reads a dotted key."""
        return key in self.reads or key.split(".")[0] in self.reads


Kind = TypeVar("Kind", bound=About)


class _Outside(MetaPathFinder):
    """Finds the modules that `described` found outside of the package."""

    def __init__(self) -> None:
        self.files: dict[str, Path] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where such a module is."""
        file = self.files.get(fullname)
        return None if file is None else spec_from_file_location(fullname, file)


_OUTSIDE = _Outside()
sys.meta_path.append(_OUTSIDE)


def blocks(abouts: Iterable[About]) -> tuple[str, ...]:
    """Return the blocks that any of them reads as a whole."""
    return tuple(dict.fromkeys(key for about in abouts for key in about.reads if "." not in key))


def described(room: str, kind: type[Kind]) -> dict[str, Kind]:
    """Return the ``ABOUT`` of the modules of a room by name; modules without one are skipped.

    Raises
    ------
    ValueError
        If an ``ABOUT`` is not a dictionary of literals, or has a key that is no field of ``kind``.
    RgwotError
        If there is no such folder of extensions, or a file of one is called like another of its room.
    """
    found = []
    inside = sorted((LIBRARY / room).glob("*.py"))
    for path in [*inside, *_extensions(room)]:
        told = LITERAL.search(path.read_text(encoding="utf-8"))
        if told:
            try:
                module = f"rgwot.{room.replace('/', '.')}.{path.stem}"
                if path not in inside:
                    other = _OUTSIDE.files.get(module, LIBRARY / room / path.name)
                    if other != path and other.exists():
                        raise RgwotError(f"{path}: called as {other}; expected a name of its own; rename it")
                    _OUTSIDE.files[module] = path
                found.append(kind(name=path.stem, module=module, **ast.literal_eval(told[1])))
            except (SyntaxError, TypeError, ValueError) as error:
                raise ValueError(f"{path}: ABOUT: {error}") from None
    return {about.name: about for about in sorted(found, key=lambda about: about.place)}


def _extensions(room: str) -> list[Path]:
    """Return the files of a room that the folders of extensions have."""
    folders = [Path(folder).absolute() for folder in os.environ.get(EXTENSIONS, "").split(os.pathsep) if folder]
    for folder in folders:
        if not folder.is_dir():
            raise RgwotError(f"{EXTENSIONS}: {folder}: no such folder; expected one with rooms such as losses")
    return [path for folder in folders for path in sorted((folder / room).glob("*.py"))]
