"""Pure functions called with default settings, except for settings that a test changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from rgwot import transport
from rgwot.baselines.kantorovich import kantorovich_match as match
from rgwot.baselines.settings import Kantorovich
from rgwot.blocks import nested
from rgwot.config.methods import DECODERS, FAMILIES
from rgwot.embedding.encoder import Encoder, seeded
from rgwot.embedding.interface import EmbedVideo
from rgwot.embedding.settings import EncoderSettings, TrainSettings
from rgwot.features import backbone
from rgwot.features.backbone import Backbone
from rgwot.features.settings import FeatureSettings
from rgwot.features.store import FeatureStore
from rgwot.keysteps import fuzzy_cmeans as fuzzy
from rgwot.keysteps.fuzzy_cmeans import FuzzyCMeans
from rgwot.keysteps.interface import Decoded, Frames, Predict
from rgwot.keysteps.settings import Decoder, Graphcut
from rgwot.losses.settings import FusedGromovWasserstein
from rgwot.transport import FrameAlignment, TransportResult

OT, FEATURES, DECODE, TRAIN = FusedGromovWasserstein(), FeatureSettings(), Graphcut(), TrainSettings()
ENCODER = EncoderSettings().model_dump(exclude={"speed", "beside"}) | {
    "input_norm": False, "features": 1024, "precision": TRAIN.precision
}  # fmt: skip
FUZZY = {key: getattr(DECODE, key) for key in ("max_iterations", "tolerance", "restarts", "start")}
#: Decoders that need nothing but embeddings.
ALONE = sorted(name for name, decoder in DECODERS.items() if not (decoder.TRIVIAL or decoder.LABELS))
COMMON = {key: getattr(OT, key) for key in ("alpha", "epsilon", "max_iterations", "tolerance")}
ENDS = {key: getattr(OT, key) for key in ("rho", "zeta", "virtual")}
BALANCED = COMMON | {"r": OT.r, "solver": OT.solver}


def load_backbone(weights: str, seed: int = 0, **changes: Any) -> Backbone:
    return backbone.load_backbone(weights, seed, **{"precision": FEATURES.precision, "name": "resnet50"} | changes)


def initialised(seed: int, **changes: Any) -> Encoder:
    with seeded(seed):
        return Encoder(**ENCODER | changes)


def fuzzy_cmeans(x: NDArray[Any], K: int, m: float, generator: np.random.Generator, **changes: Any) -> FuzzyCMeans:
    return fuzzy.fuzzy_cmeans(x, K, m, generator, **FUZZY | changes)


def solve(cost: Tensor, **changes: Any) -> TransportResult:
    return transport.solve(cost, **BALANCED | changes)


def align_frames(x: Tensor, y: Tensor, **changes: Any) -> FrameAlignment:
    return transport.align_frames(x, y, **ENDS | BALANCED | changes)


def kantorovich_match(x: Tensor, y: Tensor, phi: Tensor, **changes: Any) -> tuple[Tensor, Tensor]:
    return match(x, y, phi, Kantorovich(**changes))


def decoder_by(name: str, dotted: Mapping[str, Any] = MappingProxyType({})) -> Decoder:
    """Return the decoder ``name`` with the settings ``dotted``."""
    return DECODERS[name].of(nested(dotted))


def decode_by(name: str, frames: Frames, K: int, dotted: Mapping[str, Any], generator: np.random.Generator) -> Decoded:
    decoded: Decoded = decoder_by(name, dotted)(frames, K, generator)
    return decoded


def predict_by(name: str, decoded: Decoded, K: int, dotted: Mapping[str, Any]) -> Predict:
    """Return the function that labels other videos by what the decoder ``name`` learned."""
    assert decoded.learned is not None
    predict: Predict = decoder_by(name, dotted).restored(decoded.learned, K)
    return predict


def fit_by(name: str, stores: Sequence[FeatureStore], dotted: Mapping[str, Any], seed: int) -> EmbedVideo:
    embed: EmbedVideo = FAMILIES[name].embedding.of(nested(dotted))(stores, seed)
    return embed
