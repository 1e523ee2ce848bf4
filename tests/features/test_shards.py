"""Frames read by their place in the shard files: the values of Zarr, and every damage told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import google_crc32c
import numpy as np
import pytest
import zarr

from rgwot.features.shards import open_shards
from rgwot.features.store import CODECS, SHARD, StoreWriter, checksums, open_store
from rgwot.runtime.errors import RgwotError

FRAMES = 150


@pytest.fixture(scope="module")
def maps() -> np.ndarray:
    maps = np.random.default_rng(0).normal(size=(FRAMES, 1024, 2, 3)).astype(np.float16)
    maps[[3, 70]] = 0  # frames of nothing but zeros, which Zarr does not write
    maps[2 * SHARD :] = 0  # and a whole shard of them
    return maps


def write(path: Path, maps: np.ndarray, codec: str) -> Path:
    writer = StoreWriter(path, np.arange(len(maps)) / 2, (2, 3), codec)
    for shard in range(-(-len(maps) // SHARD)):
        writer.write(shard, maps[shard * SHARD : (shard + 1) * SHARD])
    writer.finish(len(maps), {"status": "ok"})
    return path


@pytest.fixture(scope="module")
def stores(maps: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores")
    for codec in CODECS:
        write(folder / f"{codec}.zarr", maps, codec)
    return folder


@pytest.mark.parametrize("by_place", [True, False])
@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_gives_the_same_frames(stores: Path, maps: np.ndarray, codec: str, by_place: bool) -> None:
    store = open_store(stores / f"{codec}.zarr")
    assert store._shards is not None
    assert (store._shards.codec is not None) == (codec != "none")
    if not by_place:
        # As a store of another layout is read, by Zarr.
        store = replace(store, _shards=None)
    np.testing.assert_array_equal(store.read(), maps)
    np.testing.assert_array_equal(zarr.open_group(store.path, mode="r")["conv4c"][:], maps)
    rng = np.random.default_rng(1)
    out = np.full((40, 1024, 2, 3), np.nan, dtype=np.float16)
    for wanted in (rng.integers(0, FRAMES, 40), np.arange(60, 100), np.full(40, 3)):
        assert store.frames(wanted, out) is out
        np.testing.assert_array_equal(out, maps[wanted])


def test_compression_pays_in_size_only_where_it_is_asked_for(stores: Path) -> None:
    sizes = {
        codec: sum(path.stat().st_size for path in (stores / f"{codec}.zarr").rglob("*") if path.is_file())
        for codec in CODECS
    }
    assert sizes["zstd"] < 0.95 * sizes["none"]
    assert sizes["lz4"] < 0.98 * sizes["none"]


def test_reading_frames_takes_no_open_file_along(stores: Path) -> None:
    files = [open_store(stores / "none.zarr") for _ in range(3)]
    before = len(list(Path("/proc/self/fd").iterdir()))
    for store in files:
        store.frames([0, 149])
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _without_end(data: bytes) -> bytes:
    return data[:-5]


def _without_frames(data: bytes) -> bytes:
    return data[-(16 * SHARD + 4) :]


def _with_index(change: Callable[[np.ndarray], None]) -> Callable[[bytes], bytes]:
    """Return a change of the index with the checksum that fits, as a careless program would write it."""

    def changed(data: bytes) -> bytes:
        index = np.frombuffer(data[-(16 * SHARD + 4) : -4], dtype="<u8").reshape(SHARD, 2).copy()
        change(index)
        text = index.tobytes()
        return data[: -(16 * SHARD + 4)] + text + google_crc32c.value(text).to_bytes(4, "little")

    return changed


def _far(index: np.ndarray) -> None:
    index[5, 0] = 2**40


def _wrapping(index: np.ndarray) -> None:
    index[5, 0] = 2**64 - 2


def _short(index: np.ndarray) -> None:
    index[5, 1] -= 2


def _flipped(data: bytes) -> bytes:
    return data[:-100] + bytes([data[-100] ^ 1]) + data[-99:]


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda _: b"", "0 bytes, expected an index of 1028"),
        (_cut, "checksum"),
        (_without_end, "checksum"),
        (_flipped, "checksum"),
        (_without_frames, "points outside its 1028 bytes"),
        (_with_index(_far), "points outside"),
        (_with_index(_wrapping), "points outside"),
        (_with_index(_short), "frames of other than 12288"),
    ],
)
def test_a_damaged_shard_is_told_in_one_line(
    stores: Path, tmp_path: Path, damage: Callable[[bytes], bytes], told: str
) -> None:
    path = tmp_path / "a.zarr"
    shutil.copytree(stores / "none.zarr", path)
    shard = path / "conv4c" / "c" / "0" / "0" / "0" / "0"
    shard.write_bytes(damage(shard.read_bytes()))
    store = open_store(path)
    with pytest.raises(RgwotError, match=f"c/0/0/0/0: damaged feature store.*{told}.*extract the video again") as error:
        store.frames([7])
    assert "\n" not in str(error.value)
    store.frames([64])  # the other shards are as they were


def test_a_shard_cut_short_after_its_index_was_read_is_told(stores: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    shutil.copytree(stores / "none.zarr", path)
    store = open_store(path)
    store.frames([0])
    shard = path / "conv4c" / "c" / "0" / "0" / "0" / "0"
    shard.write_bytes(shard.read_bytes()[:5000])
    with pytest.raises(RgwotError, match="it ends at byte 5000, where a frame is expected"):
        store.frames([0])


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
@pytest.mark.parametrize("by_place", [True, False])
def test_a_frame_that_does_not_decode_is_told_in_one_line(
    stores: Path, tmp_path: Path, codec: str, by_place: bool
) -> None:
    path = tmp_path / "a.zarr"
    shutil.copytree(stores / f"{codec}.zarr", path)
    shard = path / "conv4c" / "c" / "0" / "0" / "0" / "0"
    whole = bytearray(shard.read_bytes())
    # The first frame, its header among it; the index stays whole.
    whole[:200] = bytes(200)
    shard.write_bytes(whole)
    store = open_store(path)
    if not by_place:
        store = replace(store, _shards=None)
    with pytest.raises(RgwotError, match=r"damaged feature store, .*cannot be decoded \(.*delete the store") as error:
        store.frames(np.arange(8))
    assert "\n" not in str(error.value)


def test_a_compressed_shard_cut_short_is_told(stores: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.zarr"
    shutil.copytree(stores / "zstd.zarr", path)
    shard = path / "conv4c" / "c" / "0" / "0" / "0" / "0"
    shard.write_bytes(shard.read_bytes()[:5000])
    with pytest.raises(RgwotError, match="the checksum of the index at its end differs"):
        open_store(path).frames([7])


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (["codecs", 0, "configuration", "codecs", 0, "configuration", "endian"], "big"),
        (["codecs", 0, "configuration", "index_location"], "start"),
        (["codecs", 0, "configuration", "chunk_shape", 0], 2),
        (["chunk_key_encoding", "configuration", "separator"], "."),
        (["data_type"], "float32"),
    ],
)
def test_another_layout_is_left_to_zarr(stores: Path, tmp_path: Path, where: list[str | int], value: object) -> None:
    folder = tmp_path / "conv4c"
    folder.mkdir()
    facts = json.loads((stores / "none.zarr" / "conv4c" / "zarr.json").read_text())
    shape = facts["shape"]
    (folder / "zarr.json").write_text(json.dumps(facts))
    assert open_shards(folder, shape) is not None
    place = facts
    for key in where[:-1]:
        place = place[key]
    place[where[-1]] = value
    (folder / "zarr.json").write_text(json.dumps(facts))
    assert open_shards(folder, shape) is None


def test_checksum_is_that_of_the_standard() -> None:
    # RFC 3720, appendix B.4.
    frames = np.frombuffer(bytes(32) + bytes([0xFF] * 32) + bytes(range(32)), dtype="<f2").reshape(3, 16)
    assert checksums(frames) == [0x8A9136AA, 0x62A8AB43, 0x46DD794E]
    # The same numbers in the other order of bytes are the same frames.
    assert checksums(frames.astype(">f2")[2:]) == [0x46DD794E]


def test_a_store_that_is_continued_keeps_its_codec(tmp_path: Path, maps: np.ndarray) -> None:
    times = np.arange(100) / 2
    StoreWriter(tmp_path / "a.zarr", times, (2, 3), "zstd").write(0, maps[:64])
    writer = StoreWriter(tmp_path / "a.zarr", times, (2, 3), "none")
    writer.write(1, maps[64:100])
    writer.finish(100, {"status": "ok"})
    store = open_store(tmp_path / "a.zarr")
    assert store._shards is not None
    assert store._shards.codec == "zstd"
    np.testing.assert_array_equal(store.read(), maps[:100])
