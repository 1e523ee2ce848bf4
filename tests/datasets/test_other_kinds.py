"""Recordings and annotations of other kinds are read, or reported in a note that says how to use them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from videos import number, remux, write_video

from rgwot.datasets.annotation_files import read_annotation_file
from rgwot.runtime.errors import RgwotError
from rgwot.study.doctor import examine
from rgwot.study.shipped import start_study
from rgwot.video import FrameReader, probe

LONG = """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 6
tiers? <exists>
size = 2
item []:
    item [1]:
        class = "IntervalTier"
        name = "key steps"
        xmin = 0
        xmax = 6
        intervals: size = 3
        intervals [1]:
            xmin = 0
            xmax = 2.5
            text = "fill the ""big"" pot"
        intervals [2]:
            xmin = 2.5
            xmax = 3
            text = ""
        intervals [3]:
            xmin = 3
            xmax = 6
            text = "stir"
    item [2]:
        class = "TextTier"
        name = "moments"
        xmin = 0
        xmax = 6
        points: size = 1
        points [1]:
            number = 1.25
            mark = "splash"
"""
SHORT = """File type = "ooTextFile"
Object class = "TextGrid"

0
6
<exists>
1
"IntervalTier"
"steps"
0
6
2
0
2.5
"füllen"
2.5
6
"stir"
"""


@pytest.mark.parametrize(
    ("suffix", "codec"),
    [(".mts", "libx264"), (".m2ts", "libx264"), (".mpg", "mpeg2video"), (".wmv", "wmv2"), (".flv", "flv")],
)
def test_other_containers_are_read(tmp_path: Path, suffix: str, codec: str) -> None:
    name = tmp_path / f"clip{suffix}"
    if codec == "libx264":
        remux(write_video(tmp_path / "clip.mp4", 90, 30), name)
    else:
        write_video(name, 90, 30, (704, 576), codec=codec)
    info = probe(name)
    assert info.duration_s == pytest.approx(3, abs=0.1)
    assert info.fps == 30
    times = np.arange(0, 2.8, 0.25)
    with FrameReader(name, times, 96) as frames:
        actual = [number(frame) for _, batch in frames for frame in batch]
    assert actual == [
        round(30 * time + 1e-6) if time * 30 % 1 == 0 else int(30 * time) for time in np.arange(0, 2.8, 0.25)
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_textgrids_are_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "m0.TextGrid"
    path.write_text(LONG, encoding=encoding)
    table = read_annotation_file(path)
    assert table.to_numpy().tolist() == [["m0", 0, 2.5, 'fill the "big" pot'], ["m0", 3, 6, "stir"]]
    marks = read_annotation_file(path, tier="moments", marks=True)
    assert marks.to_numpy().tolist() == [["m0", 1.25, 1.25, "splash"]]
    path.write_text(SHORT, encoding=encoding)
    assert read_annotation_file(path)["label"].tolist() == ["füllen", "stir"]
    path.write_text(LONG.replace("key steps", "others"), encoding=encoding)
    with pytest.raises(RgwotError, match="found 'others', 'moments'; expected one tier to read; set tier"):
        read_annotation_file(path)
    path.write_text(LONG[:300], encoding=encoding)
    with pytest.raises(RgwotError, match=r"m0.TextGrid: cannot be read .*; export it again"):
        read_annotation_file(path)


def doctor(root: Path, **entry: Any) -> list[str]:
    content = {"layout": "folder", "root": str(root), "settings": {"features": {"weights": "random"}}, **entry}
    report = examine({"datasets": {"own": content}}, "own", quick=True)
    return [
        f"{finding.severity} {finding.rule}: {finding.message}"
        for finding in report.findings
        if finding.rule in ("kind", "pairing")
    ]


def test_what_is_not_read_is_one_note_with_the_way_in(tmp_path: Path) -> None:
    tea = tmp_path / "videos/tea"
    tea.mkdir(parents=True)
    for name in ("m0.mp4", "m1.mp4", "m2.mts"):
        (tea / name).write_bytes(b"video")
    (tea / "m0.TextGrid").write_text(LONG, encoding="utf-8")
    usual = ("README.txt", "notes.pdf", "m0.psfx", "m0.thm", ".m1.json", "package.json", "cover.jpg")
    for name in usual:
        (tea / name).write_text("x", encoding="utf-8")
    (told,) = doctor(tmp_path / "videos")
    assert told.startswith("note pairing: 2 videos without annotation")
    for name in ("m1.json", "m2.srt", "m1.txt", "codes.xlsx", "m3.mod"):
        (tea / name).write_text("x", encoding="utf-8")
    told, _ = doctor(tmp_path / "videos")
    assert told.startswith("note kind: 5 files of kinds that are not read: tea/codes.xlsx, tea/m1.json, tea/m1.txt, ")
    for way in ("table start_s,end_s,label", "ffmpeg -i IN OUT.mp4", "labels_fps"):
        assert way in told
    # A text file with a label per frame is read if its rate is known.
    assert doctor(tmp_path / "videos", labels_fps=10)[0].startswith("note kind: 4 files")
    (tmp_path / "study").mkdir()
    tasks = start_study(tmp_path / "study", tmp_path / "videos")
    assert tasks["tea"].startswith("3 videos; 5 files of kinds that are not read")


def test_features_of_other_kinds_are_reported(tmp_path: Path) -> None:
    tea = tmp_path / "tea"
    tea.mkdir()
    for name in ("r0", "r1"):
        np.save(tea / f"{name}.npy", np.zeros((9, 2), np.float32))
    (tea / "r2.parquet").write_bytes(b"x")
    report = doctor(tmp_path, layout="features", imported={"axes": "TC", "fps": 1}, settings={})
    assert report[0] == ("note kind: 1 files of kinds that are not read: tea/r2.parquet; save features as .npy or .csv")


def test_files_in_no_task_and_of_unknown_kinds_are_reported(tmp_path: Path) -> None:
    root = tmp_path / "videos"
    for name in (
        "tea/m0.mp4",
        "tea/m1.mp4.part",
        "tea/m2.amv",
        "tea/m3",
        "coffee/c0.rm",
        "annotations/m0.csv",
        "x.zip",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(b"x")
    # Output of the workflow is not input of the study.
    (root / "results/tables").mkdir(parents=True)
    (root / "results/tables/demo.csv").write_text("x", encoding="utf-8")
    content = {"layout": "folder", "root": str(root), "settings": {"features": {"weights": "random"}}}
    report = examine({"datasets": {"own": content}}, "own", quick=True)
    told = [finding.message for finding in report.findings if finding.rule == "kind"]
    assert told == [
        "3 files in no task are left out: annotations/m0.csv, coffee/c0.rm, x.zip; unpack the archive; put annotations "
        "into the folder of their videos; convert videos: ffmpeg -i IN OUT.mp4",
        "3 files of kinds that are not read: tea/m1.mp4.part, tea/m2.amv, tea/m3; finish the download; convert it to a "
        "kind that is read; give the file the suffix of its kind",
    ]
