"""The feature store of one video: Zarr version 3, written once, refused when incomplete or different.

The features are one array, float16: ``conv4c``, ``(T, C, h, w)``, of the paper's backbone, or ``features`` of anything
else, ``(T, C, h, w)`` for maps and ``(T, D)`` for vectors. ``layer`` and ``backbone`` say what they are. rgwot 0.1.0
called all of them ``conv4c`` and kept vectors as maps of one place, ``(T, 1024, 1, 1)``; such stores are read as maps.
``time_s`` is ``(T,)`` float64, the sampled times. One frame is one inner chunk, so that a training step reads only the
frames it drew; 64 frames are one shard, so that a dataset of thousands of videos does not become millions of files.
Frames are stored as they are, and then read as fast as from a memory-mapped array, or by LZ4 of shuffled bits, a sixth
smaller, or by Zstandard at level 1, a quarter smaller and the slowest (``features.codec``; docs/results.md). All
hold the same values and may stand side by side. ``crc32c`` is ``(T,)`` uint32, the checksum of every frame's values,
whatever its codec: frames are compared when they are read, so that a byte, a shard or a frame that is not what was
written is an error. Stores of rgwot 0.1.0 lack it.

Open stores in the process that reads them: Zarr's event loop does not survive ``fork``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, cast

import google_crc32c
import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.codecs import BloscCodec, Crc32cCodec, ZstdCodec
from zarr.errors import NodeNotFoundError

from rgwot.config.extractors import EXTRACTORS
from rgwot.features import ARRAYS, CONV4C, OTHER
from rgwot.features.shards import Shards, damaged_store, open_shards
from rgwot.paths import STORE
from rgwot.runtime.errors import RgwotError, first_line
from rgwot.runtime.integrity import check_folder, digest, source

Codec = Literal["none", "lz4", "zstd"]

SHARD = 64
#: Channels of the default network, and of features that rgwot 0.1.0 imported.
CHANNELS = 1024
#: What the attribute ``decoder`` says of features made elsewhere.
IMPORTER = "import"
#: How frames are compressed, by ``features.codec``.
CODECS: Mapping[Codec, Any] = {
    "none": None,
    "lz4": [BloscCodec(cname="lz4", clevel=5, shuffle="bitshuffle", typesize=2)],
    "zstd": [ZstdCodec(level=1)],
}
#: How the small arrays of a store are compressed: Zarr compares their checksum when it reads them.
CHECKED = (ZstdCodec(level=0), Crc32cCodec())
_TIMES = "time_s"
_SUMS = "crc32c"
#: What Zarr, its codecs and JSON say of a store that is cut short or changed.
DAMAGE = (RuntimeError, ValueError, OSError, KeyError, TypeError, AttributeError, IndexError)
_COMPLETE = "complete"


@dataclass(frozen=True)
class FeatureStore:
    """The complete feature store of one video, open for reading.

    ``attributes`` is everything recorded beside the arrays, see `rgwot.features.extract`; ``time_s`` is ``(T,)``, the
    sampled times in seconds, strictly increasing; ``T`` is 0 for a skipped video.
    """

    path: Path
    attributes: Mapping[str, Any]
    time_s: NDArray[np.float64]
    _array: zarr.Array[Any]
    _shards: Shards | None = None
    _sums: NDArray[np.uint32] | None = None

    @property
    def video(self) -> str:
        """Id of the video: the name of the store without its suffix."""
        return self.path.name.removesuffix(STORE)

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

    def read(self) -> NDArray[np.float16]:
        """Return all maps, ``(T, C, h, w)`` float16."""
        return self.frames(np.arange(len(self)))

    def frames(
        self, indices: Sequence[int] | NDArray[np.integer[Any]], out: NDArray[np.float16] | None = None
    ) -> NDArray[np.float16]:
        """Return the maps of some frames, ``(len(indices), C, h, w)`` float16, in the order asked for.

        They are put into ``out``, contiguous, or a new array. Of a store laid out otherwise than this package does,
        neighbouring frames are read as one slice; indexing the array with a list would be a hundred times slower.

        Raises ValueError when an index lies outside ``[0, T)``, and RgwotError when a file of the store is missing or
        damaged.
        """
        asked = np.asarray(indices, dtype=np.int64)
        if asked.size and (asked.min() < 0 or asked.max() >= len(self)):
            raise ValueError(f"frames {asked.min()} to {asked.max()}, expected 0 to {len(self) - 1}")
        found = np.empty((asked.size, *self.shape[1:]), dtype=np.float16) if out is None else out
        if self._shards is not None:
            self._shards.read(asked, found)
        elif asked.size:
            self._read_slices(asked, found)
        if self._sums is not None:
            self._compare(asked, found, self._sums)
        return found

    def _compare(self, asked: NDArray[np.int64], found: NDArray[np.float16], sums: NDArray[np.uint32]) -> None:
        for index, checksum in zip(asked.tolist(), checksums(found), strict=True):
            if checksum != sums[index]:
                zeros = ["0"] * (self._array.ndim - 1)
                shard = self.path.joinpath(self._array.basename, "c", str(index // SHARD), *zeros)
                why = f"frame {index} differs from the checksum it was written with"
                raise damaged_store(shard, why)

    def _read_slices(self, asked: NDArray[np.int64], found: NDArray[np.float16]) -> None:
        wanted, places = np.unique(asked, return_inverse=True)
        decoded = []
        for run in np.split(wanted, np.flatnonzero(np.diff(wanted) > 1) + 1):
            start, stop = int(run[0]), int(run[-1]) + 1
            try:
                decoded.append(np.asarray(self._array[start:stop], dtype=np.float16))
            except (RuntimeError, ValueError, OSError) as error:
                why = f"frames {start} to {stop - 1} cannot be decoded ({first_line(error)})"
                raise damaged_store(self.path, why) from None
        np.take(np.concatenate(decoded).reshape(-1, *self.shape[1:]), places, axis=0, out=found)


def open_store(path: str | os.PathLike[str], expect: Mapping[str, Any] | None = None) -> FeatureStore:
    """Open a store whose attributes have the values to ``expect``, such as ``{"fps": 2.0, "weights_sha256": ...}``.

    Raises RgwotError when there is no store, it is incomplete or damaged, not laid out as expected or made with other
    settings.
    """
    path = Path(path)
    # Frames are compared as they are read; whoever wants one of them need not wait for all.
    check_folder(path, by_size=tuple(f"{name}/c/" for name in ARRAYS))
    try:
        return _open(path, expect or {})
    except DAMAGE as error:
        raise damaged_store(path, f"it cannot be opened ({first_line(error)})") from None


def _open(path: Path, expect: Mapping[str, Any]) -> FeatureStore:
    try:
        group = zarr.open_group(path, mode="r", zarr_format=3)
    except (NodeNotFoundError, FileNotFoundError) as error:
        raise RgwotError(f"{path}: no feature store; expected one written by rgwot extract") from error
    attributes = dict(group.attrs)
    if attributes.get(_COMPLETE) is not True:
        raise RgwotError(f"{path}: incomplete feature store; delete it and extract the video again")
    for key, value in expect.items():
        if attributes.get(key) != value:
            raise RgwotError(
                f"{path}: made with {key} {attributes.get(key)!r}, expected {value!r}; "
                "delete it and extract the video again"
            )
    name = next((name for name in ARRAYS if name in group), ARRAYS[0])
    array, times, sums = group.get(name), group.get(_TIMES), group.get(_SUMS)
    if not isinstance(array, zarr.Array) or not isinstance(times, zarr.Array):
        raise RgwotError(f"{path}: arrays {sorted(group)}, expected {' or '.join(ARRAYS)} and {_TIMES}")
    channels = _channels(attributes, name)
    maps = array.ndim == 4 or (array.ndim == 2 and name != CONV4C)
    if not maps or array.shape[1] != (channels or array.shape[1]) or times.shape != array.shape[:1]:
        raise RgwotError(
            f"{path}: {name} {array.shape} and {_TIMES} {times.shape}, "
            f"expected (T, {channels or 'C'}, h, w) and (T,) with one T"
        )
    time_s = np.asarray(times[:], dtype=np.float64)
    # Zarr takes a chunk that is missing for zeros.
    if not (np.diff(time_s) > 0).all():
        raise damaged_store(path / _TIMES, "the times do not increase")
    known = np.asarray(sums[:], dtype=np.uint32) if isinstance(sums, zarr.Array) else None
    if known is not None and len(known) != len(time_s):
        raise damaged_store(path / _SUMS, f"{len(known)} checksums, expected {len(time_s)}")
    return FeatureStore(path, attributes, time_s, array, open_shards(path / name, array.shape), known)


def _channels(attributes: Mapping[str, Any], name: str) -> int | None:
    """Return how many channels features must have; None: any number, as those made elsewhere have."""
    made_here = attributes.get("decoder") != IMPORTER
    about = EXTRACTORS.get(str(attributes.get("backbone"))) if made_here else None
    if about is not None:
        return about.channels
    return CHANNELS if name == CONV4C else None


def checksums(maps: NDArray[np.float16]) -> list[int]:
    """Return the CRC-32C of every frame, ``(n, C, h, w)``, little-endian as it is stored."""
    little = np.ascontiguousarray(maps, dtype="<f2")
    return [google_crc32c.value(frame.tobytes()) for frame in little]


def source_facts(path: Path) -> dict[str, Any]:
    """Return the attributes that say which file a store was made from: its name, bytes, SHA-256, and that of its parts.

    The parts are the first, middle and last megabyte, which planning a run can afford to read again.
    """
    parts = source(path)
    return {
        "source": path.name,
        "source_bytes": parts["bytes"],
        "source_sha256": digest(path)["sha256"],
        "source_parts_sha256": parts["parts_sha256"],
    }


def video_facts(video: Any, status: str, reason: str) -> dict[str, Any]:
    """Return the attributes of a store about its video, zeros where there is None, and how much of it is there."""
    facts = (video.duration_s, str(video.fps), video.width, video.height) if video else (0.0, "0", 0, 0)
    names = ("duration_s", "native_fps", "width", "height")
    return {**dict(zip(names, facts, strict=True)), "status": status, "reason": reason}


class StoreWriter:
    """A store being written, one shard at a time, in any order and over several runs.

    An unfinished store at ``path`` is continued. The frames expected are at ``time_s`` (T,), seconds, and ``side`` is
    that of their maps where h = w, else (h, w), or () for vectors. The ``layer`` they are from names the array.
    Values do not depend on ``codec``, a key of `CODECS`; a store that is continued keeps the one it was begun with.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        time_s: NDArray[np.float64],
        side: int | tuple[int, ...],
        codec: Codec = "none",
        channels: int = CHANNELS,
        layer: str = CONV4C,
    ) -> None:
        space = (side, side) if isinstance(side, int) else side
        name = CONV4C if layer == CONV4C and space and channels == CHANNELS else OTHER
        shape = (len(time_s), channels, *space)
        self._time_s = np.asarray(time_s, dtype=np.float64)
        self.checksums: dict[int, list[int]] = {}  #: of the frames of every shard known to be written
        self._group = zarr.open_group(path, mode="a", zarr_format=3)
        # Chunks of nothing but zeros are written as well, so that none may miss.
        with zarr.config.set({"array.write_empty_chunks": True}):
            # An array that exists is kept with its shards; creating it is atomic (its metadata is one file).
            if name not in self._group:
                self._group.create_array(
                    name,
                    shape=shape,
                    dtype="float16",
                    chunks=(1, *shape[1:]),
                    shards=(SHARD, *shape[1:]),
                    compressors=CODECS[codec],
                    dimension_names=("frame", "channel", "y", "x")[: len(shape)],
                )
            self._array = cast("zarr.Array[Any]", self._group[name])
        if self._array.shape[1:] != shape[1:]:
            raise ValueError(f"store {self._array.shape}, expected {shape}")
        self._resize(len(time_s))

    def write(self, shard: int, maps: NDArray[np.floating[Any]]) -> list[int]:
        """Write the features of one shard, of ``n <= 64`` frames, as float16; return a checksum per frame.

        They are ``(n, C, h, w)``; vectors may be ``(n, D)`` as well.
        """
        if len(maps) > SHARD:
            raise ValueError(f"{len(maps)} frames for one shard, expected at most {SHARD}")
        start = shard * SHARD
        stored = maps.astype(np.float16).reshape(len(maps), *self._array.shape[1:])
        if len(maps):
            self._array[start : start + len(maps)] = stored
        self.checksums[shard] = checksums(stored)
        return self.checksums[shard]

    def finish(self, frames: int, attributes: Mapping[str, Any]) -> None:
        """Keep the first ``frames`` frames, write the attributes and, last of all, ``complete: true``."""
        self._resize(frames)
        self._write_beside(_TIMES, self._time_s).resize((frames,))
        self._write_checksums(frames)
        self._group.attrs.update(dict(attributes))
        self._group.attrs[_COMPLETE] = True

    def _write_checksums(self, frames: int) -> None:
        sums: list[int] = []
        for shard in range(-(-frames // SHARD)):
            known = self.checksums.get(shard)
            if known is None:
                known = checksums(np.asarray(self._array[shard * SHARD : (shard + 1) * SHARD], dtype=np.float16))
            sums += known
        self._write_beside(_SUMS, np.asarray(sums[:frames], dtype=np.uint32))

    def _write_beside(self, name: str, values: NDArray[Any]) -> zarr.Array[Any]:
        with zarr.config.set({"array.write_empty_chunks": True}):
            return self._group.create_array(
                name,
                data=values,
                chunks=(max(len(values), 1),),
                compressors=CHECKED,
                dimension_names=("frame",),
                overwrite=True,
            )

    def _resize(self, frames: int) -> None:
        if self._array.shape[0] != frames:
            self._array.resize((frames, *self._array.shape[1:]))
