"""MATLAB files of nested cells as plain lists, for version 5 (SciPy) and version 7.3 (HDF5), and arrays of version 5.

SciPy ends the whole process on some damaged files, and a damaged size can ask for any amount of memory. A file
is therefore read in a child process with limits on time and memory: this module, run by itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from rgwot.runtime.errors import RgwotError
from rgwot.runtime.limits import limit_memory

LARGEST = 512 * 2**20
"""Bytes; the released files are a few megabytes."""

TIMEOUT_S = 120.0
MEMORY = 8 * 2**30
"""Bytes of address space of the child; libraries reserve more than they use."""

Cell: TypeAlias = "str | np.ndarray[Any, Any] | list[Cell]"
"""Text, a float64 array of two dimensions, or the items of a cell in column order."""

UNPACK = "--unpack"
"""What the child is told before a folder, to write arrays into it."""

_DEEPEST = 8
_EXPECTED = "expected a MATLAB file of version 5 or 7.3; fetch it again"


def read_cells(path: Path, wanted: Collection[str]) -> dict[str, Cell]:
    """Read the named variables of a file; a variable the file does not hold is left out.

    Raises RgwotError if the file is no MATLAB file, is damaged, far too large or nested too deeply.
    """
    _check_head(path, LARGEST)
    answer = _ask(path, *wanted)
    cells: dict[str, Cell] = json.loads(answer, object_hook=_array)
    return cells


def is_version_73(path: Path) -> bool:
    """Whether a file is MATLAB's version 7.3, HDF5 with its axes reversed; RgwotError if it is no MATLAB file."""
    return _check_head(path, None).startswith(b"MATLAB 7.3")


def unpack_arrays(path: Path, folder: Path) -> dict[str, str]:
    """Write the arrays of numbers of a version 5 file into a folder, ``0.npy`` and so on in the order of the file.

    Returns what every variable is: a ``number``, or a cell, char, struct and the like, which is not written.

    Raises RgwotError if the file is no MATLAB file, is damaged or far too large.
    """
    _check_head(path, LARGEST)
    kinds: dict[str, str] = json.loads(_ask(path, UNPACK, str(folder.absolute())))
    return kinds


def _check_head(path: Path, largest: int | None) -> bytes:
    """Return how a MATLAB file begins, or raise where it is something else or larger than a number of bytes."""
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            head = stream.read(16)
    except OSError as error:
        raise RgwotError(f"{path}: cannot be read ({error.strerror}); {_EXPECTED}") from error
    if largest is not None and size > largest:
        raise RgwotError(f"{path}: {size} bytes; expected at most {largest}; is it another file?")
    if not head.startswith(b"MATLAB "):
        raise RgwotError(f"{path}: begins with {head!r}; {_EXPECTED}")
    return head


def _ask(path: Path, *words: str) -> bytes:
    """Have a child process read a file and return its answer."""
    command = [sys.executable, "-m", "rgwot.datasets.matlab", str(path.absolute()), *words]
    try:
        child = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise RgwotError(f"{path}: not read within {TIMEOUT_S:g} s; {_EXPECTED}") from error
    if child.returncode != 0:
        lines = child.stderr.decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines and child.returncode > 0 else f"its reader crashed, code {child.returncode}"
        raise RgwotError(f"{path}: cannot be read ({reason}); {_EXPECTED}")
    return child.stdout


def _listed(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {"shape": array.shape, "values": array.ravel().tolist()}


def _array(value: dict[str, Any]) -> Any:
    """Undo `_listed`; the only other object is the one around the variables."""
    return np.array(value["values"], dtype=np.float64).reshape(value["shape"]) if "values" in value else value


def _read_version_5(path: Path, wanted: Collection[str]) -> dict[str, Cell]:
    import scipy.io

    content = scipy.io.loadmat(path, variable_names=list(wanted))
    return {name: _from_scipy(content[name], 0) for name in wanted if name in content}


def _from_scipy(value: Any, depth: int) -> Cell:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    array = np.asarray(value)
    if array.dtype == object:
        return [_from_scipy(item, depth + 1) for item in array.ravel(order="F")]
    if array.dtype.kind in "US":
        return "".join(map(str, array.ravel()))
    return _numbers(array)


def _read_version_73(path: Path, wanted: Collection[str]) -> dict[str, Cell]:
    import h5py

    with h5py.File(path, "r") as file:
        return {name: _from_hdf5(file, file[name], 0) for name in wanted if name in file}


def _from_hdf5(file: Any, dataset: Any, depth: int) -> Cell:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    kind = dataset.attrs.get("MATLAB_class", b"double")
    if dataset.attrs.get("MATLAB_empty", 0):
        # An empty array is stored as its own shape.
        return "" if kind == b"char" else [] if kind == b"cell" else np.zeros((0, 0))
    array = dataset[()]
    if array.dtype == object:
        # HDF5 keeps the axes of a column-major array reversed, so reading in row order is column order.
        return [_from_hdf5(file, file[reference], depth + 1) for reference in array.ravel()]
    if kind == b"char":
        return "".join(map(chr, array.ravel()))
    return _numbers(array).T


def _numbers(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.dtype.kind not in "biuf":
        raise ValueError(f"holds values of type {array.dtype}")
    return np.atleast_2d(array).astype(np.float64)


def _unpack(path: Path, folder: Path) -> dict[str, str]:
    import scipy.io

    kinds = {name: kind for name, _, kind in scipy.io.whosmat(path)}
    content = scipy.io.loadmat(path, variable_names=list(kinds))
    found: dict[str, str] = {}
    for number, (name, kind) in enumerate(kinds.items()):
        array = np.asarray(content.get(name))
        plain = array.dtype.kind in "biuf"
        found[name] = "number" if plain else kind
        if plain:
            np.save(folder / f"{number}.npy", array)
    return found


def _child(path: Path, wanted: list[str]) -> int:
    limit_memory(MEMORY)
    with path.open("rb") as stream:
        read = _read_version_73 if stream.read(10) == b"MATLAB 7.3" else _read_version_5
    try:
        content: Any = _unpack(path, Path(wanted[1])) if wanted[:1] == [UNPACK] else read(path, wanted)
    except Exception as error:  # noqa: BLE001 - the readers raise anything on damaged files
        sys.stderr.write(f"{type(error).__name__}: {' '.join(str(error).split())}\n")
        return 1
    json.dump(content, sys.stdout, default=_listed)
    return 0


if __name__ == "__main__":
    sys.exit(_child(Path(sys.argv[1]), sys.argv[2:]))
