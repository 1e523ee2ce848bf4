"""Arrays in Zarr stores: a checksum for every chunk, and none that is missing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray
from zarr.codecs import BloscCodec, Crc32cCodec

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
