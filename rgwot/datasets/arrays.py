"""Arrays in files of other programs, opened so that slices can be read separately.

Times of features are a second array of the file, a column of a text table, or ``NAME.times.npy`` next to ``NAME.npy``.
A packed archive has the concatenated features of all videos; the path of a video in it is ``ARCHIVE.pt/VIDEO.pt``.
"""

from __future__ import annotations

import csv
import math
import os
import pickle
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rgwot.datasets.names import VIDEO_SUFFIXES, points_chosen, stem_of, tracked_name
from rgwot.datasets.text import encoding_of
from rgwot.runtime.errors import RgwotError, extras, first_line, nearest
from rgwot.runtime.tensors import PICKLED, UnreadableTensors, load_tensors

Slices = tuple[slice, ...]
ARRAY_ERRORS = (
    OSError, RuntimeError, ValueError, LookupError, EOFError, pickle.UnpicklingError, zipfile.BadZipFile, zlib.error
)  # fmt: skip
"""Errors that readers raise for files that are damaged or of another kind."""

UNCHECKED = 2**30
"""An array in an archive may unpack to this many bytes, whatever its packed size."""

DENSEST = 100
"""Largest allowed ratio of unpacked to packed bytes, for arrays above `UNCHECKED`; the format allows a thousand."""

TIMES = ".times"
"""End of the stem of an ``.npy`` file of times."""

SECOND = frozenset({".csv", ".mat"})
"""Suffixes of files that have features only if no other file of the same name does."""

_NUMERIC = frozenset({
    "double", "single", "logical", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"
})  # fmt: skip
"""Kinds of MATLAB's plain arrays of numbers."""

_INDEX = frozenset({
    "", "frame", "id", "index", "packetcounter", "sample", "sampletimefine", "second", "seconds", "t", "t (s)", "t [s]",
    "temps", "tiempo", "time", "timestamp", "unnamed: 0", "zeit",
})  # fmt: skip
"""Columns of a table that are not features, in lower case and without a unit."""

# A cell that is a number with a decimal comma.
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}")
_COMMAS = re.compile(r"(?<![^\s;])[+-]?\d+,\d+(?![^\s;])")
# Number of lines in which decimal commas are searched for.
_PROBED = 100
# A single letter keeps its unit: T (C) is a temperature, not the time t.
_UNIT = re.compile(r"(?<=\w\w)(\s*[(\[][^)\]]*[)\]]|[_ ](s|ms|us|ns|sec))$")


@dataclass(frozen=True)
class ArraySource:
    """An array of floating-point numbers, open for reading.

    ``key`` is its name in the file, empty for an array without a name; ``dtype`` its precision, such as ``float32``.
    ``read`` takes a slice per axis and returns that part. ``times`` are the times of the features, if requested;
    ``note`` is a remark on the features. ``columns`` are the names of a table's columns without the times, one per
    line, or empty. With ``holes``, parts were never written, as ``note`` says.
    """

    key: str
    shape: tuple[int, ...]
    dtype: str
    read: Callable[[Slices], NDArray[np.floating[Any]]]
    times: NDArray[np.float64] | None = None
    note: str = ""
    columns: str = ""
    holes: bool = False


def holding_file(path: Path) -> Path:
    """Return the file on disk behind a path: the archive that contains the path, or else the path itself."""
    return next((upper for upper in path.parents if upper.suffix == ".pt" and upper.is_file()), path)


