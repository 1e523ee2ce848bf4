"""The names in EgoProceL's tree that have misled loaders before, as the synthetic tree carries them."""

from __future__ import annotations

import csv
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import pytest
from synthetic_trees import TreeSettings, TreeVideo, files, plan, task_places
from synthetic_trees.base import three_columns
from synthetic_trees.egoprocel import UNLISTED_CAMERA

from rgwot.datasets.finding import find, layout_module, read_options
from rgwot.datasets.registry import facts
from rgwot.runtime.errors import RgwotError

SHORT = {"layout": "egoprocel", "min_s": 4.0, "max_s": 6.0, "seed": 5}
CAMERAS = {"ego": "7150991", "back": "6510211", "top": "7151020", "right": "7151062", "left": "8421130"}


def names(settings: TreeSettings) -> list[str]:
    return [place.stem for task in task_places(settings) for place in task.places]


def lay_out(root: Path, settings: TreeSettings) -> list[TreeVideo]:
    videos = plan(settings)
    for path in [video.place.video for video in videos]:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    for path, content in files(settings.layout, videos).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return videos


@pytest.fixture(scope="module")
def cmu(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[TreeVideo]]:
    root = tmp_path_factory.mktemp("cmu")
    settings = TreeSettings(tasks=("cmu_mmac/Eggs", "cmu_mmac/Salad"), n_videos=3, cameras=5, **SHORT)
    return root, lay_out(root, settings)


@pytest.mark.parametrize("view", sorted(CAMERAS))
def test_each_view_of_cmu_finds_its_own_camera(cmu: tuple[Path, list[TreeVideo]], view: str) -> None:
    root, videos = cmu
    found = find("cmu_mmac", "egoprocel", root, {"view": view})
    options = read_options("cmu_mmac", "egoprocel", {"view": view})
    for task in ("Eggs", "Salad"):
        planned = {
            video.place.stem: video
            for video in videos
            if f"_{task}_" in video.place.stem
            if CAMERAS[view] in video.place.stem
        }
        entries = found.of(task)
        assert {entry.name for entry in entries} == set(planned)
        assert len(planned) == 3
        assert found.tasks[task].without_annotation == found.tasks[task].without_video == ()
        for entry in entries:
            annotation = layout_module("egoprocel").read_annotation(root, entry, facts("cmu_mmac", task), None, options)
            rows = annotation.segments[["start_s", "end_s", "step_id"]].itertuples(index=False, name=None)
            video = planned[entry.name]
            assert list(rows) == [(s.start_s, s.end_s, video.step_ids[s.key_step - 1]) for s in video.timeline.segments]


def test_cameras_of_a_take_show_the_same_at_different_times(cmu: tuple[Path, list[TreeVideo]]) -> None:
    takes = defaultdict(list)
    for video in cmu[1]:
        takes[video.task, video.place.take].append(video)
    for takes_videos in takes.values():
        assert [video.place.camera for video in takes_videos] == list(CAMERAS.values())
        ego = takes_videos[0]
        for number, video in enumerate(takes_videos):
            lead_s = number * 0.1
            assert video.timeline.duration_s == pytest.approx(ego.timeline.duration_s + lead_s)
            for own, first in zip(video.timeline.segments, ego.timeline.segments, strict=True):
                assert own == pytest.approx((first.start_s + lead_s, first.end_s + lead_s, first.key_step))
        assert len({video.seed for video in takes_videos}) == 5
        assert len({video.place.stem.rpartition("-")[2] for video in takes_videos}) == 5


def test_one_camera_is_what_five_begin_with(cmu: tuple[Path, list[TreeVideo]]) -> None:
    tasks = ("cmu_mmac/Eggs", "cmu_mmac/Salad")
    alone = plan(TreeSettings(tasks=tasks, n_videos=3, **SHORT))
    assert alone == [video for video in cmu[1] if video.place.camera == CAMERAS["ego"]]


def test_a_sixth_camera_is_annotated_for_some_takes_and_not_filmed(cmu: tuple[Path, list[TreeVideo]]) -> None:
    root, _ = cmu
    annotations = [path.name for path in root.rglob(f"*{UNLISTED_CAMERA}*")]
    assert sorted(annotations) == [
        f"S{subject:02d}_{task}_{UNLISTED_CAMERA}-7.csv" for subject in (7, 9) for task in ("Eggs", "Salad")
    ]
    assert len(list(root.rglob("STime*-time-synch.txt"))) == 2 * 3 * 5


def test_rates_are_those_of_the_release(cmu: tuple[Path, list[TreeVideo]]) -> None:
    by_camera = {video.place.camera: video.place.fps for video in cmu[1]}
    assert by_camera == {camera: 60 if name == "left" else 30 for name, camera in CAMERAS.items()}
    by_dataset = {video.task.split("/")[0]: video.place.fps for video in plan(TreeSettings(n_videos=1, **SHORT))}
    assert by_dataset["epic_tents"] == Fraction(60000, 1001)
    assert (by_dataset["egtea_gaze"], by_dataset["meccano"], by_dataset["pc_assembly"]) == (24, 12, 30)


