from __future__ import annotations

import logging
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from videos import write_video

from rgwot.columns import ANNOTATION_COLUMNS, MANIFEST_COLUMNS
from rgwot.datasets.manifest import write_manifest
from rgwot.records import read_annotations, read_manifest
from rgwot.runtime.errors import RgwotError

NTSC = Fraction(30000, 1001)
SIZE = (48, 32)


def annotate(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def run(
    root: Path, out: Path, task: str = "tea", on_bad_video: str = "fail", **entry: object
) -> tuple[pd.DataFrame, pd.DataFrame]:
    dataset, layout = str(entry.pop("dataset", "mine")), str(entry.pop("layout", "folder"))
    write_manifest(dataset, task, root, layout, entry, out / "m.csv", out / "s.csv", on_bad_video)  # type: ignore[arg-type]
    return read_manifest(out / "m.csv"), read_annotations(out / "s.csv")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder of one task with videos whose annotations have rows, are empty, or are missing.

    The names of the videos are easily misread.
    """
    root = tmp_path / "root"
    (root / "tea").mkdir(parents=True)
    for name in ("NA", "0003", '-a é,"q"', "plain"):
        write_video(root / "tea" / f"{name}.mp4", 60, NTSC, SIZE)
    annotate(root / "tea/0003.csv", "0.5,1.0,9 Pour\n0.0,0.7,2 stir\n1.5,2.3,9 pour\n")
    annotate(root / "tea/NA.csv", "\n")
    annotate(root / "tea/plain.csv", "1.0,1.5,4 wait, please\n1.5,1.6,9 pour\n")
    return root


def test_tables(root: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        manifest, segments = run(root, tmp_path)
    assert tuple(manifest.columns) == MANIFEST_COLUMNS
    assert tuple(segments.columns) == ANNOTATION_COLUMNS
    assert manifest["video"].tolist() == ["%2Da%20%C3%A9%2C%22q%22", "0003", "NA", "plain"]
    assert manifest["name"].tolist() == ['-a é,"q"', "0003", "NA", "plain"]
    assert manifest["path"].tolist()[0] == 'tea/-a é,"q".mp4'
    assert manifest["annotation"].tolist() == ["", "tea/0003.csv", "tea/NA.csv", "tea/plain.csv"]
    assert manifest["status"].tolist() == ["unscored", "ok", "unscored", "ok"]
    assert manifest["reason"].tolist() == ["no annotation", "", "annotation without rows", ""]
    assert manifest["fps"].tolist() == [NTSC] * 4
    assert manifest["width"].tolist() == [48] * 4
    np.testing.assert_allclose(manifest["duration_s"], 60 / float(NTSC), atol=1e-3)
    duration = manifest["duration_s"][1]
    assert segments.values.tolist() == [
        ["0003", 0.5, 1.0, 3, "pour"],
        ["0003", 0.0, 0.7, 1, "stir"],
        ["0003", 1.5, duration, 3, "pour"],
        ["plain", 1.0, 1.5, 2, "wait, please"],
        ["plain", 1.5, 1.6, 3, "pour"],
    ]
    lines = [record.getMessage() for record in caplog.records]
    assert all("\n" not in line for line in lines)
    for clue in (
        "line 3: ends after the video",
        "segments overlap",
        "plain.csv: line 1: more than three",
        "NA.csv: no rows",
    ):
        assert sum(clue in line for line in lines) == 1


def test_bad_video(root: Path, tmp_path: Path) -> None:
    (root / "tea/plain.mp4").write_bytes(b"<html>not found</html>" * 50)
    with pytest.raises(RgwotError, match=r"plain\.mp4"):
        run(root, tmp_path)
    assert not (tmp_path / "m.csv").exists()
    assert not (tmp_path / "s.csv").exists()
    manifest, segments = run(root, tmp_path, on_bad_video="skip")
    row = manifest.set_index("video").loc["plain"]
    assert row["status"] == "skipped"
    assert row["reason"]
    assert row["fps"] is None
    assert pd.isna(row["duration_s"])
    assert set(segments["video"]) == {"0003"}
    assert segments["key_step"].tolist() == [2, 1, 2]
    assert manifest["width"].dtype == "Int64"


def test_malformed_annotation_stops_even_when_bad_videos_are_skipped(root: Path, tmp_path: Path) -> None:
    annotate(root / "tea/plain.csv", "1.0,1.5,4 wait\n2,1,4 wait\n")
    with pytest.raises(RgwotError, match=r"plain\.csv: line 2: end 1 before start 2"):
        run(root, tmp_path, on_bad_video="skip")


def test_no_annotation_at_all(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "root/tea").mkdir(parents=True)
    write_video(tmp_path / "root/tea/a.mp4", 60, 25, SIZE)
    with caplog.at_level(logging.WARNING):
        manifest, segments = run(tmp_path / "root", tmp_path)
    assert caplog.messages == ["mine/tea: none of 1 videos is annotated, so results cannot be scored"]
    assert manifest["fps"].tolist() == [Fraction(25)]
    assert "25," in (tmp_path / "m.csv").read_text()
    assert segments.empty
    assert segments["start_s"].dtype == np.float64
    assert segments["key_step"].dtype == np.int64


def test_registered_ids_and_leftovers(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = tmp_path / "root"
    (root / "videos/CMU-MMAC/S07_Eggs_Video").mkdir(parents=True)
    write_video(root / "videos/CMU-MMAC/S07_Eggs_Video/S07_Eggs_7150991-4.avi", 60, NTSC, SIZE)
    annotate(root / "annotations/CMU-MMAC/Eggs/S07_Eggs_7150991-4.csv", "0,0.5,9 serve\n0.5,1,1 crack\n")
    annotate(root / "annotations/CMU-MMAC/Eggs/S08_Eggs_7150991-4.csv", "0,0.5,9 serve\n")
    with caplog.at_level(logging.WARNING):
        _, segments = run(root, tmp_path, "Eggs", dataset="cmu_mmac", layout="egoprocel")
    assert segments["key_step"].tolist() == [2, 1]
    assert "1 annotations without a video, left out, such as annotations/CMU-MMAC/Eggs/S08_" in caplog.text
    annotate(root / "annotations/CMU-MMAC/Eggs/S07_Eggs_7150991-4.csv", "0,0.5,8 serve\n")
    with pytest.raises(RgwotError, match=r"step id 8 .*expected one of 1-7, 9"):
        run(root, tmp_path, "Eggs", dataset="cmu_mmac", layout="egoprocel")


@pytest.mark.parametrize(
    ("content", "clue"),
    [
        ("a,b\n1,2\n", "no column video, name"),
        ("", "cannot be read"),
        (",".join(MANIFEST_COLUMNS) + "\nv,n,p,,x,30,1,1,ok,\n", "row 2: found duration_s 'x', expected a number"),
        (",".join(MANIFEST_COLUMNS) + "\nv,n,p,,1,30,1.5,1,ok,\n", "row 2: found width '1.5', expected a whole number"),
        (",".join(MANIFEST_COLUMNS) + "\nv,n,p,,inf,30,1,1,ok,\n", "row 2: found duration_s 'inf'"),
        (",".join(MANIFEST_COLUMNS) + "\nv,n,p,,,30,1,1,unscored,\n", "video 'v': found duration_s nan and fps '30'"),
        (",".join(MANIFEST_COLUMNS) + "\nv,n,p,,1,fast,1,1,ok,\n", "video 'v': fps: got 'fast'"),
    ],
)
def test_a_file_that_is_not_a_manifest(tmp_path: Path, content: str, clue: str) -> None:
    (tmp_path / "m.csv").write_text(content)
    with pytest.raises(RgwotError, match=clue) as caught:
        read_manifest(tmp_path / "m.csv")
    assert "\n" not in str(caught.value)


def test_background_that_people_annotated_is_key_step_0_and_names_are_numbered_as_they_occur(tmp_path: Path) -> None:
    folder = tmp_path / "tea"
    folder.mkdir()
    for name in ("a", "b"):
        write_video(folder / f"{name}.mp4", 90)
    (folder / "a.csv").write_text("start_s,end_s,label\n0,0.5,-\n0.5,1,stir\n1,2,pour\n2,3,background\n")
    (folder / "b.csv").write_text("start_s,end_s,label\n1,2,boil\n2,3,pour\n")
    _, table = run(tmp_path, tmp_path)
    assert table[["video", "key_step", "name"]].to_numpy().tolist() == [
        ["a", 1, "stir"], ["a", 2, "pour"], ["b", 3, "boil"], ["b", 2, "pour"],
    ]  # fmt: skip
    said = read_annotations(tmp_path / "s.csv", background=True)
    assert said[said["key_step"] == 0][["video", "start_s", "end_s"]].to_numpy().tolist() == [
        ["a", 0, 0.5],
        ["a", 2, 3],
    ]