def feature_file(folder: Path, task: str, video: str) -> Path:
    """Return the file with the features of a video, such as ``folder/<task>/<stem>.npy`` or ``folder/<stem>.npy``.

    The file is named like the video (decoded from its id), or as DeepLabCut names it. A text table or MATLAB file is
    used only if there is no other file: beside features, a table of that name is the annotation. Raises RgwotError
    unless there is exactly one file.
    """
    name = stem_of(video)
    of_task = folder / stem_of(task)
    places = [place / f"{name}{suffix}" for place in (of_task, folder) for suffix in OPENERS]
    existing = [path for path in places if path.is_file()]
    candidates = [path for path in existing if path.suffix not in SECOND] or _points(of_task, folder, name) or existing
    if len(candidates) != 1:
        raise RgwotError(
            f"{task}/{video}: {f'features in {candidates[0]} and {candidates[1]}' if candidates else 'no features'}; "
            f"expected one file {of_task / name} or {folder / name} with one of the suffixes {', '.join(OPENERS)}"
        )
    return candidates[0]


def _points(of_task: Path, folder: Path, name: str) -> list[Path]:
    """Return the usable DeepLabCut files of a video, by its stem."""
    places = [place for place in (of_task, folder) if place.is_dir()]
    begun = (str(place / file) for place in places for file in sorted(os.listdir(place)) if file.startswith(name))
    paths, _ = points_chosen(path for path in begun if os.path.splitext(path)[1].lower() in OPENERS)
    return [Path(path) for path in paths if (points := tracked_name(path)) is not None and points["video"] == name]


@contextmanager
def open_array(path: Path, key: str | None, times: str | None = None) -> Iterator[ArraySource]:
    """Open an array of a file with one of the suffixes `OPENERS`; only packed files are read into memory.

    Nothing in the file is executed, and no other file that it refers to is read. ``key`` is the name of the array, or
    None if there is only one; ``times`` is the name of the array of times in seconds, or None.

    Raises RgwotError if the file is missing, damaged or of another kind, or lacks such an array of floating-point
    numbers.
    """
    opener = {**OPENERS, ".txt": _csv}.get(path.suffix.lower())
    if opener is None:
        raise RgwotError(f"{path}: found the suffix {path.suffix!r}; expected one of {', '.join(OPENERS)}")
    if not holding_file(path).is_file():
        raise RgwotError(f"{path}: no such file; expected features, one file per video")
    if key is not None and opener in (_npy, _csv):
        raise RgwotError(f"{path}: a file of this kind has a single array, which has no name; remove the key {key!r}")
    if key is not None and key == times:
        raise RgwotError(f"{path}: key and times are both {key!r}; expected the names of two arrays")
    with ExitStack() as stack:
        try:
            with extras(path):
                source = opener(path, key, times, stack)
        except UnreadableTensors as error:
            raise RgwotError(f"{path}: cannot be read ({error.why}); expected a plain array of numbers") from None
        except RgwotError:
            raise
        # PyTorch raises TypeError for numbers without a NumPy type, such as bfloat16.
        except (*ARRAY_ERRORS, TypeError) as error:
            reason = first_line(error)[:150]
            if "pickle" in reason or "Python objects" in reason:
                # Do not repeat NumPy's advice to allow pickles.
                reason = PICKLED
            raise RgwotError(f"{path}: cannot be read ({reason}); expected a plain array of numbers") from error
        if not source.dtype.removeprefix("b").startswith("float"):
            raise RgwotError(
                f"{path}: array of {source.dtype} {source.shape}; expected features in floating point; "
                + _whole_numbers(source)
            )
        yield source if source.times is None else replace(source, times=check_times(path, source.times))


def _whole_numbers(source: ArraySource) -> str:
    """Return advice on an array of whole numbers: bytes with three or more axes are frames, others may be counts."""
    if source.dtype == "uint8" and len(source.shape) > 2:
        return "frames are not features: make them the dataset's videos"
    return "if these are counts of a sensor, convert them: array.astype('float32')"


def _npy(path: Path, key: str | None, times: str | None, _stack: ExitStack) -> ArraySource:
    beside = path.with_name(f"{path.stem}{TIMES}{path.suffix}")
    if times is not None and not beside.is_file():
        raise RgwotError(f"{path}: no times; expected {beside.name} next to it, since `times` is set")
    when = None if times is None else np.load(beside, allow_pickle=False)
    return _plain("", np.load(path, mmap_mode="r", allow_pickle=False), when)


