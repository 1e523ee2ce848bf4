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

from rgwot.blocks import Block

#: Names as they may stand in an experiment id.
NAME_PATTERN = re.compile(r"[a-z][a-z0-9_-]*")

FunctionOrPath = str | Callable[..., Any]
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
    settings
        Blocks of settings, or parts of blocks, that the function takes as its last arguments, in this order.
    """

    function: FunctionOrPath
    description: str
    source: str = ""
    settings: tuple[type[Block], ...] = ()

    def dotted(self) -> tuple[str, ...]:
        """Return the dotted keys that its function takes."""
        return tuple(dict.fromkeys(key for part in self.settings for key in part.dotted()))

    def takes(self, key: str) -> bool:
        """Return whether a dotted key affects it."""
        return key in self.dotted()

    def load(self) -> Any:
        """Import the function."""
        return load(self.function)

    def bound(self, settings: Any, place: FunctionOrPath = "") -> Callable[..., Any]:
        """Return the function, or another of its functions, with its blocks of all ``settings`` as last arguments."""
        function, blocks = load(place or self.function), [getattr(settings, part.BLOCK) for part in self.settings]
        return lambda *given: function(*given, *blocks)


def load(place: FunctionOrPath) -> Any:
    """Import ``module:name``; return a function as it is.

    >>> load("math:gcd")(12, 18)
    6
    """
    if not isinstance(place, str):
        return place
    module, name = place.split(":")
    return getattr(import_module(module), name)


def blocks(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return the names of the blocks of settings that any of the entries takes."""
    return tuple(dict.fromkeys(part.BLOCK for entry in entries for part in entry.settings))
