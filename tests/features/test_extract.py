from __future__ import annotations

import hashlib
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from videos import truncate, write_video
from with_defaults import load_backbone

from rgwot.features.backbone import Backbone, weights_digest
from rgwot.features.extract import Extraction, extract, identity, side_folders
from rgwot.features.settings import FeatureSettings
from rgwot.features.store import CHUNK, StoreWriter, open_store
from rgwot.timing import sample_times
from rgwot.video import FrameReader, VideoError

SETTINGS = FeatureSettings(fps=30, size=32, weights="random")
FRAMES = 200


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    return load_backbone("random")


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_video(tmp_path_factory.mktemp("videos") / "a.mp4", FRAMES)


def files(store: Path) -> dict[str, bytes]:
    return {str(path.relative_to(store)): path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def whole(video: Path, backbone: Backbone, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("features") / "a.zarr"
    extract(video, output, SETTINGS, backbone=backbone)
    return output


def test_the_store_holds_the_network_s_answer_to_the_frames(video: Path, whole: Path, backbone: Backbone) -> None:
    store = open_store(whole, identity(SETTINGS, weights_digest(backbone)))
    times = sample_times(FRAMES / 30, 30)
    frames = np.concatenate([batch for _, batch in FrameReader(video, times, 32)])
    expected = np.concatenate(
        [backbone(torch.from_numpy(frames[i : i + 8])).half().numpy() for i in range(0, FRAMES, 8)]
    )
    assert np.array_equal(store.time_s, times)
    np.testing.assert_allclose(store.read().astype(float), expected.astype(float), atol=2e-3)


def test_folded_batch_norm_changes_the_rounding_alone(
    video: Path, whole: Path, backbone: Backbone, tmp_path: Path
) -> None:
    extract(video, tmp_path / "a.zarr", SETTINGS.model_copy(update={"fused": True}), device="cpu", backbone=backbone)
    plain, folded = (open_store(path).read().astype(np.float32) for path in (whole, tmp_path / "a.zarr"))
    assert (plain != folded).any()
    assert np.linalg.norm(plain - folded) < 1e-3 * np.linalg.norm(plain)


def test_the_attributes_say_where_it_comes_from(video: Path, whole: Path, backbone: Backbone) -> None:
    assert os.listdir(whole.parent) == ["a.zarr"]
    actual = dict(open_store(whole).attributes)
    assert actual.pop("decoder") in ("decord", "pyav")
    assert actual.pop("decoder_version")
    assert actual.pop("rgwot_version")
    assert actual.pop("duration_s") == pytest.approx(FRAMES / 30, abs=1e-3)
    told = {"weights": "random", "seed": 0, "fused": False, "native_fps": "30", "width": 96, "height": 64}
    assert actual == identity(SETTINGS, weights_digest(backbone)) | told | {
        "settings": SETTINGS.model_dump(mode="json", exclude={"codec", "timeout_s"}),
        "source": "a.mp4",
        "source_mtime_ns": video.stat().st_mtime_ns,
        "source_bytes": video.stat().st_size,
        "source_sha256": hashlib.sha256(video.read_bytes()).hexdigest(),
        "status": "ok",
        "reason": "",
        "complete": True,
    }


@pytest.mark.parametrize("failing", [0, 2])
def test_an_interrupted_job_resumes_and_gives_the_same_bytes(
    video: Path,
    whole: Path,
    backbone: Backbone,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failing: int,
) -> None:
    computed: list[int] = []
    to_maps = Extraction._to_maps

    def counted(self: Extraction, chunk: Any, *after: Any) -> Any:
        computed.append(chunk.number)
        if len(computed) == failing + 1 and not resumed:
            raise OSError("disk full")
        return to_maps(self, chunk, *after)

    monkeypatch.setattr(Extraction, "_to_maps", counted)
    output, resumed = tmp_path / "a.zarr", False
    with pytest.raises(OSError, match="disk full"):
        extract(video, output, SETTINGS, backbone=backbone)
    assert not output.exists()
    done = {int(mark.stem.split("-")[1]) for mark in side_folders(output)[0].glob("chunk-*.json")}
    assert done == set(range(failing))
    computed.clear()
    resumed = True
    extract(video, output, SETTINGS, backbone=backbone)
    assert sorted(computed) == [number for number in range(-(-FRAMES // CHUNK)) if number not in done]
    assert files(output) == files(whole)
    assert side_folders(output) == []


def die_before_moving(monkeypatch: pytest.MonkeyPatch) -> None:
    finish = StoreWriter.finish

    def killed(self: StoreWriter, *arguments: Any) -> None:
        finish(self, *arguments)
        raise OSError("killed")

    monkeypatch.setattr(StoreWriter, "finish", killed)


@pytest.mark.parametrize("change", ["settings", "source"])
def test_unfinished_work_of_other_settings_or_another_file_is_thrown_away(
    video: Path, whole: Path, backbone: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    output = tmp_path / "a.zarr"
    source, settings = video, SETTINGS
    if change == "settings":
        settings = SETTINGS.model_copy(update={"fps": 15.0})
    else:
        source = write_video(tmp_path / "a.mp4", FRAMES, 25)
    with monkeypatch.context() as patch:
        die_before_moving(patch)
        with pytest.raises(OSError, match="killed"):
            extract(source, output, settings, backbone=backbone)
    assert len(side_folders(output)) == 1
    extract(video, output, SETTINGS, backbone=backbone)
    assert files(output) == files(whole)
    assert side_folders(output) == []


def test_few_chunks_live_at_once(tmp_path: Path, backbone: Backbone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rgwot.features.extract.CHUNK", 8)
    live, peak, lock = set(), [0], threading.Lock()
    decode = Extraction._decode

    def counted_decode(self: Extraction, number: int, *after: Any) -> Any:
        with lock:
            live.add(number)
            peak[0] = max(peak[0], len(live))
        return decode(self, number, *after)

    def slow_write(self: Extraction, chunk: Any) -> None:
        time.sleep(0.02)
        with lock:
            live.remove(chunk.number)

    monkeypatch.setattr(Extraction, "_decode", counted_decode)
    monkeypatch.setattr(Extraction, "_write", slow_write)
    monkeypatch.setattr(Extraction, "finish", lambda *_: None)
    extract(write_video(tmp_path / "a.mp4", 160), tmp_path / "a.zarr", SETTINGS, backbone=backbone)
    assert live == set()
    assert 2 <= peak[0] <= 3


def test_decoding_overlaps_the_network(
    video: Path, backbone: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the network holds the first chunk, the second is decoded."""
    second_decoded = threading.Event()
    decode, to_maps = Extraction._decode, Extraction._to_maps

    def announce(self: Extraction, number: int, *after: Any) -> Any:
        chunk = decode(self, number, *after)
        if number == 1:
            second_decoded.set()
        return chunk

    def wait(self: Extraction, chunk: Any, *after: Any) -> Any:
        assert second_decoded.wait(20)
        return to_maps(self, chunk, *after)

    monkeypatch.setattr(Extraction, "_decode", announce)
    monkeypatch.setattr(Extraction, "_to_maps", wait)
    extract(video, tmp_path / "a.zarr", SETTINGS, backbone=backbone)


def test_truncated_videos(tmp_path: Path, backbone: Backbone) -> None:
    cut = truncate(write_video(tmp_path / "whole.mp4", 150), tmp_path / "cut.mp4", 0.5)
    output = tmp_path / "out" / "cut.zarr"
    with pytest.raises(VideoError, match=r"cut.mp4: only the first \d.\d of 5.0 s can be decoded .*re-encode"):
        extract(cut, output, SETTINGS, backbone=backbone)
    extract(cut, output, SETTINGS, backbone=backbone, on_bad_video="skip")
    store = open_store(output)
    assert store.status == "partial"
    assert 10 < len(store) < 120
    assert "of 5.0 s can be decoded" in store.reason
    assert store.attributes["decoder"] == "pyav"
    # A loss below a second is not an error.
    shorter = truncate(tmp_path / "whole.mp4", tmp_path / "shorter.mp4", 0.95)
    extract(shorter, output, SETTINGS, backbone=backbone)
    store = open_store(output)
    assert store.status == "ok"
    assert 120 <= len(store) < 150
    assert np.array_equal(store.time_s, np.arange(len(store)) / 30)


@pytest.mark.gpu
def test_gpu_and_cpu_agree(video: Path, whole: Path, tmp_path: Path, backbone: Backbone) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    extract(video, tmp_path / "a.zarr", SETTINGS, device="cuda")
    found, expected = open_store(tmp_path / "a.zarr").read(), open_store(whole).read()
    np.testing.assert_allclose(found.astype(float), expected.astype(float), atol=5e-3)
