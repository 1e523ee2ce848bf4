"""Temporary extensions: everything that they add is removed again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rgwot.config import extensions
from rgwot.config.methods import DECODERS, FAMILIES
from rgwot.losses.settings import LOSSES


@contextmanager
def own_registries() -> Iterator[None]:
    """Let extensions add to the library until the end of the block; their modules are forgotten as well."""
    registries = (LOSSES, DECODERS, FAMILIES, extensions._BROUGHT)
    before = [dict(registry) for registry in registries]
    files, path = set(extensions._FILES), list(sys.path)
    try:
        yield
    finally:
        for registry, content in zip(registries, before, strict=True):
            registry.clear()
            registry.update(content)
        extensions._FILES.clear()
        extensions._FILES.update(files)
        sys.path[:] = path
