"""What an embedding without an encoder is given and what it gives back, and features averaged over space.

Embeddings are entries of `rgwot.config.methods.EMBEDDING_KINDS`: a function of videos, a seed, from which all
randomness comes, and the blocks of settings that the entry names, and a `Restore` where other videos can be embedded
later, from a bundle (`rgwot.bundles`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rgwot.runtime.errors import RgwotError


class VideoFeatures(Protocol):
    """The features of one video, in memory (`ArrayFeatures`) or in a file (`rgwot.features.store.FeatureStore`).

    ``video`` is its id, ``time_s`` (T,) are the times of its samples, ``duration_s`` its length in seconds,
    ``native_fps`` its frames and ``fps`` its features per second. ``shape`` is (T, C, h, w), 1 by 1 where a sample is a
    vector (``vectors``), ``dtype`` is ``float16`` or ``float32``. ``scales`` is how far the scales of the channels
    differ, where it is known (`rgwot.embedding.arrays.Spread`).
    """

    @property
    def video(self) -> str: ...  # noqa: D102
    @property
    def time_s(self) -> NDArray[np.float64]: ...  # noqa: D102
    @property
    def duration_s(self) -> float: ...  # noqa: D102
    @property
    def native_fps(self) -> Fraction: ...  # noqa: D102
    @property
    def fps(self) -> float: ...  # noqa: D102
    @property
    def scales(self) -> float | None: ...  # noqa: D102
    @property
    def vectors(self) -> bool: ...  # noqa: D102
    @property
    def shape(self) -> tuple[int, int, int, int]: ...  # noqa: D102
    @property
    def dtype(self) -> str: ...  # noqa: D102
    def __len__(self) -> int: ...  # noqa: D105
    def frames(self, indices: Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[np.floating[Any]]:
        """Return the maps of some samples, (n, C, h, w), in the order asked for."""
        ...


@dataclass(frozen=True)
class ArrayFeatures:
    """Features x of one video in memory, (T, D) or (T, C, h, w), float16 or float32; the rest is `VideoFeatures`'."""

    video: str
    x: NDArray[Any]
    time_s: NDArray[np.float64]
    duration_s: float
    native_fps: Fraction
    fps: float
    scales: float | None = None

    @property
    def vectors(self) -> bool:
        """Whether a sample is a vector."""
        return self.x.ndim == 2

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """``(T, C, h, w)``."""
        samples, channels, *space = self.x.shape
        height, width = space or (1, 1)
        return samples, channels, height, width

    @property
    def dtype(self) -> str:
        """Type of the features."""
        return str(self.x.dtype)

    def __len__(self) -> int:
        return len(self.x)

    def frames(self, indices: Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[Any]:
        """Return the maps of some samples, (n, C, h, w), in the order asked for."""
        chosen: NDArray[Any] = self.x[np.asarray(indices, dtype=np.int64)]
        return chosen.reshape(-1, *self.shape[1:])

    def read(self) -> NDArray[Any]:
        """Return all maps, (T, C, h, w)."""
        return self.frames(np.arange(len(self)))


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


EmbedVideo = Callable[[VideoFeatures], Embedded]
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

    def __call__(self, store: VideoFeatures) -> Embedded:
        """Embed one video."""
        return self.embed(store)


Fit = Callable[[Sequence[VideoFeatures], int], EmbedVideo]
"""Videos that may be learned from, seed -> how every video is embedded, by a method with its settings."""


@dataclass(frozen=True)
class EmbeddedVideo:
    """Embeddings (T, D) of one video, sample times (T,) and its length in seconds, native frames per second.

    ``background`` (T,), where the embedding stage has an opinion: these samples take no part in the clustering.
    ``given`` (T,), where people annotated the video, are the labels that they say (`rgwot.keysteps.interface.Frames`).
    """

    embedding: NDArray[Any]
    time_s: NDArray[np.float64]
    duration_s: float
    native_fps: float | Fraction
    background: NDArray[np.bool_] | None = None
    given: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class EmbeddedTask:
    """Every video of a task by id, in the order of the ids; those without a frame are listed in ``empty``.

    ``held_out`` names the videos the clustering must not see, also those without a frame; ``notes`` are sentences about
    the training of the embedding. ``scales`` is how far the scales of the features' channels differ, where they weigh.
    """

    videos: Mapping[str, EmbeddedVideo]
    empty: tuple[str, ...]
    features_fps: float
    method: str
    held_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    scales: float | None = None

    def part(self, held_out: bool) -> dict[str, EmbeddedVideo]:
        """Return the videos that are held out, or the others."""
        return {name: video for name, video in self.videos.items() if (name in self.held_out) == held_out}


def with_both_parts(task: EmbeddedTask, where: str) -> EmbeddedTask:
    """Return the task, or raise RgwotError where all or none of its videos with frames are held out."""
    present = len(set(task.held_out).intersection(task.videos))
    if task.held_out and not 0 < present < len(task.videos):
        raise RgwotError(
            f"{where}: {present} of {len(task.videos)} videos with a frame are held out, expected some and not "
            "all; see the feature index for videos without one, or take another data.split_seed"
        )
    return task


def check_finite(x: NDArray[np.float64], where: str) -> None:
    """Raise RgwotError where an embedding (T, D) has a value that is not finite."""
    if not np.isfinite(x).all():
        bad = int((~np.isfinite(x)).any(axis=1).sum())
        raise RgwotError(
            f"{where}: {bad} of {len(x)} samples are not finite; "
            "expected numbers; train again with a smaller train.lr or with train.precision float32"
        )


def embedded_video(store: VideoFeatures, embed: EmbedVideo) -> EmbeddedVideo:
    """Embed one video.

    Raises
    ------
    RgwotError
        When it is no vector per sample, or a value is not finite.
    """
    embedded = checked(embed(store), store)
    x = np.asarray(embedded.embedding, dtype=np.float64)
    check_finite(x, f"features {store.video!r}")
    return EmbeddedVideo(x, store.time_s, store.duration_s, float(store.native_fps), embedded.background)


def checked(embedded: Embedded, store: VideoFeatures) -> Embedded:
    """Return what a method made of a video; RgwotError unless it is a vector per sample."""
    arrays: dict[str, Any] = {name: getattr(embedded, name, None) for name in ("embedding", "background")}
    x, background = np.shape(arrays["embedding"]), np.shape(arrays["background"])
    if x[:1] != (len(store),) or len(x) != 2:
        raise RgwotError(
            f"embedding of {store.video}: found shape {x}, expected ({len(store)}, D): a vector per sample; "
            "correct the function that made it"
        )
    if arrays["background"] is not None and background != (len(store),):
        raise RgwotError(
            f"background of {store.video}: found shape {background}, expected ({len(store)},): one per sample; "
            "correct the function that made it"
        )
    return embedded


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
