"""Functions imported by name when they are called, so that a job loads only the method it runs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def load(place: str) -> Any:
    """Import ``module:name``.

    >>> load("math:gcd")(12, 18)
    6
    """
    module, name = place.split(":")
    return getattr(import_module(module), name)


def lazily(place: str) -> Callable[..., Any]:
    """Return a function that stands for ``module:function`` and imports it at its first call."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return load(place)(*args, **kwargs)

    function.__qualname__ = function.__name__ = place.rpartition(":")[2]
    return function
