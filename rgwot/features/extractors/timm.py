"""Any image model of timm up to its last features: ``timm:<model>``, such as ``timm:vit_small_patch14_dinov2``.

timm supplies or downloads the weights ``pretrained``. Vision transformers take frames of any size that is a multiple of
their patch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from rgwot.features.extractors import Wrapped, library, randomise, refuse_weights, token_map
from rgwot.runtime.errors import RgwotError, first_line, nearest

__all__ = ["check", "network", "randomise", "weights"]


def network(member: str) -> nn.Module:
    """Return a model, from frames (B, 3, H, W) in [0, 1] to maps (B, C, h, w) or vectors (B, D)."""
    check(member, "random")
    model = _model(member, pretrained=False)
    config = model.pretrained_cfg
    return Wrapped(model, config["mean"], config["std"], _features)


def weights(member: str, weights: str) -> Mapping[str, Any]:
    """Return the state of a model with the weights that timm supplies or downloads."""
    check(member, weights)
    try:
        return _model(member, pretrained=True).state_dict()  # type: ignore[no-any-return]
    except Exception as error:  # noqa: BLE001 - the hub's client has exceptions of its own
        raise RuntimeError(first_line(error)) from error


def check(member: str, weights: str) -> None:
    """Raise RgwotError if timm is not installed, or has no such model or weights."""
    timm = library("timm", member)
    if not timm.is_model(member):
        raise RgwotError(f"network timm:{member}: timm has no such model; {nearest(member, timm.list_models())}")
    refuse_weights("timm", member, weights)


def _model(member: str, pretrained: bool) -> Any:
    timm = library("timm", member)
    try:
        return timm.create_model(member, pretrained=pretrained, num_classes=0, dynamic_img_size=True).eval()
    except TypeError:
        # Only some networks, mostly vision transformers, have the argument ``dynamic_img_size``.
        return timm.create_model(member, pretrained=pretrained, num_classes=0).eval()


def _features(model: Any, frames: Tensor) -> Tensor:
    output: Tensor = model.forward_features(frames)
    if output.ndim == 3:
        return token_map(output, (getattr(model, "num_prefix_tokens", 0),))
    last = output.ndim == 4 and output.shape[1] != model.num_features and output.shape[3] == model.num_features
    return output.permute(0, 3, 1, 2) if last else output
