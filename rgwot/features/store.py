"""The feature store of a video in Zarr version 3: written once, not opened if incomplete or made with other settings.

The features are an array of float16, or float32 if float16 would spoil vectors: ``conv4c`` ``(T, C, h, w)`` for the
paper's backbone, otherwise ``features``, with ``(T, C, h, w)`` for maps and ``(T, D)`` for vectors. The attributes
``layer`` and ``backbone`` describe them. ``time_s`` ``(T,)`` float64 are the sampled times.
64 frames are one chunk and one file, with a checksum (CRC-32C) that Zarr compares:
a changed or missing chunk is an error. As ``features.codec`` says, frames are stored without compression, by LZ4 of
shuffled bits (a sixth smaller), or by Zstandard at level 1 (a quarter smaller, and the slowest). The values are the
same, so stores with different codecs can be used together.

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
from zarr.storage import LocalStore

from rgwot.datasets.arrays import holding_file
from rgwot.features import ARRAYS, CONV4C, OTHER, left_out
from rgwot.paths import STORE
from rgwot.runtime.errors import RgwotError, first_line
from rgwot.runtime.files import below_results, remake, replacing
from rgwot.runtime.provenance import sha256
from rgwot.timing import VideoInfo

#: The compression of small arrays; Zarr compares the checksum of every chunk that it reads.
CHECKED = (BloscCodec(cname="zstd", clevel=1, shuffle="bitshuffle"), Crc32cCodec())
#: Errors of Zarr, its codecs and JSON for a store that is truncated or changed.
STORE_ERRORS = (RuntimeError, ValueError, OSError, LookupError, TypeError, AttributeError)


def create(group: zarr.Group, name: str, shape: tuple[int, ...], chunk: int, **options: Any) -> zarr.Array[Any]:
    """Create an array of ``shape`` with chunks of ``chunk`` rows, one file each in the folder of the array.

    ``options`` are passed to `zarr.Group.create_array`; the default of ``compressors`` is `CHECKED`.
    """
    return group.create_array(
        name,
        shape=shape,
        chunks=(max(chunk, 1), *(max(size, 1) for size in shape[1:])),
        chunk_key_encoding={"name": "default", "separator": "."},
        # A chunk of zeros is a file, too, so that a missing chunk is noticed.
        config={"write_empty_chunks": True},
        **{"compressors": CHECKED, **options},
    )


def put(group: zarr.Group, name: str, values: NDArray[Any], chunk: int | None = None, **options: Any) -> None:
    """Write a whole array, in a single chunk or in chunks of ``chunk`` rows."""
    array = create(group, name, values.shape, chunk or len(values), dtype=values.dtype, overwrite=True, **options)
    if values.size:
        array[...] = values


def check_complete(array: zarr.Array[Any], path: Path) -> None:
    """Raise ValueError if a chunk of the array in the folder ``path`` is missing, which Zarr would read as zeros."""
    if not array.size:
        return
    n_chunks = sum(name.startswith("c.") for name in os.listdir(path)) if path.is_dir() else 0
    if n_chunks < array.nchunks:
        raise ValueError(f"{array.nchunks - n_chunks} of {array.nchunks} chunks of {array.basename} are missing")


def whole(group: zarr.Group, name: str, path: Path) -> NDArray[Any]:
    """Read a whole array of the store at ``path``.

    Raises one of `STORE_ERRORS` if it does not exist or is damaged.
    """
    array = group[name]
    if not isinstance(array, zarr.Array):
        raise TypeError(f"{name} is a group, expected an array")
    check_complete(array, path / name)
    return np.asarray(array[...])


#: Files up to this number of bytes are read at once.
SMALL_BYTES = 2**16


class _SmallFiles(LocalStore):
    """A folder whose small files are read at once: with thousands of stores, a thread for each file takes longer."""

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        """Return the content of a file, or None if it does not exist."""
        path = self.root / key
        try:
            if prototype is not None and byte_range is None and path.stat().st_size <= SMALL_BYTES:
                return prototype.buffer.from_bytes(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        return await super().get(key, prototype, byte_range)


Codec = Literal["none", "lz4", "zstd"]

#: Number of frames in a chunk; a shorter video is one chunk.
CHUNK = 64
#: Channels of the default network.
DEFAULT_CHANNELS = 1024
#: The value of the attribute ``decoder`` for imported features.
IMPORTER = "import"
#: The compression of frames, by ``features.codec``.
CODECS: Mapping[Codec, Any] = {
    "none": [Crc32cCodec()],
    "lz4": [BloscCodec(cname="lz4", clevel=5, shuffle="bitshuffle", typesize=2), Crc32cCodec()],
    "zstd": [ZstdCodec(level=1), Crc32cCodec()],
}
_TIMES = "time_s"
_COMPLETE = "complete"


@dataclass(frozen=True)
class FeatureStore:
    """The complete feature store of a video, open for reading.

    ``attributes`` are recorded beside the arrays, see `rgwot.features.extract`; ``time_s`` ``(T,)`` are the sampled
    times in seconds, strictly increasing; ``T`` is 0 for a skipped video. ``path`` is the name in messages
    (``features['name']`` for an array in memory); ``called`` is the id of the video if it is not the store's name.
    """

    path: Path
    attributes: Mapping[str, Any]
    time_s: NDArray[np.float64]
    _array: zarr.Array[Any] | NDArray[Any]
    called: str = ""

    @property
    def video(self) -> str:
        """Id of the video: ``called``, or the name of the store without its suffix."""
        return self.called or self.path.name.removesuffix(STORE)

    @property
    def status(self) -> str:
        """``ok``, ``partial`` (the file ends early; it has the decoded frames) or ``skipped`` (no frames)."""
        return str(self.attributes["status"])

    @property
    def reason(self) -> str:
        """Why the video is partial or skipped; otherwise empty."""
        return str(self.attributes["reason"])

    @property
    def imported(self) -> bool:
        """Whether the features are imported."""
        return self.attributes.get("decoder") == IMPORTER

    @property
    def columns(self) -> str:
        """Names of the channels, one per line, if they come from a table; otherwise empty."""
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
        """Largest ratio of the scales of two channels, if measured."""
        ratio = self.attributes.get("scales")
        return None if ratio is None else float(ratio)

    @property
    def native_fps(self) -> Fraction:
        """Frame rate of the video file, exact."""
        return Fraction(self.attributes["native_fps"])

    @property
    def vectors(self) -> bool:
        """Whether frames are vectors, which are read as maps with h = w = 1."""
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
        """Type of the features: float16, or float32 for vectors that float16 would spoil."""
        return str(self._array.dtype)

    def read(self) -> NDArray[np.floating[Any]]:
        """Return all maps, ``(T, C, h, w)`` of the type ``dtype``."""
        return self.frames(np.arange(len(self)))

    def frames(self, indices: Sequence[int] | NDArray[np.integer[Any]]) -> NDArray[np.floating[Any]]:
        """Return the maps of some frames, ``(len(indices), C, h, w)`` of the type ``dtype``, in the given order.

        Raises ValueError if an index is outside ``[0, T)``, RgwotError if a file of the store is missing or damaged.
        """
        chosen = np.asarray(indices, dtype=np.int64)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= len(self)):
            raise ValueError(f"frames {chosen.min()} to {chosen.max()}, expected 0 to {len(self) - 1}")
        values = np.empty((chosen.size, *self.shape[1:]), dtype=self.dtype)
        # An array in memory is a single chunk.
        rows = max(getattr(self._array, "chunks", self._array.shape)[0], 1)
        # Zarr reads chunk by chunk in a third of the time of a slice across chunks.
        for chunk in np.unique(chosen // rows).tolist():
            places = np.flatnonzero(chosen // rows == chunk)
            start = chunk * rows
            try:
                read = np.asarray(self._array[start : min(start + rows, len(self))])
            except RgwotError:
                raise
            except STORE_ERRORS as error:
                raise damaged_store(self.path, f"frames {start} to {start + rows - 1}: {first_line(error)}") from None
            values[places] = read.reshape(-1, *self.shape[1:])[chosen[places] - start]
        return values


def open_store(path: str | os.PathLike[str], expect: Mapping[str, Any] | None = None) -> FeatureStore:
    """Open a store and check that its attributes are as in ``expect``, such as ``{"fps": 2.0}``.

    Raises RgwotError if the store does not exist, is incomplete or damaged, has another layout or was made with other
    settings.
    """
    path = Path(path)
    try:
        return _open(path, expect or {})
    except RgwotError:
        raise
    except STORE_ERRORS as error:
        raise damaged_store(path, f"it cannot be opened ({first_line(error)})") from None


def _open(path: Path, expect: Mapping[str, Any]) -> FeatureStore:
    try:
        group = zarr.open_group(_SmallFiles(path, read_only=True), mode="r", zarr_format=3)
    except (NodeNotFoundError, FileNotFoundError) as error:
        raise RgwotError(f"{path}: found no feature store, expected one that the workflow wrote") from error
    attributes = dict(group.attrs)
    if attributes.get(_COMPLETE) is not True:
        # rgwot did not write this store, or it was copied only in part, so the message must not advise to delete it.
        again = remake(path) if below_results(path) else "expected one that the workflow wrote; give an array or .npy"
        raise RgwotError(f"{path}: no complete feature store of rgwot; {again}")
    for key, value in expect.items():
        if attributes.get(key) != value:
            raise RgwotError(
                f"{path}: made with {key} {attributes.get(key)!r}, expected {value!r}; "
                "delete it and extract the video again"
            )
    # Not `in group`: for small stores, each such check through Zarr takes longer than reading.
    name = next((name for name in ARRAYS if (path / name).is_dir()), ARRAYS[0])
    array, times = group.get(name), group.get(_TIMES)
    if not isinstance(array, zarr.Array) or not isinstance(times, zarr.Array):
        raise RgwotError(f"{path}: arrays {sorted(group)}, expected {' or '.join(ARRAYS)} and {_TIMES}")
    # A chunk has complete frames, so a shape that does not fit the chunks was changed.
    if array.ndim not in (2, 4) or times.shape != array.shape[:1] or array.chunks[1:] != array.shape[1:]:
        raise RgwotError(
            f"{path}: {name} {array.shape} and {_TIMES} {times.shape}, expected (T, C) or (T, C, h, w), "
            "and (T,) with the same T"
        )
    check_complete(array, path / name)
    check_complete(times, path / _TIMES)
    time_s = np.asarray(times[...], dtype=np.float64)
    if not (np.diff(time_s) > 0).all():
        raise damaged_store(path, "the times do not increase")
    return FeatureStore(path, attributes, time_s, array)


def damaged_store(path: Path, reason: str) -> RgwotError:
    """Return the error for a damaged store, with the command that makes it again."""
    again = remake(path) if below_results(path) else "expected one that the workflow wrote; copy it again"
    return RgwotError(f"{path}: damaged feature store, {reason}; {again}")


def source_facts(path: Path) -> dict[str, Any]:
    """Return attributes that identify the source file of a store: its name, size, time and SHA-256.

    For a video in an archive, size and time are the archive's, and the SHA-256 is made from the archive's and the name.
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
    """Return whether there is a complete store with the attributes ``expect``, made from the present source.

    If the modification time of the source has changed, its SHA-256 decides. A store without some frames of a bad video
    is current only if bad videos are to be skipped.
    """
    try:
        store = open_store(path, expect)
    except RgwotError:
        return False
    if on_bad_video == "fail" and left_out(store.status, store.imported):
        return False
    return is_made_from(store, source)


