"""The alignment losses by name, each imported when it is used; ``loss.alignment`` of the settings is such a name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import torch
from torch import nn

from rgwot.config import methods
from rgwot.config.settings import Settings
from rgwot.losses.interface import Alignment
from rgwot.runtime.lazy import lazily

ALIGNMENTS: Mapping[str, Alignment] = {
    name: lazily(f"{about.module}:align_{name}") for name, about in methods.ALIGNMENTS.items()
}


def learned_by(settings: Settings, seed: int) -> nn.Module | None:
    """Make what the alignment loss learns beside the encoder, its initial weights from ``seed``; None for most.

    Leaves the global random state untouched.
    """
    name = settings.loss.alignment
    make = getattr(import_module(methods.ALIGNMENTS[name].module), f"learned_{name}", None)
    if make is None:
        return None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        learned: nn.Module = make(settings)
        return learned
