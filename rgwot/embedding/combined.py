"""Whitened features beside learned embeddings (methods 4.13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rgwot.embedding.interface import Embedded, EmbedVideo, VideoFeatures, unit_rows
from rgwot.embedding.whitened import VECTORS, Whitening, conditioned, fit_whitening


def fit_beside(stores: Sequence[VideoFeatures], learned: EmbedVideo) -> dict[str, NDArray[np.floating]]:
    """Fit whitened features to the training videos; ``learned`` returns their learned embeddings z.

    Returns ``mean`` and ``basis`` of the whitening (the method ``whitened`` with default settings) and ``centre`` (D,),
    the mean of z over all samples. It is subtracted because what all samples share does not distinguish key steps.
    """
    with threadpool_limits(limits=1):
        whitening = fit_whitening(conditioned(stores, VECTORS), VECTORS.D, VECTORS.floor)
    total = sum(learned(store).embedding.sum(axis=0, dtype=np.float64) for store in stores)
    centre = (total / sum(len(store) for store in stores)).astype(np.float32)
    return {"mean": whitening.mean, "basis": whitening.basis, "centre": centre}


def with_beside(learned: EmbedVideo, arrays: Mapping[str, NDArray[Any]], share: float) -> EmbedVideo:
    r"""Return the function that combines whitened features w of length 1 and learned embeddings z.

    .. math:: \left[\sqrt{s}\, w,\ \sqrt{1 - s}\, \frac{z - c}{|z - c|}\right]

    with the share s in (0, 1), and w and the centre c of `fit_beside`.
    """
    whitening = Whitening(arrays["mean"], arrays["basis"])

    def embed(store: VideoFeatures) -> Embedded:
        offsets = learned(store).embedding - arrays["centre"]
        with threadpool_limits(limits=1):
            white = whitening.apply(conditioned([store], VECTORS)[0])
        parts = [np.sqrt(share) * white, np.sqrt(1 - share) * unit_rows(offsets)]
        return Embedded(np.concatenate(parts, axis=1).astype(np.float32))

    return embed
