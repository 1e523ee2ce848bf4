"""MATLAB files, version 5 (SciPy) and version 7.3 (HDF5): nested cells as plain lists, and arrays of version 5."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from rgwot.runtime.errors import RgwotError, first_line

LARGEST_MATLAB = 512 * 2**20
"""Largest file in bytes; the released files are a few megabytes."""

Cell: TypeAlias = "str | np.ndarray[Any, Any] | list[Cell]"
"""Text, a float64 array of two dimensions, or the items of a cell in column order."""

_DEEPEST = 8
_EXPECTED = "expected a MATLAB file of version 5 or 7.3; fetch it again"
_T = TypeVar("_T")


def read_cells(path: Path, names: Collection[str]) -> dict[str, Cell]:
    """Read the named variables of a file; names that the file lacks are left out.

    Raises RgwotError if the file is not a MATLAB file, or is damaged, far too large or nested too deeply.
    """
    if is_version_73(path, LARGEST_MATLAB):
        return _whole(path, lambda: _read_version_73(path, names))
    return _whole(path, lambda: _read_version_5(path, names))


def is_version_73(path: Path, largest: float = np.inf) -> bool:
    """Return whether a file has MATLAB's version 7.3: HDF5 with reversed axes.

    Raises RgwotError if it is no MATLAB file, or has more than ``largest`` bytes.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            head = stream.read(16)
    except OSError as error:
        raise RgwotError(f"{path}: cannot be read ({error.strerror}); {_EXPECTED}") from error
    if size > largest:
        raise RgwotError(f"{path}: has {size} bytes; expected at most {largest:.0f}; check that this is the right file")
    if not head.startswith(b"MATLAB "):
        raise RgwotError(f"{path}: begins with {head!r}; {_EXPECTED}")
    return head.startswith(b"MATLAB 7.3")


def read_arrays(path: Path) -> dict[str, np.ndarray[Any, Any] | str]:
    """Read the variables of a version 5 file: arrays of numbers, or the kind of other variables, such as ``cell``.

    Raises RgwotError if the file is no MATLAB file, is damaged or far too large.
    """
    is_version_73(path, LARGEST_MATLAB)
    import scipy.io

    def read() -> dict[str, np.ndarray[Any, Any] | str]:
        kinds = {name: kind for name, _, kind in scipy.io.whosmat(path)}
        content = scipy.io.loadmat(path, variable_names=list(kinds))
        arrays = {name: np.asarray(content.get(name)) for name in kinds}
        return {name: array if array.dtype.kind in "biuf" else kinds[name] for name, array in arrays.items()}

    return _whole(path, read)


def _whole(path: Path, read: Callable[[], _T]) -> _T:
    """Return the result of a reader; turn any error on a damaged file into RgwotError."""
    try:
        return read()
    except Exception as error:  # noqa: BLE001
        raise RgwotError(f"{path}: cannot be read ({type(error).__name__}: {first_line(error)}); {_EXPECTED}") from None


def _read_version_5(path: Path, names: Collection[str]) -> dict[str, Cell]:
    import scipy.io

    content: Mapping[str, Any] = scipy.io.loadmat(path, variable_names=list(names))
    return {name: _from_scipy(content[name], 0) for name in names if name in content}


def _from_scipy(value: Any, depth: int) -> Cell:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    array = np.asarray(value)
    if array.dtype == object:
        return [_from_scipy(item, depth + 1) for item in array.ravel(order="F")]
    if array.dtype.kind in "US":
        return "".join(map(str, array.ravel()))
    return _numbers(array)


def _read_version_73(path: Path, names: Collection[str]) -> dict[str, Cell]:
    import h5py

    with h5py.File(path, "r") as file:
        return {name: _from_hdf5(file, file[name], 0) for name in names if name in file}


def _from_hdf5(file: Any, dataset: Any, depth: int) -> Cell:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    # A damaged size could request any amount of memory.
    if dataset.size > LARGEST_MATLAB // 8:
        raise ValueError(f"{dataset.name} states {dataset.size} values, more than {LARGEST_MATLAB // 8}")
    kind = dataset.attrs.get("MATLAB_class", b"double")
    if dataset.attrs.get("MATLAB_empty", 0):
        # Of an empty array, only the shape is stored.
        return "" if kind == b"char" else [] if kind == b"cell" else np.zeros((0, 0))
    array = dataset[()]
    if array.dtype == object:
        # HDF5 stores the axes of a column-major array in reverse, so row order here is MATLAB's column order.
        return [_from_hdf5(file, file[reference], depth + 1) for reference in array.ravel()]
    if kind == b"char":
        return "".join(map(chr, array.ravel()))
    return _numbers(array).T


def _numbers(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype.kind not in "biuf" or array.ndim > 2:
        raise ValueError(f"holds values of type {array.dtype} and shape {array.shape}")
    return np.atleast_2d(array).astype(np.float64)
