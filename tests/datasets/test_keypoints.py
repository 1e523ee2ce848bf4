"""Tracked points as features, in files as DeepLabCut, SLEAP and others write them."""

from __future__ import annotations

import logging
from fractions import Fraction
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pydantic import ValidationError

from rgwot.config.configuration import ImportSettings
from rgwot.datasets.feature_files import interpolated, open_points, relative
from rgwot.features.importing import import_features
from rgwot.features.index import check_stores
from rgwot.features.store import open_store
from rgwot.runtime.errors import RgwotError
from rgwot.timing import VideoInfo

#: Two points over four frames; the second is lost in frames 1 and 2, and the first in frame 0.
TRUE = np.array([[[1, 2], [10, 20]], [[1, 2], [11, 22]], [[3, 4], [12, 24]], [[5, 6], [13, 26]]], dtype=np.float64)
LOST = ((0, 0), (1, 1), (2, 1))


def wrong() -> NDArray[np.float64]:
    points = TRUE.copy()
    for frame, point in LOST:
        points[frame, point] = 999
    return points


def deeplabcut(animals: list[NDArray[np.float64]], names: list[str] | None = None) -> pd.DataFrame:
    """As DeepLabCut puts it: x, y and likelihood of every point, below four or three rows of names."""
    levels = [["DLC_resnet50_teaJan1shuffle1_1000"], ["nose", "tail"], ["x", "y", "likelihood"]]
    columns = pd.MultiIndex.from_product(levels, names=["scorer", "bodyparts", "coords"])
    if names is not None:
        levels.insert(1, names)
        columns = pd.MultiIndex.from_product(levels, names=["scorer", "individuals", "bodyparts", "coords"])
    parts = []
    for points in animals:
        likelihood = np.where((points == 999).any(axis=2, keepdims=True), 0.1, 0.99)
        parts.append(np.concatenate([points, likelihood], axis=2).reshape(len(points), -1))
    return pd.DataFrame(np.hstack(parts), columns=columns)


def read(path: Path, form: Any = "image") -> NDArray[Any]:
    source = open_points(path, form)
    assert source.note == "" or "are interpolated" in source.note
    return source.read((slice(None), slice(None)))


#: By hand: a line between the frames around, and the nearest before the first.
FILLED = [[1, 2, 10, 20], [1, 2, 11, 22], [3, 4, 12, 24], [5, 6, 13, 26]]


def test_deeplabcut_as_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    deeplabcut([wrong()]).to_csv(path)
    assert read(path).tolist() == FILLED
    assert "37.5% of the points were not found" in open_points(path, "image").note
    deeplabcut([wrong(), TRUE + 100], ["one", "two"]).to_csv(path)
    found = read(path)
    assert found[:, :4].tolist() == FILLED
    assert found[:, 4:].tolist() == (TRUE + 100).reshape(4, -1).tolist()
    # Each animal is a body by itself.
    apart = read(path, "body")[:, 4:].reshape(4, 2, 2)
    assert np.allclose(apart, relative(TRUE + 100))


@pytest.mark.parametrize("kind", ["table", "fixed"])
def test_deeplabcut_as_hdf5(tmp_path: Path, kind: str) -> None:
    """The arrays that pandas and PyTables write of such a table; names are in pickles beside them."""
    values = deeplabcut([wrong()]).to_numpy()
    with h5py.File(tmp_path / "a.h5", "w") as file:
        group = file.create_group("df_with_missing")
        if kind == "fixed":
            group["axis1"], group["block0_values"] = np.arange(4), values
        else:
            rows = np.zeros(4, dtype=[("index", "<i8"), ("values_block_0", "<f8", (6,))])
            rows["values_block_0"] = values
            group["table"] = rows
            group["_i_table/index/bounds"] = np.zeros((0, 127))
    assert read(tmp_path / "a.h5").tolist() == FILLED


def test_sleap(tmp_path: Path) -> None:
    points = wrong()
    points[points == 999] = np.nan
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["tracks"] = np.stack([points, TRUE + 100]).transpose(0, 3, 2, 1)
        file["point_scores"] = np.ones((2, 2, 4))
        file["node_names"] = np.array([b"nose", b"tail"])
    found = read(tmp_path / "a.h5")
    assert found[:, :4].tolist() == FILLED
    assert found[:, 4:].tolist() == (TRUE + 100).reshape(4, -1).tolist()


def test_a_table_of_points(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "frame,nose_x,nose_y,nose_score,tail_x,tail_y\n0,9,9,0.2,10,20\n1,1,2,1,,\n2,3,4,1,12,24\n3,5,6,1,13,26\n"
    )
    assert read(path).tolist() == FILLED
    path.write_text("a_x,a_y,a_z,b_x,b_y,b_z\n1,2,3,4,5,6\n")
    assert read(path).tolist() == [[1, 2, 3, 4, 5, 6]]


