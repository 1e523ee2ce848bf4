"""The names on the API page exist, and their descriptions name every parameter."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rgwot

PAGE = (Path(__file__).parents[1] / "docs/api.md").read_text(encoding="utf-8")
LISTED = re.findall(r"^\.\. auto(\w+):: (rgwot\.\S+)(\n   :members:.*)?$", PAGE, re.M)


def named(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def functions() -> Iterator[Any]:
    """Return the listed functions, and the methods of classes that are listed with their members."""
    for kind, path, members in LISTED:
        if kind == "function":
            yield pytest.param(path, None, id=path)
        elif members:
            chosen = [name.strip() for name in members.partition(":members:")[2].split(",") if name.strip()]
            for name, own in vars(named(path)).items():
                plain = inspect.isfunction(own) or isinstance(own, (classmethod, staticmethod))
                if plain and not name.startswith("_") and (not chosen or name in chosen):
                    yield pytest.param(path, name, id=f"{path}.{name}")


def test_the_page_has_every_name_of_the_package() -> None:
    homes = {path.rpartition(".")[2]: path for _, path, _ in LISTED}
    for name in set(rgwot.__all__) - {"__version__"}:
        assert named(homes[name]) is getattr(rgwot, name)


@pytest.mark.parametrize(("path", "method"), [*functions()])
def test_a_description_names_every_parameter(path: str, method: str | None) -> None:
    function = named(path) if method is None else getattr(named(path), method)
    text = inspect.getdoc(function) or ""
    expected = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    if len(expected) > 1 and "The parameters and errors are those of" not in text:
        assert "Parameters\n---" in text
    for name in expected:
        heading = re.search(rf"^[\w, ]*\b{name}\b[\w, ]*( :.*)?$", text, re.M)
        assert heading or f"``{name}``" in text or "The parameters and errors are those of" in text, name
