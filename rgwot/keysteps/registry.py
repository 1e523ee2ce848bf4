"""The decoders by name, each imported when it runs."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from rgwot.config import methods
from rgwot.keysteps.interface import Decoder, Restore
from rgwot.runtime.lazy import lazily

DECODERS: Mapping[str, Decoder] = {
    name: lazily(f"{about.module}:decode_{name}") for name, about in methods.DECODERS.items() if about.module
}


def restore_of(name: str) -> Restore | None:
    """Return the function that restores a decoder's clustering from what it learnt, or None."""
    about = methods.DECODERS[name]
    found: Restore | None = getattr(import_module(about.module), f"restore_{name}", None) if about.module else None
    return found