numbers = st.floats(-1000, 1000)


@given(
    st.lists(st.tuples(numbers, numbers), min_size=3, max_size=6, unique_by=lambda point: round(point[0])),
    st.tuples(numbers, numbers),
    st.floats(0.1, 10),
)
def test_relative_positions_do_not_depend_on_place_and_size(points: Any, shift: Any, scale: float) -> None:
    body = np.array([points])
    found = relative(body)
    assert np.allclose(found.mean(axis=1), 0, atol=1e-9)
    assert np.allclose(np.square(found).sum(axis=2).mean(axis=1), 1)
    assert np.allclose(relative(scale * body + np.array(shift)), found, atol=1e-6)


@pytest.mark.parametrize("form", ["deeplabcut", "table"])
def test_points_in_another_order_are_refused(tmp_path: Path, form: str) -> None:
    table = deeplabcut([TRUE])
    if form == "table":
        table = table.set_axis([f"{point}_{what}" for _, point, what in table.columns], axis=1)
    settings = ImportSettings(axes="TC", fps="2", keypoints="image")
    for name, order in {"a": range(6), "b": (3, 4, 5, 0, 1, 2)}.items():
        table.iloc[:, list(order)].to_csv(tmp_path / f"{name}.csv", index=form == "deeplabcut")
        import_features(tmp_path / f"{name}.csv", tmp_path / f"{name}.zarr", settings)
    with pytest.raises(RgwotError, match=r"b\.zarr: column 1 is 'tail', not 'nose'; expected the columns of .*a\.zarr"):
        check_stores(open_store(tmp_path / f"{name}.zarr") for name in "ab")


def test_relative_positions_by_hand() -> None:
    square = np.array([[[0, 0], [2, 0], [2, 2], [0, 2]], [[7, 7]] * 4], dtype=np.float64)
    side = 1 / np.sqrt(2)
    assert np.allclose(relative(square)[0], [[-side, -side], [side, -side], [side, side], [-side, side]])
    assert relative(square)[1].tolist() == [[0, 0]] * 4
    assert np.array_equal(interpolated(Path("a"), TRUE), TRUE)


def test_points_are_imported_and_what_was_missing_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    deeplabcut([wrong()]).to_csv(tmp_path / "a.csv")
    settings = ImportSettings.model_validate({"axes": "TC", "fps": 2, "keypoints": "body"})
    with caplog.at_level(logging.WARNING):
        import_features(tmp_path / "a.csv", tmp_path / "a.zarr", settings, VideoInfo(2.0, Fraction(30)))
    assert "a.csv: 37.5% of the points were not found (likelihood below 0.6) and are interpolated" in caplog.text
    store = open_store(tmp_path / "a.zarr")
    assert np.allclose(store.read()[..., 0, 0], relative(np.array(FILLED).reshape(4, 2, 2)).reshape(4, 4), atol=1e-3)
    assert store.time_s.tolist() == [0.0, 0.5, 1.0, 1.5]
    with pytest.raises(ValidationError, match="keypoints: expected axes TC and fps beside it"):
        ImportSettings.model_validate({"axes": "CT", "fps": 2, "keypoints": "body"})


@pytest.mark.parametrize(
    ("name", "text", "clue"),
    [
        ("a.csv", "", "found no points"),
        ("a.csv", "a_x,a_y,b_x\n1,2,3\n", "point 'b' has no column for each of x, y"),
        ("a.csv", "a_x,a_y\n1,2,3\n4,5\n", "a row of 2 cells among rows of 3"),
        ("a.csv", "a_x,a_y\n,\n,\n", "point 1 of 1 is found in no frame"),
        ("a.csv", "scorer,s,s\nbodyparts,a,a\ncoords,x,y\n0,1,2\n", "values of shape .1, 2.; not x, y and likelihood"),
        ("a.h5", "no file of HDF5", "cannot be read"),
        ("a.h5", None, "neither 'tracks' nor a table of pandas"),
    ],
)
def test_files_without_points_end_in_one_line(tmp_path: Path, name: str, text: str | None, clue: str) -> None:
    if text is None:
        with h5py.File(tmp_path / name, "w") as file:
            file["feats"] = np.zeros((3, 2))
    else:
        (tmp_path / name).write_text(text)
    with pytest.raises(RgwotError, match=clue) as caught:
        open_points(tmp_path / name, "image")
    assert str(caught.value).startswith(f"{tmp_path / name}: ")
    assert "\n" not in str(caught.value)
