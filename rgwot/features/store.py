"""The feature store of one video: Zarr version 3, written once, refused when incomplete or different.

The features are one array, float16, or float32 where that spoils vectors: ``conv4c``, ``(T, C, h, w)``, of the paper's
backbone, or ``features`` of anything else, ``(T, C, h, w)`` for maps and ``(T, D)`` for vectors. ``layer`` and
``backbone`` say what they are. ``time_s`` is ``(T,)`` float64, the sampled times.
64 frames are one chunk and one file, with a checksum (CRC-32C) that Zarr compares:
a changed or missing chunk is an error. Frames are stored as they are, by LZ4 of shuffled bits, a sixth smaller, or by
Zstandard at level 1, a quarter smaller and the slowest (``features.codec``). All hold the same values and may stand
side by side.

Open stores in the process that reads them: Zarr's event loop does not survive ``fork``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.codecs import BloscCodec, Crc32cCodec, ZstdCodec
from zarr.errors import NodeNotFoundError

from rgwot.datasets.arrays import holding_file
from rgwot.features import ARRAYS, CONV4C, OTHER, left_out
from rgwot.paths import STORE
from rgwot.runtime.errors import RgwotError, first_line
from rgwot.runtime.files import remake, replacing
from rgwot.runtime.provenance import sha256
from rgwot.timing import VideoInfo

#: How small arrays are compressed; Zarr compares the checksum of every chunk that it reads.
CHECKED = (BloscCodec(cname="zstd", clevel=1, shuffle="bitshuffle"), Crc32cCodec())
#: What Zarr, its codecs and JSON raise for a store that is cut short or changed.
STORE_ERRORS = (RuntimeError, ValueError, OSError, LookupError, TypeError, AttributeError)


def create(group: zarr.Group, name: str, shape: tuple[int, ...], chunk: int, **options: Any) -> zarr.Array[Any]:
    """Create an array of ``shape`` with chunks of ``chunk`` rows, one file each in the folder of the array.

    ``options`` are those of `zarr.Group.create_array`; without ``compressors``, they are `CHECKED`.
    """
    return group.create_array(
        name,
        shape=shape,
        chunks=(max(chunk, 1), *(max(size, 1) for size in shape[1:])),
        chunk_key_encoding={"name": "default", "separator": "."},
        # Also a chunk of nothing but zeros is a file, so that a missing one is noticed.
        config={"write_empty_chunks": True},
        **{"compressors": CHECKED, **options},
    )


def writable(group: zarr.Group, name: str) -> zarr.Array[Any]:
    """Open an array that `create` has made, to write more of it."""
    with zarr.config.set({"array.write_empty_chunks": True}):
        array = group[name]
    assert isinstance(array, zarr.Array)
    return array


def put(group: zarr.Group, name: str, values: NDArray[Any], chunk: int | None = None, **options: Any) -> None:
    """Write a whole array, in one chunk unless ``chunk`` says how many rows one has."""
    array = create(group, name, values.shape, chunk or len(values), dtype=values.dtype, overwrite=True, **options)
    if values.size:
        array[...] = values


def check_complete(array: zarr.Array[Any], path: Path) -> None:
    """Raise ValueError if a chunk of the array, which is in the folder ``path``, is missing: Zarr would read zeros."""
    if not array.size:
        return
    there = sum(name.startswith("c.") for name in os.listdir(path)) if path.is_dir() else 0
    if there < array.nchunks:
        raise ValueError(f"{array.nchunks - there} of {array.nchunks} chunks of {array.basename} are missing")


def whole(group: zarr.Group, name: str, path: Path) -> NDArray[Any]:
    """Return an array of the store at ``path`` as a whole.

    Raises one of `STORE_ERRORS` if there is none or it is damaged.
    """
    array = group[name]
    if not isinstance(array, zarr.Array):
        raise TypeError(f"{name} is a group, expected an array")
    check_complete(array, path / name)
    return np.asarray(array[...])


Codec = Literal["none", "lz4", "zstd"]

#: Frames of a chunk; a shorter video is one chunk.
CHUNK = 64
#: Channels of the default network.
DEFAULT_CHANNELS = 1024
#: What the attribute ``decoder`` says of features made elsewhere.
IMPORTER = "import"
#: How frames are compressed, by ``features.codec``.
CODECS: Mapping[Codec, Any] = {
    "none": [Crc32cCodec()],
    "lz4": [BloscCodec(cname="lz4", clevel=5, shuffle="bitshuffle", typesize=2), Crc32cCodec()],
    "zstd": [ZstdCodec(level=1), Crc32cCodec()],
}
_TIMES = "time_s"
_COMPLETE = "complete"


@dataclass(frozen=True)
class FeatureStore:
    """The complete feature store of one video, open for reading.

    ``attributes`` is everything recorded beside the arrays, see `rgwot.features.extract`; ``time_s`` is ``(T,)``, the
    sampled times in seconds, strictly increasing; ``T`` is 0 for a skipped video. ``path`` is what messages name,
    ``features['name']`` of an array in memory, and ``called`` the id of the video where that is not the store's name.
    """

    path: Path
    attributes: Mapping[str, Any]
    time_s: NDArray[np.float64]
    _array: zarr.Array[Any] | NDArray[Any]
    called: str = ""

    @property
    def video(self) -> str:
        """Id of the video: as it is called, else the name of the store without its suffix."""
        return self.called or self.path.name.removesuffix(STORE)

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
    def columns(self) -> str:
        """Names of the channels, one a line, of a table that has them; else empty."""
        return str(self.attributes.get("columns", ""))

    @property
    def duration_s(self) -> float:
        """Duration of the video in seconds."""
        return float(self.attributes["duration_s"])

    @property
    def fps(self) -> float:
        """Features per second."""
        return float(self.attributes["fps"])

    @property
    def scales(self) -> float | None:
        """How far the scales of the channels differ, where it was measured."""
        ratio = self.attributes.get("scales")
        return None if ratio is None else float(ratio)

    @property
    def native_fps(self) -> Fraction:
        """Frame rate of the video file, exact."""
        return Fraction(self.attributes["native_fps"])

    @property
    def vectors(self) -> bool:
        """Whether a frame is a vector. It is read as a map of one place, h = w = 1, all the same."""
        return self._array.ndim == 2

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """``(T, C, h, w)``."""
        frames, channels, *space = self._array.shape
        height, width = space or (1, 1)
        return frames, channels, height, width

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def dtype(self) -> str:
        """Type of the features: float16, or float32 of vectors that it would spoil."""
        return str(self._array.dtype)

    def read(self) -> NDArray[np.floating[Any]]:
        """Return all maps, ``(T, C, h, w)`` of the type ``dtype``."""
        return self.frames(np.arange(len(self)))

    def frames(self, indices: Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[np.floating[Any]]:
        """Return the maps of some frames, ``(len(indices), C, h, w)`` of the type ``dtype``, in the order asked for.

        Raises ValueError when an index lies outside ``[0, T)``, and RgwotError when a file of the store is missing or
        damaged.
        """
        asked = np.asarray(indices, dtype=np.int64)
        if asked.size and (asked.min() < 0 or asked.max() >= len(self)):
            raise ValueError(f"frames {asked.min()} to {asked.max()}, expected 0 to {len(self) - 1}")
        values = np.empty((asked.size, *self.shape[1:]), dtype=self.dtype)
        # An array in memory is a single chunk.
        rows = max(getattr(self._array, "chunks", self._array.shape)[0], 1)
        # Chunk by chunk, which Zarr reads in a third of the time that a slice across several takes.
        for chunk in np.unique(asked // rows).tolist():
            places = np.flatnonzero(asked // rows == chunk)
            start = chunk * rows
            try:
                read = np.asarray(self._array[start : min(start + rows, len(self))])
            except STORE_ERRORS as error:
                raise damaged_store(self.path, f"frames {start} to {start + rows - 1}: {first_line(error)}") from None
            values[places] = read.reshape(-1, *self.shape[1:])[asked[places] - start]
        return values


def open_store(path: str | os.PathLike[str], expect: Mapping[str, Any] | None = None) -> FeatureStore:
    """Open a store whose attributes have the values to ``expect``, such as ``{"fps": 2.0, "weights_sha256": ...}``.

    Raises RgwotError when there is no store, it is incomplete or damaged, not laid out as expected or made with other
    settings.
    """
    path = Path(path)
    try:
        return _open(path, expect or {})
    except STORE_ERRORS as error:
        raise damaged_store(path, f"it cannot be opened ({first_line(error)})") from None


def _open(path: Path, expect: Mapping[str, Any]) -> FeatureStore:
    try:
        group = zarr.open_group(path, mode="r", zarr_format=3)
    except (NodeNotFoundError, FileNotFoundError) as error:
        raise RgwotError(f"{path}: no feature store; expected one that the workflow wrote") from error
    attributes = dict(group.attrs)
    if attributes.get(_COMPLETE) is not True:
        raise RgwotError(f"{path}: incomplete feature store; delete it and extract the video again")
    for key, value in expect.items():
        if attributes.get(key) != value:
            raise RgwotError(
                f"{path}: made with {key} {attributes.get(key)!r}, expected {value!r}; "
                "delete it and extract the video again"
            )
    # Not `in group`: of a store of a few frames, every look through Zarr costs more than reading it.
    name = next((name for name in ARRAYS if (path / name).is_dir()), ARRAYS[0])
    array, times = group.get(name), group.get(_TIMES)
    if not isinstance(array, zarr.Array) or not isinstance(times, zarr.Array):
        raise RgwotError(f"{path}: arrays {sorted(group)}, expected {' or '.join(ARRAYS)} and {_TIMES}")
    # A chunk has some frames whole, so that a changed shape shows.
    if array.ndim not in (2, 4) or times.shape != array.shape[:1] or array.chunks[1:] != array.shape[1:]:
        raise RgwotError(
            f"{path}: {name} {array.shape} and {_TIMES} {times.shape}, expected (T, C, h, w) and (T,) with one T"
        )
    check_complete(array, path / name)
    check_complete(times, path / _TIMES)
    time_s = np.asarray(times[...], dtype=np.float64)
    if not (np.diff(time_s) > 0).all():
        raise damaged_store(path, "the times do not increase")
    return FeatureStore(path, attributes, time_s, array)


def damaged_store(path: Path, reason: str) -> RgwotError:
    """Return the error that says how a store is damaged, and how to make it again."""
    return RgwotError(f"{path}: damaged feature store, {reason}; {remake(path)}")


def source_facts(path: Path) -> dict[str, Any]:
    """Return the attributes that say which file a store was made from: its name, bytes, time and SHA-256.

    Of a video in an archive bytes and time are the archive's, whose SHA-256 with the name stands for the content.
    """
    holder = holding_file(path)
    status = holder.stat()
    facts = {"source": path.name, "source_bytes": status.st_size, "source_mtime_ns": status.st_mtime_ns}
    return {**facts, "source_sha256": _digest(path)}


def _digest(path: Path) -> str:
    holder = holding_file(path)
    if holder == path:
        return sha256(path)
    status = holder.stat()
    whole = _archive_digest(holder, status.st_size, status.st_mtime_ns)
    return hashlib.sha256(f"{whole} {path.name}".encode()).hexdigest()


@lru_cache(maxsize=2)
def _archive_digest(path: Path, size: int, modified_ns: int) -> str:
    return sha256(path)


def is_current(path: Path, source: Path, expect: Mapping[str, Any], on_bad_video: Literal["fail", "skip"]) -> bool:
    """Return whether there is a complete store with the attributes to ``expect``, made from this source as it is now.

    A source of another modification time is read, and is the same if its SHA-256 is. A store that lacks frames, because
    a bad video was to be skipped, is current only where bad videos are to be skipped.
    """
    try:
        store = open_store(path, expect)
    except RgwotError:
        return False
    if on_bad_video == "fail" and left_out(store.status, store.imported):
        return False
    recorded, source_status = store.attributes, holding_file(source).stat()
    if (recorded.get("source"), recorded.get("source_bytes")) != (source.name, source_status.st_size):
        return False
    return recorded.get("source_mtime_ns") == source_status.st_mtime_ns or recorded.get("source_sha256") == _digest(
        source
    )


def video_facts(video: VideoInfo | None, status: str, reason: str) -> dict[str, Any]:
    """Return the attributes of a store about its video, zeros where there is None, and how much of it is there."""
    facts = (video.duration_s, str(video.fps), video.width, video.height) if video else (0.0, "0", 0, 0)
    names = ("duration_s", "native_fps", "width", "height")
    return {**dict(zip(names, facts, strict=True)), "status": status, "reason": reason}


class StoreWriter:
    """A store being written, one chunk at a time, in any order and over several runs.

    An unfinished store at ``path`` is continued. The frames expected are at ``time_s`` (T,), seconds, and ``side`` is
    that of their maps where h = w, else (h, w), or () for vectors. The ``layer`` they are from names the array, and
    ``dtype`` is the type it holds.
    Values do not depend on ``codec``, a key of `CODECS`; a store that is continued keeps the one it was begun with.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        time_s: NDArray[np.float64],
        side: int | tuple[int, ...],
        codec: Codec = "none",
        channels: int = DEFAULT_CHANNELS,
        layer: str = CONV4C,
        dtype: str = "float16",
    ) -> None:
        space = (side, side) if isinstance(side, int) else side
        name = CONV4C if layer == CONV4C and space and channels == DEFAULT_CHANNELS else OTHER
        shape = (len(time_s), channels, *space)
        self._time_s = np.asarray(time_s, dtype=np.float64)
        self._group = zarr.open_group(path, mode="a", zarr_format=3)
        # An array that exists is kept with its chunks; creating it is atomic (its metadata is one file).
        if name not in self._group:
            names = ("frame", "channel", "y", "x")[: len(shape)]
            chunk = min(len(time_s), CHUNK)
            create(self._group, name, shape, chunk, dtype=dtype, compressors=CODECS[codec], dimension_names=names)
        self._array = writable(self._group, name)
        self._resize(len(time_s))

    def write(self, chunk: int, maps: NDArray[np.floating[Any]]) -> None:
        """Write the features of one chunk, of ``n <= 64`` frames: (n, C, h, w); vectors may be (n, D)."""
        if len(maps):
            stored = maps.astype(self._array.dtype).reshape(len(maps), *self._array.shape[1:])
            self._array[chunk * CHUNK : chunk * CHUNK + len(maps)] = stored

    def finish(self, frames: int, attributes: Mapping[str, Any]) -> None:
        """Keep the first ``frames`` frames, write the attributes, and with them, last of all, ``complete: true``."""
        self._resize(frames)
        put(self._group, _TIMES, self._time_s[:frames], dimension_names=("frame",))
        # At once: `attrs.update` writes the file again for every attribute.
        self._group.update_attributes({**attributes, _COMPLETE: True})

    def _resize(self, frames: int) -> None:
        if self._array.shape[0] != frames:
            self._array.resize((frames, *self._array.shape[1:]))


def write_skipped(output: Path, shape: tuple[int, ...], attributes: Mapping[str, Any], reason: str) -> None:
    """Write a store without frames, of a video that cannot be used; ``shape`` is that of the features of a frame."""
    with replacing(output) as temporary:
        store = StoreWriter(temporary, np.empty(0), shape[1:], channels=shape[0], layer=attributes["layer"])
        store.finish(0, {**attributes, **video_facts(None, "skipped", reason)})
