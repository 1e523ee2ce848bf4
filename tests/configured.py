"""A configuration for a verb that a test calls by hand."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def config(content: Mapping[str, Any]) -> list[str]:
    """Return the option with a file of this configuration; nothing runs on a GPU."""
    path = Path(tempfile.mkdtemp()) / "config.json"
    path.write_text(json.dumps({"device": "cpu", **content}), encoding="utf-8")
    return ["--config", str(path)]
