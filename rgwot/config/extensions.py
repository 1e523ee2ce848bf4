"""Methods from outside the package, in a Python file of the setting ``extensions`` or by `extend` in Python.

Such a file defines ``EXTENSION``, an `Extension` with entries as in `rgwot.config.methods`::

    import numpy as np
    from pydantic import Field

    from rgwot.blocks import Block, Fraction01
    from rgwot.config.extensions import Extension
    from rgwot.config.methods import Decoder
    from rgwot.keysteps.interface import Decoded

    class PiecesSettings(Block):
        BLOCK = "pieces"
        jitter: Fraction01 = Field(0.0, description="share of a piece by which its borders move")

    def decode_pieces(frames, K, generator, settings):
        places = [np.arange(n) * K / n + settings.jitter * generator.uniform(-0.5, 0.5) for n in frames.lengths]
        return Decoded(np.concatenate(places).clip(0, K - 1).astype(np.int64))

    EXTENSION = Extension(decoders={"pieces": Decoder(decode_pieces, "K pieces", settings=(PiecesSettings,))})

The file runs like code of the package, and may import modules beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from rgwot.blocks import Block
from rgwot.config.methods import (
    CLUSTERING,
    EMBEDDING_KINDS,
    FAMILIES,
    LOSSES,
    NAME_PATTERN,
    TRIVIAL,
    Decoder,
    Embedding,
    Family,
    Loss,
)
from rgwot.config.settings import ADDED_BLOCKS, BLOCKS, defaults
from rgwot.runtime.errors import RgwotError, first_line, nearest


@dataclass(frozen=True)
class Extension:
    """Losses, embeddings, decoders and methods by name.

    An embedding without a method becomes a method of the same name. A new block of settings that an entry takes becomes
    a block of ``config.yaml``.
    """

    losses: Mapping[str, Loss] = field(default_factory=dict)
    embeddings: Mapping[str, Embedding] = field(default_factory=dict)
    decoders: Mapping[str, Decoder] = field(default_factory=dict)
    methods: Iterable[Family] = ()


# The names that the library itself defines; for every other name, the extension that defines it.
_LIBRARY: Mapping[str, frozenset[str]] = {
    "losses": frozenset(LOSSES),
    "methods": frozenset({**FAMILIES, **EMBEDDING_KINDS}),
    "decoders": frozenset({**CLUSTERING, **TRIVIAL}),
    "settings": frozenset(BLOCKS),
}
_BROUGHT: dict[tuple[str, str], str] = {}
_FILES: set[Path] = set()


def extend(extension: Extension, source: str = "extension") -> None:
    """Add the entries of an extension to the library; a second call replaces the entries of the same ``source``.

    Parameters
    ----------
    extension
        What to add.
    source
        What to call it in errors.

    Raises
    ------
    RgwotError
        For anything but an `Extension`, a name that the library or another extension has, or that is not allowed in an
        id, and for an unknown setting.
    """
    if not isinstance(extension, Extension):
        raise RgwotError(f"{source}: found {type(extension).__name__}, expected a rgwot.config.extensions.Extension")
    methods = {family.name: family for family in extension.methods}
    embedded = {family.embedding for family in methods.values()}
    for name, entry_ in extension.embeddings.items():
        if name not in embedded:
            methods[name] = Family(name, entry_.description, embedding=name)
    added: list[tuple[str, Mapping[str, Any], dict[str, Any]]] = [
        ("settings", _blocks_of(extension, source), ADDED_BLOCKS),
        ("losses", extension.losses, LOSSES),
        ("methods", extension.embeddings, EMBEDDING_KINDS),
        ("decoders", extension.decoders, CLUSTERING),
        ("methods", methods, FAMILIES),
    ]
    for kind, entries, registry in added:
        for name in entries:
            where = f"{source}: {kind}: {name}"
            if not NAME_PATTERN.fullmatch(str(name)):
                raise RgwotError(f"{where}: expected a name of a-z 0-9 _ - that begins with a letter; rename it")
            owner = "the library" if name in _LIBRARY[kind] else _BROUGHT.get((kind, name), source)
            # Two files may bring the same object, such as a block of settings that they share.
            if owner != source and registry.get(name) is not entries[name]:
                raise RgwotError(f"{where}: the name is used by {owner} already; rename it")
    # All entries are checked before any is added, so that a refused extension adds nothing.
    for kind, entries, registry in added:
        registry |= entries
        _BROUGHT.update({(kind, name): source for name in entries})


def _blocks_of(extension: Extension, source: str) -> dict[str, type[Block]]:
    """Return the blocks of settings that the entries of an extension take and the library lacks."""
    blocks: dict[str, type[Block]] = {}
    for name, entry in (*extension.losses.items(), *extension.embeddings.items(), *extension.decoders.items()):
        where = f"{source}: {name}: settings"
        if not isinstance(entry.settings, tuple) or not all(
            isinstance(part, type) and issubclass(part, Block) and part.BLOCK for part in entry.settings
        ):
            raise RgwotError(
                f"{where}: found {entry.settings!r}, expected a tuple of subclasses of Block, each with a name in BLOCK"
            )
        for part in entry.settings:
            if part.BLOCK not in BLOCKS:
                if not issubclass(part, blocks.get(part.BLOCK, part)):
                    raise RgwotError(f"{where}: two blocks are called {part.BLOCK!r}; rename one")
                blocks[part.BLOCK] = part
            for key in part.dotted() if part.BLOCK in BLOCKS else ():
                if key not in (known := defaults()):
                    raise RgwotError(f"{where}: unknown key {key!r}; {nearest(key, known)}")
    return blocks


def load_extensions(paths: Iterable[str | Path]) -> None:
    """Import files of extensions and add their entries, each file once.

    Raises
    ------
    RgwotError
        For a file that is missing, cannot be imported or defines no ``EXTENSION``, and as `extend`.
    """
    for path in (Path(path).expanduser().resolve() for path in paths):
        if path in _FILES:
            continue
        if not path.is_file():
            raise RgwotError(f"extensions: {path}: no such file; expected a Python file that defines EXTENSION")
        if path.suffix != ".py" or not path.stem.isidentifier():
            raise RgwotError(f"extensions: {path}: expected the name of an importable Python file, such as mine.py")
        # The folder is on the path, so that extensions can import each other by name.
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))
        try:
            module = import_module(path.stem)
        except Exception as error:
            raise RgwotError(f"extensions: {path}: {type(error).__name__}: {first_line(error)}") from error
        if Path(module.__file__ or "").resolve() != path:
            raise RgwotError(f"extensions: {path}: there is another module named {path.stem}; rename the file")
        if not hasattr(module, "EXTENSION"):
            raise RgwotError(f"extensions: {path}: found no EXTENSION, expected a rgwot.config.extensions.Extension")
        extend(module.EXTENSION, str(path))
        _FILES.add(path)
