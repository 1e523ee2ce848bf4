"""The embeddings without an encoder by name, each imported when it is fitted.

A new one is a file with a function of this kind, and a line here.
"""

from __future__ import annotations

from collections.abc import Mapping

from rgwot.embedding.interface import Fit
from rgwot.runtime.lazy import lazily

FITS: Mapping[str, Fit] = {
    "pooled": lazily("rgwot.embedding.pooled:fit_pooled"),
    "whitened": lazily("rgwot.embedding.whitened:fit_whitened"),
    "regression": lazily("rgwot.embedding.regression:fit_regression"),
    "graph": lazily("rgwot.embedding.graph:fit_graph"),
}
