"""What can be added to the library says in its own file what it is, and is called as that file is.

A loss, a decoder, an embedding, an extractor, a layout or a kind of figure is one module of its room with a constant
``ABOUT``, of literals alone::

    ABOUT = {"description": "k-means, no smoothing", "reads": ("decode.restarts",)}

Every plan asks for these constants and must not wait for PyTorch or scipy, so they are read as text and no module is
imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

LIBRARY = Path(__file__).resolve().parents[1]
LITERAL = re.compile(r"^ABOUT = (\{[^\n]+\}$|\{\n.*?^\})", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class About:
    """What is known of a loss, decoder and the like before it is imported.

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


def blocks(abouts: Iterable[About]) -> tuple[str, ...]:
    """Return the blocks that any of them reads as a whole."""
    return tuple(dict.fromkeys(key for about in abouts for key in about.reads if "." not in key))


def described(room: str, kind: type[Kind]) -> dict[str, Kind]:
    """Return the ``ABOUT`` of the modules of a room by name; modules without one are skipped.

    Raises
    ------
    ValueError
        If an ``ABOUT`` is not a dictionary of literals, or has a key that is no field of ``kind``.
    """
    found = []
    for path in sorted((LIBRARY / room).glob("*.py")):
        told = LITERAL.search(path.read_text(encoding="utf-8"))
        if told:
            try:
                module = f"rgwot.{room.replace('/', '.')}.{path.stem}"
                found.append(kind(name=path.stem, module=module, **ast.literal_eval(told[1])))
            except (SyntaxError, TypeError, ValueError) as error:
                raise ValueError(f"{path}: ABOUT: {error}") from None
    return {about.name: about for about in sorted(found, key=lambda about: about.place)}
