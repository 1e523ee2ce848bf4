"""Frames stored by the CnC code, used as videos; frames are identified by their colours and numbers."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from PIL import Image
from videos import number, picture

from rgwot.config.configuration import load_config
from rgwot.datasets.finding import find, layout_module
from rgwot.datasets.manifest import write_manifest
from rgwot.datasets.settings import LAYOUTS
from rgwot.features.extract import extract
from rgwot.features.settings import FeatureSettings
from rgwot.features.store import open_store
from rgwot.records import read_manifest
from rgwot.runtime.errors import RgwotError
from rgwot.timing import sample_times
from rgwot.video import FrameReader, VideoError, probe

NTSC = Fraction(30000, 1001)


def store(path: Path, frames: int = 60, size: int = 64, fps: Any = None, **options: Any) -> Path:
    """Write numbered frames, whose channels are blue, green and red."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        pictures = np.stack([picture(i, size, size) for i in range(frames)])
        file.create_dataset("images", data=pictures[..., ::-1], **options)
        if fps is not None:
            file.attrs["fps"] = fps
    return path


def frames_of(path: Path, times: np.ndarray, size: int, fps: Fraction | None = None) -> np.ndarray:
    return np.concatenate([batch for _, batch in FrameReader(path, times, size, frames_fps=fps)])


@pytest.mark.parametrize("fps", [Fraction(30), NTSC])
@pytest.mark.parametrize("sampling", [2, 15, NTSC])
def test_the_frame_shown_at_a_time_in_exact_arithmetic(tmp_path: Path, fps: Fraction, sampling: Fraction | int) -> None:
    path = store(tmp_path / "a.h5", 100)
    info = probe(path, fps)
    assert (info.fps, info.frames, info.width, info.height) == (fps, 100, 64, 64)
    assert info.duration_s == pytest.approx(float(100 / fps), abs=1e-12)
    times = sample_times(info.duration_s, sampling)
    expected = [int(Fraction(i) / sampling * fps) for i in range(len(times))]
    assert [number(frame) for frame in frames_of(path, times, 32, fps)] == expected


def test_the_original_size_keeps_every_value_and_red_comes_first(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (5, 48, 48, 3), dtype=np.uint8)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["images"] = noise
    found = frames_of(tmp_path / "a.h5", np.arange(5) / 10, 48, Fraction(10))
    assert np.array_equal(found, noise[..., ::-1])


def test_squashing_averages_over_the_area_in_every_colour(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (1, 256, 256, 3), dtype=np.uint8)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["images"] = noise
    for size in (168, 112, 97):
        found = frames_of(tmp_path / "a.h5", np.zeros(1), size, Fraction(10))[0].astype(int)
        # Pillow's bilinear filter has the same triangular kernel, but rounds its weights differently.
        other = np.asarray(Image.fromarray(noise[0, ..., ::-1].copy()).resize((size, size), Image.Resampling.BILINEAR))
        assert np.abs(found - other).mean() < 0.5


@pytest.mark.parametrize("stated", [29.97002997002997, "30000/1001", np.bytes_(b"30000/1001")])
def test_a_rate_in_the_file_is_enough(tmp_path: Path, stated: Any) -> None:
    path = store(tmp_path / "a.hdf5", 10, fps=stated)
    assert probe(path).fps == probe(path, NTSC).fps == NTSC
    assert len(frames_of(path, sample_times(10 / float(NTSC), 15), 32)) == 6
    with pytest.raises(VideoError, match="frames_fps is 25; expected the same"):
        probe(path, Fraction(25))


def bad_store(folder: Path, kind: str) -> Path:
    path = folder / f"{kind}.h5"
    if kind in ("no rate", "wrong rate"):
        return store(path, 3, fps="fast" if kind == "wrong rate" else None)
    if kind == "cut off":
        store(folder / "whole.h5", 30)
        path.write_bytes((folder / "whole.h5").read_bytes()[:200_000])
    elif kind == "empty":
        path.touch()
    else:
        shape, dtype = {
            "features": ((4, 1024), np.float32),
            "greyscale": ((4, 8, 8), np.uint8),
            "no frame": ((0, 8, 8, 3), np.uint8),
        }[kind]
        with h5py.File(path, "w") as file:
            file.create_dataset("feats" if kind == "features" else "images", shape, dtype)
    return path


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("no rate", "set frames_fps of the dataset in config.yaml"),
        ("wrong rate", "attribute 'fps' is 'fast'; expected a rate"),
        ("cut off", "copy or write it again"),
        ("empty", "0 bytes"),
        ("features", "holds 'feats'; expected the dataset 'images'"),
        ("greyscale", "expected the dataset 'images', (T, H, W, 3) uint8"),
        ("no frame", "holds no frame"),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path: Path, kind: str, reason: str) -> None:
    path = bad_store(tmp_path, kind)
    with pytest.raises(VideoError) as caught:
        probe(path, None if kind == "no rate" else Fraction(30))
    assert reason in caught.value.reason
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    if kind == "no rate":
        with pytest.raises(VideoError, match="frames_fps"):
            list(FrameReader(path, np.zeros(1), 32))


