"""What an embedding without an encoder is given and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rgwot.features.store import FeatureStore
from rgwot.settings import Settings


@dataclass(frozen=True)
class Embedded:
    """Embedding (T, D) float32 of a video; ``background`` (T,), where the method finds some, is not to be clustered."""

    embedding: NDArray[np.float32]
    background: NDArray[np.bool_] | None = None


EmbedVideo = Callable[[FeatureStore], Embedded]
"""One video, seen before or not -> its embedding."""

Fit = Callable[[Sequence[FeatureStore], Settings, int], EmbedVideo]
"""The videos that may be learnt from, settings, seed -> how every video is embedded. No other source of chance."""
