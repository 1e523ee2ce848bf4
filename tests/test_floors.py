"""The modules of the library are on three floors, and import only from their own floor or from below."""

from __future__ import annotations

import ast
import graphlib
import sys
from collections.abc import Iterator
from pathlib import Path

import rgwot

LIBRARY = Path(rgwot.__file__).parent
#: Floors from the bottom up, and the names of their modules; of several that a module begins with, the longest counts.
FLOORS = {
    # The mathematics: arrays in, arrays out.
    "core": (
        "baselines", "blocks", "columns", "diagnostics", "embedding", "evaluation", "keysteps", "losses", "procedure",
        "runtime.errors", "runtime.html", "runtime.limits", "runtime.progress", "runtime.text", "runtime.threads",
        "timing", "transport",
    ),
    # Videos, features, data sets, settings, and the stages that read and write them.
    "files": (
        "config", "datasets", "features", "names", "paths", "records", "runtime", "stages", "synthetic.settings",
        "video",
    ),
    # What people use.
    "application": (
        "__main__", "bundles", "choosing", "cli", "discovery", "estimator", "in_memory", "intake", "labels", "loading",
        "others", "reporting", "result", "study", "synthetic", "window",
    ),
}  # fmt: skip


def floor(module: str) -> int:
    """Return the number of the floor of a module, counted from 0; the package itself is on the top floor.

    >>> floor("rgwot.runtime.errors"), floor("rgwot.runtime.files"), floor("rgwot.cli"), floor("rgwot")
    (0, 1, 2, 2)
    """
    parts = module.split(".")[1:]
    while parts:
        for number, rooms in enumerate(FLOORS.values()):
            if ".".join(parts) in rooms:
                return number
        parts.pop()
    return len(FLOORS) - 1


def imports() -> set[tuple[str, str]]:
    """Return pairs (importing module, imported module) of the library, including imports for type checkers."""
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
    graph = graph_of_modules()
    assert sum(map(len, graph.values())) > 800
    graphlib.TopologicalSorter(graph).prepare()


def test_no_package_imports_itself_by_way_of_others() -> None:
    graph: dict[str, set[str]] = {}
    for here, imported in graph_of_modules().items():
        packages = graph.setdefault(here.split(".")[1], set())
        packages |= {there.split(".")[1] for there in imported} - {here.split(".")[1]}
    assert sum(map(len, graph.values())) > 100
    graphlib.TopologicalSorter(graph).prepare()


def graph_of_modules() -> dict[str, set[str]]:
    """Return what every module imports at run time, also in functions; imports for type checkers may be circular."""
    # If a name is imported, its module counts as imported.
    sources = {module_of(path): path for path in LIBRARY.rglob("*.py") if path != Path(rgwot.__file__)}
    graph: dict[str, set[str]] = {name: set() for name in sources}
    for name, path in sources.items():
        for node in while_running(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                imported = [f"{node.module}.{one.name}" for one in node.names]
            else:
                imported = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            for one in imported:
                there = one if one in sources else one.rpartition(".")[0]
                graph[name] |= {there} & set(sources) - {name}
    return graph


def module_of(path: Path) -> str:
    return ".".join(["rgwot", *path.relative_to(LIBRARY).with_suffix("").parts]).removesuffix(".__init__")


def while_running(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module, except those that only type checkers read."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from while_running(node)


def test_every_module_has_a_floor() -> None:
    found = {path.stem for path in LIBRARY.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert found - {"__init__"} == {name.split(".")[0] for rooms in FLOORS.values() for name in rooms}


def test_nothing_imports_what_lies_above_it() -> None:
    arrows = imports()
    assert len(arrows) > 500
    up = sorted(
        f"{here} imports {there}"
        for here, there in arrows
        if floor(here) < floor(there) and there != "rgwot.__version__"
    )
    assert not up, "\n".join(up)


def test_the_core_opens_no_file_and_draws_nothing() -> None:
    others: set[str] = set()
    opened: set[str] = set()
    for path in LIBRARY.rglob("*.py"):
        if floor(module_of(path)) > 0:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                others |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                others.add((node.module or "").split(".")[0])
            elif isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if called in ("open", "read_text", "read_bytes", "write_text", "write_bytes", "open_group"):
                    opened.add(f"{path.name}: {called}")
    assert not opened
    libraries = {
        "numpy",
        "scipy",
        "sklearn",
        "torch",
        "pandas",
        "networkx",
        "pydantic",
        "threadpoolctl",
        "joblib",
        "ot",
        "gensim",
        "tqdm",
    }
    assert others - set(sys.stdlib_module_names) - {"rgwot"} <= libraries
