"""YAML and JSON as people write them: one reader for every such file, which says what is wrong and in which line."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from rgwot.runtime.errors import RgwotError

_MARKS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


class _Strict(yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):  # type: ignore[misc]
    """YAML's safe loader, which refuses a key that stands twice instead of forgetting the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return the keys and values of a block."""
        lines: dict[Any, int] = {}
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                name, line = self.construct_object(key), key.start_mark.line + 1
                if name in lines:
                    raise _Twice(name, lines[name], line)
                lines[name] = line
        found: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return found


class _Twice(Exception):
    def __init__(self, name: object, first: int | None = None, second: int | None = None) -> None:
        where = f"lines {first} and {second}: " if first and first != second else ""
        super().__init__(f"{where}the key {name!r} stands twice; expected it once; remove one of them")


def read_yaml(path: str | os.PathLike[str]) -> Any:
    """Read a file of YAML, or of JSON; None where it is empty.

    Raises RgwotError when it cannot be read, is not UTF-8, is not YAML, or a key stands twice in one block.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise RgwotError(f"{path}: cannot be read ({error.strerror}); expected a file of YAML") from None
    encoding = _MARKS.get(data[:2]) or ("UTF-16 text without a mark, or a binary file" if b"\0" in data else None)
    if encoding:
        raise RgwotError(f"{path}: found {encoding}; expected YAML in UTF-8; save the file as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise RgwotError(
            f"{path}: line {line}: byte {data[error.start]:#04x} is not UTF-8; expected YAML in UTF-8; save the file "
            "as UTF-8"
        ) from None
    try:
        return _parsed(text)
    except _Twice as error:
        raise RgwotError(f"{path}: {error}") from None
    except yaml.YAMLError as error:
        raise RgwotError(f"{path}: {_mistake(error, text)}") from None
    except (ValueError, OverflowError, RecursionError) as error:
        raise RgwotError(f"{path}: no YAML ({' '.join(str(error).split())}); correct it") from None


def _parsed(text: str) -> Any:
    # As Snakemake does: JSON first, whose tabs YAML would refuse.
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.loads(text, object_pairs_hook=_once)
        except json.JSONDecodeError:
            pass
    loader = _Strict(text)
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _Twice(name)
        found[name] = value
    return found


def _mistake(error: yaml.YAMLError, text: str) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = " ".join(str(getattr(error, "problem", None) or error).split())
    if mark is None:
        return f"no YAML ({problem}); correct it"
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())] or "'\\t'" in problem:
        return f"line {mark.line + 1}: a tab; expected spaces, since YAML has no tabs before keys; replace it"
    return f"line {mark.line + 1}: no YAML ({problem}); correct it"
