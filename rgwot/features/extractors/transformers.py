"""Any image model of transformers up to its last hidden state: ``transformers:<name or folder>``.

An example is ``transformers:facebook/dinov2-small``. The library supplies or downloads configuration and weights
(``pretrained``); code that comes with a model is not run.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from rgwot.features.extractors import Wrapped, library, randomise, refuse_weights, token_map
from rgwot.runtime.errors import RgwotError, first_line

__all__ = ["check", "network", "randomise", "weights"]

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Statistics of ImageNet, for models that do not state how frames are standardised."""


def network(member: str) -> nn.Module:
    """Return a model, from frames (B, 3, H, W) in [0, 1] to maps (B, C, h, w) or vectors (B, D)."""
    check(member, "random")
    transformers = library("transformers", member)
    model = transformers.AutoModel.from_config(_config(member), trust_remote_code=False).eval()
    try:
        processor = transformers.AutoImageProcessor.from_pretrained(member, trust_remote_code=False).to_dict()
    except (OSError, ValueError, ImportError):
        processor = {}
    return Wrapped(model, processor.get("image_mean") or MEAN, processor.get("image_std") or STD, _features)


def weights(member: str, weights: str) -> Mapping[str, Any]:
    """Return the state of a model with the weights that the library supplies or downloads."""
    check(member, weights)
    model = library("transformers", member).AutoModel
    return model.from_pretrained(member, trust_remote_code=False).state_dict()  # type: ignore[no-any-return]


def check(member: str, weights: str) -> None:
    """Raise RgwotError if the library is not installed, or does not find the model's configuration or the weights."""
    _config(member)
    refuse_weights("transformers", member, weights)


def _config(member: str) -> Any:
    auto = library("transformers", member).AutoConfig
    try:
        return auto.from_pretrained(member, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise RgwotError(
            f"network transformers:{member}: its configuration cannot be loaded ({first_line(error)[:120]}); expected "
            "the name of a model on the Hugging Face hub, or the folder of a model"
        ) from None


def _features(model: Any, frames: Tensor) -> Tensor:
    # Position embeddings are stretched to frames of another size, where the model can do that.
    sized = "interpolate_pos_encoding" in inspect.signature(model.forward).parameters
    output: Tensor = model(
        pixel_values=frames, **({"interpolate_pos_encoding": True} if sized else {})
    ).last_hidden_state
    patch = getattr(model.config, "patch_size", 0)
    if output.ndim == 3 and isinstance(patch, int) and patch:
        return token_map(output, (output.shape[1] - (frames.shape[2] // patch) * (frames.shape[3] // patch), 0, 1))
    return token_map(output) if output.ndim == 3 else output