def is_made_from(store: FeatureStore, source: Path) -> bool:
    """Return whether a store was made from this source: equal names, and equal sizes with equal times or content."""
    recorded, status = store.attributes, holding_file(source).stat()
    if (recorded.get("source"), recorded.get("source_bytes")) != (source.name, status.st_size):
        return False
    return recorded.get("source_mtime_ns") == status.st_mtime_ns or recorded.get("source_sha256") == _digest(source)


def made_from_another(store: Path, source: Path) -> bool:
    """Return whether a store was made from a source of the same name, size and time, but with other content."""
    try:
        recorded, status = open_store(store).attributes, holding_file(source).stat()
    except (RgwotError, OSError):
        return False
    same = (recorded.get("source"), recorded.get("source_bytes"), recorded.get("source_mtime_ns"))
    alike = same == (source.name, status.st_size, status.st_mtime_ns)
    return alike and recorded.get("source_sha256") not in (None, _digest(source))


def video_facts(video: VideoInfo | None, status: str, reason: str) -> dict[str, Any]:
    """Return a store's attributes on its video (zeros without a video), and on how much of it could be used."""
    facts = (video.duration_s, str(video.fps), video.width, video.height) if video else (0.0, "0", 0, 0)
    names = ("duration_s", "native_fps", "width", "height")
    late = {"picture_start_s": video.start_s} if video and video.start_s else {}
    return {**dict(zip(names, facts, strict=True)), **late, "status": status, "reason": reason}


