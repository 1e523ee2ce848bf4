"""Which part of the library imports which: rooms are stacked, and a room imports only what lies below it."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import rgwot

LIBRARY = Path(rgwot.__file__).parent
#: From the top down. A new room takes its place here; an arrow that points up is a plan to change, not an entry.
FLOORS = (
    "__main__", "cli", "study", "estimator", "discovery", "bundles", "reporting", "synthetic",
    "baselines", "keysteps", "embedding", "losses", "transport", "procedure", "evaluation", "features", "datasets",
    "video", "config", "records", "timing", "runtime", "paths",
)  # fmt: skip


def room(module: str) -> str:
    """Return the part of the library that a module lies in; empty for the package itself.

    >>> room("rgwot.config.radius"), room("rgwot.timing"), room("rgwot")
    ('config', 'timing', '')
    """
    return ".".join(module.split(".")[1:2])


def imports() -> set[tuple[str, str]]:
    """Return (importing module, imported module) of the library, imports for type checkers among them."""
    found = set()
    for path in LIBRARY.rglob("*.py"):
        here = ".".join(["rgwot", *path.relative_to(LIBRARY).with_suffix("").parts])
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {(here, f"{node.module}.{name.name}") for name in node.names}
            elif isinstance(node, ast.Import):
                found |= {(here, name.name) for name in node.names}
    return {(here, there) for here, there in found if there.split(".")[0] == "rgwot"}


def test_no_module_imports_itself_by_way_of_others() -> None:
    # A name that is imported stands for its module; type checkers alone may go in circles.
    sources = {module_of(path): path for path in LIBRARY.rglob("*.py") if path != Path(rgwot.__file__)}
    graph: dict[str, set[str]] = {name: set() for name in sources}
    for name, path in sources.items():
        for node in while_running(ast.parse(path.read_text(encoding="utf-8"))):
            wanted = [f"{node.module}.{one.name}" for one in node.names] if isinstance(node, ast.ImportFrom) else []
            for one in wanted:
                there = one if one in sources else one.rpartition(".")[0]
                graph[name] |= {there} & set(sources) - {name}
    assert sum(map(len, graph.values())) > 1000
    graphlib.TopologicalSorter(graph).prepare()


def module_of(path: Path) -> str:
    return ".".join(["rgwot", *path.relative_to(LIBRARY).with_suffix("").parts]).removesuffix(".__init__")


def while_running(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module without those that only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from while_running(node)


def test_every_room_has_a_floor() -> None:
    found = {path.stem for path in LIBRARY.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert found - {"__init__"} == set(FLOORS)


def test_nothing_imports_what_lies_above_it() -> None:
    # The package itself names what stands on the upper floors.
    level = {name: number for number, name in enumerate(("__init__", *FLOORS))}
    # The version is the package's own.
    arrows = {(here, there) for here, there in imports() if room(there) in level}
    assert len(arrows) > 500
    up = sorted(f"{here} imports {there}" for here, there in arrows if level[room(there)] < level[room(here)])
    assert not up, "\n".join(up)
