"""Finding and pairing files in the EgoProceL tree, with names that have misled other loaders."""

from __future__ import annotations

from pathlib import Path

import pytest
from layout_helpers import pairs, touch

from rgwot.config.configuration import load_config
from rgwot.datasets.finding import find, read_options, registered_facts
from rgwot.runtime.errors import RgwotError

CAMERAS = ("7150991", "6510211", "7151020", "7151062", "8421130")


def test_epic_names_that_contain_each_other_pair_by_whole_stem(tmp_path: Path) -> None:
    names = ["01.tent.090617.gopro", "09.tent.170717.gopro", "17.tent.140917.gopro", "18.tent.150917.gopro"]
    videos = [f"videos/EPIC-Tents/{name[:2]}/{name}.MP4" for name in names]
    annotations = [f"annotations/EPIC-Tents/{name}.egoprocel.ann.csv" for name in names]
    files = find("epic_tents", "egoprocel", touch(tmp_path, *videos, *reversed(annotations)))
    assert pairs(files, "tent") == dict(zip(videos, annotations, strict=True))
    assert [entry.video for entry in files.of("tent")] == names


def test_pc_sets_are_distinguished_by_folder_and_by_whole_stem(tmp_path: Path) -> None:
    touch(tmp_path, "videos/pc_assembly/Head_9.mp4", "videos/pc_assembly/Head_90.mp4")
    touch(tmp_path, "videos/pc_disassembly/Head_9.mp4", "annotations/pc_disassembly/Head_9.csv")
    touch(tmp_path, "annotations/pc_assembly/Head_90.csv", "annotations/pc_assembly/Head_9.csv")
    for name in ("pc_assembly", "pc_disassembly"):
        found = pairs(find(name, "egoprocel", tmp_path), name)
        assert found[f"videos/{name}/Head_9.mp4"] == f"annotations/{name}/Head_9.csv"
        assert all(name in path.split("/") for path in found)
    assert len(find("pc_assembly", "egoprocel", tmp_path).of("pc_assembly")) == 2


def test_pc_videos_in_one_flat_folder_follow_their_annotation(tmp_path: Path) -> None:
    touch(tmp_path, "videos/Head_5.mp4", "videos/Head_6.mp4")
    touch(tmp_path, "annotations/pc_assembly/Head_5.csv", "annotations/pc_disassembly/Head_6.csv")
    assert list(pairs(find("pc_assembly", "egoprocel", tmp_path), "pc_assembly")) == ["videos/Head_5.mp4"]
    assert list(pairs(find("pc_disassembly", "egoprocel", tmp_path), "pc_disassembly")) == ["videos/Head_6.mp4"]


@pytest.fixture
def cmu(tmp_path: Path) -> Path:
    for take in ("S07_Brownie", "S08_Brownie", "S07_Eggs"):
        task = take.split("_")[1]
        for offset, camera in enumerate(CAMERAS):
            name = f"CMU-MMAC/{task}/{take}_Video/{take}_{camera}-{offset}"
            touch(tmp_path, f"videos/{name}.avi", f"annotations/{name}.csv")
        touch(tmp_path, f"videos/CMU-MMAC/{task}/{take}_Video/STime7150991-time-synch.txt")
        touch(tmp_path, f"videos/CMU-MMAC/{task}/{take}_Video/{take}_4444444-7.avi")
    return tmp_path


@pytest.mark.parametrize(
    ("view", "camera"), [(None, "7150991"), ("ego", "7150991"), ("Back", "6510211"), ("8421130", "8421130")]
)
def test_cmu_takes_one_camera(cmu: Path, view: str | None, camera: str) -> None:
    files = find("cmu_mmac", "egoprocel", cmu, {"view": view})
    assert set(files.tasks) == {"Brownie", "Eggs"}
    videos = files.of("Brownie")
    assert len(videos) == 2
    for entry in videos:
        assert camera in entry.name
        assert entry.annotation == entry.path.replace("videos/", "annotations/").replace(".avi", ".csv")
    assert files.tasks["Brownie"].without_annotation == files.tasks["Brownie"].without_video == ()


def test_cmu_unlisted_camera_by_number_only(cmu: Path) -> None:
    config = load_config({"datasets": {"cmu_mmac": {"layout": "egoprocel", "root": str(cmu), "view": 4444444}}})
    files = find("cmu_mmac", "egoprocel", cmu, config.datasets["cmu_mmac"].options())
    assert files.tasks["Eggs"].without_annotation == ("videos/CMU-MMAC/Eggs/S07_Eggs_Video/S07_Eggs_4444444-7.avi",)
    with pytest.raises(RgwotError, match="no video has an annotation"):
        files.of("Eggs")
    with pytest.raises(RgwotError, match=r"view of cmu_mmac 'front'.*known: back, ego, left, right, top"):
        find("cmu_mmac", "egoprocel", cmu, {"view": "front"})


