"""Writing files so that nothing is ever half written: a temporary name beside the target, then a rename."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success rename it over ``path``, on failure remove it.

    Works for a file and for a directory (an existing directory is replaced as a whole).
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # The suffix is kept because many writers choose the format by it.
    temporary = target.with_name(f".{target.stem}.{uuid.uuid4().hex[:8]}.tmp{target.suffix}")
    try:
        yield temporary
        if temporary.is_dir() and target.is_dir():
            shutil.rmtree(target)
        os.replace(temporary, target)
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


def write_csv(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table with full precision and without its index."""
    with replacing(path) as temporary:
        frame.to_csv(temporary, index=False, lineterminator="\n")


def write_json(content: Any, path: str | os.PathLike[str]) -> None:
    """Write JSON for people: indented, keys in the order given, non-finite numbers refused."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write UTF-8 text."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
