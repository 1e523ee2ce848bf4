"""Finding and pairing files in the trees of ProceL and CrossTask."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from layout_helpers import GOOD, touch

from rgwot.config.configuration import load_config
from rgwot.datasets.finding import find, layout_module, read_options
from rgwot.runtime.errors import RgwotError


def crosstask(root: Path, flat: bool) -> Path:
    shutil.copytree(GOOD / "crosstask", root, dirs_exist_ok=True)
    for task, video in (("990001", "-aB_cD3eF-g"), ("990001", "pQ6rS7tU8vW"), ("990002", "Hj_Kl4Mn5_o")):
        touch(root, f"videos/{'' if flat else task + '/'}{video}.webm")
    return touch(root, "videos/990003/zzRELATEDzz.mp4")


@pytest.mark.parametrize("flat", [True, False])
def test_crosstask(tmp_path: Path, flat: bool) -> None:
    crosstask(tmp_path, flat)
    files = find("mini", "crosstask", tmp_path)
    assert set(files.tasks) == {"990001", "990002"}
    assert {entry.video: entry.annotation for entry in files.of("990001")} == {
        "%2DaB_cD3eF-g": "crosstask_release/annotations/990001_-aB_cD3eF-g.csv",
        "pQ6rS7tU8vW": "crosstask_release/annotations/990001_pQ6rS7tU8vW.csv",
    }
    (entry,) = files.of("990002")
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
    files = find("mini", "procel", tmp_path)
    assert [(entry.name, entry.part) for entry in files.of("fold_boat")] == [
        ("boat_0001", 0),
        ("boat_0003", 1),
    ]
    assert files.tasks["fold_boat"].without_annotation == ("videos/fold_boat/boat_0002.mp4",)
    options = read_options("mini", "procel", {})
    second = layout_module("procel").read_annotation(tmp_path, files.of("fold_boat")[1], None, None, options)
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
    options = read_options("mini", "procel", dropped)
    assert not module.read_annotation(tmp_path, first, None, None, options).segments.empty


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
    files = find("procel", "procel", tmp_path)
    assert [entry.name for entry in files.of("make_coffee")] == ["coffee_0001"]
    assert [(entry.name, entry.part) for entry in files.of("change_tire")] == [("changing_tire_0003", 1)]
    assert files.unassigned == ("videos/other_0001.mp4",)


def test_procel_without_its_list_stops_that_task_only(tmp_path: Path) -> None:
    shutil.copytree(GOOD / "procel/ProceL_dataset/fold_boat", tmp_path / "good")
    touch(tmp_path, "good/boat_0001.mp4", "bad/data.mat", "bad/boat_0001.mp4")
    files = find("mini", "procel", tmp_path)
    assert len(files.of("good")) == 1
    with pytest.raises(RgwotError, match=r"mini/bad: .*readme\.txt: cannot be read"):
        files.of("bad")


@pytest.mark.parametrize("layout", ["procel_csv", "Procel_StepFirst"])
def test_removed_layouts_say_what_to_do(layout: str) -> None:
    with pytest.raises(RgwotError) as caught:
        load_config({"datasets": {"mine": {"layout": layout, "root": "mine"}}})
    expected = "expected folder, for which docs/datasets.md (Copies of ProceL) makes the files"
    assert str(caught.value) == f"config.yaml: datasets.mine.layout: was removed; {expected}, found {layout!r}"
