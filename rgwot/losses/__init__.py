"""Losses of the embedding methods: pure functions of tensors, one file each, one value per pair or video."""

from __future__ import annotations

from rgwot.losses.cidm import cidm_loss
from rgwot.losses.cross_entropy import alignment_loss

__all__ = ["alignment_loss", "cidm_loss"]
