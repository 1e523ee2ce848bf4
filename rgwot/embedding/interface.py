"""The interface of embeddings without an encoder, and features averaged over space.

An embedding is a model (`rgwot.embedding.settings.Embedding`) that names a function of videos, a seed (the source of
all randomness) and the model. If it also names a function for other videos (``RESTORE``), and the first function
returns what it learned (`Fitted`), other videos can be embedded later from a bundle (`rgwot.bundles`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rgwot.embedding.settings import Pooled
from rgwot.runtime.errors import RgwotError


class VideoFeatures(Protocol):
    """The features of a video, in memory (`ArrayFeatures`) or in a file (`rgwot.features.store.FeatureStore`).

    ``video`` is its id, ``time_s`` (T,) are the times of its samples, ``duration_s`` its length in seconds,
    ``native_fps`` its frames and ``fps`` its features per second. ``shape`` is (T, C, h, w), with h = w = 1 if a sample
    is a vector (``vectors``); ``dtype`` is ``float16`` or ``float32``. ``scales`` says how far the scales of the
    channels differ, if it is known (`rgwot.embedding.arrays.Spread`).
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
    """Features x (T, D) or (T, C, h, w) of a video in memory, float16 or float32; see `VideoFeatures`."""

    video: str
    x: NDArray[np.floating]
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

    def frames(self, indices: Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[np.floating]:
        """Return the maps of some samples, (n, C, h, w), in the order asked for."""
        chosen: NDArray[np.floating] = self.x[np.asarray(indices, dtype=np.int64)]
        return chosen.reshape(-1, *self.shape[1:])

    def read(self) -> NDArray[np.floating]:
        """Return all maps, (T, C, h, w)."""
        return self.frames(np.arange(len(self)))


@dataclass(frozen=True)
class Embedded:
    """The embedding of a video's T samples.

    Attributes
    ----------
    embedding
        (T, D).
    background
        (T,) samples that are not clustered, if the method detects background.
    """

    embedding: NDArray[np.float32]
    background: NDArray[np.bool_] | None = None


EmbedVideo = Callable[[VideoFeatures], Embedded]
"""A function from a video, whether it was learned from or not, to its embedding."""

Learned = Mapping[str, NDArray[Any]]
"""What an embedding or a clustering learned, as arrays that can be stored; from these, `rgwot.blocks.Model.restored`
makes the function for other videos."""


USUAL = "usual_samples"
"""Key of what was learned: the usual number of samples of a video (`rgwot.embedding.pace`)."""


def usual_in(learned: Learned) -> float:
    """Return the usual number of samples; NaN if it was not learned, so that no recording counts as far longer."""
    return float(learned[USUAL]) if USUAL in learned else float("nan")


@dataclass(frozen=True)
class Fitted:
    """An `EmbedVideo` with what it learned."""

    embed: EmbedVideo
    learned: Learned

    def __call__(self, store: VideoFeatures) -> Embedded:
        """Embed a video."""
        return self.embed(store)


Fit = Callable[[Sequence[VideoFeatures], int], EmbedVideo]
"""A function from the training videos and a seed to the function that embeds a video."""


@dataclass(frozen=True)
class EmbeddedVideo:
    """Embeddings (T, D) of one video, the times (T,) of its samples, its length in seconds, and its native frame rate.

    ``background`` (T,) marks samples that are not clustered, if the method detects background. ``given`` (T,) are the
    labels of an annotated video, and ``marked`` (T,) says which labels are marks (`rgwot.keysteps.interface.Frames`).
    """

    embedding: NDArray[Any]
    time_s: NDArray[np.float64]
    duration_s: float
    native_fps: float | Fraction
    background: NDArray[np.bool_] | None = None
    given: NDArray[np.int64] | None = None
    marked: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class EmbeddedTask:
    """The videos of a task in the order of their ids; those without a frame are listed in ``empty``.

    ``held_out`` names the videos that the clustering must not see, including videos without a frame; ``notes`` are
    sentences about the training of the embedding. ``scales`` says how far the scales of the features' channels differ,
    if the embedding depends on them.
    """

    videos: Mapping[str, EmbeddedVideo]
    empty: tuple[str, ...]
    features_fps: float
    method: str
    held_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    scales: float | None = None

    def part(self, held_out: bool) -> dict[str, EmbeddedVideo]:
        """Return the held-out videos, or the others."""
        return {name: video for name, video in self.videos.items() if (name in self.held_out) == held_out}


def with_both_parts(task: EmbeddedTask, where: str) -> EmbeddedTask:
    """Return the task; raise RgwotError if all or none of its videos with frames are held out."""
    present = len(set(task.held_out).intersection(task.videos))
    if task.held_out and not 0 < present < len(task.videos):
        raise RgwotError(
            f"{where}: {present} of {len(task.videos)} videos with a frame are held out, expected some of "
            "them, but not all; see the feature index for videos without frames, or set another data.split_seed"
        )
    return task


def check_finite(x: NDArray[np.float64], where: str) -> None:
    """Raise RgwotError if an embedding (T, D) has values that are not finite."""
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
        If the embedding is not a vector per sample, or a value is not finite.
    """
    embedded = checked(embed(store), store)
    x = np.asarray(embedded.embedding, dtype=np.float64)
    check_finite(x, f"embedding of {store.video!r}")
    return EmbeddedVideo(x, store.time_s, store.duration_s, float(store.native_fps), embedded.background)


def checked(embedded: Embedded, store: VideoFeatures) -> Embedded:
    """Return a method's embedding of a video; raise RgwotError unless it is a vector per sample."""
    arrays: dict[str, Any] = {name: getattr(embedded, name, None) for name in ("embedding", "background")}
    x, background = np.shape(arrays["embedding"]), np.shape(arrays["background"])
    if x[:1] != (len(store),) or len(x) != 2:
        raise RgwotError(
            f"embedding of {store.video}: found shape {x}, expected ({len(store)}, D): a vector per sample; "
            "correct the function that made it"
        )
    if arrays["background"] is not None and background != (len(store),):
        raise RgwotError(
            f"background of {store.video}: found shape {background}, expected ({len(store)},): a value per sample; "
            "correct the function that made it"
        )
    return embedded


FRAMES_AT_ONCE = 64


def spatial_means(store: VideoFeatures) -> NDArray[np.float32]:
    """Average the maps of every frame over space, (T, C), reading in blocks. Vectors do not change."""
    means = np.empty((len(store), store.shape[1]), dtype=np.float32)
    for start in range(0, len(store), FRAMES_AT_ONCE):
        block = np.arange(start, min(start + FRAMES_AT_ONCE, len(store)))
        means[block] = store.frames(block).astype(np.float32).mean(axis=(2, 3))
    return means


def unit_rows(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scale rows (n, D) to norm 1; a row of zeros stays."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(np.divide(x, norms, out=np.zeros_like(x), where=norms > 0), dtype=np.float32)


def fit_pooled(stores: Sequence[VideoFeatures], seed: int, settings: Pooled) -> EmbedVideo:
    """Fit nothing: a video is embedded by its spatial means, scaled to norm 1 (D = C)."""
    return Fitted(restore_pooled({}, settings), {})


def restore_pooled(learned: Learned, settings: Pooled) -> EmbedVideo:
    """Return the embedding, which learns nothing."""
    return lambda store: Embedded(unit_rows(spatial_means(store)))
