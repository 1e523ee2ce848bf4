"""Entries of the registries: which function a name stands for, and what planning must know of it.

Every loss, embedding and decoder is an entry of one dictionary in `rgwot.config.methods`. Planning reads the entries
and imports no function, so that it does not wait for PyTorch or scipy.

The environment variable ``RGWOT_EXTENSIONS`` names a YAML file with further entries, in the same form::

    decoders:
      pieces: {function: "my_methods:decode_pieces", description: K equal pieces, reads: [decode.restarts]}

Modules next to that file can be imported, as well as everything that is installed.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from rgwot.runtime.errors import RgwotError, first_line

EXTENSIONS = "RGWOT_EXTENSIONS"
KINDS = ("losses", "embeddings", "decoders")
#: Names as they may stand in an experiment id.
NAME = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True)
class Entry:
    """A function by name, and metadata that planning reads without importing it.

    Attributes
    ----------
    function
        ``module:name``; empty where nothing is called.
    description, source
        What it does and where it comes from, in a few words.
    reads
        Blocks of the settings, or single dotted keys, that affect it.
    """

    function: str
    description: str
    source: str = ""
    reads: tuple[str, ...] = ()

    def takes(self, key: str) -> bool:
        """Return whether it reads a dotted key."""
        return key in self.reads or key.split(".")[0] in self.reads

    def load(self) -> Any:
        """Import the function."""
        return load(self.function)


AnyEntry = TypeVar("AnyEntry", bound=Entry)


def load(place: str) -> Any:
    """Import ``module:name``.

    >>> load("math:gcd")(12, 18)
    6
    """
    module, name = place.split(":")
    return getattr(import_module(module), name)


def blocks(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return the blocks of settings that any of the entries reads as a whole."""
    return tuple(dict.fromkeys(key for entry in entries for key in entry.reads if "." not in key))


def with_extensions(
    kind: str, entry: type[AnyEntry], known: Mapping[str, AnyEntry], taken: Collection[str] = ()
) -> dict[str, AnyEntry]:
    """Return the entries of a kind, those of the library first; ``taken`` are names that mean something else.

    Raises
    ------
    RgwotError
        If ``RGWOT_EXTENSIONS`` names no such file, or an entry in it is malformed or has a name that is taken.
    """
    found = dict(known)
    entries = _extensions().get(kind) or {}
    if not isinstance(entries, dict):
        raise RgwotError(f"{os.environ[EXTENSIONS]}: {kind}: found {entries}; expected names, each with its entry")
    for name, values in entries.items():
        where = f"{os.environ[EXTENSIONS]}: {kind}.{name}"
        if name in found or name in taken:
            raise RgwotError(f"{where}: the library has one of this name; rename it")
        if not NAME.fullmatch(str(name)):
            raise RgwotError(f"{where}: expected a name of a-z 0-9 _ - that begins with a letter; rename it")
        try:
            if not isinstance(values.get("reads", []), list):
                raise TypeError(f"reads: found {values['reads']}; expected a list, such as [{values['reads']}]")
            found[name] = entry(**{**values, "reads": tuple(values.get("reads", ()))})
        except (TypeError, AttributeError) as error:
            expected = "function (module:name), description and, optionally, source and reads"
            raise RgwotError(f"{where}: {first_line(error)}; expected {expected}") from None
    return found


@cache
def _extensions() -> Mapping[str, Mapping[str, Any]]:
    """Return the content of the file of extensions, and make the modules next to it importable."""
    if not os.environ.get(EXTENSIONS):
        return {}
    from rgwot.runtime.yaml_text import read_yaml

    path = Path(os.environ[EXTENSIONS]).absolute()
    try:
        content = read_yaml(path) or {}
    except RgwotError as error:
        raise RgwotError(f"{EXTENSIONS}: {error}") from None
    if not isinstance(content, dict) or not set(content) <= set(KINDS):
        raise RgwotError(f"{path}: found {', '.join(map(str, content))}; expected entries of {', '.join(KINDS)}")
    sys.path.append(str(path.parent))
    return content
