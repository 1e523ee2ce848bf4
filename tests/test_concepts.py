"""The table of concepts in docs/architecture.md has every public class of the library."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import rgwot

LIBRARY = Path(rgwot.__file__).parent
ARCHITECTURE = Path(__file__).resolve().parents[1] / "docs" / "architecture.md"


def public_classes() -> list[ast.ClassDef]:
    """Return the classes of the library, except those whose name or module begins with an underscore."""
    modules = [path for path in LIBRARY.rglob("*.py") if not re.match("_[^_]", path.name)]
    nodes = [node for path in modules for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    return [node for node in nodes if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def concepts() -> dict[str, list[str]]:
    """Return the classes in the table, by concept."""
    section = ARCHITECTURE.read_text(encoding="utf-8").partition("## Concepts\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]
    return {concept: re.findall(r"`(\w+)`", classes) for concept, _, classes in rows}


def names(nodes: list[ast.expr]) -> set[str]:
    """Return the names in expressions, without their modules."""
    parts = [part for node in nodes for part in ast.walk(node)]
    return {part.id for part in parts if isinstance(part, ast.Name)} | {
        part.attr for part in parts if isinstance(part, ast.Attribute)
    }


def covered(named: set[str], classes: list[ast.ClassDef]) -> set[str]:
    """Return the named classes, the classes that inherit from them, the classes of their fields, and so on."""
    public = {node.name for node in classes}
    while True:
        more = set(named)
        for node in classes:
            if names(node.bases) & named:
                more.add(node.name)
            if node.name in named:
                more |= public & names([field.annotation for field in node.body if isinstance(field, ast.AnnAssign)])
        if more == named:
            return named
        named = more


def test_covered_follows_fields_and_bases() -> None:
    source = "class A: x: list[B]\nclass B: y: int\nclass C(m.A): pass\nclass D: z: A"
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    assert covered({"A"}, classes) == {"A", "B", "C"}
    assert covered({"D"}, classes) == {"A", "B", "C", "D"}
    assert covered({"B"}, classes) == {"B"}


def test_every_public_class_stands_for_a_concept() -> None:
    classes = public_classes()
    listed = {name for row in concepts().values() for name in row}
    public = {node.name for node in classes}
    assert listed <= public
    assert sorted(public - covered(listed, classes)) == []


def test_concepts_are_few() -> None:
    assert 20 < len(concepts()) <= 35


def test_a_name_stands_for_one_class() -> None:
    twice = [name for name, n in Counter(node.name for node in public_classes()).items() if n > 1]
    assert not twice
    listed = [name for row in concepts().values() for name in row]
    assert len(listed) == len(set(listed))
