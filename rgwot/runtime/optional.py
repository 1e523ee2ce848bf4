"""Packages that an installation may lack: those of extras, and those that a packager leaves out."""

from __future__ import annotations

import importlib
from typing import Any

from rgwot.runtime.errors import RgwotError


def optional(module: str, needed_by: object, remedy: str) -> Any:
    """Import a module; RgwotError, with what needs it and the remedy, where its package is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise RgwotError(f"{needed_by}: needs {package}, which is not installed; {remedy}") from None
