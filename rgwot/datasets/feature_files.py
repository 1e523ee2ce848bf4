"""Files of imported features: their size, the times of their features, and the length of their recordings.

Tracked points are features, too: tables of DeepLabCut, analysis files of SLEAP, and plain tables of points. A tracked
animal or person is a body: an array (T, P, 2) of the positions of P points, NaN where a point was not found.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from rgwot.datasets.annotation_tables import records
from rgwot.datasets.arrays import ARRAY_ERRORS, ArraySource, Slices, open_array
from rgwot.datasets.settings import ImportSettings
from rgwot.datasets.text import read_lines
from rgwot.embedding.arrays import check_beginning, unlikely_times
from rgwot.runtime.errors import RgwotError, extras, first_line
from rgwot.timing import VideoInfo, frame_times, parse_rate, rate_of_times, short_rate

_T = TypeVar("_T")
Bodies = list[NDArray[np.float64]]

LIKELY = 0.6
"""A point counts as found from this likelihood on, the threshold with which DeepLabCut draws points."""

_COLUMN = re.compile(
    r"(?P<point>.+)[_. ](?P<what>x|y|z|likelihood|score|confidence|conf|visibility|presence|prob|probability|p)",
    re.IGNORECASE,
)
_STEPS = 3.0
_FRAMES = frozenset({"frame", "frames", "frame_idx", "frame_index"})
_EXPECTED = (
    "a .csv or .h5 of DeepLabCut, an analysis .h5 of SLEAP, or a .csv with columns POINT_x, POINT_y (POINT_likelihood)"
)


def open_points(path: Path, form: Literal["image", "body"]) -> ArraySource:
    """Open a file of tracked points as vectors (T, C).

    Points that are missing, or have a likelihood below `LIKELY`, are interpolated in time, and ``note`` says how many.
    ``image`` keeps positions unchanged, ``body`` makes them `relative`.

    Raises RgwotError if the file is of another kind, or a point is never found.
    """
    note, names = "", list[str]()
    try:
        if path.suffix.lower() in (".h5", ".hdf5"):
            with extras(path):
                bodies, note = _from_hdf5(path)
        else:
            bodies, names = _from_csv(path)
    except RgwotError:
        raise
    except ARRAY_ERRORS as error:
        raise RgwotError(f"{path}: cannot be read ({first_line(error)[:100]}); expected {_EXPECTED}") from None
    if not bodies or any(body.size == 0 for body in bodies):
        raise RgwotError(f"{path}: found no points; expected {_EXPECTED}")
    bodies = [_without_zeros(body) for body in bodies]
    missing = np.mean(np.concatenate([np.isnan(body).any(axis=2).ravel() for body in bodies]))
    bodies = [interpolated(path, body) for body in bodies]
    if form == "body":
        bodies = [relative(body) for body in bodies]
    array = np.concatenate([body.reshape(len(body), -1) for body in bodies], axis=1)
    if len(bodies) > 1:
        note = f"{len(bodies)} animals, with their points side by side in the order of the file"
    if missing:
        lost = f"{missing:.1%} of the points were not found (likelihood below {LIKELY}, or at 0,0) and are interpolated"
        note = f"{lost}; {note}" if note else lost
    return ArraySource("", array.shape, "float64", lambda slices: array[slices], note=note, columns="\n".join(names))


def _without_zeros(body: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a body (T, P, D) with NaN at 0,0, where several programs put points that were not found.

    A point keeps its zeros if it is always at 0,0 (the origin of the others), or if it also comes within a few of its
    usual steps of 0,0, since it may then have moved there.
    """
    body = body.copy()
    for point in range(body.shape[1]):
        track = body[:, point]
        zero = (track == 0).all(axis=1)
        found = track[~zero & ~np.isnan(track).any(axis=1)]
        if zero.any() and len(found):
            usual = np.median(np.linalg.norm(np.diff(found, axis=0), axis=1)) if len(found) > 1 else 0.0
            if np.linalg.norm(found, axis=1).min() > _STEPS * usual:
                track[zero] = np.nan
    return body