def test_cmu_flat_tree_of_the_first_code(tmp_path: Path) -> None:
    touch(tmp_path, "videos/48448_7150991/S07.avi", "annotations/48448_7150991/S07.csv")
    touch(tmp_path, "videos/48448_7151020/S07.avi", "annotations/48448_7151020/S07.csv")
    touch(tmp_path, "videos/18114_7150991/S07.avi", "annotations/18114_7150991/S07.csv")
    files = find("cmu_mmac", "egoprocel", tmp_path)
    assert pairs(files, "Sandwich") == {"videos/48448_7150991/S07.avi": "annotations/48448_7150991/S07.csv"}
    assert pairs(files, "Brownie") == {"videos/18114_7150991/S07.avi": "annotations/18114_7150991/S07.csv"}


@pytest.mark.parametrize("folder", ["EGTEA_Gaze+/", "egtea gaze/", ""])
def test_egtea_flat_videos_go_to_tasks_by_session_code(tmp_path: Path, folder: str) -> None:
    touch(tmp_path, f"videos/{folder}OP01-R07-Pizza.mp4", f"videos/{folder}P16-R03-BaconAndEggs.mp4")
    touch(tmp_path, "annotations/EGTEA_Gaze+/Pizza/OP01-R07-Pizza.csv")
    touch(tmp_path, "annotations/EGTEA_Gaze+/BaconAndEggs/P16-R03-BaconAndEggs.csv")
    files = find("egtea_gaze", "egoprocel", tmp_path)
    assert pairs(files, "Pizza") == {
        f"videos/{folder}OP01-R07-Pizza.mp4": "annotations/EGTEA_Gaze+/Pizza/OP01-R07-Pizza.csv"
    }
    assert len(files.of("BaconAndEggs")) == 1


@pytest.mark.parametrize("folder", ["MECCANO_RGB_Videos/MECCANO_RGB_Videos", "MECCANO", "."])
def test_meccano_doubled_folder_and_source_videos_without_annotation(tmp_path: Path, folder: str) -> None:
    touch(tmp_path, *(f"videos/{folder}/{number:04}.mp4" for number in range(1, 6)))
    touch(
        tmp_path,
        "videos/EGTEA_Gaze+/0003.mp4",
        "annotations/MECCANO/0003.csv",
        "annotations/MECCANO/0004.csv",
    )
    files = find("meccano", "egoprocel", tmp_path)
    assert [entry.name for entry in files.of("meccano")] == ["0003", "0004"]
    assert len(files.tasks["meccano"].without_annotation) == 3
    kept = find("meccano", "egoprocel", tmp_path, {"unannotated": "keep"})
    assert [entry.name for entry in kept.of("meccano")] == ["0001", "0002", "0003", "0004", "0005"]


def test_old_copy_without_an_annotation_lists_what_is_left_over(tmp_path: Path) -> None:
    touch(tmp_path, "videos/pc_assembly/Head_5.mp4", "videos/pc_assembly/Head_9.mp4")
    touch(tmp_path, "annotations/pc_assembly/Head_5.csv", "annotations/pc_assembly/Head_7.csv")
    task = find("pc_assembly", "egoprocel", tmp_path).tasks["pc_assembly"]
    assert task.without_annotation == ("videos/pc_assembly/Head_9.mp4",)
    assert task.without_video == ("annotations/pc_assembly/Head_7.csv",)
    strict = find("pc_assembly", "egoprocel", tmp_path, {"strict": True})
    with pytest.raises(RgwotError, match=r"Head_9\.mp4.*Head_7\.csv.*strict"):
        strict.of("pc_assembly")


def test_two_files_of_one_stem_stop_their_task_and_no_other(tmp_path: Path) -> None:
    touch(tmp_path, "tea/a.mp4", "tea/copy/a.AVI", "soup/a.mp4", "soup/b.mp4")
    files = find("mine", "folder", tmp_path)
    with pytest.raises(RgwotError, match=r"mine/tea: two videos named 'a': tea/a\.mp4 and tea/copy/a\.AVI"):
        files.of("tea")
    assert len(files.of("soup")) == 2


def test_egoprocel_layout_for_an_own_dataset_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RgwotError, match=r"'mine'.*cmu_mmac, .*subset.*layout: folder"):
        find("mine", "egoprocel", tmp_path)


def test_a_second_entry_of_a_registered_dataset(tmp_path: Path) -> None:
    touch(tmp_path, "videos/MECCANO/0003.mp4", "annotations/MECCANO/0003.csv")
    options = {"subset": "meccano"}
    assert len(find("meccano_15fps", "egoprocel", tmp_path, options).of("meccano")) == 1
    facts = registered_facts("meccano_15fps", "meccano", read_options("meccano_15fps", "egoprocel", options))
    assert facts is not None
    assert facts.K == 17
