"""Losses, embeddings, decoders and methods by name, as data.

An entry names its function and the blocks of settings that the function takes. A method is a family of settings:
changes to the defaults of `rgwot.config.settings`, and the embedding to which they belong.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from rgwot.baselines.settings import (
    GraphSettings,
    KantorovichLossSettings,
    KantorovichTransportSettings,
    RegressionSettings,
    SubsetSettings,
    TccSettings,
    ViterbiSettings,
)
from rgwot.blocks import Block
from rgwot.embedding.settings import DataSettings, DrawnVideosSettings, EncoderSettings, TrainSettings, WhitenSettings
from rgwot.keysteps.settings import (
    ANNOTATED,
    LABELLED,
    ConsensusSettings,
    FuzzySettings,
    GraphcutSettings,
    KeyStepSettings,
    LabelledSettings,
    MeanfieldSettings,
    NumberSettings,
    ProcedureSettings,
)
from rgwot.losses.settings import CidmSettings, CrossEntropySettings, FusedGromovWassersteinSettings
from rgwot.runtime.errors import extras, nearest

#: Names as they may stand in an experiment id.
NAME_PATTERN = re.compile(r"[a-z][a-z0-9_-]*")

FunctionOrPath = str | Callable[..., Any]
"""A function, or ``module:name``, which is imported when it is needed."""


@dataclass(frozen=True)
class Entry:
    """A function by name, and metadata that planning reads without importing it.

    Attributes
    ----------
    function
        The function or its place; empty where nothing is called.
    description, source
        What it does and where it comes from, in a few words.
    settings
        Blocks of settings, or parts of blocks, that the function takes as its last arguments, in this order.
    """

    function: FunctionOrPath
    description: str
    source: str = ""
    settings: tuple[type[Block], ...] = ()

    def dotted(self) -> tuple[str, ...]:
        """Return the dotted keys that its function takes."""
        return tuple(dict.fromkeys(key for part in self.settings for key in part.dotted()))

    @cached_property
    def _taken(self) -> frozenset[str]:
        return frozenset(self.dotted())

    def takes(self, key: str) -> bool:
        """Return whether a dotted key affects it."""
        return key in self._taken

    def load(self) -> Any:
        """Import the function."""
        return load(self.function)

    def bound(self, settings: Any, place: FunctionOrPath = "") -> Callable[..., Any]:
        """Return the function, or the one at ``place``, with the entry's blocks of ``settings`` as last arguments."""
        function, blocks = load(place or self.function), [getattr(settings, part.BLOCK) for part in self.settings]
        return lambda *given, **more: function(*given, *blocks, **more)


def load(place: FunctionOrPath) -> Any:
    """Return the object that ``module:name`` names; anything but a text is returned unchanged.

    >>> load("math:gcd")(12, 18)
    6
    """
    if not isinstance(place, str):
        return place
    module, name = place.split(":")
    with extras(name):
        return getattr(import_module(module), name)


