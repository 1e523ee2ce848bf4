from __future__ import annotations

from pathlib import Path

import pytest

from rgwot.datasets.finding import find
from rgwot.datasets.video_table import read_groups
from rgwot.runtime.errors import RgwotError

IDS = ["monday", "tues%20day", "v1.2"]


def groups(path: Path, text: str, **options: str) -> dict[str, str]:
    path.write_text(text, encoding="utf-8")
    return read_groups(path, IDS, **options)


def test_names_with_and_without_suffix(tmp_path: Path) -> None:
    path = tmp_path / "videos.csv"
    text = (
        "video,group,room,task\nmonday.mp4,a,1,tea\ntues day,b,2,tea\nv1.2, c ,,tea\nother,d,3,coffee\nmonday,a,1,x\n"
    )
    assert groups(path, text) == {"monday": "a", "tues%20day": "b", "v1.2": "c"}
    assert groups(path, text, column="room", task="tea") == {"monday": "1", "tues%20day": "2"}


def test_groups_that_look_equal_are_one(tmp_path: Path) -> None:
    text = "video,group\nmonday,anf\u00e4nger\ntues day,anfa\u0308nger\nv1.2,exp\u200bert\n"
    assert groups(tmp_path / "videos.csv", text) == {"monday": "anfänger", "tues%20day": "anfänger", "v1.2": "expert"}


@pytest.mark.parametrize("between", [";", "\t"])
def test_semicolons_and_tabs(tmp_path: Path, between: str) -> None:
    text = "\ufeffvideo,group\nmonday,a\nv1.2,b\n".replace(",", between)
    assert groups(tmp_path / "videos.csv", text) == {"monday": "a", "v1.2": "b"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,group\nmonday,a\n", "no column video; expected it and others"),
        ("video,Group,group\nmonday,a,b\n", "two columns 'group'; expected every column once"),
        ("video,groups\nmonday,a\n", "no column 'group'; did you mean 'groups'"),
        (
            "video,group\nmonday,a\nmonday.mp4,b\n",
            "group 'b' for video 'monday.mp4', which an earlier row puts into 'a'",
        ),
        (
            "video,group\nMonday,a\n",
            "column 'group': found no group for any of 3 videos, .*'monday' has none; row 'Monday' is no",
        ),
        (
            "video,group\nmonday,a\nsunday,b\n",
            "column 'group': found only 'a' for 1 of 3 .*'tues day' has none; row 'sunday'",
        ),
    ],
)
def test_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RgwotError, match=message) as caught:
        groups(tmp_path / "videos.csv", text)
    assert "make it again" not in str(caught.value)


@pytest.mark.parametrize("layout", ["folder", "features"])
def test_the_table_is_neither_annotation_nor_features(tmp_path: Path, layout: str) -> None:
    suffix = {"folder": "mp4", "features": "npy"}[layout]
    (tmp_path / "tea").mkdir()
    for name in (f"monday.{suffix}", "monday.csv", "videos.csv"):
        (tmp_path / "tea" / name).touch()
    found = find("mine", layout, tmp_path).tasks["tea"]
    assert [entry.video for entry in found.videos] == ["monday"]
    assert (found.without_video, found.problem) == ((), None)
    # If a video has this name, the file is its annotation.
    (tmp_path / "tea" / f"videos.{suffix}").touch()
    assert {entry.annotation for entry in find("mine", layout, tmp_path).of("tea")} == {
        "tea/monday.csv",
        "tea/videos.csv",
    }
