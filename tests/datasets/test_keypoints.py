"""Tracked points as features, in files as DeepLabCut, SLEAP and others write them."""

from __future__ import annotations

import logging
import pickle
import re
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
from videos import write_video

from rgwot.config.configuration import load_config
from rgwot.datasets.arrays import feature_file
from rgwot.datasets.feature_files import interpolated, open_points, relative
from rgwot.datasets.finding import find
from rgwot.datasets.manifest import write_manifest
from rgwot.datasets.names import points_chosen, tracked_name
from rgwot.datasets.settings import ImportSettings
from rgwot.features.importing import import_features
from rgwot.features.index import check_stores
from rgwot.features.store import open_store
from rgwot.runtime.errors import RgwotError
from rgwot.study import datasets
from rgwot.study.doctor import examine
from rgwot.study.shipped import start_study
from rgwot.study.study import Study, Task
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
    """Return a table as DeepLabCut writes it: x, y and likelihood of every point, below three or four rows of names."""
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
    assert source.note == "" or "are interpolated" in source.note or "2 animals" in source.note
    return source.read((slice(None), slice(None)))


#: Lost points filled by hand: linearly between frames, and before the first frame by the nearest one.
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
    # Positions are relative to the body of each animal.
    apart = read(path, "body")[:, 4:].reshape(4, 2, 2)
    assert np.allclose(apart, relative(TRUE + 100))


@pytest.mark.parametrize("kind", ["table", "fixed"])
def test_deeplabcut_as_hdf5(tmp_path: Path, kind: str) -> None:
    """Read the arrays that pandas and PyTables write for such a table; the names are in pickles beside them."""
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
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["tracks"] = np.stack([points, TRUE + 100], axis=1)
        file["tracks"].attrs["dims"] = '["frame", "track", "node", "xy"]'
    for name in ("a.h5", "b.h5"):
        found = read(tmp_path / name)
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
    assert (
        "a.csv: 37.5% of the points were not found (likelihood below 0.6, or at 0,0) and are interpolated"
        in caplog.text
    )
    store = open_store(tmp_path / "a.zarr")
    assert np.allclose(store.read()[..., 0, 0], relative(np.array(FILLED).reshape(4, 2, 2)).reshape(4, 4), atol=1e-3)
    assert store.time_s.tolist() == [0.0, 0.5, 1.0, 1.5]
    with pytest.raises(ValidationError, match="keypoints: found other axes than TC, a key or times"):
        ImportSettings.model_validate({"axes": "CT", "fps": 2, "keypoints": "body"})


def tracked(score: str, low: float = 0.05, high: float = 0.95, lost: tuple[float, float] = (0.0, 0.0)) -> str:
    """Return a table of two points that move evenly; in every fifth frame the first point is lost."""
    columns = [f"nose_x,nose_y{f',nose_{score}' * bool(score)}", f"tail_x,tail_y{f',tail_{score}' * bool(score)}"]
    rows = []
    for frame in range(20):
        is_lost = frame % 5 == 3
        x, y = lost if is_lost else (100 + 2.0 * frame, 50 + frame)
        rows.append([x, y, *[low if is_lost else high] * bool(score), 90 + 2.0 * frame, 40.0, *[high] * bool(score)])
    return "\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)])


@pytest.mark.parametrize("score", ["", "likelihood", "visibility", "confidence", "presence", "p"])
def test_points_at_zero_are_missing_whatever_the_score_is_called(tmp_path: Path, score: str) -> None:
    (tmp_path / "a.csv").write_text(tracked(score))
    source = open_points(tmp_path / "a.csv", "image")
    x = source.read((slice(0, 20), slice(0, 4)))
    assert np.allclose(x[:, 0], 100 + 2 * np.arange(20))
    assert np.abs(np.diff(x, axis=0)).max() < 2.4
    assert source.note.startswith("10.0% of the points were not found")


@pytest.mark.parametrize("score", ["visibility", "p"])
def test_scores_of_any_name_count(tmp_path: Path, score: str) -> None:
    (tmp_path / "a.csv").write_text(tracked(score, lost=(600, 3)))
    assert np.allclose(open_points(tmp_path / "a.csv", "image").read((slice(0, 20), slice(0, 1)))[:, 0],
                       100 + 2 * np.arange(20))  # fmt: skip


