"""Training the encoder of one task: sampling pairs, features in memory, the loop and its resume."""

from __future__ import annotations

from rgwot.training.stage import train

__all__ = ["train"]
