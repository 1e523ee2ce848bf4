"""The task on which decoders that learn an embedding are tested."""

from __future__ import annotations

import numpy as np

from rgwot.keysteps.interface import Frames


def task(noise: float = 0.5) -> tuple[Frames, np.ndarray]:
    """Return four videos with four steps in different orders, and the true steps."""
    rng = np.random.default_rng(0)
    orders = ([0, 1, 2, 3], [2, 0, 3, 1], [1, 0, 2, 3], [3, 1, 2, 0])
    truth = np.concatenate([np.repeat(order, 12) for order in orders])
    x = rng.normal(size=(4, 16))[truth] + noise * rng.normal(size=(len(truth), 16))
    return Frames(x, (48,) * 4, 2.0), truth
