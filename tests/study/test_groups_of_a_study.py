from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rgwot.runtime.errors import RgwotError
from rgwot.study.datasets import dataset_files, group_columns, groups_file, page_column, video_table
from rgwot.study.study import Study, Task


def study(tmp_path: Path, **entry: Any) -> Study:
    (tmp_path / "videos/tea").mkdir(parents=True, exist_ok=True)
    (tmp_path / "videos/tea/monday.mp4").touch()
    content = {"layout": "folder", "root": str(tmp_path / "videos"), **entry}
    return Study.of({"datasets": {"mine": content}})


def test_the_table_of_the_configuration_takes_the_place_of_the_folders_own(tmp_path: Path) -> None:
    assert video_table(Task(study(tmp_path), "mine", "tea")) is None
    assert group_columns(Task(study(tmp_path), "mine", "tea")) == ()
    with pytest.raises(RgwotError, match=r"mine/tea: no groups; expected .*videos/tea/videos.csv"):
        groups_file(Task(study(tmp_path), "mine", "tea"), "group")
    own, other = tmp_path / "videos/tea/videos.csv", tmp_path / "people.csv"
    own.write_text("video,group\nmonday,a\n")
    assert groups_file(Task(study(tmp_path), "mine", "tea"), "group") == str(own)
    # On Windows, the name may be written like this.
    own = own.rename(own.with_name("Videos.CSV"))
    assert groups_file(Task(study(tmp_path, tasks=["tea"]), "mine", "tea"), "group") == str(own)
    assert not dataset_files(study(tmp_path), "mine").tasks["tea"].without_video
    other.write_text("task,video,surgeon\ntea,monday,Ann\n")
    named = study(tmp_path, videos=str(other))
    assert group_columns(Task(named, "mine", "tea")) == ("surgeon",)
    assert groups_file(Task(named, "mine", "tea"), "surgeon") == str(other)
    with pytest.raises(RgwotError, match="no column 'group'"):
        groups_file(Task(named, "mine", "tea"), "group")
    assert page_column(Task(named, "mine", "tea")) is None
    assert page_column(Task(study(tmp_path, videos=str(other), group="surgeon"), "mine", "tea")) == "surgeon"
