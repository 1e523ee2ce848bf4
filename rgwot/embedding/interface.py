"""What an embedding without an encoder is given and what it gives back.

Embeddings are entries of `rgwot.config.methods.EMBEDDING_KINDS`: a function of videos, a seed, from which all
randomness comes, and the blocks of settings that the entry names, and a `Restore` where other videos can be embedded
later, from a bundle (`rgwot.bundles`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    """

    embedding: NDArray[np.float32]
    background: NDArray[np.bool_] | None = None


EmbedVideo = Callable[[FeatureStore], Embedded]
"""One video, seen before or not -> its embedding."""

Learned = Mapping[str, NDArray[Any]]
"""What was learned from the videos that may be learned from, as arrays that can be kept."""

Restore = Callable[..., EmbedVideo]
"""What was learned, and the blocks of the embedding -> how videos are embedded by it."""


@dataclass(frozen=True)
class Fitted:
    """How every video is embedded, an `EmbedVideo` that also gives what it has learned."""

    embed: EmbedVideo
    learned: Callable[[], Learned]

    def __call__(self, store: FeatureStore) -> Embedded:
        """Embed one video."""
        return self.embed(store)


Fit = Callable[[Sequence[FeatureStore], int], EmbedVideo]
"""Videos that may be learned from, seed -> how every video is embedded, by a method with its settings."""
