"""Features averaged over space: the embedding of the method ``raw``, and where other embeddings start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rgwot.embedding.interface import Embedded, EmbedVideo, Fitted, Learned, VideoFeatures

FRAMES_AT_ONCE = 64


def spatial_means(store: VideoFeatures) -> NDArray[np.float32]:
    """Average the maps of every frame over space, (T, C); read in blocks. A vector stays what it is."""
    means = np.empty((len(store), store.shape[1]), dtype=np.float32)
    for start in range(0, len(store), FRAMES_AT_ONCE):
        block = np.arange(start, min(start + FRAMES_AT_ONCE, len(store)))
        means[block] = store.frames(block).astype(np.float32).mean(axis=(2, 3))
    return means


def unit_rows(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale rows (n, D) to norm 1; a row of zeros stays."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(np.divide(x, norms, out=np.zeros_like(x), where=norms > 0), dtype=np.float32)


def fit_pooled(stores: Sequence[VideoFeatures], seed: int) -> EmbedVideo:
    """Fit nothing: every video is its spatial means, scaled to norm 1 (D = C)."""
    return Fitted(restore_pooled({}), dict)


def restore_pooled(learned: Learned) -> EmbedVideo:
    """Return the embedding, which learns nothing."""
    return lambda store: Embedded(unit_rows(spatial_means(store)))
