"""A job makes the stores of a batch of videos and their part of the index, and keeps stores that are up to date."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripted import READING, run_script
from videos import write_video

from rgwot.features import read_index
from rgwot.features.extract import Extraction
from rgwot.features.index import write_index
from rgwot.features.store import StoreWriter, open_store
from rgwot.runtime.errors import RgwotError
from rgwot.study import datasets
from rgwot.study.study import Study, Task

NAMES = ("a", "b", "c")
SETTINGS: dict[str, Any] = {"fps": 5, "size": 32, "weights": "random"}
IMPORTED = {"axes": "TC", "fps": 2}
PART = Path("features/index.0.csv")


def extract(on_bad_video: str = "fail", **settings: object) -> None:
    reading = {"frames_fps": None, "on_bad_video": on_bad_video}
    told = {"features": {**SETTINGS, **settings}, "reading": reading}
    params = {"videos": {name: f"videos/{name}.mp4" for name in NAMES}, "settings": told}
    run_script("extract", output=[PART], params=params, config={"device": "cpu"})


def take() -> None:
    """Import features made elsewhere."""
    videos = {name: [f"given/{name}.npy"] * 2 for name in NAMES}
    settings = {"form": IMPORTED, **READING}
    run_script("import_features", output=[PART], params={"videos": videos, "settings": settings})


def written() -> dict[str, int]:
    """Return the time at which the store of each video was written."""
    return {name: (PART.parent / f"{name}.zarr/zarr.json").stat().st_mtime_ns for name in NAMES}


def changed(before: dict[str, int]) -> set[str]:
    """Return the videos whose stores were not written at the times ``before``."""
    return {name for name, time in written().items() if time != before[name]}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with three videos and the finished batch of them."""
    folder = tmp_path_factory.mktemp("batch")
    before = Path.cwd()
    os.chdir(folder)
    try:
        Path("videos").mkdir()
        for number, name in enumerate(NAMES):
            write_video(Path(f"videos/{name}.mp4"), 40 + 10 * number)
        extract()
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def batch(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a copy of the finished batch, which a test may change."""
    shutil.copytree(finished, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Enter a folder with three files of features."""
    (tmp_path / "given").mkdir()
    for number, name in enumerate(NAMES):
        np.save(tmp_path / f"given/{name}.npy", np.random.default_rng(number).random((5 + number, 3), dtype=np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_list_of_features_that_was_cut_off_is_refused_by_its_name(batch: Path) -> None:
    whole = PART.read_bytes()
    ends = {len(line) + whole.index(line) for line in whole.splitlines(keepends=True)}
    for length in {*range(len(whole))} - ends:
        PART.write_bytes(whole[:length])
        with pytest.raises(RgwotError, match=r"index\.0\.csv: not a feature index"):
            write_index([PART], "index.csv")


def test_a_batch_lists_its_stores_and_keeps_them_when_run_again(batch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = read_index(PART)
    assert [(row["video"], row["frames"]) for row in rows] == [("a", 7), ("b", 9), ("c", 10)]
    assert {path.name for path in PART.parent.iterdir()} == {
        *(f"{name}.zarr" for name in NAMES), PART.name, f".{PART.name}.provenance.json"
    }  # fmt: skip
    assert max(sum(path.is_file() for path in (PART.parent / f"{name}.zarr").rglob("*")) for name in NAMES) <= 6
    before, listed = written(), PART.read_bytes()
    PART.unlink()
    monkeypatch.setattr(Extraction, "run", lambda _: pytest.fail("extracted again"))
    extract()
    assert not changed(before)
    assert PART.read_bytes() == listed


def test_a_killed_batch_goes_on_at_the_first_unfinished_video(batch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {name: open_store(PART.parent / f"{name}.zarr").read() for name in NAMES}
    for name in "bc":
        shutil.rmtree(PART.parent / f"{name}.zarr")
    PART.unlink()
    run, done = Extraction.run, []

    def killed(self: Extraction) -> None:
        done.append(self)
        if len(done) == 2:
            raise SystemExit(137)
        run(self)

    monkeypatch.setattr(Extraction, "run", killed)
    with pytest.raises(SystemExit):
        extract()
    assert not PART.exists()
    assert sorted(path.name for path in PART.parent.glob("*.zarr")) == ["a.zarr", "b.zarr"]
    extract()
    assert len(done) == 3
    for name in NAMES:
        assert np.array_equal(open_store(PART.parent / f"{name}.zarr").read(), whole[name])


def test_a_source_that_was_copied_is_the_same_and_one_that_was_replaced_is_not(batch: Path) -> None:
    before, listed = written(), PART.read_bytes()
    for name in NAMES:
        os.utime(f"videos/{name}.mp4", (10**9, 10**9))
    extract()
    assert not changed(before)
    assert PART.read_bytes() == listed
    write_video(Path("videos/b.mp4"), 30)
    os.utime("videos/b.mp4", (9 * 10**8, 9 * 10**8))
    extract()
    assert changed(before) == {"b"}
    assert read_index(PART)[1]["frames"] == 5


def test_other_settings_and_another_codec(batch: Path) -> None:
    before = written()
    # Another codec stores the same values.
    extract(codec="zstd")
    assert not changed(before)
    extract(fps=4)
    assert changed(before) == set(NAMES)


def test_a_bad_video_leaves_the_others_to_go_on(batch: Path) -> None:
    shutil.rmtree(PART.parent)
    Path("videos/a.mp4").write_bytes(b"no video at all" * 100)
    with pytest.raises(RgwotError, match=r"^videos/a\.mp4: not a readable video"):
        extract()
    assert sorted(path.name for path in PART.parent.glob("*.zarr")) == ["b.zarr", "c.zarr"]
    assert not PART.exists()
    extract("skip")
    before = written()
    assert [row["status"] for row in read_index(PART)] == ["skipped", "ok", "ok"]
    extract("skip")
    assert not changed(before)
    # If bad videos are errors again, a video that was skipped is an error, too.
    with pytest.raises(RgwotError, match=r"^videos/a\.mp4: not a readable video"):
        extract()
    assert not changed(before)


def test_a_batch_of_imported_features(given: Path) -> None:
    take()
    before = written()
    take()
    assert not changed(before)
    np.save("given/c.npy", np.zeros((4, 3), dtype=np.float32))
    take()
    assert changed(before) == {"c"}
    assert [row["frames"] for row in read_index(PART)] == [5, 6, 4]
    np.save("given/a.npy", np.array([["text"]]))
    with pytest.raises(RgwotError, match="given/a.npy"):
        take()


def test_an_index_from_parts_is_that_from_stores(given: Path) -> None:
    take()
    stores = [PART.parent / f"{name}.zarr" for name in NAMES]
    write_index(stores, "whole.csv")
    write_index([PART], "joined.csv")
    assert Path("joined.csv").read_bytes() == Path("whole.csv").read_bytes()
    writer = StoreWriter(PART.parent / "d.zarr", np.arange(2) / 2, (), channels=4, layer="imported")
    writer.write(0, np.zeros((2, 4)))
    writer.finish(2, {"status": "ok", "reason": "", "decoder": "import", "fps": 2.0})
    with pytest.raises(RgwotError, match=r"d\.zarr: vectors of 4 at 2 per second, expected vectors of 3"):
        write_index([PART, PART.parent / "d.zarr"], "joined.csv")
    with pytest.raises(RgwotError, match=r"whole\.csv: no column size; expected a part of an index"):
        write_index(["whole.csv"], "joined.csv")


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Study]:
    monkeypatch.setattr(datasets, "BATCH", 2)
    monkeypatch.setattr(datasets, "BATCH_BYTES", 100)
    (tmp_path / "videos/tea").mkdir(parents=True)
    content = {"datasets": {"mine": {"layout": "folder", "root": str(tmp_path / "videos")}}}
    return lambda: Study.of(content)


def test_a_task_is_divided_by_videos_and_bytes(tmp_path: Path, plan: Callable[[], Study]) -> None:
    for name, size in {"a": 10, "b": 20, "c": 70, "d": 40, "e": 300, "f": 0}.items():
        (tmp_path / f"videos/tea/{name}.mp4").write_bytes(bytes(size))
    study = plan()
    assert datasets.batches(Task(study, "mine", "tea")) == [["a", "b"], ["c"], ["d"], ["e"], ["f"]]
    assert datasets.index_input(Task(study, "mine", "tea"))[1] == "results/features/mine/tea/index.1.csv"
    assert datasets.batch(Task(study, "mine", "tea"), "0") == ["a", "b"]
    with pytest.raises(RgwotError, match="no part 5 of its index, expected 0 to 4"):
        datasets.batch(Task(study, "mine", "tea"), "5")


def test_imports_are_divided_into_larger_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "BATCH", 2)
    monkeypatch.setattr(datasets, "IMPORT_BATCH", 3)
    (tmp_path / "given/tea").mkdir(parents=True)
    for name in "abcd":
        np.save(tmp_path / f"given/tea/{name}.npy", np.zeros((4, 3), dtype=np.float32))
    entry = {"layout": "features", "root": str(tmp_path / "given"), "imported": IMPORTED}
    assert datasets.batches(Task(Study.of({"datasets": {"mine": entry}}), "mine", "tea")) == [["a", "b", "c"], ["d"]]
