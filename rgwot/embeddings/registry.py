"""The embeddings without an encoder by name, each imported when it is fitted.

A new one is a file with a function of this kind, and a line here.
"""

from __future__ import annotations

from collections.abc import Mapping

from rgwot.embeddings.interface import Fit
from rgwot.lazy import lazily

FITS: Mapping[str, Fit] = {
    "pooled": lazily("rgwot.embeddings.pooled:fit_pooled"),
    "whitened": lazily("rgwot.embeddings.whitened:fit_whitened"),
    "regression": lazily("rgwot.embeddings.regression:fit_regression"),
    "graph": lazily("rgwot.embeddings.graph:fit_graph"),
}
