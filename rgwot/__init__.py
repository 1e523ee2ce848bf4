"""Procedure learning from unlabelled videos by regularised Gromov-Wasserstein optimal transport (RGWOT).

`discover` finds the key steps of arrays of features and returns a `Discovery`, which also labels other videos;
`ProcedureLearner` is the same as a scikit-learn estimator. `load` reads a saved result, and `how_many` grows the tree
for choosing the number of key steps. `example` makes recordings for a first trial, and `extend` adds methods of your
own. Everything else is imported from its own module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rgwot.choosing import how_many
    from rgwot.config.extensions import Extension, extend
    from rgwot.discovery import discover
    from rgwot.estimator import ProcedureLearner
    from rgwot.loading import load
    from rgwot.result import Discovery
    from rgwot.runtime.errors import RgwotError
    from rgwot.synthetic.sensors import Example, example

__version__ = "0.2.0"

__all__ = [
    "Discovery",
    "Example",
    "Extension",
    "ProcedureLearner",
    "RgwotError",
    "__version__",
    "discover",
    "example",
    "extend",
    "how_many",
    "load",
]

# Every job of the workflow imports this package. To keep this fast, a module is imported only when one of its names is
# used.
_HOMES = {
    "Discovery": "result",
    "discover": "discovery",
    "ProcedureLearner": "estimator",
    "Example": "synthetic.sensors",
    "example": "synthetic.sensors",
    "Extension": "config.extensions",
    "extend": "config.extensions",
    "RgwotError": "runtime.errors",
    "how_many": "choosing",
    "load": "loading",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
