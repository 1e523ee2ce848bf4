"""Whitened features combined with a learned embedding (methods 4.14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rgwot.embedding.interface import Embedded, EmbedVideo
from rgwot.embedding.pooled import unit
from rgwot.embedding.projection import VECTORS
from rgwot.embedding.whitened import Whitening, conditioned, fit_whitening
from rgwot.features.store import FeatureStore


@dataclass(frozen=True)
class Beside:
    r"""How whitened features w of length 1 and learned embeddings z make one embedding.

    .. math:: \left[\sqrt{s}\, w,\ \sqrt{1 - s}\, \frac{z - c}{|z - c|}\right]

    Attributes
    ----------
    share
        s, in (0, 1).
    whitening
        That of the method ``whitened`` with its default settings, fitted to the training videos.
    centre
        c (D,), the mean of z over all samples of the training videos. What all samples have in common says nothing of
        their key steps, and would leave little of the length to what does.
    """

    share: float
    whitening: Whitening
    centre: NDArray[np.float32]

    def join(self, store: FeatureStore, learned: NDArray[np.float32]) -> NDArray[np.float32]:
        """Put the whitened features of a video in front of its learned embedding (T, D)."""
        with threadpool_limits(limits=1):
            white = self.whitening.apply(conditioned([store], VECTORS)[0])
        parts = [np.sqrt(self.share) * white, np.sqrt(1 - self.share) * unit(learned - self.centre)]
        return np.concatenate(parts, axis=1).astype(np.float32)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what was fitted, as arrays that can be kept."""
        return {"mean": self.whitening.mean, "basis": self.whitening.basis, "centre": self.centre}


def fit_beside(stores: Sequence[FeatureStore], learned: EmbedVideo, share: float) -> Beside:
    """Fit to the training videos, of which ``learned`` gives the embeddings."""
    with threadpool_limits(limits=1):
        whitening = fit_whitening(conditioned(stores, VECTORS), VECTORS.D, VECTORS.floor)
    total = sum(learned(store).embedding.sum(axis=0, dtype=np.float64) for store in stores)
    return Beside(share, whitening, (total / sum(len(store) for store in stores)).astype(np.float32))


def with_beside(learned: EmbedVideo, arrays: Mapping[str, NDArray[Any]], share: float) -> EmbedVideo:
    """Return how videos are embedded by what was fitted (`Beside.arrays`) and by an encoder."""
    beside = Beside(share, Whitening(arrays["mean"], arrays["basis"]), arrays["centre"])
    return lambda store: Embedded(beside.join(store, learned(store).embedding))
