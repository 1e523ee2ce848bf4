from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from registries import own_registries

from rgwot.config import extensions

# Benchmarks and extensions are scripts in two folders, not packages, so both folders must be on the path.
PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"
sys.path[:0] = [str(PEERS.parent), str(PEERS)]


@pytest.fixture(scope="module")
def peers() -> Iterator[None]:
    """Register every method of the folder for the tests of one file; other tests see only the library."""
    with own_registries():
        extensions.load_extensions(sorted(PEERS.glob("*.py")))
        yield


@pytest.fixture
def house(peers: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to the folder where benchmarks run, whose configuration names the methods of other papers."""
    monkeypatch.chdir(PEERS.parents[1])
    return Path.cwd()
