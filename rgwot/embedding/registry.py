"""The embeddings without an encoder by name, each imported when it is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from rgwot.config.methods import EMBEDDINGS
from rgwot.embedding.interface import Fit, Restore
from rgwot.runtime.lazy import lazily

FITS: Mapping[str, Fit] = {
    name: lazily(f"{about.module}:fit_{name}") for name, about in EMBEDDINGS.items() if about.module
}


def restore_of(name: str) -> Restore | None:
    """Return the function that restores an embedding from what it learnt, or None."""
    about = EMBEDDINGS[name]
    found: Restore | None = getattr(import_module(about.module), f"restore_{name}", None) if about.module else None
    return found
