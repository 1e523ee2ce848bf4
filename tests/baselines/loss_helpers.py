"""What several tests of losses and decoders do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from rgwot.keysteps.interface import Frames


def task(noise: float = 0.5) -> tuple[Frames, np.ndarray]:
    """Four videos in which four steps take turns in different orders, and what is done."""
    rng = np.random.default_rng(0)
    orders = ([0, 1, 2, 3], [2, 0, 3, 1], [1, 0, 2, 3], [3, 1, 2, 0])
    truth = np.concatenate([np.repeat(order, 12) for order in orders])
    x = rng.normal(size=(4, 16))[truth] + noise * rng.normal(size=(len(truth), 16))
    return Frames(x, (48,) * 4, 2.0), truth


def descent(
    loss: Callable[[Tensor, Tensor], Tensor], *, steps: int = 12, scale: float = 1.0, unit: bool = False
) -> list[float]:
    """Values of a loss in a few Adam steps on two copies of a noisy video of four steps, three frames each."""
    generator = torch.Generator().manual_seed(0)
    stairs = torch.eye(4, 6, dtype=torch.float64).repeat_interleave(3, 0)[None]
    noise = torch.randn(1, 12, 6, dtype=torch.float64, generator=generator)
    x = (scale * (stairs + 0.3 * noise)).requires_grad_()
    optimiser = torch.optim.Adam([x], lr=0.02)
    values = []
    for _ in range(steps):
        frames = torch.nn.functional.normalize(x, dim=2) if unit else x
        value = loss(frames, frames).sum()
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        values.append(value.item())
    return values