def blocks(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return the names of the blocks of settings that any of the entries takes."""
    return tuple(dict.fromkeys(part.BLOCK for entry in entries for part in entry.settings))


@dataclass(frozen=True)
class Loss(Entry):
    """An alignment loss (`rgwot.losses.interface.Alignment`).

    ``learned`` makes the module that the loss trains besides the encoder, if any.
    """

    learned: FunctionOrPath = ""


@dataclass(frozen=True)
class Embedding(Entry):
    """A way to make embeddings (`rgwot.embedding.interface.Fit`).

    ``restore`` embeds other videos with the learned state; ``several`` is true if it compares videos with each other,
    and therefore needs at least two.
    """

    restore: FunctionOrPath = ""
    several: bool = False


@dataclass(frozen=True)
class Decoder(Entry):
    """A way to make key steps from embeddings (`rgwot.keysteps.interface.Decode`); without them if ``trivial``.

    ``restore`` labels other videos with the learned state; ``overrides`` are the decoder's changes to the defaults. A
    decoder runs with a second seed to test whether two seeds agree, unless it is ``slow`` or returns two labellings.
    With ``labels``, it learns from annotated videos (`rgwot.keysteps.interface.Frames`) and finds their key steps.
    """

    restore: FunctionOrPath = ""
    trivial: bool = False
    slow: bool = False
    labels: bool = False
    overrides: Mapping[str, Any] = field(default_factory=dict)

    def dotted(self) -> tuple[str, ...]:
        """Return the dotted keys that its function takes, and the keys that affect every decoder.

        Decoders that take the key steps from annotations have no K.
        """
        common = NumberSettings.dotted() if self.trivial else KeyStepSettings.dotted()
        if self.labels or self is TRIVIAL[ANNOTATED]:
            common = ()
        return (*common, *ProcedureSettings.dotted(), *super().dotted())


LOSSES: dict[str, Loss] = {
    "gromov_wasserstein": Loss(
        "rgwot.losses.cross_entropy:align_gromov_wasserstein",
        "cross-entropy with a regularised fused Gromov-Wasserstein plan",
        "RGWOT, WACV 2026",
        (FusedGromovWassersteinSettings, CrossEntropySettings),
    ),
    "tcc": Loss(
        "rgwot.baselines.tcc:align_tcc",
        "temporal cycle consistency",
        "TCC",
        (TccSettings,),
    ),
    "kantorovich": Loss(
        "rgwot.baselines.kantorovich:align_kantorovich",
        "transport with a prior on the matches, contrast within and between videos",
        "VAVA, OPEL",
        (KantorovichTransportSettings, KantorovichLossSettings),
    ),
    "none": Loss("rgwot.losses.interface:align_none", "none, C-IDM trains alone"),
}  # fmt: skip


#: Former methods and losses of the library, now files of `benchmarks/peers`.
MOVED: Mapping[str, str] = {"gtcc": "gtcc", "lav": "lav", "soft_dtw": "lav"}


def moved(name: str) -> str:
    """Return how to get a method or loss that has left the library, or an empty text for any other name."""
    if name not in MOVED:
        return ""
    module = MOVED[name]
    return (
        f"an extension now: copy benchmarks/peers/{module}.py from the source repository and add extensions: "
        f"[{module}.py] to config.yaml (in Python: import {module}; rgwot.extend({module}.EXTENSION))"
    )


class TransportSettings(KantorovichTransportSettings, FusedGromovWassersteinSettings):
    """Transport between the frames of two videos (methods 3.3 to 3.5, 4.5 to 4.7)."""


def _known_loss(name: str) -> str:
    if name not in LOSSES:
        raise ValueError(f"not known; {moved(name) or nearest(name, LOSSES)}")
    return name


class LossSettings(KantorovichLossSettings, TccSettings, CrossEntropySettings):
    """Alignment loss (methods 3.6, 4.2 to 4.7)."""

    alignment: Annotated[str, AfterValidator(_known_loss), Field(json_schema_extra={"enum": [*LOSSES]})] = Field(
        "gromov_wasserstein", description="alignment loss; none trains with C-IDM alone"
    )


class DecodeSettings(ViterbiSettings, SubsetSettings, FuzzySettings, KeyStepSettings):
    """Clustering of embeddings (methods 5)."""


@dataclass(frozen=True)
class Family:
    """A named method: its changes to the defaults, and one of `EMBEDDING_KINDS`."""

    name: str
    description: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    embedding: str = "encoder"

    @property
    def trained(self) -> bool:
        """Return whether an encoder is trained on pairs of videos."""
        return self.embedding == "encoder"

    def takes(self, key: str) -> bool:
        """Return whether the embedding or, if an encoder is trained, any alignment loss reads a dotted key."""
        losses = LOSSES.values() if self.trained else ()
        return EMBEDDING_KINDS[self.embedding].takes(key) or any(loss.takes(key) for loss in losses)


def without_effect(key: str, alignment: str) -> bool:
    """Return whether other alignment losses read a dotted key, but the loss ``alignment`` does not."""
    return any(loss.takes(key) for loss in LOSSES.values()) and not LOSSES[alignment].takes(key)


_TCC: Mapping[str, Any] = {"loss.alignment": "tcc", "encoder.unit_norm": False, "cidm.beta": 0.0}
_CNC: Mapping[str, Any] = {
    **_TCC,
    "cidm.beta": 0.5,  # 1 in CnC, which averages C-IDM over the two videos
    "cidm.distance": "euclidean",
    "cidm.unit": "native_frames",
    "cidm.sigma": 300.0,
    "cidm.positives": "weighted",
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
    Family(
        "rgwot",
        "the paper but for the table of methods 7: C-IDM as in its code with beta = 1/32, the virtual frame as a cost",
    ),
    Family(
        "rgwot-parity",
        "what the public code computes, on frozen features",
        overrides={
            "ot.solver": "parity",
            "cidm.beta": 1.0,
            "cidm.unit": "native_frames",
            "cidm.sigma": 300.0,
            "cidm.over_n": True,
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
        "rgwot-literal",
        "C-IDM as printed: plain distances, positions of the sampled frames as times, a sum over frames",
        overrides={
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
        overrides={"ot.r": 0.1, "loss.symmetric": True},
    ),
    Family(
        "rgwot-whitened",
        "RGWOT trained on whitened features and combined with them; better than `rgwot` on vectors",
        overrides={
            "encoder.input_norm": "whitened",
            "encoder.beside": 0.8,
            "cidm.unit": "share",
            "cidm.sigma": 0.02,
        },
    ),
    Family("vaot", "RGWOT without the contrastive term", overrides={"cidm.beta": 0.0}),
    Family("tcc", "temporal cycle consistency", overrides=_TCC),
    Family("cnc", "TCC and C-IDM, with the gradient of the published formula", overrides=_CNC),
    Family(
        "cnc-released",
        "CnC with two properties of its released loss: C-IDM has no gradient, TCC adds norms entry by entry",
        overrides={**_CNC, "cidm.gradient": False, "loss.distance": "elementwise"},
    ),
    Family("vava", "Kantorovich transport with a Gaussian prior, contrast within and between videos", overrides=_VAVA),
    Family("opel", "VAVA with a Laplace prior and weighted negatives", overrides=_OPEL),
    Family(
        "cte",
        "a network that predicts relative time (Kukleva et al.); its decoder is `viterbi`",
        embedding="regression",
    ),
    Family("gpl", "a graph of clips with Node2Vec; our reading of the abstract", embedding="graph"),
    Family(
        "gpl-nobg",
        "GPL without the clips that are least similar to other videos, which are background; our reading",
        overrides={"graph.background": 0.5},
        embedding="graph",
    ),
    Family(
        "unitygraph",
        "the graph of GPL without Node2Vec: means of clips and their neighbours; our reading",
        overrides={"graph.update": "mean"},
        embedding="graph",
    ),
    Family("raw", "features averaged over space, scaled to length 1; no training", embedding="pooled"),
    Family(
        "rgwot-plus",
        "whitened features of four parts of the picture and their motion; with `consensus` this is RGWOT+; no training",
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
        "features standardised per video, smoothed and whitened over the task; no training",
        embedding="whitened",
    ),
    Family("none", "no features, for trivial baselines and annotations", embedding="none"),
)
EMBEDDING_KINDS: dict[str, Embedding] = {
    "encoder": Embedding(
        "",
        "an encoder trained on pairs of videos",
        settings=(TransportSettings, LossSettings, CidmSettings, EncoderSettings, TrainSettings, DataSettings),
        several=True,
    ),
    "pooled": Embedding(
        "rgwot.embedding.interface:fit_pooled",
        "features averaged over space; nothing is trained",
        restore="rgwot.embedding.interface:restore_pooled",
    ),
    "whitened": Embedding(
        "rgwot.embedding.whitened:fit_whitened",
        "features conditioned per video and whitened; nothing is trained",
        "ours",
        (WhitenSettings,),
        restore="rgwot.embedding.whitened:restore_whitened",
    ),
    "regression": Embedding(
        "rgwot.baselines.regression:fit_regression",
        "a network that tells the relative time of a frame",
        "Kukleva et al., CVPR 2019",
        (RegressionSettings, DrawnVideosSettings),
        restore="rgwot.baselines.regression:restore_regression",
    ),
    "graph": Embedding(
        "rgwot.baselines.graph:fit_graph",
        "a graph of the clips of all videos",
        "Bansal et al., WACV 2024; our reading of the abstract",
        (GraphSettings,),
        restore="rgwot.baselines.graph:restore_graph",
        several=True,
    ),
    "none": Embedding("", "no features at all"),
}
FAMILIES: dict[str, Family] = {family.name: family for family in _LISTED}


def _clustering(
    place: str, description: str, source: str = "", settings: tuple[type[Block], ...] = (), **facts: Any
) -> Decoder:
    """Return the entry of the decoder in a module ``package.x``, with its functions ``decode_x`` and ``restore_x``.

    ``facts`` are further fields of `Decoder`; ``restore`` is an empty text if the decoder cannot label other videos.
    """
    module, name = f"rgwot.{place}", place.rpartition(".")[2]
    facts.setdefault("restore", f"{module}:restore_{name}")
    return Decoder(f"{module}:decode_{name}", description, source, settings, **facts)


#: Decoders that read no embeddings.
TRIVIAL: dict[str, Decoder] = {
    "one_label": Decoder("", "one key step everywhere; with `none`", trivial=True),
    "uniform": Decoder("", "K equal segments; with `none`", trivial=True),
    "random": Decoder("", "an independent uniform label per scored frame; with `none`", trivial=True),
    # Not a prediction: it writes the annotations to the files of a prediction, so that they can be compared.
    ANNOTATED: Decoder("", "the annotations as an answer; with `none`", trivial=True),
}
#: Decoders that read embeddings.
CLUSTERING: dict[str, Decoder] = {
    "graphcut": _clustering(
        "keysteps.graphcut",
        "fuzzy C-means, then a graph cut on the temporal chain",
        "RGWOT, WACV 2026",
        (FuzzySettings, GraphcutSettings),
    ),
    "kmeans": _clustering("keysteps.kmeans", "k-means without smoothing"),
    "subset": _clustering("baselines.subset", "K representatives among k-means centres", settings=(SubsetSettings,)),
    "spectral": _clustering("baselines.spectral", "spectral clustering with the affinity of HiERO", "HiERO", slow=True),
    "viterbi": _clustering(
        "baselines.viterbi",
        "clusters in one order for all videos, as in CTE",
        "Kukleva et al., CVPR 2019",
        (ViterbiSettings,),
        slow=True,
    ),
    "meanfield": _clustering(
        "keysteps.meanfield",
        "soft memberships, smooth in time, with re-estimated centres and even shares of key steps",
        "ours; after ASOT (Xu and Gould, CVPR 2024)",
        (MeanfieldSettings,),
    ),
    "consensus": _clustering(
        "keysteps.consensus",
        "what many mean-field segmentations agree on, refined by classifiers across videos",
        "ours",
        (MeanfieldSettings, ConsensusSettings),
    ),
    LABELLED: _clustering(
        "keysteps.labelled",
        "classifiers of annotated videos that learn from the others",
        "ours",
        (MeanfieldSettings, LabelledSettings),
        labels=True,
    ),
}
DECODERS: Mapping[str, Decoder] = ChainMap(TRIVIAL, CLUSTERING)


def method_pattern(*embeddings: str) -> str:
    """Return a regular expression of the ids of all methods with one of these embeddings."""
    names = sorted(family.name for family in FAMILIES.values() if family.embedding in embeddings)
    return f"(?:{'|'.join(names)})(?:@[^/]+)?"