class StoreWriter:
    """A store that is written chunk by chunk, in any order and possibly in several runs.

    An unfinished store at ``path`` is continued. The expected frames are at ``time_s`` (T,) in seconds. ``side`` is the
    side of square maps, (h, w) of others, or () for vectors. ``layer`` determines the name of the array, ``dtype`` its
    type. Values do not depend on ``codec``, a key of `CODECS`; a continued store keeps its codec.
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
        # An existing array is kept with its chunks; creating one is atomic, because its metadata is a single file.
        if name in self._group:
            with zarr.config.set({"array.write_empty_chunks": True}):
                array = self._group[name]
        else:
            names = ("frame", "channel", "y", "x")[: len(shape)]
            chunk = min(len(time_s), CHUNK)
            array = create(
                self._group, name, shape, chunk, dtype=dtype, compressors=CODECS[codec], dimension_names=names
            )
        assert isinstance(array, zarr.Array)
        self._array = array
        self._resize(len(time_s))

    def write(self, chunk: int, maps: NDArray[np.floating[Any]]) -> None:
        """Write the features (n, C, h, w) of a chunk of ``n <= 64`` frames; vectors may be (n, D)."""
        if len(maps):
            stored = maps.astype(self._array.dtype).reshape(len(maps), *self._array.shape[1:])
            self._array[chunk * CHUNK : chunk * CHUNK + len(maps)] = stored

    def finish(self, frames: int, attributes: Mapping[str, Any]) -> None:
        """Keep the first ``frames`` frames, and write the attributes with ``complete: true`` as the last step."""
        self._resize(frames)
        put(self._group, _TIMES, self._time_s[:frames], dimension_names=("frame",))
        # All at once, because `attrs.update` would write the file for every attribute.
        self._group.update_attributes({**attributes, _COMPLETE: True})

    def _resize(self, frames: int) -> None:
        if self._array.shape[0] != frames:
            self._array.resize((frames, *self._array.shape[1:]))


def write_skipped(output: Path, shape: tuple[int, ...], attributes: Mapping[str, Any], reason: str) -> None:
    """Write a store without frames for an unusable video; ``shape`` is the shape of a frame's features."""
    with replacing(output) as temporary:
        store = StoreWriter(temporary, np.empty(0), shape[1:], channels=shape[0], layer=attributes["layer"])
        store.finish(0, {**attributes, **video_facts(None, "skipped", reason)})