# --- as the videos of a dataset ---


def touch_stores(root: Path, *paths: str) -> Path:
    for path in paths:
        store(root / path, 2, 8)
    return root


def test_stored_frames_are_videos_only_where_the_entry_says_so(tmp_path: Path) -> None:
    touch_stores(tmp_path, "tea/a.h5", "tea/b.hdf5")
    (tmp_path / "tea/c.mp4").touch()
    (tmp_path / "tea/damaged.h5").write_bytes(b"?")
    with h5py.File(tmp_path / "tea/features.h5", "w") as file:
        file["conv4c"] = np.zeros((3, 1024), np.float32)
    assert [entry.path for entry in find("mine", "folder", tmp_path).of("tea")] == ["tea/c.mp4"]
    for rate in ("30000/1001", "file", 25):
        files = find("mine", "folder", tmp_path, {"frames_fps": rate})
        assert [entry.path for entry in files.of("tea")] == ["tea/a.h5", "tea/b.hdf5", "tea/damaged.h5"]


def test_every_layout_of_videos_takes_stored_frames(tmp_path: Path) -> None:
    without = {layout for layout in LAYOUTS if "frames_fps" not in layout_module(layout).OPTIONS}
    assert without == {"features", "frame_labels", "packed"}
    touch_stores(tmp_path, "videos/MECCANO/0001.h5")
    (tmp_path / "annotations/MECCANO").mkdir(parents=True)
    (tmp_path / "annotations/MECCANO/0001.csv").write_text("0,1,1 a\n")
    entry = find("meccano", "egoprocel", tmp_path, {"frames_fps": "file"}).of("meccano")[0]
    assert (entry.path, entry.annotation) == ("videos/MECCANO/0001.h5", "annotations/MECCANO/0001.csv")


def test_from_the_configuration_to_features(tmp_path: Path) -> None:
    store(tmp_path / "root/tea/a.h5", 60, 64)
    config = load_config({"datasets": {"mine": {"layout": "folder", "root": "r", "frames_fps": "30000/1001"}}})
    options = config.datasets["mine"].options()
    manifest = tmp_path / "m.csv"
    write_manifest("mine", "tea", tmp_path / "root", "folder", options, manifest, tmp_path / "s.csv", "fail")
    row = read_manifest(manifest).iloc[0]
    assert (row.path, row.fps, row.width, row.height, row.status) == ("tea/a.h5", NTSC, 64, 64, "unscored")
    assert row.duration_s == pytest.approx(float(60 / NTSC), abs=1e-12)
    settings = FeatureSettings(fps=2, size=32, weights="random")
    extract(tmp_path / "root/tea/a.h5", tmp_path / "a.zarr", settings, device="cpu", frames_fps=row.fps)
    features = open_store(tmp_path / "a.zarr")
    assert (features.attributes["decoder"], features.attributes["decoder_version"]) == ("h5", h5py.__version__)
    assert (features.status, features.native_fps, features.time_s.tolist()) == ("ok", NTSC, [0.0, 0.5, 1.0, 1.5, 2.0])
    with pytest.raises(VideoError, match="set frames_fps"):
        write_manifest(
            "mine", "tea", tmp_path / "root", "folder", {"frames_fps": "file"}, manifest, tmp_path / "s.csv", "fail"
        )


def test_an_impossible_rate_is_refused_with_its_key() -> None:
    with pytest.raises(RgwotError, match="datasets.mine.frames_fps: expected a positive rate"):
        load_config({"datasets": {"mine": {"layout": "folder", "root": "r", "frames_fps": "fast"}}})