def test_epic_tents_names_contain_each_other(tmp_path: Path) -> None:
    videos = lay_out(tmp_path, TreeSettings(tasks=("epic_tents/tent",), n_videos=29, **SHORT))
    stems = [video.place.stem for video in videos]
    short = [stem.split(".")[0] for stem in stems]
    inside = {name: sum(name in stem for stem in stems) for name in short}
    # As counted in the release: 13 of the 29 short names occur in other files as well, 17 in 23 of them.
    assert sum(count > 1 for count in inside.values()) == 13
    assert inside["17"] == 23
    annotations = sorted(video.place.annotation for video in videos)
    by_substring = {
        stem: next(path for path in annotations if name in path) for stem, name in zip(stems, short, strict=True)
    }
    planned = {video.place.stem: video.place.annotation for video in videos}
    assert by_substring != planned
    # A tree of two videos is enough for that.
    assert stems[0].startswith("17.")
    assert "17" in stems[1]
    found = find("epic_tents", "egoprocel", tmp_path).of("tent")
    assert {entry.name: entry.annotation for entry in found} == planned


def test_egtea_folder_with_a_plus_sign_and_a_slash_in_a_name(tmp_path: Path) -> None:
    videos = lay_out(tmp_path, TreeSettings(tasks=("egtea_gaze/Pizza",), n_videos=2, **SHORT))
    assert all("/EGTEA_Gaze+/" in video.place.video for video in videos)
    assert all("/" in line for video in videos for line in (tmp_path / video.place.annotation).read_text().splitlines())
    assert len(find("egtea_gaze", "egoprocel", tmp_path).of("Pizza")) == 2


def test_egoprocel_tree_has_the_true_names() -> None:
    videos = plan(TreeSettings(layout="egoprocel", n_videos=3, min_s=4.0, max_s=6.0))
    assert len(videos) == 48
    tasks = list(dict.fromkeys(video.task for video in videos))
    assert len(tasks) == 16
    for video in videos:
        dataset, task = video.task.split("/")
        assert video.K == facts(dataset, task).K
    placed = {video.place.video: video for video in videos}
    assert len(placed) == len(videos)
    for expected, described in {
        "videos/EGTEA_Gaze+/OP01-R03-BaconAndEggs.mp4": (
            "annotations/EGTEA_Gaze+/BaconAndEggs/OP01-R03-BaconAndEggs.csv"
        ),
        "videos/EPIC-Tents/01/01.tent.090617.gopro.MP4": (
            "annotations/EPIC-Tents/01.tent.090617.gopro.egoprocel.ann.csv"
        ),
        "videos/MECCANO/0003.mp4": "annotations/MECCANO/0003.csv",
        "videos/pc_assembly/Head_5.mp4": "annotations/pc_assembly/Head_5.csv",
        "videos/pc_disassembly/Head_6.mp4": "annotations/pc_disassembly/Head_6.csv",
    }.items():
        assert placed[expected].place.annotation == described
    cmu = [video.place.video for video in videos if video.task == "cmu_mmac/Eggs"]
    assert cmu[0].startswith("videos/CMU-MMAC/Eggs/S07_Eggs_Video/S07_Eggs_7150991-")
    labels = {video.task: next(csv.reader(three_columns(video).splitlines()))[2] for video in videos}
    assert labels["egtea_gaze/Pizza"].split(" ")[0].endswith(".")
    assert labels["meccano/meccano"].count(",") == 2
    eggs = [three_columns(video).splitlines() for video in videos if video.task == "cmu_mmac/Eggs"]
    assert {int(row[2].split(" ")[0]) for lines in eggs for row in csv.reader(lines)} == {1, 2, 3, 4, 5, 6, 7, 9}


def test_every_task_has_as_many_names_as_published() -> None:
    for task, n_videos in [("meccano/meccano", 17), ("epic_tents/tent", 29), ("egtea_gaze/PastaSalad", 19)]:
        settings = TreeSettings(layout="egoprocel", tasks=(task,), n_videos=n_videos)
        assert len(set(names(settings))) == n_videos
        with pytest.raises(RgwotError, match=f"{task} has {n_videos} videos"):
            names(settings.model_copy(update={"n_videos": n_videos + 1}))


def test_unknown_task_names_the_nearest() -> None:
    with pytest.raises(RgwotError, match=r"did you mean 'cmu_mmac/Brownie'"):
        names(TreeSettings(layout="egoprocel", tasks=("cmu_mmac/Brownies",)))