def _npz(path: Path, key: str | None, times: str | None, stack: ExitStack) -> ArraySource:
    if not zipfile.is_zipfile(path):
        raise ValueError("no zip archive")
    archive = stack.enter_context(np.load(path, allow_pickle=False))
    for packed in archive.zip.infolist():
        if packed.file_size > max(UNCHECKED, DENSEST * packed.compress_size):
            raise RgwotError(
                f"{path}: {packed.compress_size} bytes that unpack to {packed.file_size}; expected features, "
                "which never shrink that much; make the file again"
            )
    name = _chosen(path, key, times, archive.files)
    return _plain(name, np.asarray(archive[name]), None if times is None else archive[times])


def _plain(key: str, array: NDArray[Any], times: NDArray[Any] | None) -> ArraySource:
    return ArraySource(key, array.shape, array.dtype.name, lambda slices: np.asarray(array[slices]), times)


def _hdf5(path: Path, key: str | None, times: str | None, stack: ExitStack, turned: bool = False) -> ArraySource:
    """Open an array of an HDF5 file; MATLAB's arrays are ``turned``: their axes are stored in reverse order."""
    import h5py

    file = stack.enter_context(h5py.File(path, "r"))
    names: list[str] = []
    file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
    if turned:
        names = [name for name in names if not name.startswith("#")]

    def plain(name: str) -> Any:
        dataset = file[name]
        if dataset.is_virtual or dataset.external:
            raise RgwotError(f"{path}: the values of {name!r} are in other files; expected them in this one")
        return dataset

    key, times = (None if member is None else member.strip("/") for member in (key, times))
    dataset = plain(_chosen(path, key, times, names))
    note = _unwritten(path, dataset)
    when = None if times is None else np.asarray(plain(times)[()])
    shape = dataset.shape or ()

    def read(slices: Slices) -> NDArray[np.floating[Any]]:
        return np.asarray(dataset[slices[::-1]]).T if turned else np.asarray(dataset[slices])

    size = shape[::-1] if turned else shape
    return ArraySource(dataset.name.strip("/"), size, dataset.dtype.name, read, when, note, holes=bool(note))


def _unwritten(path: Path, dataset: Any) -> str:
    """Return a note if a part of an HDF5 array was never written, and is read as a fill value, or an empty text.

    Raises RgwotError if the array states far more values than the file holds.
    """
    stated, held = dataset.size * dataset.dtype.itemsize, dataset.id.get_storage_size()
    if stated > max(UNCHECKED, DENSEST * held):
        raise RgwotError(
            f"{path}: {dataset.name.strip('/')!r} states the shape {dataset.shape}, {stated} bytes, of which the file "
            f"holds {held}; expected an array that was written; make the file again"
        )
    chunks = 1 if dataset.chunks is None else math.prod(map(ceil_div, dataset.shape, dataset.chunks))
    there = int(held > 0) if dataset.chunks is None else dataset.id.get_num_chunks()
    if not dataset.size or there >= chunks:
        return ""
    share = 100 * (chunks - there) / chunks
    return f"{share:.0f} % was never written and is read as {dataset.fillvalue:g}; did the program that wrote it die?"


