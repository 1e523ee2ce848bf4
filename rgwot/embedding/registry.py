"""The embeddings without an encoder by name, each imported when it is fitted."""

from __future__ import annotations

from collections.abc import Mapping

from rgwot.config.methods import EMBEDDINGS
from rgwot.embedding.interface import Fit
from rgwot.runtime.lazy import lazily

FITS: Mapping[str, Fit] = {
    name: lazily(f"{about.module}:fit_{name}") for name, about in EMBEDDINGS.items() if about.module
}
