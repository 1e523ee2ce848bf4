"""YAML as people write it, read without silent changes."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import yaml

from rgwot.runtime.errors import RgwotError

#: A plain whole number, unlike 007, 0x1f, 1_000 or 12:30:00.
_WHOLE = re.compile(r"0|-?[1-9][0-9]*")


class _Refused(yaml.MarkedYAMLError):
    """An error for valid YAML that probably does not mean what its author intended."""


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, but with an error for content that it would silently change.

    It refuses a key that occurs twice in a mapping, because the first value would be lost, and a word without quotes
    that would become another number or a date.
    """

    def compose_scalar_node(self, anchor: Any) -> yaml.ScalarNode:
        node = super().compose_scalar_node(anchor)
        kind, text = node.tag.rpartition(":")[2], node.value
        other = kind == "timestamp" or (kind == "int" and not _WHOLE.fullmatch(text)) or kind == "value"
        if node.style is None and (other or (kind == "float" and re.search("[:_]", text))):
            problem = f"found {text}, which YAML reads as another value; put it in quotes"
            raise _Refused(problem=problem, problem_mark=node.start_mark)
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        keys = set()
        for key, _ in node.value:
            plain = isinstance(key, yaml.ScalarNode) and not key.tag.endswith(":merge")
            # Python treats 1, 1.0 and true as the same key.
            if (name := self.construct_object(key) if plain else str(key.value)) in keys:
                problem = f"the key {str(key.value)!r} occurs twice; leave one"
                raise _Refused(problem=problem, problem_mark=key.start_mark)
            keys.add(name)
        return node


def read_yaml(path: str | os.PathLike[str]) -> Any:
    """Read a YAML file, or a JSON file by its suffix; return None if it is empty.

    Raises RgwotError if it cannot be read, is not YAML in UTF-8, has a key twice, or has a word without quotes that
    YAML changes: ``001`` becomes 1, ``12:30:00`` becomes 45000, and ``2024-01-02`` becomes a date.
    """
    kind = "JSON" if Path(path).suffix == ".json" else "YAML"
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        return json.loads(text) if kind == "JSON" else _Loader(text).get_single_data()
    except OSError as error:
        raise RgwotError(f"{path}: cannot be read ({error.strerror}); expected a {kind} file") from None
    except UnicodeDecodeError as error:
        raise RgwotError(f"{path}: {error}; expected {kind} in UTF-8; save the file as UTF-8") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        problem = " ".join(str(getattr(error, "problem", None) or error).split())
        reason = problem if isinstance(error, _Refused) else f"not valid YAML ({problem}); correct it"
        raise RgwotError(f"{path}: {line}{reason}") from None
    except (ValueError, OverflowError, RecursionError) as error:
        raise RgwotError(f"{path}: not valid {kind} ({' '.join(str(error).split())}); correct it") from None
