"""Tracked points as features: tables of DeepLabCut, analysis files of SLEAP, and plain tables of points.

An animal (or person) that is tracked is a body: an array (T, P, 2) of the positions of P points, NaN where a point was
not found.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rgwot.datasets.arrays import ARRAY_ERRORS, ArraySource
from rgwot.datasets.text import read_lines
from rgwot.runtime.errors import RgwotError, first_line

Bodies = list[NDArray[np.float64]]

LIKELY = 0.6
"""Likelihood from which on a point counts as found: the threshold that DeepLabCut draws points with."""

_COLUMN = re.compile(r"(?P<point>.+)[_. ](?P<what>x|y|z|likelihood|score|confidence)", re.IGNORECASE)
_EXPECTED = (
    "a .csv or .h5 of DeepLabCut, an analysis .h5 of SLEAP, or a .csv with columns POINT_x, POINT_y (POINT_likelihood)"
)


def open_points(path: Path, form: Literal["image", "body"]) -> ArraySource:
    """Open a file of tracked points as vectors (T, C).

    What is missing, or of a likelihood below `LIKELY`, is interpolated in time, and ``note`` says how much. ``image``
    takes positions as they are, ``body`` as of `relative`.

    Raises RgwotError when the file is of another kind, or a point is never found.
    """
    try:
        bodies, names = (_from_hdf5(path), []) if path.suffix.lower() in (".h5", ".hdf5") else _from_csv(path)
    except ARRAY_ERRORS as error:
        raise RgwotError(f"{path}: cannot be read ({first_line(error)[:100]}); expected {_EXPECTED}") from None
    if not bodies or any(body.size == 0 for body in bodies):
        raise RgwotError(f"{path}: found no points; expected {_EXPECTED}")
    missing = np.mean(np.concatenate([np.isnan(body).any(axis=2).ravel() for body in bodies]))
    bodies = [interpolated(path, body) for body in bodies]
    if form == "body":
        bodies = [relative(body) for body in bodies]
    array = np.concatenate([body.reshape(len(body), -1) for body in bodies], axis=1)
    note = f"{missing:.1%} of the points were not found (likelihood below {LIKELY}) and are interpolated"
    return ArraySource(
        "", array.shape, "float64", lambda slices: array[slices], note=note if missing else "", columns="\n".join(names)
    )


def interpolated(path: Path, body: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fill gaps (NaN) of a body (T, P, D) linearly in time, and before the first and after the last time by those."""
    filled, times = body.copy(), np.arange(len(body))
    for point in range(body.shape[1]):
        known = ~np.isnan(body[:, point]).any(axis=1)
        if not known.any():
            raise RgwotError(
                f"{path}: point {point + 1} of {body.shape[1]} is found in no frame; expected every point in some; "
                "leave it out in all files, or this file"
            )
        for axis in range(body.shape[2]):
            filled[:, point, axis] = np.interp(times, times[known], body[known, point, axis])
    return filled


def relative(body: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the positions (T, P, D) relative to the body: in every frame their mean is 0, their mean square 1.

    Where it is and how large it looks goes, its turn stays. A body whose points coincide stays at 0.
    """
    centred = body - body.mean(axis=1, keepdims=True)
    size = np.sqrt(np.square(centred).sum(axis=2).mean(axis=1))
    shaped = centred / np.where(size > 0, size, 1)[:, None, None]
    return np.asarray(shaped)


def _from_hdf5(path: Path) -> Bodies:
    import h5py

    with h5py.File(path, "r") as file:
        if "tracks" in file:
            # SLEAP: (track, axis, point, frame).
            return list(np.asarray(file["tracks"], dtype=np.float64).transpose(0, 3, 2, 1))
        for group in (one for one in file.values() if isinstance(one, h5py.Group)):
            # pandas keeps the names of columns in pickles, which are not read: all points are one body.
            if "table" in group:
                return [_likely(np.asarray(group["table"]["values_block_0"], dtype=np.float64))]
            if "block0_values" in group:
                return [_likely(np.asarray(group["block0_values"], dtype=np.float64))]
    raise ValueError("neither 'tracks' nor a table of pandas in it")


def _likely(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the points of columns x, y, likelihood, x, y, likelihood, ... (T, 3 P)."""
    if values.ndim != 2 or values.shape[1] % 3:
        raise ValueError(f"values of shape {values.shape}; not x, y and likelihood of every point")
    points = values.reshape(len(values), -1, 3)
    return np.where(points[..., 2:] >= LIKELY, points[..., :2], np.nan)


def _from_csv(path: Path) -> tuple[Bodies, list[str]]:
    """Return the bodies, and the names of their points in order; how bodies are called may differ between files."""
    rows = [row for row in csv.reader(line.text for line in read_lines(path)) if row]
    if not rows:
        return [], []
    if rows[0][0] == "scorer":
        levels = {row[0]: row[1:] for row in rows[:4] if row[0] in ("individuals", "bodyparts", "coords")}
        keys = zip(levels.get("individuals", [""] * len(levels["bodyparts"])), levels["coords"], strict=True)
        values = _numbers([row[1:] for row in rows[1 + len(levels) :]])
        columns = list(keys)
        bodies = dict.fromkeys(body for body, _ in columns)
        places = [[at for at, (one, _) in enumerate(columns) if one == body] for body in bodies]
        names = [levels["bodyparts"][at] for own in places for at in own[::3]]
        return [_likely(values[:, own]) for own in places], names
    found = [_COLUMN.fullmatch(name.strip()) for name in rows[0]]
    points: dict[str, dict[str, int]] = {}
    for at, match in enumerate(found):
        if match is not None:
            points.setdefault(match["point"], {})[match["what"].lower()] = at
    axes = [axis for axis in "xyz" if any(axis in one for one in points.values())]
    if not axes:
        return [], []
    lacking = next((name for name, one in points.items() if not set(axes) <= one.keys()), None)
    if lacking is not None:
        raise ValueError(f"point {lacking!r} has no column for each of {', '.join(axes)}")
    values = _numbers(rows[1:])
    body = np.stack([values[:, [one[axis] for axis in axes]] for one in points.values()], axis=1)
    for number, one in enumerate(points.values()):
        for what in one.keys() - set(axes):
            body[~(values[:, one[what]] >= LIKELY), number] = np.nan
    return [body], list(points)


def _numbers(rows: list[list[str]]) -> NDArray[np.float64]:
    uneven = next((row for row in rows if len(row) != len(rows[0])), None)
    if uneven is not None:
        raise ValueError(f"a row of {len(uneven)} cells among rows of {len(rows[0])}")
    values: Any = [[float(cell) if cell.strip() else np.nan for cell in row] for row in rows]
    return np.array(values, dtype=np.float64)
