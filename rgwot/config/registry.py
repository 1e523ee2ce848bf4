"""Entries of the registries: which function a name stands for, and what planning must know of it.

Every loss, embedding and decoder is an entry of one dictionary in `rgwot.config.methods`. Planning reads the entries
and imports no function, so that it does not wait for PyTorch or scipy. `rgwot.config.extensions` adds entries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

#: Names as they may stand in an experiment id.
NAME = re.compile(r"[a-z][a-z0-9_-]*")

Place = str | Callable[..., Any]
"""A function, or ``module:name``, which is imported when it is needed."""


@dataclass(frozen=True)
class Entry:
    """A function by name, and metadata that planning reads without importing it.

    Attributes
    ----------
    function
        The function or its place; empty where nothing is called.
    description, source
        What it does and where it comes from, in a few words.
    reads
        Blocks of the settings, or single dotted keys, that affect it.
    """

    function: Place
    description: str
    source: str = ""
    reads: tuple[str, ...] = ()

    def takes(self, key: str) -> bool:
        """Return whether it reads a dotted key."""
        return key in self.reads or key.split(".")[0] in self.reads

    def load(self) -> Any:
        """Import the function."""
        return load(self.function)


def load(place: Place) -> Any:
    """Import ``module:name``; return a function as it is.

    >>> load("math:gcd")(12, 18)
    6
    """
    if not isinstance(place, str):
        return place
    module, name = place.split(":")
    return getattr(import_module(module), name)


def blocks(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return the blocks of settings that any of the entries reads as a whole."""
    return tuple(dict.fromkeys(key for entry in entries for key in entry.reads if "." not in key))
