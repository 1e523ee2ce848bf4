"""The feature store of one video: Zarr version 3, written once, refused when incomplete or different.

``conv4c`` is ``(T, 1024, h, w)`` float16 and ``time_s`` is ``(T,)`` float64, the sampled times. One frame is
one inner chunk, so that a training step reads only the frames it drew; 64 frames are one shard, so that a
dataset of thousands of videos does not become millions of files. Frames are stored as they are, and then read as
fast as from a memory-mapped array, or by LZ4 of shuffled bits, a sixth smaller, or by Zstandard at level 1, a quarter
smaller and the slowest (``features.codec``; docs/performance.md). All hold the same values and may stand side by side.

Open stores in the process that reads them: Zarr's event loop does not survive ``fork``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.codecs import BloscCodec, ZstdCodec
from zarr.errors import NodeNotFoundError

from rgwot.errors import RgwotError
from rgwot.features.shards import Shards, open_shards

Codec = Literal["none", "lz4", "zstd"]

SHARD = 64
CHANNELS = 1024
#: What the attribute ``decoder`` says of features made elsewhere.
IMPORTER = "import"
#: How frames are compressed, by ``features.codec``.
CODECS: Mapping[Codec, Any] = {
    "none": None,
    "lz4": [BloscCodec(cname="lz4", clevel=5, shuffle="bitshuffle", typesize=2)],
    "zstd": [ZstdCodec(level=1)],
}
_FEATURES = "conv4c"
_TIMES = "time_s"
_COMPLETE = "complete"


@dataclass(frozen=True)
class FeatureStore:
    """The complete feature store of one video, open for reading.

    Attributes
    ----------
    path
        Where the store is.
    attributes
        Everything recorded beside the arrays, see `rgwot.features.extract`.
    time_s
        ``(T,)`` sampled times in seconds, strictly increasing; ``T`` is 0 for a skipped video.
    """

    path: Path
    attributes: Mapping[str, Any]
    time_s: NDArray[np.float64]
    _conv4c: zarr.Array[Any]
    _shards: Shards | None = None

    @property
    def video(self) -> str:
        """Id of the video: the name of the store without its suffix."""
        return self.path.name.removesuffix(".zarr")

    @property
    def status(self) -> str:
        """``ok``, ``partial`` (the file ends early, what decoded is there) or ``skipped`` (no frames)."""
        return str(self.attributes["status"])

    @property
    def reason(self) -> str:
        """Why the video is partial or skipped, else empty."""
        return str(self.attributes["reason"])

    @property
    def imported(self) -> bool:
        """Whether the features were made elsewhere."""
        return self.attributes.get("decoder") == IMPORTER

    @property
    def duration_s(self) -> float:
        """Duration of the video in seconds."""
        return float(self.attributes["duration_s"])

    @property
    def native_fps(self) -> Fraction:
        """Frame rate of the video file, exact."""
        return Fraction(self.attributes["native_fps"])

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """``(T, 1024, h, w)``."""
        frames, channels, height, width = self._conv4c.shape
        return frames, channels, height, width

    def __len__(self) -> int:
        """Return the number of frames T."""
        return self.shape[0]

    def read(self) -> NDArray[np.float16]:
        """Return all maps, ``(T, 1024, h, w)`` float16."""
        return self.frames(np.arange(len(self)))

    @property
    def compressed(self) -> bool:
        """Whether frames are decoded when they are read."""
        return self._shards is None or self._shards.codec is not None

    def frames(
        self, indices: Sequence[int] | NDArray[np.integer[Any]], out: NDArray[np.float16] | None = None
    ) -> NDArray[np.float16]:
        """Return the maps of some frames, ``(len(indices), 1024, h, w)`` float16, in the order asked for.

        Of a store laid out otherwise than this package does, neighbouring frames are read as one slice. Indexing the
        array with a list instead would be a hundred times slower: Zarr then decodes whole shards.

        Parameters
        ----------
        indices
            Within ``[0, T)``.
        out
            Where to put the maps, contiguous, and what is returned; default: a new array.

        Raises
        ------
        ValueError
            When an index lies outside ``[0, T)``.
        RgwotError
            When a file of the store is damaged.
        """
        asked = np.asarray(indices, dtype=np.int64)
        if asked.size and (asked.min() < 0 or asked.max() >= len(self)):
            raise ValueError(f"frames {asked.min()} to {asked.max()}, expected 0 to {len(self) - 1}")
        found = np.empty((asked.size, *self.shape[1:]), dtype=np.float16) if out is None else out
        if self._shards is not None:
            self._shards.read(asked, found)
            return found
        wanted, places = np.unique(asked, return_inverse=True)
        decoded = np.empty((wanted.size, *self.shape[1:]), dtype=np.float16)
        edges = np.flatnonzero(np.diff(wanted) > 1) + 1
        for run in np.split(np.arange(wanted.size), edges):
            if run.size:
                decoded[run[0] : run[-1] + 1] = self._decode(int(wanted[run[0]]), int(wanted[run[-1]]) + 1)
        np.take(decoded, places, axis=0, out=found)
        return found

    def _decode(self, start: int, stop: int) -> NDArray[np.float16]:
        try:
            return np.asarray(self._conv4c[start:stop], dtype=np.float16)
        except (RuntimeError, ValueError, OSError) as error:
            # What both codec pipelines say of a file that is cut short or changed.
            why = (str(error) or type(error).__name__).splitlines()[0]
            raise RgwotError(
                f"{self.path}: damaged feature store, frames {start} to {stop - 1} cannot be decoded ({why}); "
                "delete the store and extract the video again"
            ) from None


def open_store(path: str | os.PathLike[str], expect: Mapping[str, Any] | None = None) -> FeatureStore:
    """Open a store for reading.

    Parameters
    ----------
    path
        The store.
    expect
        Attributes that must have these values, such as ``{"fps": 2.0, "weights_sha256": ...}``.

    Raises
    ------
    RgwotError
        When there is no store, it is incomplete, not laid out as expected or made with other settings.
    """
    path = Path(path)
    with _fast_codecs():
        try:
            group = zarr.open_group(path, mode="r", zarr_format=3)
        except (NodeNotFoundError, FileNotFoundError) as error:
            raise RgwotError(f"{path}: no feature store; expected one written by rgwot extract") from error
        attributes = dict(group.attrs)
        if attributes.get(_COMPLETE) is not True:
            raise RgwotError(f"{path}: incomplete feature store; delete it and extract the video again")
        for key, value in (expect or {}).items():
            if attributes.get(key) != value:
                raise RgwotError(
                    f"{path}: made with {key} {attributes.get(key)!r}, expected {value!r}; "
                    "delete it and extract the video again"
                )
        conv4c, times = group.get(_FEATURES), group.get(_TIMES)
    if not isinstance(conv4c, zarr.Array) or not isinstance(times, zarr.Array):
        raise RgwotError(f"{path}: arrays {sorted(group)}, expected {_FEATURES} and {_TIMES}")
    if conv4c.ndim != 4 or conv4c.shape[1] != CHANNELS or times.shape != conv4c.shape[:1]:
        raise RgwotError(
            f"{path}: {_FEATURES} {conv4c.shape} and {_TIMES} {times.shape}, "
            f"expected (T, {CHANNELS}, h, w) and (T,) with one T"
        )
    shards = open_shards(path / _FEATURES, conv4c.shape)
    return FeatureStore(path, attributes, np.asarray(times[:], dtype=np.float64), conv4c, shards)


def source_facts(path: Path) -> dict[str, Any]:
    """Return the attributes that say which file a store was made from: its name, bytes and SHA-256."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"source": path.name, "source_bytes": path.stat().st_size, "source_sha256": digest}


