"""Whitened features before and beside an encoder.

Projected onto a few channels they are another input of it (methods 4.13); as they are, they stand beside what it
learned (methods 4.14).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from rgwot.embedding.interface import ArrayFeatures, Embedded, EmbedVideo, VideoFeatures
from rgwot.embedding.pooled import unit_rows
from rgwot.embedding.settings import WhitenSettings
from rgwot.embedding.whitened import Whitening, conditioned, fit_whitening, log_speed

CHANNELS = 64
"""Channels of projected maps, at most: a sixteenth of conv4c's."""

VECTORS = WhitenSettings()
"""How vectors are smoothed and whitened: as those of the method ``whitened`` by default, onto at most 32 channels."""

FLOOR = 1e-4
"""Components below this share of the largest variance are dropped."""

FRAMES = 64
"""Frames of a video that the projection is fitted on, evenly spaced, and that are projected at once."""

CONSTANT = 1e-4
"""A channel whose deviation is below this share of its root mean square says nothing, and becomes 0."""


@dataclass(frozen=True)
class Projection:
    """Whitening of single places of maps that are standardised per video and channel, or of vectors, smoothed as well.

    ``mean`` (C,) and ``basis`` (C, D) are those of `rgwot.embedding.whitened.Whitening`, of what was standardised: the
    channels, or these and the speed of each.
    """

    mean: NDArray[np.float32]
    basis: NDArray[np.float32]

    def __call__(self, store: VideoFeatures) -> VideoFeatures:
        """Project the maps of a video, (T, C, h, w) to (T, D, h, w)."""
        frames, channels, height, width = store.shape
        moving = len(self.mean) > channels
        if store.vectors:
            offsets = conditioned([store], _vectors(moving))[0].astype(np.float64) - self.mean
            return _held(store, (offsets @ self.basis).astype(np.float16))
        values = partial(_values, store)
        mean, scale = moments(values, frames)
        basis = scale[:, None] * self.basis[:channels]
        offset = (mean * scale + self.mean[:channels]) @ self.basis[:channels]
        speeds = _standardised(partial(_speeds, store, mean, scale), frames) if moving else None
        maps = np.empty((frames, self.basis.shape[1], height, width), dtype=np.float16)
        for block in _blocks(frames):
            places = values(block) @ basis - offset
            if speeds is not None:
                places += (speeds(block) - self.mean[channels:]) @ self.basis[channels:]
            maps[block] = np.moveaxis(places, -1, 1)
        return _held(store, maps)


def _vectors(speed: bool) -> WhitenSettings:
    return VECTORS.model_copy(update={"speed": speed})


Look = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""What frames (n,) of a video with maps look like at every place: (n, h, w, C)."""


def _values(store: VideoFeatures, frames: NDArray[np.int64]) -> NDArray[np.float32]:
    return np.moveaxis(store.frames(frames).astype(np.float32), 1, -1)


def _speeds(
    store: VideoFeatures, mean: NDArray[np.float32], scale: NDArray[np.float32], frames: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the `speed` at every place, from the frame before and the one after."""
    around = np.clip(frames[:, None] + np.arange(-1, 2), 0, len(store) - 1)
    needed, rows = np.unique(around, return_inverse=True)
    z = ((_values(store, needed) - mean) * scale)[rows.reshape(around.shape)]
    return log_speed(z[:, 2], z[:, 0])


def _standardised(look: Look, T: int) -> Look:
    mean, scale = moments(look, T)
    return lambda frames: (look(frames) - mean) * scale


def _blocks(T: int) -> Iterator[NDArray[np.int64]]:
    return (np.arange(start, min(start + FRAMES, T)) for start in range(0, T, FRAMES))


def moments(look: Look, T: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return mean and reciprocal standard deviation of every channel of T frames, over them and their places, (C,)."""
    total, squares, count = np.zeros(1), np.zeros(1), 0
    for block in _blocks(T):
        maps = look(block).astype(np.float64)
        total = total + maps.sum(axis=(0, 1, 2))
        squares = squares + np.square(maps).sum(axis=(0, 1, 2))
        count += maps[..., 0].size
    mean, power = total / max(count, 1), squares / max(count, 1)
    deviation = np.sqrt(np.maximum(power - mean**2, 0))
    varies = deviation > CONSTANT * np.sqrt(power)
    scale = np.divide(1.0, deviation, out=np.zeros(len(mean)), where=varies)
    return mean.astype(np.float32), scale.astype(np.float32)


def fit_projection(stores: Sequence[VideoFeatures], speed: bool) -> Projection:
    """Fit the projection to the videos that may be learned from, which have frames; all have maps, or all vectors.

    With ``speed`` every channel is accompanied by its `rgwot.embedding.whitened.speed`, in maps at every place.
    """
    if stores[0].vectors:
        whitening = fit_whitening(conditioned(stores, _vectors(speed)), VECTORS.D, VECTORS.floor)
    else:
        whitening = fit_whitening([_places(store, speed) for store in stores], CHANNELS, FLOOR)
    return Projection(whitening.mean.astype(np.float32), whitening.basis.astype(np.float32))


def _places(store: VideoFeatures, speed: bool) -> NDArray[np.float32]:
    """Return standardised places (n, C), with speed (n, 2 C), of evenly spaced frames of a video with maps."""
    chosen = np.unique(np.linspace(0, len(store) - 1, min(len(store), FRAMES)).astype(np.int64))
    values = partial(_values, store)
    mean, scale = moments(values, len(store))
    seen = [(values(chosen) - mean) * scale]
    if speed:
        seen.append(_standardised(partial(_speeds, store, mean, scale), len(store))(chosen))
    return np.concatenate([maps.reshape(-1, maps.shape[-1]) for maps in seen], axis=1)


def _held(store: VideoFeatures, maps: NDArray[np.float16]) -> VideoFeatures:
    """Return the features of a video with these in memory in place of its own."""
    return ArrayFeatures(store.video, maps, store.time_s, store.duration_s, store.native_fps, store.fps)


def fit_beside(stores: Sequence[VideoFeatures], learned: EmbedVideo) -> dict[str, NDArray[Any]]:
    """Fit whitened features to the training videos, of which ``learned`` gives the embeddings z.

    Returns ``mean`` and ``basis`` of the whitening, that of the method ``whitened`` with its default settings, and
    ``centre`` (D,), the mean of z over all samples. What all samples have in common says nothing of their key steps,
    and would leave little of the length to what does.
    """
    with threadpool_limits(limits=1):
        whitening = fit_whitening(conditioned(stores, VECTORS), VECTORS.D, VECTORS.floor)
    total = sum(learned(store).embedding.sum(axis=0, dtype=np.float64) for store in stores)
    centre = (total / sum(len(store) for store in stores)).astype(np.float32)
    return {"mean": whitening.mean, "basis": whitening.basis, "centre": centre}


def with_beside(learned: EmbedVideo, arrays: Mapping[str, NDArray[Any]], share: float) -> EmbedVideo:
    r"""Return how whitened features w of length 1 and learned embeddings z make one embedding.

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
