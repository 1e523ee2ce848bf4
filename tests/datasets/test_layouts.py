"""Finding and pairing: trees of empty videos with the file names that have misled loaders before."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from rgwot.datasets.base import Found
from rgwot.datasets.finding import LAYOUTS, find, layout_module, read_options, registered_facts
from rgwot.errors import RgwotError

GOOD = Path(__file__).parents[1] / "fixtures" / "annotations" / "good"
CAMERAS = ("7150991", "6510211", "7151020", "7151062", "8421130")


def touch(root: Path, *paths: str) -> Path:
    for path in paths:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    return root


def pairs(found: Found, task: str) -> dict[str, str | None]:
    return {entry.path: entry.annotation for entry in found.of(task)}


def test_epic_names_that_contain_each_other_pair_by_whole_stem(tmp_path: Path) -> None:
    names = ["01.tent.090617.gopro", "09.tent.170717.gopro", "17.tent.140917.gopro", "18.tent.150917.gopro"]
    videos = [f"videos/EPIC-Tents/{name[:2]}/{name}.MP4" for name in names]
    annotations = [f"annotations/EPIC-Tents/{name}.egoprocel.ann.csv" for name in names]
    found = find("epic_tents", "egoprocel", touch(tmp_path, *videos, *reversed(annotations)))
    assert pairs(found, "tent") == dict(zip(videos, annotations, strict=True))
    assert [entry.video for entry in found.of("tent")] == names


def test_pc_sets_are_told_apart_by_folder_and_by_whole_stem(tmp_path: Path) -> None:
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
    ("view", "camera"), [(None, "7150991"), ("ego", "7150991"), ("Back", "6510211"), (8421130, "8421130")]
)
def test_cmu_takes_one_camera(cmu: Path, view: str | int | None, camera: str) -> None:
    found = find("cmu_mmac", "egoprocel", cmu, {"view": view})
    assert set(found.tasks) == {"Brownie", "Eggs"}
    videos = found.of("Brownie")
    assert len(videos) == 2
    for entry in videos:
        assert camera in entry.name
        assert entry.annotation == entry.path.replace("videos/", "annotations/").replace(".avi", ".csv")
    assert found.tasks["Brownie"].without_annotation == found.tasks["Brownie"].without_video == ()


def test_cmu_unlisted_camera_by_number_only(cmu: Path) -> None:
    found = find("cmu_mmac", "egoprocel", cmu, {"view": "4444444"})
    assert found.tasks["Eggs"].without_annotation == ("videos/CMU-MMAC/Eggs/S07_Eggs_Video/S07_Eggs_4444444-7.avi",)
    with pytest.raises(RgwotError, match="no video has an annotation"):
        found.of("Eggs")
    with pytest.raises(RgwotError, match=r"view of cmu_mmac 'front'.*known: back, ego, left, right, top"):
        find("cmu_mmac", "egoprocel", cmu, {"view": "front"})


def test_cmu_flat_tree_of_the_first_code(tmp_path: Path) -> None:
    touch(tmp_path, "videos/48448_7150991/S07.avi", "annotations/48448_7150991/S07.csv")
    touch(tmp_path, "videos/48448_7151020/S07.avi", "annotations/48448_7151020/S07.csv")
    touch(tmp_path, "videos/18114_7150991/S07.avi", "annotations/18114_7150991/S07.csv")
    found = find("cmu_mmac", "egoprocel", tmp_path)
    assert pairs(found, "Sandwich") == {"videos/48448_7150991/S07.avi": "annotations/48448_7150991/S07.csv"}
    assert pairs(found, "Brownie") == {"videos/18114_7150991/S07.avi": "annotations/18114_7150991/S07.csv"}


@pytest.mark.parametrize("folder", ["EGTEA_Gaze+/", "egtea gaze/", ""])
def test_egtea_flat_videos_go_to_tasks_by_session_code(tmp_path: Path, folder: str) -> None:
    touch(tmp_path, f"videos/{folder}OP01-R07-Pizza.mp4", f"videos/{folder}P16-R03-BaconAndEggs.mp4")
    touch(tmp_path, "annotations/EGTEA_Gaze+/Pizza/OP01-R07-Pizza.csv")
    touch(tmp_path, "annotations/EGTEA_Gaze+/BaconAndEggs/P16-R03-BaconAndEggs.csv")
    found = find("egtea_gaze", "egoprocel", tmp_path)
    assert pairs(found, "Pizza") == {
        f"videos/{folder}OP01-R07-Pizza.mp4": "annotations/EGTEA_Gaze+/Pizza/OP01-R07-Pizza.csv"
    }
    assert len(found.of("BaconAndEggs")) == 1


@pytest.mark.parametrize(
    "folder", ["MECCANO_RGB_Videos/MECCANO_RGB_Videos", "MECCANO", "MECCANO/MECCANO_RGB_Videos", "."]
)
def test_meccano_doubled_folder_and_source_videos_without_annotation(tmp_path: Path, folder: str) -> None:
    touch(tmp_path, *(f"videos/{folder}/{number:04}.mp4" for number in range(1, 6)))
    touch(
        tmp_path,
        "videos/EGTEA_Gaze+/0003.mp4",
        "annotations/MECCANO/0003.csv",
        "annotations/MECCANO/0004.csv",
    )
    found = find("meccano", "egoprocel", tmp_path)
    assert [entry.name for entry in found.of("meccano")] == ["0003", "0004"]
    assert len(found.tasks["meccano"].without_annotation) == 3
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
    found = find("mine", "folder", tmp_path)
    with pytest.raises(RgwotError, match=r"mine/tea: two videos named 'a': tea/a\.mp4 and tea/copy/a\.AVI"):
        found.of("tea")
    assert len(found.of("soup")) == 2


def test_egoprocel_layout_for_an_own_dataset_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RgwotError, match=r"'mine'.*cmu_mmac, .*layout: folder.*subset"):
        find("mine", "egoprocel", tmp_path)


def test_a_second_entry_of_a_registered_dataset(tmp_path: Path) -> None:
    touch(tmp_path, "videos/MECCANO/0003.mp4", "annotations/MECCANO/0003.csv")
    options = {"subset": "meccano"}
    assert len(find("meccano_15fps", "egoprocel", tmp_path, options).of("meccano")) == 1
    facts = registered_facts("meccano_15fps", "meccano", read_options("meccano_15fps", "egoprocel", options))
    assert facts is not None
    assert facts.K == 17


def test_missing_root_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RgwotError) as caught:
        find("meccano", "egoprocel", tmp_path / "none")
    message = str(caught.value)
    for clue in ("'meccano'", str(tmp_path / "none"), "annotations/ and videos/", "`roots`", "config.yaml"):
        assert clue in message
    assert "\n" not in message


def test_missing_half_of_the_tree(tmp_path: Path) -> None:
    touch(tmp_path, "videos/MECCANO/0003.mp4")
    with pytest.raises(RgwotError, match=r"'meccano': no folder .*annotations"):
        find("meccano", "egoprocel", tmp_path)


def test_a_task_that_is_not_there_or_too_small(tmp_path: Path) -> None:
    touch(tmp_path, "tea/a.mp4", "loose.mp4")
    found = find("mine", "folder", tmp_path)
    with pytest.raises(
        RgwotError, match=r"mine/soup: no video in .*\(found tea; 1 videos fit no task, like loose.mp4\)"
    ):
        found.of("soup")
    with pytest.raises(RgwotError, match="mine/tea: 1 usable video in .*expected at least 2"):
        found.of("tea", at_least=2)


def test_unknown_layout_and_option(tmp_path: Path) -> None:
    with pytest.raises(RgwotError, match=r"layout 'egoprocl'.*did you mean 'egoprocel'"):
        find("mine", "egoprocl", tmp_path)
    with pytest.raises(RgwotError, match=r"option 'strickt'.*did you mean 'strict'"):
        find("mine", "folder", tmp_path, {"strickt": True})
    with pytest.raises(RgwotError, match="view 'ego'; expected none"):
        find("meccano", "egoprocel", tmp_path, {"view": "ego"})


def test_every_layout_keeps_the_protocol() -> None:
    for name in LAYOUTS:
        module = layout_module(name)
        assert callable(module.find)
        assert callable(module.read_annotation)
        assert module.EXPECTED
        assert "subset" in module.OPTIONS


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
    Path(os.fsdecode(os.fsencode(tmp_path / "tea") + b"/" + name)).touch()
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
    start = time.perf_counter()
    found = find("crosstask", "crosstask", tmp_path)
    assert time.perf_counter() - start < 1.0
    assert len(found.of("23521")) == 3000


def crosstask(root: Path, flat: bool) -> Path:
    shutil.copytree(GOOD / "crosstask", root, dirs_exist_ok=True)
    for task, video in (("990001", "-aB_cD3eF-g"), ("990001", "pQ6rS7tU8vW"), ("990002", "Hj_Kl4Mn5_o")):
        touch(root, f"videos/{'' if flat else task + '/'}{video}.webm")
    return touch(root, "videos/990003/zzRELATEDzz.mp4")


@pytest.mark.parametrize("flat", [True, False])
def test_crosstask(tmp_path: Path, flat: bool) -> None:
    crosstask(tmp_path, flat)
    found = find("mini", "crosstask", tmp_path)
    assert set(found.tasks) == {"990001", "990002"}
    assert {entry.video: entry.annotation for entry in found.of("990001")} == {
        "%2DaB_cD3eF-g": "crosstask_release/annotations/990001_-aB_cD3eF-g.csv",
        "pQ6rS7tU8vW": "crosstask_release/annotations/990001_pQ6rS7tU8vW.csv",
    }
    (entry,) = found.of("990002")
    options = read_options("mini", "crosstask", {})
    segments = layout_module("crosstask").read_annotation(tmp_path, entry, None, None, options).segments
    assert segments["name"].tolist() == ["pour water"]


def test_crosstask_without_the_release(tmp_path: Path) -> None:
    touch(tmp_path, "videos/23521/a.mp4")
    with pytest.raises(RgwotError, match=r"no .*tasks_primary\.txt; expected .*crosstask_release\.zip"):
        find("crosstask", "crosstask", tmp_path)


def test_procel_pairs_by_row_not_by_number(tmp_path: Path) -> None:
    shutil.copytree(GOOD / "procel", tmp_path, dirs_exist_ok=True)
    touch(
        tmp_path,
        "videos/fold_boat/boat_0001.mp4",
        "videos/fold_boat/boat_0003.webm",
        "videos/fold_boat/boat_0002.mp4",
    )
    found = find("mini", "procel", tmp_path)
    assert [(entry.name, entry.part) for entry in found.of("fold_boat")] == [
        ("boat_0001", 0),
        ("boat_0003", 1),
    ]
    assert found.tasks["fold_boat"].without_annotation == ("videos/fold_boat/boat_0002.mp4",)
    options = read_options("mini", "procel", {})
    second = layout_module("procel").read_annotation(tmp_path, found.of("fold_boat")[1], None, None, options)
    assert second.segments["start_s"].tolist() == [0.5, 1.5, 8.0]
    assert second.overlaps == 1


def test_procel_row_without_annotation_must_be_named(tmp_path: Path) -> None:
    shutil.copytree(GOOD.parent / "malformed/procel/ProceL_dataset/one_row_too_many", tmp_path / "perform_cpr")
    rows = (tmp_path / "perform_cpr/readme.txt").read_text().splitlines()
    extra, *kept = [row.split("\t")[1] for row in reversed(rows)]
    touch(tmp_path, *(f"perform_cpr/{name}.mp4" for name in kept))
    module = layout_module("procel")
    plain = read_options("mini", "procel", {})
    entry = find("mini", "procel", tmp_path).of("perform_cpr")[0]
    with pytest.raises(RgwotError, match=r"2 videos, but readme\.txt lists 3; .*drop_rows"):
        module.read_annotation(tmp_path, entry, None, None, plain)
    dropped = {"drop_rows": [extra]}
    (first, _) = find("mini", "procel", tmp_path, dropped).of("perform_cpr")
    assert not module.read_annotation(tmp_path, first, None, None, read_options("mini", "procel", dropped)).empty


def test_procel_names_of_one_task(tmp_path: Path) -> None:
    for folder in ("changing_tire", "make_coffee"):
        shutil.copytree(GOOD / "procel/ProceL_dataset/fold_boat", tmp_path / "ProceL_dataset" / folder)
    for folder, prefix in (("changing_tire", "changing_tire"), ("make_coffee", "coffee")):
        listed = tmp_path / "ProceL_dataset" / folder / "readme.txt"
        listed.write_text(listed.read_text().replace("boat", prefix))
    touch(
        tmp_path,
        "videos/coffee_0001.mp4",
        "videos/change_tire/changing_tire_0003.mp4",
        "videos/other_0001.mp4",
    )
    found = find("procel", "procel", tmp_path)
    assert [entry.name for entry in found.of("make_coffee")] == ["coffee_0001"]
    assert [(entry.name, entry.part) for entry in found.of("change_tire")] == [("changing_tire_0003", 1)]
    assert found.unassigned == ("videos/other_0001.mp4",)


def test_procel_without_its_list_stops_that_task_only(tmp_path: Path) -> None:
    shutil.copytree(GOOD / "procel/ProceL_dataset/fold_boat", tmp_path / "good")
    touch(tmp_path, "good/boat_0001.mp4", "bad/data.mat", "bad/boat_0001.mp4")
    found = find("mini", "procel", tmp_path)
    assert len(found.of("good")) == 1
    with pytest.raises(RgwotError, match=r"mini/bad: .*readme\.txt: cannot be read"):
        found.of("bad")


@pytest.mark.parametrize("video", ["videos/fold_boat/fold_boat_0001.mp4", "videos/fold_boat_0001.mp4"])
def test_procel_csv(tmp_path: Path, video: str) -> None:
    shutil.copytree(GOOD / "procel_csv", tmp_path, dirs_exist_ok=True)
    touch(tmp_path, video)
    assert pairs(find("mini", "procel_csv", tmp_path), "fold_boat") == {
        video: "annotations/fold_boat/fold_boat_0001.csv"
    }


def test_procel_stepfirst(tmp_path: Path) -> None:
    shutil.copytree(GOOD / "procel_stepfirst", tmp_path, dirs_exist_ok=True)
    touch(tmp_path, "fold_boat/videos/fold_boat_0001.mp4")
    (entry,) = find("mini", "procel_stepfirst", tmp_path).of("fold_boat")
    options = read_options("mini", "procel_stepfirst", {})
    annotation = layout_module("procel_stepfirst").read_annotation(tmp_path, entry, None, None, options)
    assert annotation.segments["name"].tolist() == ["fold half", "open pocket"]


def test_the_good_egoprocel_tree_pairs_completely(tmp_path: Path) -> None:
    shutil.copytree(GOOD / "egoprocel", tmp_path, dirs_exist_ok=True)
    for path in (tmp_path / "annotations").rglob("*.csv"):
        name = path.relative_to(tmp_path / "annotations").as_posix().removesuffix(".csv").removesuffix(".egoprocel.ann")
        touch(tmp_path, f"videos/{name}.mp4")
    counts = {
        (dataset, task): len(find(dataset, "egoprocel", tmp_path).of(task))
        for dataset, task in [
            ("cmu_mmac", "Sandwich"),
            ("cmu_mmac", "Eggs"),
            ("egtea_gaze", "Pizza"),
            ("epic_tents", "tent"),
            ("meccano", "meccano"),
            ("pc_assembly", "pc_assembly"),
            ("pc_disassembly", "pc_disassembly"),
        ]
    }
    assert list(counts.values()) == [1, 1, 1, 2, 1, 2, 1]