def ceil_div(number: int, by: int) -> int:
    """Return a quotient rounded up."""
    return -(-number // by)


def _torch(path: Path, key: str | None, times: str | None, _stack: ExitStack) -> ArraySource:
    import torch

    archive = holding_file(path)
    content = load_tensors(archive, mapped=True)
    name, when = "", None
    if archive != path:
        packed, video = packed_rows(archive, content, key, times), path.relative_to(archive).as_posix()
        if video not in packed:
            raise RgwotError(f"{archive}: no video {video!r} in it; {nearest(video, packed)}")
        rows = packed[video]
        name, when, content = key or "", content[times][rows].numpy(), content[key][rows]
    elif isinstance(content, dict):
        tensors = {str(label): value for label, value in content.items() if isinstance(value, torch.Tensor)}
        name = _chosen(path, key, times, tensors)
        content = tensors[name]
        when = None if times is None else tensors[times].detach().to_dense().numpy()
    elif key is not None or times is not None:
        raise RgwotError(
            f"{path}: holds no dictionary, and therefore no names; remove {f'the key {key!r}' if key else 'times'}"
        )
    if not isinstance(content, torch.Tensor) or content.layout is not torch.strided:
        kind = getattr(content, "layout", type(content).__name__)
        raise RgwotError(f"{path}: holds a {kind}; expected a dense tensor, or a dictionary of them")
    tensor = content.detach()

    def read(slices: Slices) -> NDArray[np.floating[Any]]:
        part = tensor[slices]
        return np.asarray((part.float() if part.dtype is torch.bfloat16 else part).numpy())

    return ArraySource(name, tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."), read, when)


def packed_rows(path: Path, content: Any, key: str | None, times: str | None) -> dict[str, slice]:
    """Return the rows of every video in a packed archive, by its path in it, such as ``monday.pt``.

    The archive has N ``paths``; the arrays ``key`` (T, C) and ``times`` (T,) of all videos, concatenated; and
    ``offsets`` (N + 1,) with their starts. Any suffix of a video counts as ``.pt``.

    Raises RgwotError if a part is missing or does not fit the others, or a path leaves the folder.
    """
    import torch

    entries: dict[Any, Any] = content if isinstance(content, dict) else {}
    names, parts = entries.get("paths"), [entries.get(name) for name in (key, times, "offsets")]
    dense = [part for part in parts if isinstance(part, torch.Tensor) and part.ndim and part.layout is torch.strided]
    if len(dense) < len(parts) or not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise RgwotError(
            f"{path}: holds {', '.join(sorted(map(str, entries))) or type(content).__name__}; expected the list "
            f"paths, and the dense tensors offsets, {key} and {times}, for all videos"
        )
    tokens, when, offsets = dense
    borders = offsets.tolist() if offsets.ndim == 1 and not offsets.is_floating_point() else []
    ends = [*borders[:1], *borders[-1:]]
    if len(borders) != len(names) + 1 or borders != sorted(borders) or ends != [0, len(tokens)]:
        raise RgwotError(
            f"{path}: {len(names)} paths, and offsets of shape {tuple(offsets.shape)} with the ends {ends}; expected "
            f"{len(names) + 1} whole numbers that rise from 0 to the {len(tokens)} rows of {key}; download it again"
        )
    if when.shape != tokens.shape[:1]:
        raise RgwotError(
            f"{path}: {times} {tuple(when.shape)} and {len(tokens)} rows of {key}; expected one time per row"
        )
    inside = [packed_name(name, path) for name in names]
    if len(set(inside)) != len(inside):
        raise RgwotError(f"{path}: {len(inside) - len(set(inside))} paths occur twice; expected every video once")
    return {name: slice(*pair) for name, pair in zip(inside, pairwise(borders), strict=True)}


def packed_name(name: str, path: Path) -> str:
    """Return a path of a packed archive with the suffix ``.pt``; raise RgwotError if it leaves the folder."""
    place = PurePosixPath(name.replace("\\", "/"))
    if place.is_absolute() or ".." in place.parts or not place.name or ":" in place.parts[0]:
        raise RgwotError(f"{path}: path {name!r} leaves the folder; expected a path inside it, such as monday.pt")
    return str(place.with_suffix(".pt")) if place.suffix.lower() in {".pt", *VIDEO_SUFFIXES} else f"{place}.pt"


def _csv(path: Path, key: str | None, times: str | None, _stack: ExitStack) -> ArraySource:
    """Open a text table with commas, semicolons, tabs or spaces, with or without a line of names."""
    import pandas as pd

    with path.open("rb") as file:
        begin = file.read(2**20)
    # Only whole lines, so that no character is cut. They are enough to find the encoding, because the only words of the
    # file are the names of columns, in its first line.
    encoding = encoding_of(path, begin[: begin.rfind(b"\n") + 1] or begin)
    first = next(iter(begin.decode(encoding, errors="ignore").splitlines()), "")
    separator = next((sign for sign in ";\t," if sign in first), r"\s+")
    cells = first.split() if separator == r"\s+" else next(csv.reader([first], delimiter=separator), [])
    names = [cell.strip() for cell in cells]
    # pandas writes the numbers 0, 1, ... as the names of columns without names.
    counted = len(names) > 1 and names == [str(number) for number in range(len(names))]
    signs = names if separator == "," else [name.replace(",", ".") for name in names]
    named = counted or any(not _is_number(name) for name in signs)
    if named and names.count("") > 1:
        raise ValueError(
            f"line 1 has {names.count('')} cells without a name; expected the header; delete lines before it"
        )
    if named and [_is_number(name) for name in names] == [True, True, False]:
        raise RgwotError(
            f"{path}: looks like an annotation (start,end,number name), expected features; put annotations into a "
            "folder `annotations` of the task"
        )
    if times is not None and times not in names:
        hint = nearest(times, names) if named else "its first line has no names"
        raise RgwotError(f"{path}: no column {times!r} for the times; {hint}")
    if named:
        check_no_clock(path, (name for name in names if name != times))
    lines = begin.decode(encoding, errors="ignore").splitlines()[named:]
    # In many languages, Excel writes decimal commas; if three digits follow each comma, they may separate thousands.
    commas = [] if separator == "," else _COMMAS.findall("\n".join(lines[:_PROBED]))
    if commas and separator != ";" and all(re.fullmatch(r"[+-]?[1-9]\d{0,2},\d{3}", text) for text in commas):
        raise ValueError(f"{commas[0]!r}, in which the comma may separate thousands; write decimal points")
    with warnings.catch_warnings():
        # pandas only warns of a row that is longer than the header, and drops the end of the row; here it is an error.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            table = pd.read_csv(
                path, sep=separator, header=0 if named else None, names=names if named else None, dtype=np.float64,
                encoding=encoding, index_col=False, compression=None, decimal="," if commas else ".",
            )  # fmt: skip
        except (pd.errors.ParserWarning, ValueError) as error:
            raise ValueError(
                _odd_line(path, encoding, separator, named, "," if commas else ".") or first_line(error)
            ) from None
    when = None
    if times is not None:
        when = table[times].to_numpy()
        table = table.drop(columns=times)
    return replace(_plain("", table.to_numpy(), when), columns=column_names(table.columns) if named else "")


def _odd_line(path: Path, encoding: str, separator: str, named: bool, decimal: str) -> str:
    """Describe the first line of a text table with a word, or with more or fewer cells than the line before, if any."""
    width = 0
    with path.open(encoding=encoding, newline=None, errors="replace") as file:
        for number, line in enumerate(file, start=1):
            cells = line.split() if separator == r"\s+" else next(csv.reader([line], delimiter=separator), [])
            # A second decimal sign makes a number a word, too.
            signs = str.maketrans({decimal: ".", ".": decimal})
            word = next((cell for cell in cells if cell.strip() and not _is_number(cell.translate(signs))), None)
            if cells and width not in (0, len(cells)):
                return (
                    f"line {number} has {len(cells)} cells, and the one before {width}; delete a comment, or add cells"
                )
            if word is not None and number > named:
                found = f"line {number}: {word.strip()[:40]!r}, expected numbers"
                if _DATE.match(word.strip()):
                    return f"{found}; replace dates by seconds, or remove their column and give fps"
                return f"{found}; delete a row of units or a comment, and write decimal points"
            width = len(cells) or width
    return ""


def _mat(path: Path, key: str | None, times: str | None, stack: ExitStack) -> ArraySource:
    with path.open("rb") as file:
        if file.read(10) == b"MATLAB 7.3":
            return _hdf5(path, key, times, stack, turned=True)
    kinds = {name: kind for name, (_, kind) in mat_variables(path).items()}
    name = _chosen(path, key, times, kinds)
    wanted = (name, *([] if times is None else [times]))
    for variable in wanted:
        if kinds[variable] not in _NUMERIC:
            raise RgwotError(f"{path}: {variable!r} is a {kinds[variable]}; expected a plain array of numbers")
    content = read_mat(path, wanted)
    return _plain(name, content[name], None if times is None else content[times])


def mat_variables(path: Path) -> dict[str, tuple[tuple[int, ...], str]]:
    """Return shape and kind, such as ``double`` or ``cell``, of the variables of a MAT file of version 5, by name.

    Raises RgwotError if the file is missing, damaged or of another kind.
    """
    import scipy.io

    with _mat_errors(path):
        return {name: (shape, kind) for name, shape, kind in scipy.io.whosmat(path)}


def read_mat(path: Path, names: Collection[str]) -> dict[str, NDArray[Any]]:
    """Read the named variables of a MAT file of version 5; names that the file lacks are left out.

    Cells are arrays of objects, texts arrays of strings.

    Raises RgwotError if the file is missing, damaged or of another kind, or states far more values than it can hold.
    """
    import scipy.io

    largest = max(UNCHECKED, DENSEST * path.stat().st_size) if path.is_file() else 0
    for name, (shape, _) in mat_variables(path).items():
        if name in names and 8 * math.prod(shape) > largest:
            raise RgwotError(
                f"{path}: {name!r} has the shape {shape}; expected at most {largest // 8} values in a file of "
                f"{path.stat().st_size} bytes; make the file again"
            )
    with _mat_errors(path):
        content = scipy.io.loadmat(path, variable_names=list(names))
        return {name: np.asarray(content[name]) for name in names if name in content}


@contextmanager
def _mat_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except RgwotError:
        raise
    except Exception as error:  # noqa: BLE001 (SciPy raises anything on a damaged file)
        raise RgwotError(
            f"{path}: cannot be read ({type(error).__name__}: {first_line(error)[:150]}); expected a MATLAB file of "
            "version 5; save it with -v7, or fetch it again"
        ) from None


def column_names(names: Iterable[Any]) -> str:
    """Return the names of columns, one per line, or an empty text for 0, 1, 2, ..., which say nothing about order."""
    listed = [str(name).strip() for name in names]
    return "" if listed == [str(number) for number in range(len(listed))] else "\n".join(listed)


def check_no_clock(path: Path, names: Iterable[Any], remedy: str = "set `times` to its name if it has seconds") -> None:
    """Raise RgwotError if a column seems to hold times or row numbers; ``remedy`` says what to do if they are times."""
    odd = next((name for name in map(str, names) if _UNIT.sub("", name.strip().lower()) in _INDEX), None)
    if odd is not None:
        raise RgwotError(
            f"{path}: column {odd!r} seems to hold times or row numbers; {remedy}, "
            "rename it if it is a feature, or else remove it from the table"
        )


def check_columns(path: Path, columns: str, first: Path, expected: str) -> None:
    """Raise RgwotError if columns (`column_names`) or their order are known and differ from those of ``first``."""
    if columns and expected and (fault := other_columns(columns, expected, str(first))):
        raise RgwotError(f"{path}: {fault}")


def other_columns(columns: str, expected: str, first: str) -> str:
    """Return how columns (`column_names`) differ from the expected columns, those of ``first``, or an empty text.

    If no name is the same, names are compared without their common beginning, such as the name of a person; if they
    still differ, the order cannot be compared, and the text is empty.
    """
    actual_names, expected_names = columns.split("\n"), expected.split("\n")
    if set(actual_names).isdisjoint(expected_names):
        actual_names, expected_names = _distinctive(actual_names), _distinctive(expected_names)
        if set(actual_names) != set(expected_names):
            return ""
    if actual_names == expected_names:
        return ""
    more, lacking = (
        set(mine) - set(other) for mine, other in ((actual_names, expected_names), (expected_names, actual_names))
    )
    surplus = next((f"column {name!r}" for name in actual_names if name in more), "")
    if lacking:
        absent = next(name for name in expected_names if name in lacking)
        what = f"no column {absent!r}{surplus and f', but {surplus}'}"
    elif surplus:
        what = f"{surplus} too many"
    else:
        pairs = enumerate(zip_longest(actual_names, expected_names), start=1)
        number, (name, other) = next((number, pair) for number, pair in pairs if pair[0] != pair[1])
        what = f"column {number} is {name!r}, not {other!r}"
    return f"{what}; expected the columns of {first} in the same order; correct the table"


def _distinctive(names: list[str]) -> list[str]:
    """Return names in lower case, without their common beginning, such as a person's name."""
    begin = len(os.path.commonprefix(names))
    return [name[begin:].casefold() for name in names]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_times(path: Path, times: NDArray[Any]) -> NDArray[np.float64]:
    """Return the times of features as (T,) after checking them; MATLAB stores (T, 1) or (1, T)."""
    array = np.asarray(times)
    if array.dtype.kind in "mM":
        raise RgwotError(
            f"{path}: times are {array.dtype}; expected seconds as numbers: (t - t[0]) / np.timedelta64(1, 's')"
        )
    if array.dtype.kind not in "iuf" or sum(side != 1 for side in array.shape) > 1:
        raise RgwotError(
            f"{path}: times have the shape {array.shape} and type {array.dtype}; expected a list of seconds"
        )
    seconds = array.astype(np.float64).ravel()
    if not np.isfinite(seconds).all() or (seconds < 0).any() or (np.diff(seconds) <= 0).any():
        late = np.flatnonzero(~(np.diff(seconds) > 0))
        where = f"{seconds[late[0]]:g} before {seconds[late[0] + 1]:g}" if late.size else f"{seconds.min():g}"
        where = where if np.isfinite(seconds).all() else f"{seconds[~np.isfinite(seconds)][0]:g}"
        cure = ""
        if np.isfinite(seconds).all() and (seconds == np.round(seconds)).all() and (np.diff(seconds) >= 0).all():
            cure = "; these are whole seconds of several samples each: leave the times out, and give fps"
        raise RgwotError(f"{path}: times: found {where}; expected increasing, finite seconds, 0 or above{cure}")
    return seconds


OPENERS: dict[str, Callable[[Path, str | None, str | None, ExitStack], ArraySource]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".h5": _hdf5,
    ".hdf5": _hdf5,
    ".pt": _torch,
    ".csv": _csv,
    ".mat": _mat,
}
"""The functions that open arrays, by suffix."""


def _chosen(path: Path, key: str | None, times: str | None, names: Collection[str]) -> str:
    """Return the name of the array; without a key, the file must have a single array besides the times."""
    if times is not None and times not in names:
        raise RgwotError(
            f"{path}: no array {times!r} for the times; {nearest(times, names) if names else 'the file has no arrays'}"
        )
    arrays = [name for name in names if name != times]
    if key is None and len(arrays) == 1:
        return arrays[0]
    if key is None:
        raise RgwotError(
            f"{path}: holds {len(arrays)} arrays ({', '.join(sorted(arrays)[:16])}); name one of them as key"
        )
    if key not in arrays:
        raise RgwotError(f"{path}: no array {key!r}; {nearest(key, arrays) if arrays else 'no features in it'}")
    return key
