"""The frozen image networks for features, one file each, and their common parts.

Extractor ``x`` is an entry of `rgwot.features.settings.EXTRACTORS` and the module `rgwot.features.extractors.x` with

- ``network()``, an `nn.Module` that maps standardised frames ``(B, 3, H, W)`` to maps
  ``(B, channels, ceil(H / stride), ceil(W / stride))``; its state has the names that the published checkpoints use;
- ``randomise(network, generator)``, which draws random weights in place.

A file may have a family of networks, with ``members`` in its entry: extractor ``x:member``. Its ``network(member)``
gives maps or vectors ``(B, D)``, or outputs that ``maps(member, output)`` turns into them; ``weights(member, name)``
returns the state of named weights, and ``check(member, name)`` raises RgwotError for unknown ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from rgwot.runtime.errors import RgwotError, optional

RANDOM_STD = 0.02
"""Standard deviation of random parameters that are not weights of a layer, such as the positions of tokens."""


class Wrapped(nn.Module):
    """A model that turns standardised frames (B, 3, H, W) into tokens, maps or vectors by ``features``.

    Its state has the model's names without a prefix, so that the library's checkpoints fit.
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self,
        model: nn.Module,
        mean: Sequence[float],
        std: Sequence[float],
        features: Callable[[nn.Module, Tensor], Tensor],
    ) -> None:
        super().__init__()
        self.model, self.features = model, features
        self.register_buffer("mean", torch.tensor(mean).view(1, 3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(1, 3, 1, 1), persistent=False)

    def forward(self, frames: Tensor) -> Tensor:
        """Map frames (B, 3, H, W) in [0, 1] to maps (B, C, h, w) or vectors (B, D)."""
        return self.features(self.model, (frames - self.mean) / self.std)

    def state_dict(self, *arguments: Any, **named: Any) -> Any:
        """Return the state of the model."""
        return self.model.state_dict(*arguments, **named)

    def load_state_dict(self, *arguments: Any, **named: Any) -> Any:
        """Load a state of the model."""
        return self.model.load_state_dict(*arguments, **named)


def randomise(network: nn.Module, generator: torch.Generator) -> None:
    """Draw He's initialisation for weights of layers, and small numbers for other parameters."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            # Drawn in contiguous order, so that the values do not depend on the network's memory format.
            values = torch.empty(module.weight.shape)
            nn.init.kaiming_normal_(values, mode="fan_out", nonlinearity="relu", generator=generator)
            module.weight.copy_(values)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif not isinstance(module, nn.modules.batchnorm._BatchNorm | nn.LayerNorm | nn.GroupNorm):  # noqa: SLF001
            for value in module.parameters(recurse=False):
                drawn = torch.empty(value.shape).normal_(std=RANDOM_STD, generator=generator)
                value.copy_(drawn)


def token_map(tokens: Tensor, before: Sequence[int] = (0, 1)) -> Tensor:
    """Turn tokens (B, T, C) into a map (B, C, h, h), or into their mean if they do not form a square.

    ``before`` are possible numbers of leading tokens that stand for no patch, such as the class token; the first number
    that leaves a square is used.
    """
    for first in before:
        side = math.isqrt(tokens.shape[1] - first)
        if side * side == tokens.shape[1] - first and side > 1:
            return tokens[:, first:].transpose(1, 2).reshape(len(tokens), -1, side, side)
    return tokens.mean(dim=1)


def library(name: str, member: str) -> Any:
    """Import a library that is not installed with rgwot."""
    return optional(name, f"network {name}:{member}", f"pip install 'rgwot[{name}]', or name another network")


def refuse_weights(name: str, member: str, weights: str, names: Sequence[str] = ("pretrained",)) -> None:
    """Raise RgwotError for weights that are neither one of ``names``, ``random`` nor the path of a checkpoint."""
    if weights not in (*names, "random") and "/" not in weights and "." not in weights:
        raise RgwotError(
            f"features.weights: {name}:{member} has no weights {weights!r}; expected {', '.join(names)}, random or the "
            "path of a checkpoint"
        )
