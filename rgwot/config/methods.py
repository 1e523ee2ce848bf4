"""What each named method and decoder is, as data.

A method is a family of settings: what it changes against the defaults of `rgwot.config.settings`. Its alignment loss is
looked up by name in `rgwot.losses.registry`, an embedding without an encoder in `rgwot.embedding`, a decoder's
function in `rgwot.keysteps`; a new one is a file there and a line here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Embedding:
    """A way to make embeddings: the blocks of the settings (or single keys) it reads, besides who is held out.

    ``several`` is true where videos are compared with each other, so that one alone is too few.
    """

    name: str
    description: str
    reads: tuple[str, ...] = ()
    several: bool = False

    def takes(self, key: str) -> bool:
        """Whether a dotted key is one that this embedding reads."""
        return key in self.reads or key.split(".")[0] in self.reads


EMBEDDINGS: Mapping[str, Embedding] = {
    embedding.name: embedding
    for embedding in (
        Embedding(
            "encoder", "an encoder trained on pairs of videos", ("ot", "cidm", "loss", "encoder", "train", "data"), True
        ),
        Embedding("pooled", "features averaged over space; nothing is trained"),
        Embedding("whitened", "features conditioned per video and whitened; nothing is trained", ("whiten",)),
        Embedding("regression", "a network that tells the relative time of a frame", ("regression", "data.n_train")),
        Embedding("graph", "a graph of the clips of all videos", ("graph",), True),
        Embedding("none", "no features at all"),
    )
}


@dataclass(frozen=True)
class Family:
    """A named method: what it changes against the defaults, and which of `EMBEDDINGS` it has."""

    name: str
    description: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    embedding: str = "encoder"

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


_PRIOR = ("ot.alpha", "ot.epsilon", "ot.rho", "ot.zeta", "ot.virtual", "ot.prior_time")
_UNTIL = ("ot.max_iterations", "ot.tolerance")
#: What every alignment loss reads of the blocks ``ot`` and ``loss``: the other keys have no effect on it.
ALIGNMENT_READS: Mapping[str, tuple[str, ...]] = {
    "gromov_wasserstein": (*_PRIOR, *_UNTIL, "ot.r", "ot.solver", "loss.tau", "loss.symmetric"),
    "tcc": ("loss.tau", "loss.lambda_v"),
    "gtcc": ("loss.tau", "loss.lambda_v", "loss.components", "loss.eta"),
    "soft_dtw": ("loss.gamma",),
    "kantorovich": (
        "ot.zeta", "ot.sinkhorn", "loss.prior", "loss.phi_rate", "loss.lambda1", "loss.lambda2", "loss.window",
        "loss.weighted_negatives", "loss.lambda_c",
    ),
    "partial": (*_PRIOR, *_UNTIL, "ot.tau_m", "ot.lambda_s", "ot.b", "loss.lambda_c"),
    "none": (),
}  # fmt: skip
_READ_BY_SOME = {key for keys in ALIGNMENT_READS.values() for key in keys}


def without_effect(key: str, alignment: str) -> bool:
    """Whether a dotted key belongs to alignment losses, and this one does not read it."""
    return key in _READ_BY_SOME and key not in ALIGNMENT_READS[alignment]


_TCC: Mapping[str, Any] = {"loss.alignment": "tcc", "encoder.unit_norm": False, "cidm.beta": 0.0}
_CNC: Mapping[str, Any] = {
    **_TCC,
    "cidm.beta": 1.0,
    "cidm.distance": "euclidean",
    "cidm.unit": "native_frames",
    "cidm.sigma": 300.0,
    "cidm.positives": "weighted",
    "cidm.reduction": "video_mean",
}
_VAVA: Mapping[str, Any] = {"loss.alignment": "kantorovich", "encoder.unit_norm": False, "cidm.beta": 0.0}
_OPEL: Mapping[str, Any] = {
    **_VAVA,
    "loss.prior": "laplace",
    "loss.phi_rate": 100.0,
    "loss.weighted_negatives": True,
}
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
            "rgwot-active",
            "RGWOT with a structural prior that acts, both directions",
            overrides={"ot.r": 0.1, "loss.symmetric": True},
        ),
        Family("vaot", "RGWOT without the contrastive term", overrides={"cidm.beta": 0.0}),
        Family("tcc", "temporal cycle consistency", overrides=_TCC),
        Family(
            "gtcc",
            "several cycles per frame and frames that may be dropped; our reading of the abstract",
            overrides={**_TCC, "loss.alignment": "gtcc"},
        ),
        Family(
            "lav",
            "soft dynamic time warping and C-IDM",
            overrides={
                "loss.alignment": "soft_dtw",
                "cidm.beta": 0.5,
                "cidm.unit": "native_frames",
                "cidm.sigma": 10.0,
            },
        ),
        Family("cnc", "TCC and C-IDM, with the gradient of the published formula", overrides=_CNC),
        Family(
            "cnc-released",
            "CnC as its released code computes it: no gradient of C-IDM, so that TCC alone trains",
            overrides={**_CNC, "cidm.gradient": False},
        ),
        Family("vava", "Kantorovich transport with a Gaussian prior, contrast in and between videos", overrides=_VAVA),
        Family("opel", "VAVA with a Laplace prior and weighted negatives", overrides=_OPEL),
        Family("opel-gaussian", "OPEL with VAVA's Gaussian prior", overrides={**_OPEL, "loss.prior": "gaussian"}),
        Family(
            "remap",
            "fused partial transport; our reconstruction, its formulas are not public",
            overrides={"loss.alignment": "partial", "loss.lambda_c": 1.0},
        ),
        Family("cte", "relative time, regressed; then clusters in a fixed order (Kukleva)", embedding="regression"),
        Family("gpl", "UnityGraph and Node2Vec; our reading of the abstract, with background", embedding="graph"),
        Family(
            "gpl-nobg",
            "GPL without the clips that are least similar to other videos; our reading",
            overrides={"graph.background": 0.5},
            embedding="graph",
        ),
        Family(
            "unitygraph",
            "the graph of GPL without Node2Vec: the mean of a clip and its neighbours; our reading",
            overrides={"graph.update": "mean"},
            embedding="graph",
        ),
        Family("raw", "conv4c averaged over space, L2-normalised; nothing is trained", embedding="pooled"),
        Family(
            "rgwot-plus",
            "whitened features of four parts of the picture, time and background where they help; nothing is trained",
            overrides={"whiten.grid": 2, "decode.time": "auto", "decode.surplus": "auto"},
            embedding="whitened",
        ),
        Family(
            "whitened",
            "features standardised per video, smoothed and whitened over the task; nothing is trained",
            embedding="whitened",
        ),
        Family("none", "no features at all, for the trivial answers", embedding="none"),
    )
}
_CMEANS = ("decode.m", "decode.start", "decode.restarts", "decode.max_iterations", "decode.tolerance")
_GRAPHCUT = (
    "graphcut.unary",
    "graphcut.unary_per",
    "graphcut.pairwise",
    "graphcut.metric",
    "graphcut.solver",
)
_MEANFIELD = tuple(
    f"meanfield.{key}"
    for key in (
        "alpha", "epsilon", "lambda", "lambda_video", "window", "inner", "max_iterations", "tolerance", "restarts",
    )
)  # fmt: skip
# What every decoder that reads embeddings understands: it is done to what goes in and what comes out.
_ANY = ("decode.K", "decode.time", "decode.surplus")
DECODERS: Mapping[str, Decoder] = {
    decoder.name: decoder
    for decoder in (
        Decoder("graphcut", "fuzzy C-means, then a graph cut on the temporal chain", _ANY + _CMEANS + _GRAPHCUT),
        Decoder("kmeans", "k-means, no smoothing", _ANY),
        Decoder("subset", "K representatives among k-means centres", (*_ANY, "decode.centres", "decode.restarts")),
        Decoder("spectral", "spectral clustering, affinity of HiERO", _ANY),
        Decoder("viterbi", "clusters in one order for all videos, as CTE", (*_ANY, "decode.background")),
        Decoder(
            "meanfield",
            "a mean-field chain with re-estimated centres and even shares",
            _ANY + _MEANFIELD,
        ),
        Decoder(
            "consensus",
            "a mean-field segmentation of what many others agree on",
            (*_ANY, *_MEANFIELD, "consensus.partitions", "consensus.rounds", "consensus.D"),
        ),
        Decoder("one_label", "one key step everywhere", ("decode.K",), trivial=True),
        Decoder("uniform", "K equal segments", ("decode.K",), trivial=True),
        Decoder("random", "an independent uniform label per scored frame", ("decode.K",), trivial=True),
    )
}


def method_pattern(*embeddings: str) -> str:
    """Return a regular expression of the ids of all methods whose embedding is one of these."""
    names = sorted(family.name for family in FAMILIES.values() if family.embedding in embeddings)
    return f"(?:{'|'.join(names)})(?:@[^/]+)?"
