"""A configuration file for a command that a test runs itself."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def config(content: Mapping[str, Any]) -> list[str]:
    """Write a configuration, with the CPU as device, into a file; return the option that names the file."""
    path = Path(tempfile.mkdtemp()) / "config.json"
    path.write_text(json.dumps({"device": "cpu", **content}), encoding="utf-8")
    return ["--config", str(path)]
