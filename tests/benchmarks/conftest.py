from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rgwot.config import extensions
from rgwot.config.methods import CLUSTERING, EMBEDDING_KINDS, FAMILIES, LOSSES
from rgwot.config.settings import ADDED_BLOCKS

# Benchmarks are scripts beside each other, not a package, and so are extensions.
PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"
sys.path[:0] = [str(PEERS.parent), str(PEERS)]


@pytest.fixture(scope="module")
def peers() -> Iterator[None]:
    """Every method of the folder, for the tests of a file; other tests see the library alone."""
    registries = (LOSSES, EMBEDDING_KINDS, CLUSTERING, FAMILIES, ADDED_BLOCKS, extensions._BROUGHT)
    before = [dict(registry) for registry in registries]
    files = set(extensions._FILES)
    extensions.load_extensions(sorted(PEERS.glob("*.py")))
    yield
    for registry, content in zip(registries, before, strict=True):
        registry.clear()
        registry.update(content)
    extensions._FILES.clear()
    extensions._FILES.update(files)


@pytest.fixture
def house(peers: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where benchmarks run, whose configuration names the methods of other papers."""
    monkeypatch.chdir(PEERS.parents[1])
    return Path.cwd()
