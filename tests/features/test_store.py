from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import zarr

from rgwot.features.index import write_index
from rgwot.features.store import CHUNK, CODECS, Codec, FeatureStore, StoreWriter, open_store
from rgwot.runtime.errors import RgwotError

ATTRIBUTES: dict[str, Any] = {
    "fps": 2.0,
    "weights_sha256": "abc",
    "status": "ok",
    "reason": "",
    "duration_s": 75.5,
    "native_fps": "30000/1001",
}
FRAMES = 150


@pytest.fixture(scope="module")
def maps() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(FRAMES, 1024, 2, 2)).astype(np.float16)


def write(path: Path, maps: np.ndarray, expected: int | None = None, **attributes: Any) -> Path:
    times = np.arange(expected if expected is not None else len(maps)) / 2
    writer = StoreWriter(path, times, 2)
    for chunk in reversed(range(-(-len(maps) // CHUNK))):
        writer.write(chunk, maps[chunk * CHUNK : (chunk + 1) * CHUNK])
    writer.finish(len(maps), {**ATTRIBUTES, **attributes})
    return path


@pytest.fixture(scope="module")
def store(maps: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> FeatureStore:
    return open_store(write(tmp_path_factory.mktemp("stores") / "S01_Eggs.zarr", maps))


def test_what_goes_in_comes_out(store: FeatureStore, maps: np.ndarray) -> None:
    assert np.array_equal(store.read(), maps)
    assert store.time_s.tolist() == [i / 2 for i in range(FRAMES)]
    assert (len(store), store.shape) == (FRAMES, (FRAMES, 1024, 2, 2))
    assert (store.video, store.status, store.reason, store.duration_s) == ("S01_Eggs", "ok", "", 75.5)
    assert store.native_fps == Fraction(30000, 1001)


def test_any_frames_in_any_order(store: FeatureStore, maps: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    for wanted in ([5, 3, 4, 149, 3], [], [0], range(60, 70), rng.integers(0, FRAMES, 40)):
        found = store.frames(list(wanted))
        assert found.dtype == np.float16
        assert np.array_equal(found, maps[list(wanted)])
    for outside in (-1, FRAMES):
        with pytest.raises(ValueError, match=f"expected 0 to {FRAMES - 1}"):
            store.frames([0, outside])


def test_layout_on_disk(store: FeatureStore) -> None:
    array = zarr.open_group(store.path, mode="r", zarr_format=3)["conv4c"]
    assert isinstance(array, zarr.Array)
    assert (array.chunks, array.shards, str(array.dtype)) == ((64, 1024, 2, 2), None, "float16")
    files = {str(path.relative_to(store.path)) for path in store.path.rglob("*") if path.is_file()}
    chunks = {f"conv4c/c.{number}.0.0.0" for number in range(3)}
    assert files == {"zarr.json", "conv4c/zarr.json", *chunks, "time_s/zarr.json", "time_s/c.0"}


@pytest.mark.parametrize("codec", list(CODECS))
@pytest.mark.parametrize("how", ["flip", "cut", "delete"])
def test_a_changed_or_missing_chunk_is_refused(tmp_path: Path, maps: np.ndarray, codec: Codec, how: str) -> None:
    writer = StoreWriter(tmp_path / "a.zarr", np.arange(70) / 2, 2, codec)
    for number in range(2):
        # A chunk of zeros is stored as a file, too.
        writer.write(number, 0 * maps[number * CHUNK : min((number + 1) * CHUNK, 70)])
    writer.finish(70, ATTRIBUTES)
    path = tmp_path / "a.zarr/conv4c/c.1.0.0.0"
    content = path.read_bytes()
    if how == "delete":
        path.unlink()
    else:
        middle = len(content) // 2
        path.write_bytes(
            content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :] if how == "flip" else b""
        )
    with pytest.raises(RgwotError, match=r"a\.zarr: damaged feature store, .*; expected one that the workflow"):
        open_store(tmp_path / "a.zarr").read()


@pytest.mark.parametrize(("frames", "status"), [(70, "partial"), (0, "skipped")])
def test_a_video_that_ends_early_keeps_its_frames(tmp_path: Path, maps: np.ndarray, frames: int, status: str) -> None:
    store = open_store(write(tmp_path / "a.zarr", maps[:frames], expected=FRAMES, status=status, reason="cut"))
    assert np.array_equal(store.read(), maps[:frames])
    assert store.time_s.tolist() == [i / 2 for i in range(frames)]
    assert (store.status, store.reason) == (status, "cut")


def test_writing_continues_where_it_stopped(tmp_path: Path, maps: np.ndarray) -> None:
    times = np.arange(100) / 2
    StoreWriter(tmp_path / "a.zarr", times, 2).write(0, maps[:64])
    writer = StoreWriter(tmp_path / "a.zarr", times, 2)
    writer.write(1, maps[64:100])
    writer.finish(100, ATTRIBUTES)
    assert np.array_equal(open_store(tmp_path / "a.zarr").read(), maps[:100])


def test_incomplete_stores_are_refused(tmp_path: Path, maps: np.ndarray) -> None:
    path = tmp_path / "a.zarr"
    with pytest.raises(RgwotError, match="no feature store"):
        open_store(path)
    StoreWriter(path, np.arange(3) / 2, 2).write(0, maps[:3])
    with pytest.raises(RgwotError, match="no complete feature store of rgwot; expected one that the workflow wrote"):
        open_store(path)
    write(path, maps[:3])
    shutil.rmtree(path / "time_s")
    with pytest.raises(RgwotError, match="expected conv4c or features and time_s"):
        open_store(path)
    write(path, maps[:3])
    about = path / "conv4c/zarr.json"
    about.write_text(about.read_text().replace("1024", "1014", 1))
    with pytest.raises(RgwotError, match=r"conv4c \(3, 1014, 2, 2\) .*, expected \(T, C\) or \(T, C, h, w\)"):
        open_store(path)


def test_the_mark_of_completeness_is_written_last(tmp_path: Path, maps: np.ndarray) -> None:
    writer = StoreWriter(tmp_path / "a.zarr", np.arange(3) / 2, 2)
    with pytest.raises(TypeError):
        writer.finish(3, {**ATTRIBUTES, "seed": object()})
    with pytest.raises(RgwotError, match="no complete feature store"):
        open_store(tmp_path / "a.zarr")


def test_other_settings_are_refused(store: FeatureStore) -> None:
    assert len(open_store(store.path, {"fps": 2.0, "weights_sha256": "abc"})) == FRAMES
    with pytest.raises(RgwotError, match=r"S01_Eggs.zarr: made with fps 2.0, expected 5.0; delete it"):
        open_store(store.path, {"weights_sha256": "abc", "fps": 5.0})
    with pytest.raises(RgwotError, match="made with size None, expected 168"):
        open_store(store.path, {"size": 168})


def test_the_index_lists_every_store_in_order(tmp_path: Path, maps: np.ndarray) -> None:
    full = write(tmp_path / "007.zarr", maps[:5])
    empty = write(tmp_path / "a.b.zarr", maps[:0], status="skipped", reason='"odd", reason')
    write_index([full, empty], tmp_path / "index.csv")
    table = pd.read_csv(tmp_path / "index.csv", dtype=str, keep_default_na=False)
    assert table.pop("digest").str.fullmatch("[0-9a-f]{16}").all()
    assert table.to_dict("split")["data"] == [
        ["007", "ok", "", "5"],
        ["a.b", "skipped", '"odd", reason', "0"],
    ]
    assert list(table.columns) == ["video", "status", "reason", "frames"]
    with pytest.raises(RgwotError, match="no feature store"):
        write_index([full, tmp_path / "c.zarr"], tmp_path / "other.csv")
    assert not (tmp_path / "other.csv").exists()
