from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from registries import own_registries

from rgwot.config import extensions

# Benchmarks are scripts beside each other, not a package, and so are extensions.
PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"
sys.path[:0] = [str(PEERS.parent), str(PEERS)]


@pytest.fixture(scope="module")
def peers() -> Iterator[None]:
    """Every method of the folder, for the tests of a file; other tests see the library alone."""
    with own_registries():
        extensions.load_extensions(sorted(PEERS.glob("*.py")))
        yield


@pytest.fixture
def house(peers: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where benchmarks run, whose configuration names the methods of other papers."""
    monkeypatch.chdir(PEERS.parents[1])
    return Path.cwd()