def test_a_point_that_is_always_at_zero_is_the_origin(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("hip_x,hip_y,nose_x,nose_y\n0,0,1,2\n0,0,1,3\n0,0,2,3\n")
    source = open_points(tmp_path / "a.csv", "image")
    assert source.note == ""
    assert source.read((slice(0, 3), slice(0, 2))).tolist() == [[0, 0]] * 3


@pytest.mark.parametrize(
    ("name", "text", "clue"),
    [
        ("a.csv", tracked("confidence", 5, 95), "column nose_confidence reaches 95; expected 0 to 1; divide by 100"),
        ("a.csv", "", "found no points"),
        ("a.csv", "a_x,a_y,b_x\n1,2,3\n", "point 'b' does not have all columns x, y"),
        ("a.csv", "a_x,a_y\n1,2,3\n4,5\n", "a row of 2 cells, but 3 in the first row"),
        ("a.csv", "a_x,a_y\n,\n,\n", "point 1 of 1 is never found"),
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


NETWORK = "DLC_resnet50_teaJan1shuffle1_1000"
POINTS = {"axes": "TC", "fps": 30, "keypoints": "image"}


@pytest.fixture
def analysed(tmp_path: Path) -> Path:
    """A folder of three videos as DeepLabCut leaves it: raw and filtered tables, and labelled videos."""
    task = tmp_path / "films/mice"
    task.mkdir(parents=True)
    for number in (1, 2, 3):
        write_video(task / f"Trial{number}.mp4", 60)
        with (task / f"Trial{number}.mp4").open("ab") as file:
            # A box that players skip makes the content of every video different.
            file.write(b"\0\0\0\x09free%d" % number)
        write_video(task / f"Trial{number}{NETWORK}_labeled.mp4", 60)
        points = np.cumsum(np.ones((60, 2, 2)), axis=0)
        points[-1] += number
        for filtered, moved in (("", points + 1000), ("_filtered", points)):
            deeplabcut([moved]).to_csv(task / f"Trial{number}{NETWORK}{filtered}.csv")
            (task / f"Trial{number}{NETWORK}{filtered}.h5").write_bytes(b"the same, in which names are pickled")
        (task / f"Trial{number}{NETWORK}_meta.pickle").touch()
    return tmp_path / "films"


def content(root: Path, layout: str, imported: Any = None) -> dict[str, Any]:
    return {"datasets": {"mine": {"layout": layout, "root": str(root)} | ({"imported": imported} if imported else {})}}


LEFT_OUT = "{} files of DeepLabCut are left out .*, such as mice/Trial1DLC_resnet50_teaJan1shuffle1_1000"


@pytest.mark.parametrize("layout", ["folder", "features"])
def test_a_folder_of_deeplabcut(layout: str, analysed: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    # Unfiltered tables and labelled videos are left out; the layout `folder` ignores .h5 files.
    told = LEFT_OUT.format(12 if layout == "features" else 6)
    if layout == "features":
        for video in analysed.rglob("Trial?.mp4"):
            video.unlink()
    points = POINTS | ({"folder": str(analysed)} if layout == "folder" else {})
    report = examine(content(analysed, layout, points), "mine")
    assert [video.entry.video for video in report.videos] == ["Trial1", "Trial2", "Trial3"]
    assert report.count("error") == report.count("warning") == 0
    assert any(re.match(told, finding.message) for finding in report.findings)
    study = Study(load_config(content(analysed, layout, points), "config.yaml"))
    files = [Path(datasets.imported_file(Task(study, "mine", "mice"), f"Trial{number}")) for number in (1, 2, 3)]
    assert [file.name for file in files] == [f"Trial{number}{NETWORK}_filtered.csv" for number in (1, 2, 3)]
    assert read(files[0])[0].tolist() == [1, 1, 1, 1]
    form = POINTS if layout == "features" else None
    out = tmp_path / "manifest.csv", tmp_path / "annotations.csv"
    write_manifest("mine", "mice", analysed, layout, {}, *out, "fail", form)
    assert re.search(told, caplog.text)
    assert pd.read_csv(out[0])["status"].tolist() == ["unscored"] * 3


def test_videos_of_deeplabcut_need_no_tables(analysed: Path, tmp_path: Path) -> None:
    assert start_study(tmp_path / "study", analysed) == {"mice": "3 videos"}
    (analysed / "mice/Trial1.csv").write_text("start_s,end_s,label\n0,1,rear\n")
    report = examine(content(analysed, "folder"), "mine", quick=True)
    assert [video.status for video in report.videos] == ["ok", "unscored", "unscored"]
    # The tracked points of a video are found even if the video also has an annotation.
    assert feature_file(analysed, "mice", "Trial1").name == f"Trial1{NETWORK}_filtered.csv"
    for video in analysed.rglob("Trial?.mp4"):
        video.unlink()
    found = find("mine", "features", analysed).of("mice")
    assert [one.annotation for one in found] == ["mice/Trial1.csv", None, None]


def test_points_of_two_networks_are_not_chosen_among(analysed: Path) -> None:
    other = NETWORK.replace("1000", "5000")
    (analysed / f"mice/Trial1{NETWORK}.csv").rename(analysed / f"mice/Trial1{other}.csv")
    with pytest.raises(RgwotError, match="mice/Trial1: features in .*_1000_filtered.csv and .*_5000.csv; expected one"):
        feature_file(analysed, "mice", "Trial1")


@pytest.mark.parametrize(
    ("name", "video", "filtered", "derived"),
    [
        ("Trial1DLC_resnet50_teaJan1shuffle1_1000.csv", "Trial1", False, False),
        ("a.bDLC_dlcrnetms5_xMar9shuffle1_100000_el_filtered.h5", "a.b", True, False),
        ("aDLC_Resnet50_xJan1shuffle3_snapshot_200.h5", "a", False, False),
        ("aDLC_resnet50_xJan1shuffle1_1000_el_filtered_id_labeled.mp4", "a", True, True),
        ("aDLC_resnet50_xJan1shuffle1_1000_p60_labeled.mp4", "a", False, True),
        ("aDLC_resnet50_xJan1shuffle1_1000_skeleton.csv", "a", False, True),
        ("aDeepCut_resnet50_xJan1shuffle1_1030000.h5", "a", False, False),
        (
            "HCS17_part_000_superanimal_topviewmouse_hrnet_w32_fasterrcnn_resnet50_fpn_v2_.csv",
            "HCS17_part_000",
            False,
            False,
        ),
        ("aDLC_snapshot-700000.csv", "a", False, False),
    ],
)
def test_names_of_deeplabcut(name: str, video: str, filtered: bool, derived: bool) -> None:
    found = tracked_name(f"mice/{name}")
    assert found is not None
    assert (found["video"], bool(found["filtered"]), bool(found["derived"])) == (video, filtered, derived)


@pytest.mark.parametrize("name", ["Trial1.csv", "DLC_day1.mp4", "myDLC_videos.mp4", "a_labeled.mp4", "b_filtered.csv"])
def test_other_names_are_left_alone(name: str) -> None:
    assert tracked_name(name) is None
    assert points_chosen([name]) == ([name], [])


def test_two_animals_are_reported(tmp_path: Path) -> None:
    deeplabcut([TRUE, TRUE + 100], ["one", "two"]).to_csv(tmp_path / "a.csv")
    note = open_points(tmp_path / "a.csv", "image").note
    assert note == "2 animals, with their points side by side in the order of the file"
    with h5py.File(tmp_path / "a.h5", "w") as file:
        group = file.create_group("df_with_missing")
        group["block0_values"] = deeplabcut([TRUE, TRUE + 100], ["one", "two"]).to_numpy()
        # pandas keeps the names of levels in a pickle.
        group.attrs["non_index_axes"] = np.bytes_(pickle.dumps(["scorer", "individuals", "bodyparts", "coords"], 0))
    assert "may be of several animals" in open_points(tmp_path / "a.h5", "body").note


def test_tables_of_sleap(tmp_path: Path) -> None:
    path, header = tmp_path / "a.csv", "track,frame_idx,instance.score,nose.x,nose.y,nose.score\n"
    path.write_text(header + "".join(f"track_0,{at},0.9,{at},{2 * at},0.9\n" for at in range(3)))
    assert read(path).tolist() == [[0, 0], [1, 2], [2, 4]]
    # Tables with a row per animal and frame, or without a row for some frame, which would shift all later rows.
    for frames in ((0, 1, 2, 0, 1, 2), (0, 0, 1, 1), (0, 1, 3)):
        path.write_text(header + "".join(f"track_0,{at},0.9,{at},{2 * at},0.9\n" for at in frames))
        with pytest.raises(RgwotError, match="frame_idx does not rise evenly, as it would with one row"):
            read(path)
