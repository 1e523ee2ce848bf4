"""No alignment loss: the encoder learns from the contrastive term alone."""

from __future__ import annotations

from torch import Tensor

from rgwot.config.settings import Settings
from rgwot.losses.interface import PairBatch


def align_none(batch: PairBatch, settings: Settings) -> Tensor:
    """Nothing: the encoder learns from the contrastive term alone, (P,)."""
    return batch.x.new_zeros(batch.x.shape[0])
