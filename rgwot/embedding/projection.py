"""Whitened features as the input of an encoder (methods 4.12)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rgwot.embedding.interface import ArrayFeatures, VideoFeatures
from rgwot.embedding.settings import Whitened
from rgwot.embedding.whitened import VECTORS, Look, conditioned, fit_whitening, log_speed

CHANNELS = 64
"""Largest number of channels of projected maps, a sixteenth of conv4c's."""

FLOOR = 1e-4
"""Components below this share of the largest variance are dropped."""

FRAMES = 64
"""Number of evenly spaced frames per video for fitting the projection, and of frames projected at once."""

CONSTANT = 1e-4
"""A channel with a standard deviation below this share of its root mean square becomes 0."""


@dataclass(frozen=True)
class Projection:
    """Whitening of each position of maps, standardised per video and channel, or of vectors, which are also smoothed.

    ``mean`` (C,) and ``basis`` (C, D) are as in `Whitening`, for the standardised channels and, if used, their speeds.
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


def _vectors(speed: bool) -> Whitened:
    return VECTORS.model_copy(update={"speed": speed})


def _values(store: VideoFeatures, frames: NDArray[np.int64]) -> NDArray[np.float32]:
    return np.moveaxis(store.frames(frames).astype(np.float32), 1, -1)


def _speeds(
    store: VideoFeatures, mean: NDArray[np.float32], scale: NDArray[np.float32], frames: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the `speed` at every position of maps, from the frame before and the one after."""
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
    """Return mean and reciprocal standard deviation (C,) of every channel over T frames and all positions."""
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
    """Fit the projection to training videos with frames; all have maps, or all have vectors.

    With ``speed`` every channel is accompanied by its `rgwot.embedding.whitened.speed`, in maps at every position.
    """
    if stores[0].vectors:
        whitening = fit_whitening(conditioned(stores, _vectors(speed)), VECTORS.D, VECTORS.floor)
    else:
        whitening = fit_whitening([_places(store, speed) for store in stores], CHANNELS, FLOOR)
    return Projection(whitening.mean.astype(np.float32), whitening.basis.astype(np.float32))


def _places(store: VideoFeatures, speed: bool) -> NDArray[np.float32]:
    """Return the standardised values (n, C), with speed (n, 2 C), at all positions of evenly spaced frames."""
    chosen = np.unique(np.linspace(0, len(store) - 1, min(len(store), FRAMES)).astype(np.int64))
    values = partial(_values, store)
    mean, scale = moments(values, len(store))
    columns = [(values(chosen) - mean) * scale]
    if speed:
        columns.append(_standardised(partial(_speeds, store, mean, scale), len(store))(chosen))
    return np.concatenate([maps.reshape(-1, maps.shape[-1]) for maps in columns], axis=1)


def _held(store: VideoFeatures, maps: NDArray[np.float16]) -> VideoFeatures:
    """Return the features of a video, but with the given array in memory."""
    return ArrayFeatures(store.video, maps, store.time_s, store.duration_s, store.native_fps, store.fps)
