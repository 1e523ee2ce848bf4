"""Whitened features: standardised per video, smoothed in time and whitened over the task (methods 4.11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.ndimage import uniform_filter1d
from scipy.sparse.linalg import eigsh
from threadpoolctl import threadpool_limits

from rgwot.embedding.arrays import resolution
from rgwot.embedding.interface import (
    FRAMES_AT_ONCE,
    USUAL,
    Embedded,
    EmbedVideo,
    Fitted,
    Learned,
    VideoFeatures,
    unit_rows,
    usual_in,
)
from rgwot.embedding.pace import at_usual_pace, nearest_of
from rgwot.embedding.settings import Whitened
from rgwot.embedding.values import usual_length

STILL = 0.02
"""Added to speeds and deviations before the logarithm, in standard deviations of the channel; less counts as rest."""

MOST_LEVELS = 16
"""A discrete channel has at most this many distinct values in all videos. On the recorded tasks, channels of tools that
are seen or not have 6; measured channels have 4,466 or more, and 54 or more if rounded to three decimals."""

DISCRETE = "discrete"
"""Key of what was learned: which channels are discrete (`_Levels`)."""

SMALL = 1500
"""A matrix with at most this many rows is decomposed fully (in a quarter of a second); above, Lanczos is faster."""


def cell_means(store: VideoFeatures, grid: int) -> NDArray[np.float32]:
    """Average the maps of every frame over the cells of a grid, (T, cells * C); read in blocks.

    Height and width are each divided into ``grid`` cells, or into one cell per row or column if there are fewer. The
    cells follow each other row by row, each with all its channels.
    """
    height, width = store.shape[2:]
    weights = np.einsum("ay,bx->yxab", _cells(height, grid), _cells(width, grid)).reshape(height * width, -1)
    means = np.empty((len(store), weights.shape[1], store.shape[1]), dtype=np.float32)
    for start in range(0, len(store), FRAMES_AT_ONCE):
        block = np.arange(start, min(start + FRAMES_AT_ONCE, len(store)))
        maps = store.frames(block).astype(np.float32)
        means[block] = (maps.reshape(*maps.shape[:2], -1) @ weights).transpose(0, 2, 1)
    return means.reshape(len(store), -1)


def standardise(x: NDArray[np.floating], dtype: str = "float16") -> NDArray[np.float64]:
    """Scale the channels of one video (T, C) to mean 0 and standard deviation 1 over its samples.

    A channel counts as constant, and becomes 0, if rounding to the type ``dtype`` in which it was stored explains its
    deviation (`rgwot.embedding.arrays.TYPE_ROUNDING`): for float16, a deviation up to 2^-11 of the channel's root mean
    square, or up to 2^-22 of the root mean square over all channels.
    """
    values = np.asarray(x, dtype=np.float64)
    mean, squares = values.mean(axis=0), np.square(values).mean(axis=0)
    offsets = values - mean
    deviation = np.sqrt(np.square(offsets).mean(axis=0))
    varies = deviation > resolution(squares, dtype)
    return np.asarray(np.divide(offsets, deviation, out=np.zeros_like(offsets), where=varies))


def smooth(x: NDArray[np.floating], share: float) -> NDArray[np.float64]:
    """Average every sample of one video (T, C) with its neighbours, over a share of the video's length.

    The window is centred and has the odd number of samples nearest to ``share * T`` (in a tie, the larger number).
    Beyond its ends a video is continued by its first and last sample.
    """
    values = np.asarray(x, dtype=np.float64)
    width = _width(share, len(values))
    return values if width == 1 else np.asarray(uniform_filter1d(values, width, axis=0, mode="nearest"))


def speed(z: NDArray[np.floating]) -> NDArray[np.float64]:
    r"""Return how fast the standardised channels of one video (T, C) change, as logarithms (T, C).

    .. math:: \log\left(\frac{|z_{t+1} - z_{t-1}|}{2} + 0.02\right)

    Beyond its ends a video is continued by its first and last sample.
    """
    ahead, behind = np.minimum(np.arange(len(z)) + 1, len(z) - 1), np.maximum(np.arange(len(z)) - 1, 0)
    return log_speed(z[ahead], z[behind])


def log_speed(ahead: NDArray[np.floating], behind: NDArray[np.floating]) -> NDArray[Any]:
    """Return the `speed` from the samples after (``ahead``) and before (``behind``) each sample, of any shape."""
    return np.asarray(np.log(np.abs(ahead - behind) / 2 + STILL))


def variability(z: NDArray[np.floating], share: float) -> NDArray[np.float64]:
    """Return log(s + 0.02) of the standard deviations s (T, C) of standardised channels around every sample.

    The window is that of `smooth`, but has at least three samples. Beyond its ends a video is continued as in `smooth`.
    """
    width = max(3, _width(share, len(z)))
    mean, squares = (uniform_filter1d(values, width, axis=0, mode="nearest") for values in (z, np.square(z)))
    return np.asarray(np.log(np.sqrt(np.maximum(squares - np.square(mean), 0)) + STILL))


def condition(x: NDArray[np.floating], settings: Whitened, dtype: str = "float16") -> NDArray[np.float32]:
    """Return the features of a video (T, C) in the form for `fit_whitening`: (T, C), (T, 2 C) or (T, 3 C).

    Channels are standardised. Their speed and variability, if requested, follow after all channels and are also
    standardised. Everything is smoothed.
    """
    z = standardise(x, dtype)
    blocks = [z]
    blocks += [standardise(speed(z))] * settings.speed
    blocks += [standardise(variability(z, settings.smooth))] * bool(settings.variability)
    return smooth(np.concatenate(blocks, axis=1), settings.smooth).astype(np.float32)


class _Levels:
    """Distinct values of every channel, over videos (T, C) that are added one by one."""

    def __init__(self) -> None:
        self._videos = 0
        self._counts: list[Counter[float]] = []
        self._few: list[int] = []

    def add(self, x: NDArray[np.floating]) -> None:
        """Count the values of the channels that have at most `MOST_LEVELS` of them in this video, (T, C)."""
        if not self._videos:
            self._counts, self._few = [Counter() for _ in range(x.shape[1])], [0] * x.shape[1]
        self._videos += 1
        # Some samples are enough to recognise most of the other channels.
        some = np.sort(x[:: max(1, len(x) // (4 * MOST_LEVELS))], axis=0)
        for channel in np.flatnonzero((np.diff(some, axis=0) != 0).sum(axis=0) < MOST_LEVELS):
            values, times = np.unique(x[:, channel], return_counts=True)
            if len(values) <= MOST_LEVELS:
                self._counts[channel].update(dict(zip(values.tolist(), times.tolist(), strict=True)))
                self._few[channel] += 1

    def discrete(self) -> NDArray[np.bool_]:
        """Return which channels are discrete, (C,): few distinct values, most of which occur more than once.

        One video of three to nineteen, and a tenth of more, may have more values, because a resampled video has values
        between those of the others. A measured channel that is rarely active, or was recorded in very few samples, also
        has few values, but these do not recur.
        """
        least = self._videos - (max(1, self._videos // 10) if self._videos > 2 else 0)
        return np.array([
            few >= least and len(counts) <= MOST_LEVELS and np.median(list(counts.values())) > 1
            for few, counts in zip(self._few, self._counts, strict=True)
        ])  # fmt: skip


def clear_motion(x: NDArray[np.float32], discrete: NDArray[np.bool_]) -> None:
    """Set speed and variability of the discrete channels (C,) to 0, in conditioned features (T, 1, 2 or 3 times C).

    A discrete channel jumps or rests: its speed and variability say when its value changes, but not how anything moves.
    """
    columns = np.tile(discrete, x.shape[1] // len(discrete))
    columns[: len(discrete)] = False
    x[:, columns] = 0


def conditioned(stores: Sequence[VideoFeatures], settings: Whitened) -> list[NDArray[np.float32]]:
    """Read every video once, and return its conditioned features (`condition`)."""
    return [condition(cell_means(store, settings.grid), settings, store.dtype) for store in stores]


def at_pace(
    x: NDArray[np.float32], dtype: str, settings: Whitened, usual: float
) -> tuple[NDArray[np.float32], NDArray[np.int64] | slice]:
    """Return conditioned features (n, C) of a video, and for each of its T samples the index of its features.

    ``x`` are the `cell_means` of the video, and ``dtype`` is the type in which it was stored.

    Every sample has its own features, unless the video is far longer than the ``usual`` number of samples; then it has
    those of a sample nearby (`at_usual_pace`).
    """
    chosen = at_usual_pace(standardise(x, dtype), usual)
    if chosen is None:
        return condition(x, settings, dtype), slice(None)
    return condition(x[chosen], settings, dtype), nearest_of(chosen, len(x))


@dataclass(frozen=True)
class Whitening:
    """A projection onto principal components of unit variance.

    Attributes
    ----------
    mean
        (C,) mean of the samples on which it was fitted.
    basis
        (C, D) components, each divided by the standard deviation along it.
    blocks
        Number of equal parts of the components; in a whitened sample, all parts have the same length.
    """

    mean: NDArray[np.float64]
    basis: NDArray[np.float64]
    blocks: int = 1

    def apply(self, x: NDArray[np.floating]) -> NDArray[np.float32]:
        """Whiten samples (T, C) and scale them to unit length, (T, D); a sample at the mean is 0."""
        white = np.asarray(x, dtype=np.float64) @ self.basis - self.mean @ self.basis
        if self.blocks == 1:
            return unit_rows(white.astype(np.float32))
        parts = np.split(white.astype(np.float32), self.blocks, axis=1)
        return np.concatenate([unit_rows(part) / np.float32(np.sqrt(self.blocks)) for part in parts], axis=1)


def fit_whitening(videos: Sequence[NDArray[np.floating]], D: int, floor: float) -> Whitening:
    """Fit PCA whitening to the samples of several videos.

    Parameters
    ----------
    videos
        (T_v, C) per video, C the same for all.
    D
        Largest number of components; there are at most as many as channels and samples.
    floor
        Components below this share of the largest variance are dropped: they contain only rounding errors, which
        whitening would amplify.

    Returns
    -------
    Whitening
        It has at least one component. If all samples are equal, the component and all whitened samples are 0.

    Notes
    -----
    The components follow from the D leading eigenpairs of the covariance (C, C), or, if there are fewer samples than
    channels, of the samples' inner products (T, T): with X the centred samples, X X' u = mu u gives the component
    X' u / sqrt(mu), of variance mu / T. A component is known up to its sign; here its largest entry is positive.
    scikit-learn's PCA needs all samples in one array and has no floor; here the covariance grows video by video.
    """
    samples, channels = sum(len(video) for video in videos), videos[0].shape[1]
    mean = sum((video.sum(axis=0, dtype=np.float64) for video in videos), np.zeros(channels)) / samples
    if samples < channels:
        centred = np.concatenate([video - mean for video in videos])
        variances, vectors = _leading(centred @ centred.T / samples, D)
        components = centred.T @ vectors
    else:
        covariance = np.zeros((channels, channels))
        for video in videos:
            offsets = video - mean
            covariance += offsets.T @ offsets
        variances, components = _leading(covariance / samples, D)
    keep = variances > floor * variances.max(initial=0.0)
    if not keep.any():
        return Whitening(mean, np.zeros((channels, 1)))
    components = components[:, keep] / np.linalg.norm(components[:, keep], axis=0)
    largest = components[np.abs(components).argmax(axis=0), np.arange(components.shape[1])]
    return Whitening(mean, components * np.sign(largest) / np.sqrt(variances[keep]))


def fit_blocks(videos: Sequence[NDArray[np.floating]], settings: Whitened) -> Whitening:
    """Fit the whitening of conditioned videos (T_v, C): one block, or two where variability is ``apart``.

    The columns are values, speed (if requested) and variability. If there are two blocks, the first has the components
    of values and speed, the second the components of all columns. The narrower block is padded with zeros.
    """
    whole = fit_whitening(videos, settings.D, settings.floor)
    if settings.variability != "apart":
        return whole
    columns = videos[0].shape[1] * (1 + settings.speed) // (2 + settings.speed)
    without = fit_whitening([video[:, :columns] for video in videos], settings.D, settings.floor)
    D = max(without.basis.shape[1], whole.basis.shape[1])
    basis = np.zeros((len(whole.basis), 2 * D))
    basis[:columns, : without.basis.shape[1]] = without.basis
    basis[:, D : D + whole.basis.shape[1]] = whole.basis
    return Whitening(whole.mean, basis, blocks=2)


def fit_whitened(stores: Sequence[VideoFeatures], seed: int, settings: Whitened) -> EmbedVideo:
    """Fit the whitening to the training videos; return the embedding ``whitened``. The seed has no effect."""
    # Sums over threads depend on their number; one thread gives the same files everywhere.
    usual = usual_length([len(store) for store in stores])
    levels, videos = _Levels(), []
    with threadpool_limits(limits=1):
        for store in stores:
            x = cell_means(store, settings.grid)
            levels.add(x)
            videos.append(at_pace(x, store.dtype, settings, usual))
        discrete = levels.discrete()
        for video, _ in videos:
            clear_motion(video, discrete)
        whitening = fit_blocks([video for video, _ in videos], settings)
        fitted = {
            store.video: Embedded(whitening.apply(video)[nearest])
            for store, (video, nearest) in zip(stores, videos, strict=True)
        }
    learned = {"mean": whitening.mean, "basis": whitening.basis, DISCRETE: discrete, USUAL: np.array(usual)}
    others = restore_whitened(learned, settings)
    return Fitted(lambda store: fitted[store.video] if store.video in fitted else others(store), learned)


def restore_whitened(learned: Learned, settings: Whitened) -> EmbedVideo:
    """Return the function that embeds videos, with maps of the same size, by the whitening of the task."""
    whitening = Whitening(learned["mean"], learned["basis"], 2 if settings.variability == "apart" else 1)

    def embed(store: VideoFeatures) -> Embedded:
        with threadpool_limits(limits=1):
            x = cell_means(store, settings.grid)
            video, nearest = at_pace(x, store.dtype, settings, usual_in(learned))
            if DISCRETE in learned:  # bundles of earlier versions keep speed and variability of all channels
                clear_motion(video, learned[DISCRETE])
            return Embedded(whitening.apply(video)[nearest])

    return embed


def _width(share: float, T: int) -> int:
    """Return the odd number of samples nearest to a share of T; in a tie, the larger number."""
    return 2 * int(share * T / 2) + 1


def _cells(side: int, grid: int) -> NDArray[np.float32]:
    """Return the weights (cells, side) that average a side of a map over cells; their sizes differ by at most one."""
    cells = min(side, grid)
    borders = np.linspace(0, side, cells + 1).round().astype(int)
    weights = np.zeros((cells, side), dtype=np.float32)
    for cell, (start, stop) in enumerate(zip(borders[:-1], borders[1:], strict=True)):
        weights[cell, start:stop] = 1 / (stop - start)
    return weights


def _leading(matrix: NDArray[np.float64], D: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the D largest eigenvalues of a symmetric matrix, descending, and their vectors in columns."""
    n = len(matrix)
    if n <= max(SMALL, D):
        values, vectors = eigh(matrix, subset_by_index=(max(n - D, 0), n - 1), overwrite_a=True)
    else:
        # The starting vector is fixed, for reproducible results; it is not a vector of ones, because centred inner
        # products map this to 0.
        values, vectors = eigsh(matrix, k=D, v0=np.random.default_rng(0).normal(size=n))
    return values[::-1], vectors[:, ::-1]


VECTORS = Whitened()
"""The whitening of vectors: as in the method ``whitened`` by default, onto at most 32 channels."""


Look = Callable[[NDArray[np.int64]], NDArray[np.float32]]
"""Maps of the frames (n,) of a video, with the channels last: (n, h, w, C)."""
