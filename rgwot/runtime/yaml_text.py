"""Reading YAML and JSON, with one-line errors."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import yaml

from rgwot.runtime.errors import RgwotError


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, which refuses a key that occurs twice in a mapping instead of forgetting the first."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if (name := (key.tag, str(key.value))) in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {name[1]!r} occurs twice", problem_mark=key.start_mark)
            seen.add(name)
        return node


def read_yaml(path: str | os.PathLike[str]) -> Any:
    """Read a YAML file, or a JSON file by its suffix; return None if it is empty.

    Raises RgwotError if it cannot be read, is not YAML in UTF-8, or has a key twice.
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
        raise RgwotError(f"{path}: {line}not valid YAML ({problem}); correct it") from None
    except (ValueError, OverflowError, RecursionError) as error:
        raise RgwotError(f"{path}: not valid {kind} ({' '.join(str(error).split())}); correct it") from None
