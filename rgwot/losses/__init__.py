"""Losses of the embedding methods: pure functions of tensors, one file each, one value per pair or video."""

from __future__ import annotations

from rgwot.losses.alignment import alignment_loss
from rgwot.losses.cidm import cidm_loss

__all__ = ["alignment_loss", "cidm_loss"]
