"""Recordings as people hand them over: arrays, tables, files and their collections, with times or a rate.

`handed_over` turns every form into arrays by name. It uses whatever is beyond doubt: names, times in the index of a
table, integers as numbers. Anything else is refused with a message of one line that says what to do.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pandas.api.typing import DataFrameGroupBy

from rgwot.datasets.arrays import OPENERS, check_no_clock, open_array
from rgwot.datasets.names import name_of_recording, stem_of
from rgwot.features.importing import seconds
from rgwot.paths import STORE
from rgwot.runtime.errors import RgwotError, first_line, nearest
from rgwot.timing import CONTRADICTS, frame_times, parse_rate, rate_of_times

Video = ArrayLike | str | os.PathLike[str]
"""Features (T, C) or (T, C, h, w) of a video: an array, a table, the path of a file with one of them, or the path of a
feature store of the workflow."""

Videos = Mapping[Any, Video] | Iterable[Any] | NDArray[Any]
"""Videos by name, or one after the other."""

Times = Mapping[Any, ArrayLike] | Iterable[ArrayLike] | NDArray[Any]
"""The times (T,) of the features of every video in seconds, by name or one after the other."""

Rates = float | str | Fraction | Mapping[Any, Any] | Sequence[Any]
"""Features per second: one rate, or the rate of every recording, by name or in a sequence."""

Missing = Literal["interpolate", "background"]
MISSING: tuple[Missing, ...] = ("interpolate", "background")
"""What to do with samples that have NaN: fill them linearly in time, or give them key step 0 as well."""

SECONDS = frozenset(
    {"sec", "second", "seconds", "t (s)", "t [s]", "t_s", "time (s)", "time [s]", "time_s", "time_sec", "timestamp_s"}
)
"""Names, in lower case, of an index or column that holds times in seconds."""

TIME = frozenset({*SECONDS, "t", "time", "times"})
"""Names of times, with or without a unit: an index of floating-point numbers with such a name is in seconds."""

LABELS = frozenset({"activity", "annotation", "class", "key_step", "keystep", "label", "labels", "target", "video"})
"""Names, in lower case, of columns that hold labels or names of recordings rather than features."""

_FILES = (*OPENERS, ".txt", ".parquet")

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Intake:
    """Recordings in a common form.

    Attributes
    ----------
    features
        By name, in the given order: arrays or tables (T, C), maps (T, C, h, w), or paths of feature stores.
    times
        Times (T,) in seconds by name, for all recordings that are not feature stores; empty if they follow from a rate.
    fps
        The rate, if one was given or the recordings differ in it; None if it follows from the times, or is unknown.
    missing
        By name, the samples (T,) that had NaN and become background.
    doubts
        Reasons for doubt, a line each.
    """

    features: dict[str, Any]
    times: dict[str, NDArray[np.float64]]
    fps: str | None
    missing: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)

    @property
    def timeless(self) -> bool:
        """Whether some recording has neither times nor a rate."""
        return self.fps is None and any(name not in self.times for name, one in self.features.items() if not _path(one))


def handed_over(
    features: Videos,
    times: Times | None = None,
    fps: Rates | None = None,
    *,
    missing: str | None = None,
    clocks: bool | None = None,
) -> Intake:
    """Return recordings in a common form.

    Parameters
    ----------
    features, times, fps, missing
        As in `rgwot.discover`.
    clocks
        Whether times are taken from an index or column of a table; by default, only if neither times nor fps are given.

    Raises
    ------
    RgwotError
        For a form that is not known, a value that is not a number, or times and rates that do not fit the recordings.
    """
    if missing not in (None, *MISSING):
        raise RgwotError(f"missing: found {missing!r}; {nearest(str(missing), MISSING)}")
    named = named_videos(features)
    when, rates = times_of(times, list(named)), _rates(fps, list(named))
    clocks = times is None and fps is None if clocks is None else clocks
    made, masks, doubts = dict[str, Any](), dict[str, NDArray[np.bool_]](), list[str]()
    counts, gone = list[str](), dict[str, float]()
    for name, video in named.items():
        what = f"features[{name!r}]"
        if _path(video) and Path(video).suffix == STORE:
            made[name] = video
            continue
        one = _read(what, Path(video)) if _path(video) else video
        array, own, counted = _numbers(what, one, missing is not None)
        counts += [name] if counted else []
        if own is not None and clocks:
            when[name] = own
        elif own is not None and fps is not None and not _by_index(one):
            doubts += _other_rate(what, own, rates.get(name, fps))
        lost = _lost(array)
        if lost.any():
            array = _filled(what, array, lost, missing)
            gone[name] = float(lost.mean())
            if missing == "background":
                masks[name] = lost
        made[name] = array
    _check_time_first(made)
    if when and (bare := [name for name, one in made.items() if name not in when and not _path(one)]):
        raise RgwotError(
            f"features[{bare[0]!r}]: found no times, but features[{next(iter(when))!r}] has them; expected times of "
            "all recordings or of none; give times, or fps for all"
        )
    if gone:
        worst = max(gone, key=lambda name: gone[name])
        how = "interpolated" if missing == "interpolate" else "background"
        doubts.append(
            f"features: {len(gone)} of {len(named)} recordings have samples with NaN, up to {gone[worst]:.0%} "
            f"(features[{worst!r}]); they are {how}"
        )
    if counts:
        log.info("features: integers in %d of %d recordings are taken as numbers", len(counts), len(named))
    seconds_of = {name: seconds(f"features[{name!r}]", own) for name, own in when.items()}
    rate = None if fps is None or rates else str(fps)
    if rates:
        seconds_of, rate = _at_rates(made, rates)
    elif rate is None and len(seconds_of) > 1:
        rate = _nearly_one(seconds_of)
    return Intake(made, seconds_of, rate, masks, doubts)


def by_name(values: Mapping[Any, Any], what: str) -> dict[str, Any]:
    """Return values by the names of recordings; raise RgwotError if two names are the same text."""
    named = {name_of_recording(name): value for name, value in values.items()}
    if len(named) < len(values):
        twice = next(name for name, n in Counter(map(name_of_recording, values)).items() if n > 1)
        raise RgwotError(f"{what}: two recordings are called {twice!r}, as a number and as text; rename one")
    return named


def named_videos(features: Videos) -> dict[str, Any]:
    """Return recordings by name; raise RgwotError for anything but a collection, and for a name that occurs twice."""
    if isinstance(features, Mapping):
        named = by_name(features, "features")
    elif isinstance(features, pd.DataFrame):
        if "video" not in features:
            raise RgwotError(
                f"features: found one table with the columns {_listed(features.columns)}, expected the column video "
                "beside these, or tables by name; for a single recording give [table]"
            )
        of_video = features.groupby("video", sort=False)
        named = by_name({name: table.drop(columns="video") for name, table in of_video}, "features")
    elif isinstance(features, DataFrameGroupBy):
        by: object = features.keys
        tables = {name: table.drop(columns=[by]) if isinstance(by, str) else table for name, table in features}
        named = by_name(tables, "features")
    elif isinstance(features, pd.Series) and features.dtype == object:
        own_names = not isinstance(features.index, pd.RangeIndex)
        if own_names and features.index.has_duplicates:
            twice = features.index[features.index.duplicated()][0]
            raise RgwotError(f"features: two videos are called {twice!r}; expected different names; give a mapping")
        listed = features.tolist()
        named = by_name(dict(zip(features.index, listed, strict=True)), "features") if own_names else _counted(listed)
    elif (
        isinstance(features, (str, bytes, os.PathLike, set, frozenset, pd.Series))
        or hasattr(features, "coords")
        or not hasattr(features, "__iter__")
    ):
        cure = "; for files give their paths, as by sorted(Path('folder').glob('*.npy'))" if _path(features) else ""
        raise RgwotError(
            f"features: found {type(features).__name__}, expected a mapping of names to arrays, or a sequence of "
            f"arrays{cure}"
        )
    else:
        listed = list(features)
        pairs = all(
            isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], (str, int, np.integer)) for one in listed
        )
        if listed and pairs:
            if len(dict(listed)) < len(listed):
                twice = next(name for name, n in Counter(name for name, _ in listed).items() if n > 1)
                raise RgwotError(f"features: two videos are called {twice!r}; expected different names; rename one")
            named = by_name(dict(listed), "features")
        else:
            named = _counted(listed)
    if not named:
        raise RgwotError("features: found no video, expected at least one")
    return named


def _counted(listed: Sequence[Any]) -> dict[str, Any]:
    """Return recordings by the name of their file, or their number."""
    # The numbers have equally many digits, so sorting by name, as `find` does, keeps the given order.
    width = len(str(max(len(listed) - 1, 0)))
    called = [_stem(Path(video)) if _path(video) else f"{n:0{width}}" for n, video in enumerate(listed)]
    named = dict(zip(called, listed, strict=True))
    if len(named) < len(called):
        twice = next(name for name in called if called.count(name) > 1)
        raise RgwotError(f"features: two videos are called {twice!r}; expected different names; give a mapping")
    return named


def _stem(path: Path) -> str:
    return stem_of(path.name.removesuffix(STORE)) if path.suffix == STORE else path.stem


def _path(value: object) -> bool:
    return isinstance(value, (str, os.PathLike))


def _listed(names: Iterable[Any]) -> str:
    listed = [str(name) for name in names]
    return ", ".join(listed[:8]) + (f" and {len(listed) - 8} more" if len(listed) > 8 else "")


def times_of(times: Times | None, names: list[str]) -> dict[str, Any]:
    """Return the times of recordings by name, or {} if they were not given."""
    if times is None:
        return {}
    if isinstance(times, Mapping):
        named = by_name(times, "times")
        for name in names:
            if name not in named:
                raise RgwotError(f"times: found no array for video {name!r}, expected one array per video")
        return {name: named[name] for name in names}
    if np.isscalar(times) or not hasattr(times, "__iter__"):
        raise RgwotError(f"times: found {times!r}, expected an array of seconds per video; for a rate, use fps")
    listed = list(times)
    if len(listed) != len(names):
        raise RgwotError(f"times: found arrays of {len(listed)} videos, expected {len(names)}, one array per video")
    return dict(zip(names, listed, strict=True))


def _rates(fps: Rates | None, names: list[str]) -> dict[str, Fraction]:
    """Return the rate of every recording if each has its own, otherwise {}."""
    if fps is None or isinstance(fps, (str, float, int, Fraction, np.number)):
        return {}
    if isinstance(fps, Mapping):
        given = by_name(fps, "fps")
    else:
        listed = list(fps) if np.ndim(fps) == 1 else [fps]
        if len(listed) != len(names):
            raise RgwotError(f"fps: found {len(listed)} rates, expected {len(names)}, one per video, or a single one")
        given = dict(zip(names, listed, strict=True))
    rates = {}
    for name in names:
        if name not in given:
            raise RgwotError(f"fps: found no rate for video {name!r}, expected one per video, or a single one")
        try:
            rates[name] = parse_rate(given[name])
        except ValueError:
            raise RgwotError(
                f"fps: video {name!r}: found {str(given[name])!r}, expected a positive rate like 30 or 30000/1001"
            ) from None
    return rates


def _common(rates: Mapping[str, Fraction]) -> Fraction | None:
    """Return the middle of rates that nearly agree; None if they do not."""
    middle = sorted(rates.values())[len(rates) // 2]
    return middle if all(abs(rate - middle) <= CONTRADICTS * middle for rate in rates.values()) else None


def _at_rates(features: Mapping[str, Any], rates: Mapping[str, Fraction]) -> tuple[dict[str, NDArray[np.float64]], str]:
    """Return the times of recordings whose rates differ ({} if they are equal), and a common rate as text."""
    rates = {name: rate for name, rate in rates.items() if not _path(features[name])} or dict(rates)
    common = _common(rates)
    if common is None:
        low, high = min(rates, key=lambda name: rates[name]), max(rates, key=lambda name: rates[name])
        raise RgwotError(
            f"fps: found {float(rates[low]):g} for video {low!r} and {float(rates[high]):g} for {high!r}, expected "
            f"rates that differ by at most {CONTRADICTS:.0%}; resample them, or take every n-th sample"
        )
    if len(set(rates.values())) == 1:
        return {}, str(common)
    times = {name: frame_times(np.arange(len(features[name])), rate) for name, rate in rates.items()}
    return times, str(common)


def _other_rate(what: str, own: NDArray[Any], fps: Any) -> list[str]:
    """Return a warning if the times beside some features contradict ``fps``."""
    clock = seconds(what, own)
    try:
        stated = parse_rate(fps)
    except ValueError:
        return []  # an invalid rate is reported when it is read
    rate = rate_of_times(what, clock, stated if len(clock) < 2 else None)
    if abs(rate - stated) <= CONTRADICTS * stated:
        return []
    return [
        f"{what}: its times have {float(rate):g} features per second, but fps is {float(stated):g}, which is used; "
        "leave fps out to use the times"
    ]


def _nearly_one(times: Mapping[str, NDArray[np.float64]]) -> str | None:
    """Return the common rate of recordings whose rates differ slightly; None if they are equal, or differ by more."""
    rates = {name: rate_of_times(f"features[{name!r}]", own, None) for name, own in times.items() if len(own) > 1}
    common = _common(rates) if len(set(rates.values())) > 1 else None
    return None if common is None else str(common)


def _read(what: str, path: Path) -> Any:
    """Return the content of a file as an array or a table with times; raise RgwotError if it cannot be read."""
    suffix = path.suffix.lower()
    if suffix not in _FILES:
        raise RgwotError(
            f"{what}: found {str(path)!r}, expected an array, a feature store ({STORE}), or a file with one of the "
            f"suffixes {', '.join(_FILES)}"
        )
    if not path.is_file():
        raise RgwotError(f"{what}: {str(path)!r}: no such file; expected features, one file per video")
    if suffix == ".parquet":
        try:
            return pd.read_parquet(path)
        except ImportError:
            raise RgwotError(
                f"{what}: {str(path)!r} needs pyarrow, which is not installed; pip install pyarrow"
            ) from None
        except (OSError, ValueError) as error:
            raise RgwotError(f"{what}: {str(path)!r} cannot be read ({first_line(error)}); write it again") from None
    try:
        return _content(what, path)
    except RgwotError as error:
        # Files of the workflow name an array by a setting.
        told = "name one of them as key"
        if told not in str(error):
            raise
        raise RgwotError(f"{what}: {str(error).replace(told, 'read the file first, and give one of them')}") from None


def _content(what: str, path: Path) -> Any:
    """Return the array of a file, with the names of its columns and its times, if it has any."""
    with open_array(path, None, _times_inside(what, path)) as source:
        array = np.array(source.read(tuple(slice(0, side) for side in source.shape)))
        names = source.columns.split("\n") if source.columns else None
        if source.times is None and names is None:
            return array
        table = array if array.ndim != 2 else pd.DataFrame(array, columns=names)
        return table if source.times is None else _Timed(table, source.times)


@dataclass(frozen=True)
class _Timed:
    """Features with their times (T,)."""

    features: Any
    times: NDArray[Any]


def _times_inside(what: str, path: Path) -> str | None:
    """Return the name of the times in a file, None without times."""
    if path.suffix.lower() == ".npz":
        try:
            with np.load(path, allow_pickle=False) as content:
                names = list(content.files)
        except Exception as error:  # noqa: BLE001 (a damaged archive raises anything)
            raise RgwotError(f"{what}: {str(path)!r} cannot be read ({first_line(error)}); write it again") from None
        when = next((name for name in names if name.lower() in TIME), None)
        if len(rest := [name for name in names if name != when]) > 1:
            raise RgwotError(
                f"{what}: {str(path)!r} holds the arrays {_listed(rest)}, expected one (and its times as time_s); give "
                f"np.load({str(path)!r})[{rest[0]!r}]"
            )
        return when
    if path.suffix.lower() in (".csv", ".txt"):
        with path.open(encoding="utf-8", errors="ignore") as file:
            first = file.readline(2**20).lstrip("\ufeff")
        separator = next((sign for sign in ",;\t" if sign in first), " ")
        names = [name.strip().strip('"') for name in first.split(separator)]
        return next((name for name in names if name.lower() in SECONDS), None)
    return None


def _numbers(what: str, video: Any, masked: bool) -> tuple[Any, NDArray[np.float64] | None, bool]:
    """Return features as floating-point numbers, their times if they have any, and whether they were integers.

    Masked values become NaN if ``masked``.
    """
    if isinstance(video, _Timed):
        array, _, counted = _numbers(what, video.features, masked)
        return array, video.times, counted
    if hasattr(video, "dims") and hasattr(video, "coords"):
        video, when = _labelled(what, video)
        array, own, counted = _numbers(what, video, masked)
        return array, own if when is None else when, counted
    if isinstance(video, Mapping):
        try:
            video = pd.DataFrame(dict(video))
        except ValueError as error:
            raise RgwotError(
                f"{what}: found a mapping that is not a table ({first_line(error)}); expected an array (T, C)"
            ) from None
    elif not isinstance(video, pd.DataFrame) and hasattr(video, "columns") and hasattr(video, "to_pandas"):
        try:
            video = video.to_pandas()
        except ImportError:
            video = np.asarray(video)
    if isinstance(video, pd.DataFrame):
        return _of_table(what, video)
    if hasattr(video, "toarray"):
        video = video.toarray()
    if hasattr(video, "detach"):  # a tensor of PyTorch; NumPy has no bfloat16
        video = video.detach().cpu()
        video = video.float() if str(video.dtype) == "torch.bfloat16" else video
    if isinstance(video, np.ma.MaskedArray) and masked and video.mask.any():
        video = np.ma.filled(video.astype(np.float64), np.nan)
    array = array_of(what, video)
    if array.dtype.names:
        return _of_table(what, pd.DataFrame.from_records(array))
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise RgwotError(f"{what}: found no array of numbers ({first_line(error)})") from None
    counted = array.dtype.kind in "iub"
    if counted:
        if array.ndim == 4:
            raise RgwotError(
                f"{what}: found integers of the shape {array.shape}, like pictures; expected features (T, C) or maps "
                "(T, C, h, w) of a network; for videos use the workflow (rgwot init)"
            )
        array = array.astype(np.float64)
    elif array.dtype.kind != "f":
        raise RgwotError(f"{what}: array of {array.dtype}, expected numbers; remove what is not a number")
    _check_shape(what, array)
    return array, None, counted


def _of_table(what: str, table: pd.DataFrame) -> tuple[pd.DataFrame, NDArray[np.float64] | None, bool]:
    """Return a table of floating-point numbers, the times in its index or a column, and whether some were integers."""
    when = _clock(table.index)
    column = next((name for name in table.columns if str(name).strip().lower() in SECONDS), None)
    if column is not None:
        if when is not None:
            raise RgwotError(
                f"{what}: found times in the index and in the column {column!r}, expected one of them; drop the other"
            )
        when, table = table[column].to_numpy(dtype=np.float64, na_value=np.nan), table.drop(columns=column)
    told = next((name for name in table.columns if str(name).strip().lower() in LABELS), None)
    if told is not None:
        raise RgwotError(
            f"{what}: column {told!r} is not a feature by its name; expected features alone; drop it (labels are a "
            "parameter of their own), or rename it"
        )
    columns, counted = {}, False
    for at, name in enumerate(table.columns):
        values, kind = table.iloc[:, at], table.dtypes.iloc[at]
        if pd.api.types.is_datetime64_any_dtype(kind) or pd.api.types.is_timedelta64_dtype(kind):
            raise RgwotError(
                f"{what}: column {name!r} holds times; expected them as the index; give table.set_index({name!r})"
            )
        try:
            if isinstance(kind, pd.CategoricalDtype):
                raise ValueError("categories")
            counted |= pd.api.types.is_integer_dtype(kind) or pd.api.types.is_bool_dtype(kind)
            if pd.api.types.is_complex_dtype(kind):
                raise ValueError("complex numbers")
            floats = kind.kind == "f" if isinstance(kind, np.dtype) else False
            columns[at] = values.to_numpy() if floats else values.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            raise RgwotError(
                f"{what}: column {name!r} holds values that are not numbers ({first_line(error)}); leave the column out"
            ) from None
    check_no_clock(Path(what), table.columns, "call it time_s if it has seconds")
    if not columns:
        raise RgwotError(f"{what}: found a table without a column of features, expected at least one")
    made = pd.DataFrame(np.stack(list(columns.values()), axis=1), columns=table.columns, index=table.index)
    return made, when, bool(counted)


def _clock(index: pd.Index[Any]) -> NDArray[np.float64] | None:
    """Return the times (T,) in seconds in an index; dates count from the first one."""
    if isinstance(index, pd.PeriodIndex):
        index = index.to_timestamp()
    if isinstance(index, pd.DatetimeIndex):
        return np.asarray((index - index[0]).total_seconds(), dtype=np.float64) if len(index) else None
    if isinstance(index, pd.TimedeltaIndex):
        return np.asarray(index.total_seconds(), dtype=np.float64)
    name = str(index.name).strip().lower()
    known = name in SECONDS or (name in TIME and pd.api.types.is_float_dtype(index))
    return index.to_numpy(dtype=np.float64) if known and pd.api.types.is_numeric_dtype(index) else None


def _by_index(table: Any) -> bool:
    """Return whether the index of a table holds times."""
    return isinstance(table, pd.DataFrame) and _clock(table.index) is not None


def _labelled(what: str, video: Any) -> tuple[Any, NDArray[np.float64] | None]:
    """Return the values of an array with named axes (xarray), time first, and the times of its coordinates."""
    dims = [str(dim) for dim in video.dims]
    axis = next((at for at, dim in enumerate(dims) if dim.lower() in {*TIME, "frame", "sample"}), 0)
    if axis and len(dims) > 2:
        raise RgwotError(
            f"{what}: axes {', '.join(dims)}, expected time first; give array.transpose({dims[axis]!r}, ...)"
        )
    values: Any = np.moveaxis(np.asarray(video.values), axis, 0)
    when = None
    if video.dims[axis] in video.coords:
        when = _clock(pd.Index(np.asarray(video.coords[video.dims[axis]].values), name=dims[axis]))
    if len(dims) == 2 and video.dims[1 - axis] in video.coords:
        values = pd.DataFrame(values, columns=[str(name) for name in np.asarray(video.coords[video.dims[1 - axis]])])
    return values, when


def array_of(what: str, video: Any) -> NDArray[Any]:
    """Return the features of a video as an array; raise RgwotError for anything else."""
    try:
        array = np.asarray(video)
    # np.asarray raises these errors for ragged lists and for tensors that require grad or are bfloat16.
    except (RuntimeError, TypeError, ValueError) as error:
        raise RgwotError(f"{what}: found no array of numbers ({first_line(error)})") from None
    # np.asarray drops the mask and would expose the masked values.
    if isinstance(video, np.ma.MaskedArray) and video.mask.any():
        raise RgwotError(f"{what}: found masked values, expected none; fill them, or give missing='interpolate'")
    if array.dtype.kind == "f":
        _check_shape(what, array)
    return array


def _check_shape(what: str, array: NDArray[Any]) -> None:
    if array.ndim not in (2, 4):
        cure = (
            "for points give array.reshape(len(array), -1)"
            if array.ndim == 3
            else ("for a single video give [array], for a single channel array[:, None]")
        )
        raise RgwotError(f"{what}: shape {array.shape}, expected (T, C) or (T, C, h, w), one array per video; {cure}")


def _check_time_first(features: Mapping[str, Any]) -> None:
    """Raise RgwotError if arrays of several lengths have channels first."""
    shapes = {name: np.shape(one) for name, one in features.items() if not _path(one)}
    if any(len(shape) != 2 for shape in shapes.values()) or len(shapes) < 2:
        return
    first, second = ({shape[axis] for shape in shapes.values()} for axis in (0, 1))
    if len(first) == 1 and len(second) > 1:
        (name, shape), *others = shapes.items()
        other, unlike = next((other, own) for other, own in others if own != shape)
        raise RgwotError(
            f"features[{other!r}]: shape {unlike}, and {shape} of features[{name!r}]; expected (T, C) with equal C; if "
            "the first axis is not time, give array.T"
        )


def _lost(features: Any) -> NDArray[np.bool_]:
    """Return which samples (T,) have NaN."""
    array = np.asarray(features)
    return np.asarray(np.isnan(array).any(axis=tuple(range(1, array.ndim))))


def _filled(what: str, features: Any, lost: NDArray[np.bool_], missing: str | None) -> Any:
    """Fill NaN of a channel linearly between the samples before and after; the ends repeat the first and last value."""
    array = np.asarray(features)
    if missing is None:
        sample = int(np.argmax(lost))
        raise RgwotError(
            f"{what}: nan in {int(lost.sum())} of {len(lost)} samples, first in sample {sample}; expected finite "
            "numbers; give missing='interpolate' (fill them) or missing='background' (give them key step 0)"
        )
    flat, places = array.reshape(len(array), -1).copy(), np.arange(len(array))
    for channel in np.flatnonzero(np.isnan(flat).any(axis=0)).tolist():
        there = ~np.isnan(flat[:, channel])
        if not there.any():
            names = getattr(features, "columns", range(flat.shape[1]))
            raise RgwotError(
                f"{what}: channel {names[channel]!r} has no value; expected at least one; remove the channel from all "
                "recordings, or this recording"
            )
        flat[:, channel] = np.interp(places, places[there], flat[there, channel])
    filled = flat.reshape(array.shape)
    if isinstance(features, pd.DataFrame):
        return pd.DataFrame(filled, columns=features.columns, index=features.index)
    return filled
