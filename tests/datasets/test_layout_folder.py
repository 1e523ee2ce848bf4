"""Finding and pairing in a folder of videos, whatever the files are called."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from layout_helpers import GOOD, pairs, touch
from machine import touch_bytes

from rgwot.datasets.finding import find
from rgwot.runtime.errors import RgwotError


def test_folder_pairs_annotations_anywhere_in_the_task(tmp_path: Path) -> None:
    touch(tmp_path, "tea/a.mp4", "tea/a.csv", "tea/b.MOV", "tea/annotations/b.csv", "tea/c.mkv", "tea/notes.txt")
    assert pairs(find("mine", "folder", tmp_path), "tea") == {
        "tea/a.mp4": "tea/a.csv",
        "tea/b.MOV": "tea/annotations/b.csv",
        "tea/c.mkv": None,
    }


def test_folder_with_annotations_that_fit_no_video(tmp_path: Path) -> None:
    touch(tmp_path, "tea/a.mp4", "tea/b.mp4", "tea/annotations/tea_a.csv")
    with pytest.raises(
        RgwotError,
        match=r"no video has an annotation \(2 videos without annotation \(like tea/a.mp4\), .*tea_a.csv",
    ):
        find("mine", "folder", tmp_path).of("tea")


def test_keeping_videos_without_any_annotation(tmp_path: Path) -> None:
    touch(tmp_path, "videos/MECCANO/0003.mp4", "annotations/pc_assembly/Head_5.csv")
    with pytest.raises(RgwotError, match="no video has an annotation"):
        find("meccano", "egoprocel", tmp_path).of("meccano")
    assert len(find("meccano", "egoprocel", tmp_path, {"unannotated": "keep"}).of("meccano")) == 1


def test_folder_with_a_name_that_cannot_be_a_task(tmp_path: Path) -> None:
    touch(tmp_path, "make tea/a.mp4")
    with pytest.raises(RgwotError, match="cannot be a task id.*rename"):
        find("mine", "folder", tmp_path).of("make tea")


@pytest.mark.parametrize("name", ["-x.mp4", ".x.mp4", "a b,'\"%41.mp4", "é.mp4", "{x}.mp4", "a;$(b).mp4", "#*?[1].mp4"])
def test_hostile_names_get_safe_ids(tmp_path: Path, name: str) -> None:
    touch(tmp_path, f"tea/{name}")
    (entry,) = find("mine", "folder", tmp_path).of("tea")
    assert entry.path == f"tea/{name}"
    assert entry.name == name.removesuffix(".mp4")
    assert set(entry.video) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-%")
    assert entry.video[0] not in ".-"


@pytest.mark.parametrize(
    ("name", "clue"),
    [(b"\xff.mp4", "not UTF-8"), (b"a\nb.mp4", "control"), (b"\xc3\xa9" * 80 + b".mp4", "long")],
)
def test_unusable_names_are_refused(tmp_path: Path, name: bytes, clue: str) -> None:
    touch(tmp_path, "tea/a.mp4")
    touch_bytes(tmp_path / "tea", name)
    with pytest.raises(RgwotError, match=clue) as caught:
        find("mine", "folder", tmp_path).of("tea")
    assert "\n" not in str(caught.value)
    str(caught.value).encode()


def test_apple_double_files_and_loops_are_left_out(tmp_path: Path) -> None:
    touch(tmp_path, "tea/a.mp4", "tea/._a.mp4", "tea/b.txt")
    (tmp_path / "tea" / "again").symlink_to(tmp_path / "tea", target_is_directory=True)
    assert len(find("mine", "folder", tmp_path).of("tea")) == 1


def test_a_linked_folder_is_followed(tmp_path: Path) -> None:
    touch(tmp_path, "disk/a.mp4")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "tea").symlink_to(tmp_path / "disk", target_is_directory=True)
    assert list(pairs(find("mine", "folder", tmp_path / "root"), "tea")) == ["tea/a.mp4"]


def test_three_thousand_videos_are_found_within_a_second(tmp_path: Path) -> None:
    for number in range(3000):
        touch(
            tmp_path,
            f"videos/23521/v{number:04}.mp4",
            f"crosstask_release/annotations/23521_v{number:04}.csv",
        )
    shutil.copy(GOOD / "crosstask/crosstask_release/tasks_primary.txt", tmp_path / "crosstask_release")
    primary = tmp_path / "crosstask_release/tasks_primary.txt"
    primary.write_text(primary.read_text().replace("990001", "23521"))
    # Processor time, so that other work on the machine does not count.
    start = time.process_time()
    found = find("crosstask", "crosstask", tmp_path)
    assert time.process_time() - start < 1.0
    assert len(found.of("23521")) == 3000
