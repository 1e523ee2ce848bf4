"""The decoders by name, each imported when it runs. A new one is a file with such a function, and a line here."""

from __future__ import annotations

from collections.abc import Mapping

from rgwot.keysteps.interface import Decoder
from rgwot.runtime.lazy import lazily

DECODERS: Mapping[str, Decoder] = {
    "graphcut": lazily("rgwot.keysteps.graphcut:decode_graphcut"),
    "kmeans": lazily("rgwot.keysteps.kmeans:decode_kmeans"),
    "subset": lazily("rgwot.keysteps.subset:decode_subset"),
    "spectral": lazily("rgwot.keysteps.spectral:decode_spectral"),
    "viterbi": lazily("rgwot.keysteps.viterbi:decode_viterbi"),
    "consensus": lazily("rgwot.keysteps.consensus:decode_consensus"),
    "meanfield": lazily("rgwot.keysteps.meanfield:decode_meanfield"),
}
