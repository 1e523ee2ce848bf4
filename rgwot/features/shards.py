"""Frames of a feature array, read by their place in the shard files.

A shard of Zarr version 3 is its inner chunks, one after the other, and at its end an index: offset and length of
every chunk as little-endian 64-bit integers, and a CRC-32C of them. Without a codec a chunk is the frame itself, so a
frame is one read of the file straight into its place, at the speed of a memory-mapped array; a map of the whole file
would keep a file open for every shard of a task, and a file cut short meanwhile would kill the process instead of
being an error. A compressed chunk is read the same way and decoded into its place: a codec pipeline looks up the index
of the shard again for every frame, which takes longer than decoding.
"""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
from numcodecs import Blosc, Zstd
from numpy.typing import NDArray

from rgwot.paths import STORE
from rgwot.runtime.errors import RgwotError, first_line
from rgwot.runtime.integrity import below_results

_ENTRY = np.dtype("<u8")
_CHECKSUM_BYTES = 4
#: Offset and length of a chunk that was not written, because all of it is the fill value, 0.
_NOTHING = 2**64 - 1
_BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
#: Decoders (chunk, where to) of the codecs by their names; what a chunk was encoded with stands in the chunk itself.
_DECODERS: dict[str, Callable[..., object]] = {"zstd": Zstd().decode, "blosc": Blosc().decode}


@dataclass(frozen=True)
class Shards:
    """Reader of one array of frames (C, h, w), one per chunk, by a codec of `_DECODERS` or, None, as they are."""

    folder: Path
    frame: tuple[int, ...]
    per_shard: int
    codec: str | None = None
    _places: dict[int, NDArray[np.uint64]] = field(default_factory=dict)

    def read(self, indices: NDArray[np.int64], found: NDArray[np.float16]) -> None:
        """Read frames ``indices``, within [0, T), into ``found`` (len(indices), C, h, w), contiguous.

        Raises RgwotError when a shard is missing or damaged: its index is not whole, or points outside the file or at
        something else, or a frame does not decode.
        """
        rows = found.reshape(len(indices), math.prod(self.frame)).view(np.uint8)
        shards = indices // self.per_shard
        for shard in np.unique(shards):
            path = self.folder.joinpath("c", str(shard), *["0"] * len(self.frame))
            with _opened(path) as file:
                places = self._index(int(shard), file, path, rows.shape[1])
                for row in np.flatnonzero(shards == shard):
                    offset, length = map(int, places[indices[row] % self.per_shard])
                    if offset == _NOTHING:
                        rows[row] = 0
                    elif self.codec is None:
                        _fill(rows[row], file, offset, path)
                    else:
                        chunk = np.empty(length, dtype=np.uint8)
                        _fill(chunk, file, offset, path)
                        _decode(self.codec, chunk, rows[row], path)

    def _index(self, shard: int, file: FileIO, path: Path, size: int) -> NDArray[np.uint64]:
        """Return offset and length of every frame of a shard, checked once."""
        if shard not in self._places:
            end = os.fstat(file.fileno()).st_size
            tail = np.zeros(2 * self.per_shard * _ENTRY.itemsize + _CHECKSUM_BYTES, dtype=np.uint8)
            if end < tail.size:
                raise damaged_store(path, f"{end} bytes, expected an index of {tail.size} at the end")
            _fill(tail, file, end - tail.size, path)
            index, checksum = tail[:-_CHECKSUM_BYTES].tobytes(), int.from_bytes(tail[-_CHECKSUM_BYTES:], "little")
            if google_crc32c.value(index) != checksum:
                raise damaged_store(path, "the checksum of the index at its end differs")
            places = np.frombuffer(index, dtype=_ENTRY).reshape(self.per_shard, 2).astype(np.uint64)
            offsets, lengths = places[places[:, 0] != _NOTHING].T
            outside = (offsets > end) | (lengths > end - np.minimum(offsets, np.uint64(end)))
            if outside.any() or (self.codec is None and (lengths != size).any()):
                raise damaged_store(
                    path, f"its index points outside its {end} bytes, or at frames of other than {size}"
                )
            self._places[shard] = places
        return self._places[shard]


def open_shards(folder: Path, shape: Sequence[int]) -> Shards | None:
    """Return a reader of a Zarr version 3 array (T, C, h, w), or None where its layout or codec is another."""
    facts: dict[str, Any] = json.loads((folder / "zarr.json").read_text(encoding="utf-8"))
    frame = list(shape[1:])
    shard = facts["chunk_grid"]["configuration"].get("chunk_shape", [0])
    sharding = facts["codecs"][0].get("configuration", {})
    codecs = [codec for codec in sharding.get("codecs", [])[1:] if codec.get("name") in _DECODERS][:1]
    expected = {
        "data_type": "float16",
        "fill_value": 0.0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [shard[0], *frame]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [
            {
                "name": "sharding_indexed",
                "configuration": {
                    "chunk_shape": [1, *frame],
                    "codecs": [_BYTES, *codecs],
                    "index_codecs": [_BYTES, {"name": "crc32c"}],
                    "index_location": "end",
                },
            }
        ],
    }
    if any(facts.get(key) != value for key, value in expected.items()):
        return None
    return Shards(folder, tuple(frame), int(shard[0]), codecs[0]["name"] if codecs else None)


def _fill(row: NDArray[np.uint8], file: FileIO, offset: int, path: Path) -> None:
    """Read as many bytes as ``row`` takes; a read may return fewer, and more than one is then needed."""
    buffer = row.data
    while len(buffer):
        count = os.preadv(file.fileno(), [buffer], offset)
        if not count:
            raise damaged_store(path, f"it ends at byte {offset}, where a frame is expected")
        buffer, offset = buffer[count:], offset + count


def _decode(codec: str, chunk: NDArray[np.uint8], row: NDArray[np.uint8], path: Path) -> None:
    try:
        _DECODERS[codec](chunk, out=row)
    except (RuntimeError, ValueError) as error:
        raise damaged_store(path, f"a frame cannot be decoded ({first_line(error)})") from None


def _opened(path: Path) -> FileIO:
    """Open a shard; Zarr would take one that is missing for zeros."""
    try:
        return FileIO(path)
    except FileNotFoundError:
        raise damaged_store(path, "the file is missing, expected frames") from None
    except OSError as error:
        raise damaged_store(path, f"the file cannot be read ({error.strerror})") from None


def damaged_store(path: Path, found: str) -> RgwotError:
    """Return the error that says which file of a store is damaged, how, and how to rebuild the store."""
    target = below_results(next((folder for folder in (path, *path.parents) if folder.suffix == STORE), path))
    command = f": snakemake --force {shlex.quote(target)}" if target else ""
    return RgwotError(f"{path}: damaged feature store, {found}; delete the store and extract the video again{command}")
