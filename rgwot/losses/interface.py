"""The interface of alignment losses.

A loss is a model (`rgwot.losses.settings.Loss`) that names a function of pairs and of the model. If the loss has
parameters, the model also names a function from the embedding dimension D to a module, which is initialised from the
seed, trained and resumed with the encoder, but is not a part of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from rgwot.losses.settings import NoAlignment


@dataclass(frozen=True)
class PairBatch:
    """Embeddings of P pairs of videos, N frames each.

    Attributes
    ----------
    x, y
        (P, N, D) in order of time, rows of norm 1 unless ``encoder.unit_norm`` is off.
    x_times, x_lengths, y_times, y_lengths
        (P, N) times of the frames and (P,) lengths of the videos, in one unit.
    iterations
        (P,) training iteration of each pair, from 0.
    learned
        The module that the alignment loss learns besides the encoder, or None.
    planned
        Number of iterations of the whole training.
    chance
        A function from an iteration to its generator of random numbers; None if a loss may not draw any.
    """

    x: Tensor
    y: Tensor
    x_times: Tensor
    x_lengths: Tensor
    y_times: Tensor
    y_lengths: Tensor
    iterations: Tensor
    learned: nn.Module | None = None
    planned: int = 1
    chance: Callable[[int], np.random.Generator] | None = None

    @property
    def shares(self) -> tuple[Tensor, Tensor]:
        """The times of the frames of x and of y as shares t / L of their videos, (P, N) each."""
        return self.x_times / self.x_lengths[:, None], self.y_times / self.y_lengths[:, None]

    def prior_positions(self, prior_time: str) -> tuple[Tensor, Tensor] | tuple[None, None]:
        """Return `shares` if the temporal prior uses times (``ot.prior_time``), and None twice if it uses positions."""
        return self.shares if prior_time == "times" else (None, None)


Alignment = Callable[[PairBatch], Tensor]
"""A function from pairs to the values (P,) of a loss with its settings."""


def accurate(x: Tensor, y: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
    """Return the tensors in the precision of the embeddings x and y, at least float32."""
    dtype = torch.promote_types(torch.promote_types(x.dtype, y.dtype), torch.float32)
    return tuple(tensor.to(dtype) for tensor in (x, y, *others))


def align_none(batch: PairBatch, settings: NoAlignment) -> Tensor:
    """Return zeros (P,), so that the encoder learns from the contrastive term alone."""
    return batch.x.new_zeros(batch.x.shape[0])
