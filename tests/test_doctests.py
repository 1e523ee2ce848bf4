"""Examples in docstrings give the results that they show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import rgwot

LIBRARY = Path(rgwot.__file__).parent
SHOWN = sorted(path for path in LIBRARY.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.relative_to(LIBRARY).as_posix())
def test_examples(path: Path) -> None:
    name = ".".join(["rgwot", *path.relative_to(LIBRARY).with_suffix("").parts]).removesuffix(".__init__")
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert not found.failed
