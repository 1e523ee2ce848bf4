"""Any image model of torchvision up to any of its layers: ``torchvision:<model>/<layer>``.

The model has its name in `torchvision.models.get_model`; the layer is a module of the model or a node of its graph
(``torchvision.models.feature_extraction.get_graph_node_names``). Examples are ``resnet18/layer3`` and
``vit_b_16/encoder``. Tokens become a map if they form one, otherwise their mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from rgwot.features.extractors import randomise, refuse_weights, token_map
from rgwot.runtime.errors import RgwotError, first_line, nearest

__all__ = ["check", "maps", "network", "randomise", "weights"]


def network(member: str) -> nn.Module:
    """Return a model up to a layer, from standardised frames (B, 3, H, W) to outputs that `maps` converts."""
    from torchvision.models import get_model
    from torchvision.models.feature_extraction import create_feature_extractor

    model, _, layer = member.partition("/")
    check(member, "random")
    try:
        whole = get_model(model, weights=None).eval()
        return create_feature_extractor(whole, [layer])  # type: ignore[no-any-return]
    except Exception as error:  # noqa: BLE001 - tracing runs the model's own code, which may raise anything
        raise RgwotError(
            f"network torchvision:{member}: its layer {layer!r} cannot be extracted ({first_line(error)[:120]}); "
            "expected the name of a module of the model or a node of its graph, such as torchvision:resnet18/layer3"
        ) from None


def maps(member: str, outputs: Mapping[str, Tensor]) -> Tensor:
    """Turn the output of a layer into maps (B, C, h, w) or vectors (B, D)."""
    (x,) = outputs.values()
    if member.startswith("swin") and x.ndim == 4:
        return x.permute(0, 3, 1, 2)
    return token_map(x) if x.ndim == 3 else x


def weights(member: str, weights: str) -> Mapping[str, Any]:
    """Return the state of a model with published weights, by their name such as ``imagenet1k_v1``; fetched once."""
    from torchvision.models import get_model_weights

    check(member, weights)
    chosen = get_model_weights(member.partition("/")[0])[weights.upper()]
    return chosen.get_state_dict(progress=False, check_hash=True, weights_only=True)  # type: ignore[no-any-return]


def check(member: str, weights: str) -> None:
    """Raise RgwotError if torchvision has no such model or weights."""
    from torchvision.models import get_model_weights, list_models

    model = member.partition("/")[0]
    if model not in list_models():
        raise RgwotError(
            f"network torchvision:{member}: torchvision has no model {model!r}; {nearest(model, list_models())}"
        )
    names = [name.lower() for name in get_model_weights(model).__members__]
    refuse_weights("torchvision", model, weights, names)
