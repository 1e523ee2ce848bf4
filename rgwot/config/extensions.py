"""Methods from outside the package, in a Python file of the setting ``extensions`` or by `extend` in Python.

Such a file defines ``EXTENSION``, an `Extension` with models like those of the library (`rgwot.blocks.Model`)::

    import numpy as np
    from pydantic import Field

    from rgwot.blocks import Fraction01
    from rgwot.config.extensions import Extension
    from rgwot.keysteps.interface import Decoded
    from rgwot.keysteps.settings import Clustering

    def decode_pieces(frames, K, generator, settings):
        places = [np.arange(n) * K / n + settings.jitter * generator.uniform(-0.5, 0.5) for n in frames.lengths]
        return Decoded(np.concatenate(places).clip(0, K - 1).astype(np.int64))

    class Pieces(Clustering):
        "K pieces."
        NAME = "pieces"
        FUNCTION = decode_pieces
        jitter: Fraction01 = Field(0.0, description="share of a piece by which its borders move")

    EXTENSION = Extension(decoders=[Pieces])

The decoder is ``pieces``, with its setting ``pieces@jitter=0.5``, which is ``pieces: {jitter: 0.5}`` in
``config.yaml``. The file runs like code of the package, and may import modules beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from rgwot.blocks import Model
from rgwot.config.methods import DECODERS, FAMILIES, NAME_PATTERN, Family
from rgwot.config.settings import owners
from rgwot.embedding.settings import Embedding
from rgwot.keysteps.settings import Decoder
from rgwot.losses.settings import LOSSES, Loss
from rgwot.runtime.errors import RgwotError, first_line, nearest


@dataclass(frozen=True)
class Extension:
    """Losses, embeddings, decoders and methods.

    Every embedding is also a method of its own name.
    """

    losses: Iterable[type[Loss]] = ()
    embeddings: Iterable[type[Embedding]] = ()
    decoders: Iterable[type[Decoder]] = ()
    methods: Iterable[Family] = ()


# The names that the library itself defines, and for every other name the extension that defines it.
_LIBRARY: Mapping[str, frozenset[str]] = {
    "losses": frozenset(LOSSES),
    "methods": frozenset(FAMILIES),
    "decoders": frozenset(DECODERS),
}
_BLOCKS: Mapping[str, frozenset[str]] = {block: frozenset(keys) for block, keys in owners().items()}
_BROUGHT: dict[tuple[str, str], str] = {}
_FILES: set[Path] = set()


def extend(extension: Extension, source: str = "extension") -> None:
    """Add the models of an extension to the library; a second call replaces the models of the same ``source``.

    Parameters
    ----------
    extension
        The models to add.
    source
        Name of the extension in errors.

    Raises
    ------
    RgwotError
        If this is not an `Extension` with models, a name is taken by the library or another extension or not allowed in
        an id, a setting has no default, or a block of the library gets a new key.
    """
    if not isinstance(extension, Extension):
        raise RgwotError(f"{source}: found {type(extension).__name__}, expected a rgwot.config.extensions.Extension")
    for kind, models in ((Loss, extension.losses), (Embedding, extension.embeddings), (Decoder, extension.decoders)):
        for model in models:
            _check(model, kind, source)
    methods = {family.name: family for family in extension.methods}
    for embedding in extension.embeddings:
        methods.setdefault(embedding.NAME, Family(embedding.NAME, embedding.about(), embedding=embedding))
    added: list[tuple[str, Mapping[str, Any], dict[str, Any]]] = [
        ("losses", {loss.NAME: loss for loss in extension.losses}, LOSSES),
        ("decoders", {decoder.NAME: decoder for decoder in extension.decoders}, DECODERS),
        ("methods", methods, FAMILIES),
    ]
    for place, entries, registry in added:
        for name in entries:
            where = f"{source}: {place}: {name}"
            if not NAME_PATTERN.fullmatch(str(name)):
                raise RgwotError(f"{where}: expected a name of a-z 0-9 _ - that begins with a letter; rename it")
            owner = "the library" if name in _LIBRARY[place] else _BROUGHT.get((place, name), source)
            # Two files may define the same object.
            if owner != source and registry.get(name) is not entries[name]:
                raise RgwotError(f"{where}: the name is used by {owner} already; rename it")
    # All entries are checked before any is added, so that a refused extension adds nothing.
    for place, entries, registry in added:
        registry |= entries
        _BROUGHT.update({(place, name): source for name in entries})


def _check(model: Any, kind: type[Model], source: str) -> None:
    """Raise RgwotError if a model is not a class of this kind, or gives a block of the library a new key."""
    if not (isinstance(model, type) and issubclass(model, kind)):
        raise RgwotError(
            f"{source}: found {model!r}, expected a class that extends {kind.__module__}.{kind.__name__}; see "
            "docs/architecture.md"
        )
    if required := [field.alias or name for name, field in model.model_fields.items() if field.is_required()]:
        raise RgwotError(f"{source}: {model.NAME}: {required[0]}: found no default, expected one")
    for key, block in model.places().items():
        if key not in _BLOCKS.get(block, {key}):
            raise RgwotError(
                f"{source}: {model.NAME}: unknown key '{block}.{key}', and the block {block} is the library's; "
                f"{nearest(key, _BLOCKS[block])} Otherwise give the class a BLOCK of its own"
            )


def load_extensions(paths: Iterable[str | Path]) -> None:
    """Import files of extensions and add their entries, each file once.

    Raises
    ------
    RgwotError
        If a file is missing, cannot be imported or defines no ``EXTENSION``; also in the cases of `extend`.
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
