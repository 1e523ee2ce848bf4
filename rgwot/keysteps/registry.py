"""The decoders by name. A new one is a file with a function of this kind, and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from rgwot.keysteps.graphcut import decode_graphcut
from rgwot.keysteps.interface import Decoder
from rgwot.keysteps.kmeans import decode_kmeans

DECODERS: Mapping[str, Decoder] = {
    "graphcut": decode_graphcut,
    "kmeans": decode_kmeans,
}
