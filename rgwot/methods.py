"""What each named method and decoder is, as data.

A method is a family of settings: what it changes against the defaults of `rgwot.settings`. Its alignment loss is
looked up by name in `rgwot.losses.alignments`, a decoder's function in `rgwot.keysteps`; a new one is a file there and
a line here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Embedding = Literal["encoder", "pooled", "none"]


@dataclass(frozen=True)
class Family:
    """A named method: what it changes against the defaults, and what makes its embedding.

    ``embedding`` is ``encoder`` (trained on pairs of videos), or something fitted without it.
    """

    name: str
    description: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    embedding: Embedding = "encoder"

    @property
    def trained(self) -> bool:
        """Whether an encoder is trained on pairs of videos."""
        return self.embedding == "encoder"


@dataclass(frozen=True)
class Decoder:
    """A named decoder: which keys it reads, and whether it reads embeddings or only the manifest."""

    name: str
    description: str
    keys: tuple[str, ...]
    trivial: bool = False


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        Family("rgwot", "the paper, our reading where it is silent"),
        Family(
            "rgwot-parity",
            "what the public code computes, on frozen features",
            overrides={
                "ot.solver": "parity",
                "cidm.unit": "native_frames",
                "cidm.sigma": 300.0,
                "cidm.reduction": "sum",
                "encoder.batch_norm": "per_video",
                "decode.m": 2.0,
                "decode.start": "random",
                "decode.restarts": 1,
                "graphcut.metric": "linear",
                "graphcut.unary": 0.2,
                "graphcut.unary_per": "sample",
            },
        ),
        Family(
            "rgwot-plus",
            "an active structural prior, both directions",
            overrides={"ot.r": 0.1, "loss.symmetric": True},
        ),
        Family("vaot", "RGWOT without the contrastive term", overrides={"cidm.beta": 0.0}),
        Family("raw", "conv4c averaged over space, L2-normalised; nothing is trained", embedding="pooled"),
        Family("none", "no features at all, for the trivial answers", embedding="none"),
    )
}
_CMEANS = ("decode.K", "decode.m", "decode.start", "decode.restarts", "decode.max_iterations", "decode.tolerance")
_GRAPHCUT = (
    "graphcut.unary",
    "graphcut.unary_per",
    "graphcut.pairwise",
    "graphcut.metric",
    "graphcut.solver",
)
DECODERS: Mapping[str, Decoder] = {
    decoder.name: decoder
    for decoder in (
        Decoder("graphcut", "fuzzy C-means, then a graph cut on the temporal chain", _CMEANS + _GRAPHCUT),
        Decoder("kmeans", "k-means, no smoothing", ("decode.K",)),
        Decoder("one_label", "one key step everywhere", ("decode.K",), trivial=True),
        Decoder("uniform", "K equal segments", ("decode.K",), trivial=True),
        Decoder("random", "an independent uniform label per scored frame", ("decode.K",), trivial=True),
    )
}