class StoreWriter:
    """A store being written, one shard at a time, in any order and over several runs.

    Parameters
    ----------
    path
        Where to write; an unfinished store there is continued.
    time_s
        ``(T,)`` times of the frames expected, seconds.
    side
        Side of the maps where ``h = w``, else ``(h, w)``.
    codec
        A key of `CODECS`; values do not depend on it. A store that is continued keeps the codec it was begun with.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        time_s: NDArray[np.float64],
        side: int | tuple[int, int],
        codec: Codec = "none",
    ) -> None:
        frames = len(time_s)
        height, width = (side, side) if isinstance(side, int) else side
        self._group = zarr.open_group(Path(path), mode="a", zarr_format=3)
        # An array that exists is kept with its shards; creating it is atomic (its metadata is one file).
        if _FEATURES not in self._group:
            self._group.create_array(
                _FEATURES,
                shape=(frames, CHANNELS, height, width),
                dtype="float16",
                chunks=(1, CHANNELS, height, width),
                shards=(SHARD, CHANNELS, height, width),
                compressors=CODECS[codec],
                dimension_names=("frame", "channel", "y", "x"),
            )
        if _TIMES not in self._group:
            chunk = max(frames, 1)
            self._group.create_array(
                _TIMES, shape=(frames,), dtype="float64", chunks=(chunk,), dimension_names=("frame",)
            )
        self._conv4c = self._array(_FEATURES)
        self._times = self._array(_TIMES)
        if self._conv4c.shape[1:] != (CHANNELS, height, width):
            raise ValueError(f"store {self._conv4c.shape}, expected {(frames, CHANNELS, height, width)}")
        self._resize(frames)
        if frames:
            self._times[:] = time_s

    def write(self, shard: int, maps: NDArray[np.floating[Any]]) -> None:
        """Write the maps of one shard, ``(n, 1024, h, w)`` with ``n <= 64``; stored as float16."""
        if len(maps) > SHARD:
            raise ValueError(f"{len(maps)} frames for one shard, expected at most {SHARD}")
        start = shard * SHARD
        if len(maps):
            self._conv4c[start : start + len(maps)] = maps.astype(np.float16)

    def finish(self, frames: int, attributes: Mapping[str, Any]) -> None:
        """Keep the first ``frames`` frames, write the attributes and, last of all, ``complete: true``."""
        self._resize(frames)
        self._group.attrs.update(dict(attributes))
        self._group.attrs[_COMPLETE] = True

    def _resize(self, frames: int) -> None:
        for array in (self._times, self._conv4c):
            if array.shape[0] != frames:
                array.resize((frames, *array.shape[1:]))

    def _array(self, name: str) -> zarr.Array[Any]:
        array = self._group[name]
        if not isinstance(array, zarr.Array):
            raise ValueError(f"{name} is a {type(array).__name__}, expected an array")
        return array


@contextmanager
def _fast_codecs() -> Iterator[None]:
    """Open arrays with the compiled codec pipeline where it is installed: reading is twice as fast."""
    if importlib.util.find_spec("zarrs") is None:
        yield
    else:
        with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
            yield
