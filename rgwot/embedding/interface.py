"""What an embedding without an encoder is given and what it gives back.

Embedding ``x`` is the module `rgwot.embedding.x`: its ``ABOUT`` (`rgwot.config.about`) and its `Fit`, ``fit_x``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rgwot.config.settings import Settings
from rgwot.features.store import FeatureStore


@dataclass(frozen=True)
class Embedded:
    """What is known of the T samples of a video.

    Attributes
    ----------
    embedding
        (T, D).
    background
        (T,), where the method finds some: samples that are not to be clustered.
    views
        (2P, T, D'), where the method has them: P pairs of embeddings from disjoint halves of the channels, by which
        decoding makes its choices (`rgwot.keysteps.choices`).
    """

    embedding: NDArray[np.float32]
    background: NDArray[np.bool_] | None = None
    views: NDArray[np.float32] | None = None


EmbedVideo = Callable[[FeatureStore], Embedded]
"""One video, seen before or not -> its embedding."""

Fit = Callable[[Sequence[FeatureStore], Settings, int], EmbedVideo]
"""The videos that may be learnt from, settings, seed -> how every video is embedded. No other source of chance."""
