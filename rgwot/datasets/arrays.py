"""Arrays in files of other people's making, opened so that a slice is read without the rest."""

from __future__ import annotations

import pickle
import shutil
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rgwot.datasets.names import stem_of
from rgwot.runtime.errors import RgwotError, first_line, nearest
from rgwot.runtime.tensors import PICKLED, UnreadableTensors, load_tensors

Slices = tuple[slice, ...]
DAMAGE = (
    OSError, RuntimeError, ValueError, LookupError, EOFError, pickle.UnpicklingError, zipfile.BadZipFile, zlib.error
)  # fmt: skip
"""What readers raise on a file that is damaged or of another kind."""

UNCHECKED = 2**30
"""Bytes that any archive may unpack to."""

DENSEST = 100
"""How many times the packed bytes a larger one may unpack to; the format itself allows a thousand."""


@dataclass(frozen=True)
class ArraySource:
    """One array of floating-point numbers, open for reading.

    ``key`` is its name in the file, empty where a file holds one array without a name; ``dtype`` its precision, such as
    ``float32``; ``read`` returns a slice, one per axis.
    """

    key: str
    shape: tuple[int, ...]
    dtype: str
    read: Callable[[Slices], NDArray[np.floating[Any]]]


def feature_file(folder: Path, task: str, video: str) -> Path:
    """Return the file with the features of a video, ``folder/<task>/<stem>.npy`` or ``folder/<stem>.npy`` or the like.

    The file is named like the video, which its id encodes. RgwotError when there is none, or more than one.
    """
    name = stem_of(video)
    found = [
        path
        for path in (place / f"{name}{suffix}" for place in (folder / task, folder) for suffix in OPENERS)
        if path.is_file()
    ]
    if len(found) != 1:
        raise RgwotError(
            f"{task}/{video}: {f'features in {found[0]} and {found[1]}' if found else 'no features'}; expected "
            f"one file {folder / task / name} or {folder / name} with a suffix of {', '.join(OPENERS)}"
        )
    return found[0]


@contextmanager
def open_array(path: Path, key: str | None, scratch: Path) -> Iterator[ArraySource]:
    """Open an array of a ``.npy``, ``.npz``, ``.h5``, ``.hdf5`` or ``.pt`` file; memory does not grow with its size.

    Nothing in the file is executed. ``key`` is the name of the array, None where there is only one. That of an ``.npz``
    is unpacked into the folder ``scratch`` for as long as it is open.

    Raises RgwotError when the file is missing, damaged or of another kind, or has no such array of floating-point
    numbers.
    """
    if path.suffix.lower() not in OPENERS:
        raise RgwotError(f"{path}: found the suffix {path.suffix!r}; expected one of {', '.join(OPENERS)}")
    if not path.is_file():
        raise RgwotError(f"{path}: no such file; expected features, one file per video")
    opened = OPENERS[path.suffix.lower()](path, key, scratch)
    try:
        source = next(opened)
    except UnreadableTensors as error:
        raise RgwotError(f"{path}: cannot be read ({error.why}); expected a plain array of numbers") from None
    except DAMAGE as error:
        reason = first_line(error)[:150]
        if "pickle" in reason or "Python objects" in reason:
            # Not NumPy's advice to allow them.
            reason = PICKLED
        raise RgwotError(f"{path}: cannot be read ({reason}); expected a plain array of numbers") from error
    try:
        if not source.dtype.removeprefix("b").startswith("float"):
            raise RgwotError(
                f"{path}: array of {source.dtype}; expected features in floating point (frames are no features: "
                "make them the dataset's videos)"
            )
        yield source
    finally:
        opened.close()


def _npy(path: Path, key: str | None, _scratch: Path) -> Iterator[ArraySource]:
    if key is not None:
        raise RgwotError(f"{path}: an .npy file holds one array without a name; leave the key {key!r} out")
    yield _mapped(path, "")


def _npz(path: Path, key: str | None, scratch: Path) -> Iterator[ArraySource]:
    if not zipfile.is_zipfile(path):
        raise ValueError("no zip archive")
    scratch.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path) as archive, TemporaryDirectory(dir=scratch, prefix=".unpacked.") as folder:
        name = _chosen(path, key, [member.removesuffix(".npy") for member in archive.namelist()])
        packed = archive.getinfo(f"{name}.npy")
        if packed.file_size > max(UNCHECKED, DENSEST * packed.compress_size):
            raise RgwotError(
                f"{path}: {packed.compress_size} bytes that unpack to {packed.file_size}; expected features, which "
                "shrink to a third at most; make it again"
            )
        unpacked = Path(folder) / "array.npy"
        with archive.open(f"{name}.npy") as member, unpacked.open("wb") as file:
            shutil.copyfileobj(member, file, 2**20)
        yield _mapped(unpacked, name)


def _mapped(path: Path, key: str) -> ArraySource:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    return ArraySource(key, array.shape, array.dtype.name, lambda slices: np.asarray(array[slices]))


def _hdf5(path: Path, key: str | None, _scratch: Path) -> Iterator[ArraySource]:
    import h5py

    with h5py.File(path, "r") as file:
        names: list[str] = []
        file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
        dataset = file[_chosen(path, key if key is None else key.strip("/"), names)]
        yield ArraySource(
            dataset.name.strip("/"), dataset.shape or (), dataset.dtype.name, lambda slices: np.asarray(dataset[slices])
        )


def _torch(path: Path, key: str | None, _scratch: Path) -> Iterator[ArraySource]:
    import torch

    content = load_tensors(path, mapped=True)
    name = ""
    if isinstance(content, dict):
        tensors = {str(label): value for label, value in content.items() if isinstance(value, torch.Tensor)}
        name = _chosen(path, key, tensors)
        content = tensors[name]
    elif key is not None:
        raise RgwotError(f"{path}: holds no dictionary; leave the key {key!r} out")
    if not isinstance(content, torch.Tensor) or content.layout is not torch.strided:
        kind = getattr(content, "layout", type(content).__name__)
        raise RgwotError(f"{path}: holds a {kind}; expected a dense tensor, or a dictionary of them")
    tensor = content.detach()

    def read(slices: Slices) -> NDArray[np.floating[Any]]:
        part = tensor[slices]
        return np.asarray((part.float() if part.dtype is torch.bfloat16 else part).numpy())

    yield ArraySource(name, tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."), read)


OPENERS: dict[str, Callable[[Path, str | None, Path], Any]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".h5": _hdf5,
    ".hdf5": _hdf5,
    ".pt": _torch,
}
"""Generators of one open array, by suffix."""


def _chosen(path: Path, key: str | None, names: Collection[str]) -> str:
    if key is None and len(names) == 1:
        return next(iter(names))
    if key is None:
        raise RgwotError(
            f"{path}: holds {len(names)} arrays ({', '.join(sorted(names)[:16])}); name one of them as key"
        )
    if key not in names:
        raise RgwotError(f"{path}: no array {key!r}; {nearest(key, names)}")
    return key
