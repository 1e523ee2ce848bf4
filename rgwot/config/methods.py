"""Methods, losses and decoders by name.

Each is a model with its own keys (`rgwot.blocks.Model`) in the ``settings.py`` of its package. A method is an embedding
under a name of its own, with other values of some settings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rgwot.baselines.settings import Graph, Kantorovich, Regression, Spectral, Subset, Tcc, Viterbi
from rgwot.embedding.settings import Embedding, Featureless, Pooled, TrainedEncoder, Whitened
from rgwot.keysteps.settings import (
    Annotations,
    Consensus,
    Decoder,
    Graphcut,
    Kmeans,
    Labelled,
    Meanfield,
    OneLabel,
    Random,
    Uniform,
)
from rgwot.losses.settings import LOSSES

#: The form of a name in an experiment id.
NAME_PATTERN = re.compile(r"[a-z][a-z0-9_-]*")


@dataclass(frozen=True)
class Family:
    """A named method: an embedding, and the dotted keys that it sets in place of the values in ``config.yaml``."""

    name: str
    description: str
    sets: Mapping[str, object] = field(default_factory=dict)
    embedding: type[Embedding] = TrainedEncoder

    @property
    def trained(self) -> bool:
        """Whether an encoder is trained on pairs of videos."""
        return issubclass(self.embedding, TrainedEncoder)


LOSSES |= {loss.NAME: loss for loss in (Tcc, Kantorovich)}

_TCC: Mapping[str, object] = {"loss.alignment": "tcc", "encoder.unit_norm": False, "cidm.beta": 0.0}
_CNC: Mapping[str, object] = {
    **_TCC,
    "cidm.beta": 0.5,  # 1 in CnC, which averages C-IDM over the two videos
    "cidm.distance": "euclidean",
    "cidm.unit": "native_frames",
    "cidm.sigma": 300.0,
    "cidm.positives": "weighted",
}
_VAVA: Mapping[str, object] = {"loss.alignment": "kantorovich", "encoder.unit_norm": False, "cidm.beta": 0.0}
_OPEL: Mapping[str, object] = {
    **_VAVA,
    "ot.last": "columns",
    "loss.prior": "laplace",
    "loss.phi_rate": 100.0,
    "loss.count_from": 1,
    "loss.weighted_negatives": True,
}
_LISTED = (
    Family(
        "rgwot",
        "the paper, except as listed in methods 7: C-IDM as in its code with beta = 1/32, the virtual frame as a cost",
    ),
    Family(
        "rgwot-parity",
        "what the public code computes, on frozen features",
        sets={
            "ot.solver": "parity",
            "cidm.beta": 1.0,
            "cidm.unit": "native_frames",
            "cidm.sigma": 300.0,
            "cidm.over_n": True,
            "encoder.batch_norm": "per_video",
            "graphcut.m": 2.0,
            "graphcut.start": "random",
            "graphcut.restarts": 1,
            "subset.restarts": 1,
            "graphcut.metric": "linear",
            "graphcut.unary": 0.2,
            "graphcut.unary_per": "frame_pair",
            "graphcut.joined": True,
        },
    ),
    Family(
        "rgwot-literal",
        "C-IDM as printed: plain distances, positions of the sampled frames as times, a sum over frames",
        sets={
            "cidm.beta": 1.0,
            "cidm.distance": "euclidean",
            "cidm.unit": "positions",
            "cidm.sigma": 300.0,
            "cidm.weight": "time",
            "cidm.positives": "weighted",
        },
    ),
    Family(
        "rgwot-active",
        "RGWOT with an active structural prior and the loss in both directions",
        sets={"ot.r": 0.1, "loss.symmetric": True},
    ),
    Family(
        "rgwot-whitened",
        "RGWOT trained on whitened features and combined with them; better than `rgwot` on vectors",
        sets={
            "encoder.input_norm": "whitened",
            "encoder.beside": 0.8,
            "cidm.unit": "share",
            "cidm.sigma": 0.02,
        },
    ),
    Family("vaot", "RGWOT without the contrastive term", sets={"cidm.beta": 0.0}),
    Family("tcc", "temporal cycle consistency", sets=_TCC),
    Family("cnc", "TCC and C-IDM, with the gradient of the published formula", sets=_CNC),
    Family(
        "cnc-released",
        "CnC with two properties of its released loss: C-IDM has no gradient, TCC adds norms entry by entry",
        sets={**_CNC, "cidm.gradient": False, "loss.distance": "elementwise"},
    ),
    Family("vava", "Kantorovich transport with a Gaussian prior, contrast within and between videos", sets=_VAVA),
    Family("opel", "VAVA with a Laplace prior and weighted negatives", sets=_OPEL),
    Family(
        "cte",
        "a network that predicts relative time (Kukleva et al.); its decoder is `viterbi`",
        embedding=Regression,
    ),
    Family("gpl", "a graph of clips with Node2Vec; our reading of the abstract", embedding=Graph),
    Family(
        "gpl-nobg",
        "GPL without the clips that are least similar to other videos, which are background; our reading",
        sets={"graph.background": 0.5},
        embedding=Graph,
    ),
    Family(
        "unitygraph",
        "the graph of GPL without Node2Vec: means of clips and their neighbours; our reading",
        sets={"graph.update": "mean"},
        embedding=Graph,
    ),
    Family("raw", "features averaged over space, scaled to length 1; no training", embedding=Pooled),
    Family(
        "rgwot-plus",
        "whitened features of four parts of the picture and their motion; with `consensus` this is RGWOT+; no training",
        sets={
            "whiten.grid": 2,
            "whiten.speed": True,
            "whiten.variability": "apart",
            "consensus.blocks": 2,
            "decode.time": "auto",
        },
        embedding=Whitened,
    ),
    Family(
        "whitened",
        "features standardised per video, smoothed and whitened over the task; no training",
        embedding=Whitened,
    ),
    Family("none", "no features, for trivial baselines and annotations", embedding=Featureless),
)
FAMILIES: dict[str, Family] = {family.name: family for family in _LISTED}
#: All decoders: first those that read no embeddings.
DECODERS: dict[str, type[Decoder]] = {
    decoder.NAME: decoder
    for decoder in (
        OneLabel, Uniform, Random, Annotations,
        Graphcut, Kmeans, Subset, Spectral, Viterbi, Meanfield, Consensus, Labelled,
    )
}  # fmt: skip


def method_pattern(belongs: Callable[[Family], bool]) -> str:
    """Return a regular expression that matches the ids of the methods for which ``belongs`` is true."""
    names = sorted(name for name, family in FAMILIES.items() if belongs(family))
    return f"(?:{'|'.join(names)})(?:@[^/]+)?"
