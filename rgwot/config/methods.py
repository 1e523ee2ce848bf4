"""Methods and decoders by name, as data.

A method is a family of settings: changes to the defaults of `rgwot.config.settings`. Alignment losses, embeddings and
decoders are found by what their own files say (`rgwot.config.about`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rgwot.config.about import About, described


@dataclass(frozen=True)
class Embedding(About):
    """A way to make embeddings; ``several`` if it compares videos with each other, so that it takes two at least."""

    several: bool = False


@dataclass(frozen=True)
class Decoder(About):
    """A way to make key steps from embeddings, or if ``trivial`` without any."""

    trivial: bool = False


EMBEDDINGS: Mapping[str, Embedding] = {
    "encoder": Embedding(
        "encoder",
        "an encoder trained on pairs of videos",
        reads=("ot", "loss", "cidm", "encoder", "train", "data"),
        several=True,
    ),
    **described("embedding", Embedding),
    "none": Embedding("none", "no features at all"),
}


@dataclass(frozen=True)
class Family:
    """A named method: its changes to the defaults, and one of `EMBEDDINGS`."""

    name: str
    description: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    embedding: str = "encoder"

    @property
    def trained(self) -> bool:
        """Whether an encoder is trained on pairs of videos."""
        return self.embedding == "encoder"


ALIGNMENTS: Mapping[str, About] = described("losses", About)
_READ_BY_SOME = {key for alignment in ALIGNMENTS.values() for key in alignment.reads}


def without_effect(key: str, alignment: str) -> bool:
    """Whether a dotted key belongs to alignment losses, and this one does not read it."""
    return key in _READ_BY_SOME and key not in ALIGNMENTS[alignment].reads


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
    "ot.last": "columns",
    "loss.prior": "laplace",
    "loss.phi_rate": 100.0,
    "loss.count_from": 1,
    "loss.weighted_negatives": True,
}
_LISTED = (
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
            "graphcut.unary_per": "frame_pair",
            "graphcut.joined": True,
        },
    ),
    Family(
        "rgwot-active",
        "RGWOT with a structural prior that acts, both directions",
        overrides={"ot.r": 0.1, "loss.symmetric": True},
    ),
    Family(
        "rgwot-whitened",
        "RGWOT on whitened features, with a window in shares of a video, beside those features",
        overrides={
            "encoder.input_norm": "whitened",
            "encoder.beside": 0.8,
            "cidm.unit": "share",
            "cidm.sigma": 0.02,
        },
    ),
    Family("vaot", "RGWOT without the contrastive term", overrides={"cidm.beta": 0.0}),
    Family("tcc", "temporal cycle consistency", overrides=_TCC),
    Family(
        "gtcc",
        "several cycles per frame and frames that may be dropped, as released, on sampled frames",
        overrides={**_TCC, "loss.alignment": "gtcc", "train.clip": 1.0},
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
        "CnC with two traits of its released loss: C-IDM without gradient, TCC with norms added entry by entry",
        overrides={**_CNC, "cidm.gradient": False, "loss.distance": "elementwise"},
    ),
    Family("vava", "Kantorovich transport with a Gaussian prior, contrast in and between videos", overrides=_VAVA),
    Family("opel", "VAVA with a Laplace prior and weighted negatives", overrides=_OPEL),
    Family("opel-gaussian", "OPEL with VAVA's Gaussian prior", overrides={**_OPEL, "loss.prior": "gaussian"}),
    Family(
        "remap",
        "fused partial transport; our reconstruction, its second version was not at hand",
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
        "whitened features of four parts of the picture, how they move, time where it helps; nothing is trained",
        overrides={
            "whiten.grid": 2,
            "whiten.speed": True,
            "whiten.variability": "apart",
            "consensus.blocks": 2,
            "decode.time": "auto",
        },
        embedding="whitened",
    ),
    Family(
        "whitened",
        "features standardised per video, smoothed and whitened over the task; nothing is trained",
        embedding="whitened",
    ),
    Family("none", "no features at all, for the trivial answers", embedding="none"),
)
_EMBEDDED = {family.embedding for family in _LISTED}
FAMILIES: Mapping[str, Family] = {
    **{family.name: family for family in _LISTED},
    # An embedding that no method above has is a method itself.
    **{
        name: Family(name, about.description, embedding=name)
        for name, about in EMBEDDINGS.items()
        if name not in _EMBEDDED
    },
}
#: Ways to learn the procedure (`rgwot.procedure.LEARNERS`) in a few words, the default first.
LEARNERS: Mapping[str, str] = {
    "robust": "ours, for people who err and key steps that were found",
    "precedence": "before in most videos",
    "intersection": "before in all videos",
    "likelihood": "direct optimisation",
    "transitions": "what directly follows what",
    "chain": "one order",
}
#: The decoder that writes the annotations.
ANNOTATED = "annotated"
# Keys of every decoder that reads embeddings, which act on its input and output.
_ANY = ("decode.K", "decode.time", "decode.surplus", "procedure")
DECODERS: Mapping[str, Decoder] = {
    **{name: replace(about, reads=_ANY + about.reads) for name, about in described("keysteps", Decoder).items()},
    **{
        name: Decoder(name, description, reads=("decode.K", "procedure"), trivial=True)
        for name, description in (
            ("one_label", "one key step everywhere"),
            ("uniform", "K equal segments"),
            ("random", "an independent uniform label per scored frame"),
        )
    },
    # No answer, but what answers are compared with, in the same files.
    ANNOTATED: Decoder(ANNOTATED, "the annotated key steps themselves", reads=("procedure",), trivial=True),
}


def method_pattern(*embeddings: str) -> str:
    """Return a regular expression of the ids of all methods with one of these embeddings."""
    names = sorted(family.name for family in FAMILIES.values() if family.embedding in embeddings)
    return f"(?:{'|'.join(names)})(?:@[^/]+)?"
