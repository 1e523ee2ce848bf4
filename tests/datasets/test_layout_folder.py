"""Finding and pairing files with any names in a folder of videos, and requests that cannot be met."""

from __future__ import annotations

from pathlib import Path

import pytest
from layout_helpers import pairs, touch

from rgwot.datasets.finding import find, layout_module, no_task
from rgwot.datasets.names import video_id
from rgwot.datasets.settings import LAYOUTS
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


@pytest.mark.parametrize("layout", ["folder", "features"])
@pytest.mark.parametrize(
    ("one", "other"), [("v3.csv", "v3.eaf"), ("v3.boris", "v3.csv"), ("annotations/v3.csv", "v3.csv")]
)
def test_two_annotations_of_a_video_are_an_error_that_names_both(
    tmp_path: Path, layout: str, one: str, other: str
) -> None:
    touch(tmp_path, f"tea/v3.{'mp4' if layout == 'folder' else 'npy'}", f"tea/{one}", f"tea/{other}")
    with pytest.raises(RgwotError) as caught:
        find("mine", layout, tmp_path).of("tea")
    assert f"tea/{one} and tea/{other}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_task_may_have_any_printable_name(tmp_path: Path) -> None:
    names = ("make tea", "お茶", "+1", "tea")
    touch(tmp_path, *(f"{name}/a.mp4" for name in names), ".cache/a.mp4", "a\nb/a.mp4")
    files = find("mine", "folder", tmp_path)
    assert [files.of(task)[0].path for task in map(video_id, names)] == [f"{name}/a.mp4" for name in names]
    assert "make%20tea" in files.tasks
    for task, fault in ((".cache", "is hidden"), ("a\nb", "control characters")):
        with pytest.raises(RgwotError, match=fault):
            files.of(video_id(task))


def test_apple_double_files_and_loops_are_left_out(tmp_path: Path) -> None:
    touch(tmp_path, "tea/a.mp4", "tea/._a.mp4", "tea/b.txt")
    (tmp_path / "tea" / "again").symlink_to(tmp_path / "tea", target_is_directory=True)
    assert len(find("mine", "folder", tmp_path).of("tea")) == 1


def test_a_linked_folder_is_followed(tmp_path: Path) -> None:
    touch(tmp_path, "disk/a.mp4")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "tea").symlink_to(tmp_path / "disk", target_is_directory=True)
    assert list(pairs(find("mine", "folder", tmp_path / "root"), "tea")) == ["tea/a.mp4"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_missing_root_is_one_line_that_says_what_is_expected(tmp_path: Path, layout: str) -> None:
    with pytest.raises(RgwotError) as caught:
        find("meccano", layout, tmp_path / "none")
    message = str(caught.value)
    for clue in ("'meccano'", str(tmp_path / "none"), layout_module(layout).EXPECTED, "`roots`", "config.yaml"):
        assert clue in message
    assert "\n" not in message


def test_missing_half_of_the_tree(tmp_path: Path) -> None:
    touch(tmp_path, "videos/MECCANO/0003.mp4")
    with pytest.raises(RgwotError, match=r"'meccano': no folder .*annotations"):
        find("meccano", "egoprocel", tmp_path)


def test_a_task_that_is_not_there(tmp_path: Path) -> None:
    touch(tmp_path, "tea/a.mp4", "loose.mp4")
    files = find("mine", "folder", tmp_path)
    with pytest.raises(
        RgwotError, match=r"mine/soup: no video in .*\(found tea; 1 videos fit no task, such as loose.mp4\)"
    ):
        files.of("soup")


def test_unknown_layout_and_option(tmp_path: Path) -> None:
    with pytest.raises(RgwotError, match=r"layout 'egoprocl'.*did you mean 'egoprocel'"):
        find("mine", "egoprocl", tmp_path)
    with pytest.raises(RgwotError, match=r"option 'strickt'.*did you mean 'strict'"):
        find("mine", "folder", tmp_path, {"strickt": True})
    with pytest.raises(RgwotError, match="found view 'ego', expected none"):
        find("meccano", "egoprocel", tmp_path, {"view": "ego"})


def test_tables_of_features_are_features_and_annotations_are_none(tmp_path: Path) -> None:
    (tmp_path / "tea").mkdir()
    table = tmp_path / "tea/a.csv"
    for content, said in (
        ("0.1,0.2,0.3\n0.4,0.5,0.6\n", "this looks like features only, such as tea/a.csv"),
        ("0,1.5,1 pour\n1.5,3,2 stir\n", "found no video and no file of features"),
        ("start_s,end_s,label\n0,1.5,pour\n", "found no video and no file of features"),
    ):
        table.write_text(content)
        assert said in str(no_task("mine", "folder", tmp_path))