def interpolated(path: Path, body: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fill gaps (NaN) of a body (T, P, D) linearly in time; the ends repeat the first and last position."""
    filled, times = body.copy(), np.arange(len(body))
    for point in range(body.shape[1]):
        found_times = ~np.isnan(body[:, point]).any(axis=1)
        if not found_times.any():
            raise RgwotError(
                f"{path}: point {point + 1} of {body.shape[1]} is never found; expected every point in some frame; "
                "remove the point from all files, or this file"
            )
        for axis in range(body.shape[2]):
            filled[:, point, axis] = np.interp(times, times[found_times], body[found_times, point, axis])
    return filled


def relative(body: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return positions (T, P, D) relative to the body: in every frame their mean is 0 and their mean squared norm is 1.

    This removes the body's position and size, but keeps its orientation. If all points coincide, they become 0.
    """
    centred = body - body.mean(axis=1, keepdims=True)
    size = np.sqrt(np.square(centred).sum(axis=2).mean(axis=1))
    shaped = centred / np.where(size > 0, size, 1)[:, None, None]
    return np.asarray(shaped)


def _from_hdf5(path: Path) -> tuple[Bodies, str]:
    """Return the bodies, and a note on them."""
    import h5py

    with h5py.File(path, "r") as file:
        if "tracks" in file:
            tracks = file["tracks"]
            # Without the attribute, as in SLEAP before 1.6, the axes are (track, xy, node, frame).
            dims = json.loads(tracks.attrs.get("dims", '["track", "xy", "node", "frame"]'))
            order = [dims.index(name) for name in ("track", "frame", "node", "xy")]
            return list(np.asarray(tracks, dtype=np.float64).transpose(order)), ""
        for group in (member for member in file.values() if isinstance(member, h5py.Group)):
            # pandas stores column names as pickles, which are not read, so all points are read as one body.
            several = any(b"individuals" in np.asarray(value).tobytes() for value in _attributes(group))
            note = "points may be of several animals, but are read as one body; use the .csv of DeepLabCut" * several
            if "table" in group:
                return [_likely(np.asarray(group["table"]["values_block_0"], dtype=np.float64))], note
            if "block0_values" in group:
                return [_likely(np.asarray(group["block0_values"], dtype=np.float64))], note
    raise ValueError("neither 'tracks' nor a table of pandas in it")


def _attributes(group: Any) -> Iterator[Any]:
    """Yield the attributes of a group and of everything in it."""
    yield from group.attrs.values()
    for member in group.values():
        yield from member.attrs.values()


def _likely(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the points from columns x, y, likelihood, x, y, likelihood, ... (T, 3 P)."""
    if values.ndim != 2 or values.shape[1] % 3:
        raise ValueError(f"values of shape {values.shape}; not x, y and likelihood of every point")
    points = values.reshape(len(values), -1, 3)
    return np.where(points[..., 2:] >= LIKELY, points[..., :2], np.nan)


def _from_csv(path: Path) -> tuple[Bodies, list[str]]:
    """Return the bodies, and the names of their points in order; the names of bodies may differ between files."""
    rows = [row for row in csv.reader(line.text for line in read_lines(path)) if row]
    if not rows:
        return [], []
    if rows[0][0] == "scorer":
        levels = {row[0]: row[1:] for row in rows[:4] if row[0] in ("individuals", "bodyparts", "coords")}
        keys = zip(levels.get("individuals", [""] * len(levels["bodyparts"])), levels["coords"], strict=True)
        values = _numbers([row[1:] for row in rows[1 + len(levels) :]])
        columns = list(keys)
        bodies = dict.fromkeys(body for body, _ in columns)
        places = [[at for at, (point, _) in enumerate(columns) if point == body] for body in bodies]
        names = [levels["bodyparts"][at] for chosen in places for at in chosen[::3]]
        return [_likely(values[:, chosen]) for chosen in places], names
    matches = [_COLUMN.fullmatch(name.strip()) for name in rows[0]]
    points: dict[str, dict[str, int]] = {}
    for at, match in enumerate(matches):
        if match is not None:
            points.setdefault(match["point"], {})[match["what"].lower()] = at
    axes = [axis for axis in "xyz" if any(axis in point for point in points.values())]
    # SLEAP also writes scores of whole animals; these have no coordinates and are not points.
    points = {name: point for name, point in points.items() if set(axes) & point.keys()}
    if not axes:
        return [], []
    lacking = next((name for name, point in points.items() if not set(axes) <= point.keys()), None)
    if lacking is not None:
        raise ValueError(f"point {lacking!r} does not have all columns {', '.join(axes)}")
    for at in (at for at, name in enumerate(rows[0]) if name.strip().lower() in _FRAMES):
        steps = np.diff(_numbers([[row[at]] for row in rows[1:]]), axis=0)
        if not (steps > 0).all() or len(np.unique(steps)) > 1:
            raise ValueError(
                f"column {rows[0][at]} does not rise evenly, as it would with one row per frame for all animals"
            )
    used = {at for point in points.values() for at in point.values()}
    values = _numbers([[cell if at in used else "" for at, cell in enumerate(row)] for row in rows[1:]])
    body = np.stack([values[:, [point[axis] for axis in axes]] for point in points.values()], axis=1)
    for number, point in enumerate(points.values()):
        for what in point.keys() - set(axes):
            if (highest := np.nanmax(values[:, point[what]], initial=0)) > 1:
                raise ValueError(f"column {rows[0][point[what]]} reaches {highest:g}; expected 0 to 1; divide by 100")
            body[~(values[:, point[what]] >= LIKELY), number] = np.nan
    return [body], list(points)


def _numbers(rows: list[list[str]]) -> NDArray[np.float64]:
    uneven = next((row for row in rows if len(row) != len(rows[0])), None)
    if uneven is not None:
        raise ValueError(f"a row of {len(uneven)} cells, but {len(rows[0])} in the first row")
    values: Any = [[float(cell) if cell.strip() else np.nan for cell in row] for row in rows]
    return np.array(values, dtype=np.float64)


@dataclass(frozen=True)
class FileFacts:
    """Facts about a file of features.

    Attributes
    ----------
    sizes
        Sizes of the axes T, C, H and W; H and W are 1 for vectors.
    times
        (T,) times in seconds, if the file has them.
    fps
        Features per second: as set, or otherwise the rate of the times, in which breaks are ignored.
    start_s
        Time of the first feature, if there are no times.
    footage
        Facts that stand in for those of a video if there is none. The length is the end of the features; with
        ``window``, the length in the table of rates or, without a table, the greatest length without a further window.
    columns
        Names of the channels of a table, one per line. With the axes CT, the columns are points in time instead.
    """

    sizes: Mapping[str, int]
    times: NDArray[np.float64] | None
    fps: Fraction
    start_s: float
    footage: VideoInfo
    columns: str = ""

    @property
    def count(self) -> int:
        """Number of features."""
        return self.sizes["T"]

    def time_s(self, count: int) -> NDArray[np.float64]:
        """Return the times of the first features, (count,)."""
        if self.times is not None:
            return self.times[:count]
        return np.asarray(self.start_s + frame_times(np.arange(count), self.fps))


def measure(path: Path, array: ArraySource, settings: ImportSettings) -> FileFacts:
    """Compare an open array with the settings.

    Raises RgwotError if the array is empty, does not have one time per feature, or differs from the settings in its
    axes, number of channels or rate.
    """
    axes = settings.axes
    if len(array.shape) != len(axes):
        raise RgwotError(f"{path}: shape {array.shape}; expected {len(axes)} axes, since `axes` is {axes}")
    sizes = {"H": 1, "W": 1, **dict(zip(axes, array.shape, strict=True))}
    if min(sizes.values()) == 0:
        raise RgwotError(f"{path}: shape {array.shape}; expected at least one feature")
    if settings.channels not in (None, sizes["C"]):
        raise RgwotError(
            f"{path}: {sizes['C']} channels in shape {array.shape} read as {axes}; expected {settings.channels}, as "
            "`channels` says; import other features, or correct `axes`"
        )
    columns = array.columns if axes == "TC" else ""
    if settings.window is not None:
        return replace(_of_windows(path, sizes, settings, settings.window), columns=columns)
    if array.times is None:
        fps, start_s = Fraction(settings.fps or 0) / settings.every, settings.start_s
        end_s = start_s + float(sizes["T"] / fps)
    elif len(array.times) != sizes["T"]:
        raise RgwotError(
            f"{path}: {len(array.times)} times and {sizes['T']} features in shape {array.shape} read as {axes}; "
            "expected one time per feature; correct `axes` or `times`"
        )
    else:
        stated = None if settings.fps is None else Fraction(settings.fps) / settings.every
        fps, start_s = rate_of_times(path, array.times, stated), 0.0
        end_s = float(array.times[-1]) + float(1 / fps)
    footage = VideoInfo(end_s, Fraction(settings.native_fps or fps))
    return FileFacts(sizes, array.times, fps, start_s, footage, columns)


@contextmanager
def open_features(path: Path, settings: ImportSettings) -> Iterator[ArraySource]:
    """Open the features of a file as the settings say; see `open_array` and `open_points`."""
    if settings.keypoints is not None:
        yield _thinned(open_points(path, settings.keypoints), settings, step_of(path, settings))
        return
    with open_array(path, settings.key, settings.times) as array:
        yield _thinned(array, settings, step_of(path, settings))


def step_of(path: Path, settings: ImportSettings) -> int:
    """Return n such that every n-th feature of a file is used: ``every``, or more according to the table of rates.

    Raises RgwotError if the rate of the file is not a multiple of the rate to use.
    """
    if settings.rates is None or settings.window is not None:
        return settings.every
    rate_to_take = Fraction(settings.fps or 0) / settings.every
    rate = _row_of_rates(path, settings.rates, lambda row: parse_rate(row["fps"]), "fps as a number")
    if (rate / rate_to_take).denominator != 1:
        raise RgwotError(
            f"{path}: {settings.rates} says {rate} per second; expected a multiple of {rate_to_take}, "
            "which is fps / every"
        )
    return int(rate / rate_to_take)


def _thinned(array: ArraySource, settings: ImportSettings, step: int) -> ArraySource:
    """Return every n-th feature of an array."""
    axis = settings.axes.index("T")
    if step == 1 or len(array.shape) != len(settings.axes):
        return array
    shape = (*array.shape[:axis], -(-array.shape[axis] // step), *array.shape[axis + 1 :])

    def read(slices: Slices) -> NDArray[np.floating[Any]]:
        wide = list(slices)
        wide[axis] = slice(slices[axis].start * step, (slices[axis].stop - 1) * step + 1, step)
        return array.read(tuple(wide))

    times = None if array.times is None else array.times[::step]
    return replace(array, shape=shape, read=read, times=times)


def measure_file(path: Path, settings: ImportSettings) -> FileFacts:
    """Open a file and measure it; see `measure`."""
    with open_features(path, settings) as array:
        return measure(path, array, settings)


def in_place_of_video(path: Path, measured: FileFacts) -> VideoInfo:
    """Return facts that stand in for those of a missing video (`rgwot.embedding.arrays.check_beginning`)."""
    if measured.times is not None:
        check_beginning(path, measured.times, measured.fps)
    return measured.footage


def doubted_times(measured: FileFacts, settings: ImportSettings) -> str:
    """Return a line on why times may not be seconds; empty if they look right, or a rate confirms them."""
    return "" if measured.times is None or settings.fps is not None else unlikely_times(measured.times, measured.fps)


def _of_windows(path: Path, sizes: Mapping[str, int], settings: ImportSettings, window: int) -> FileFacts:
    """Measure features of a fixed number of native frames each; frames after the last full window have no feature."""
    rows = sizes["T"] * settings.every
    # Frames after the last full window may be annotated, but their number is unknown; the largest one is assumed.
    longest = rows * window + window - 1
    rate, frames = native_frames(path, settings) or (Fraction(settings.native_fps or 0), longest)
    if abs(frames // window - rows) > settings.every:
        raise RgwotError(
            f"{path}: {rows} features of {window} frames, but {settings.rates} says {frames} frames; expected "
            f"{frames // window} features; correct the table, or `window`"
        )
    halves = np.arange(sizes["T"]) * (2 * settings.every * window) + window
    times = frame_times(halves, 2 * rate)
    footage = VideoInfo(float(frames / rate), rate)
    return FileFacts(sizes, times, short_rate(rate / window / settings.every), 0.0, footage)


def native_frames(path: Path, settings: ImportSettings) -> tuple[Fraction, int] | None:
    """Return rate and number of a video's native frames from the table of rates; None without ``rates`` or ``window``.

    Raises RgwotError if the table lacks a column or the video, or has other values than numbers.
    """
    if settings.rates is None or settings.window is None:
        return None

    def read(row: Mapping[str, str]) -> tuple[Fraction, int]:
        rate = parse_rate(row["fps"])
        return rate, int(row["frames"]) if row.get("frames") else round(float(row["duration_s"]) * rate)

    return _row_of_rates(path, settings.rates, read, "fps and frames, or duration_s, as numbers")


def _row_of_rates(path: Path, rates: str, read: Callable[[Mapping[str, str]], _T], expected: str) -> _T:
    """Return the values in the row of a file in a table of rates."""
    table = Path(rates)
    if not table.is_file():
        raise RgwotError(
            f"{table}: no such file; expected the table `rates`, a CSV with the columns video, fps and frames"
        )
    name = path.name.removesuffix(path.suffix)
    rows = {row.get("video"): row for _, row in records(table, "video")}
    row = rows.get(name) or rows.get(name.removesuffix(".egoprocel.ann"))
    if row is None:
        raise RgwotError(f"{table}: no row for video {name!r}; add one, with video, fps and frames")
    try:
        return read(row)
    except (KeyError, ValueError, OverflowError):
        raise RgwotError(f"{table}: video {name!r}: found {row}; expected {expected}") from None
