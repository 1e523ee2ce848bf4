"""Functions imported by name when they are called, so that a job loads only what it runs."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load(place: str) -> Any:
    """Import ``module:name``.

    >>> load("math:gcd")(12, 18)
    6
    """
    module, name = place.split(":")
    return getattr(import_module(module), name)
