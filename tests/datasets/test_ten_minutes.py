"""Ten minutes of real video at 59.94 frames per second: at the end, labels still fit what the frames show."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from videos import remux

from rgwot.datasets.manifest import write_manifest
from rgwot.records import read_annotations, read_manifest
from rgwot.timing import frame_times, scoring_frames, truth_labels
from rgwot.video import FrameReader

FPS = Fraction(60000, 1001)
N_FRAMES = 36000
# First and last-but-one frame of every bright stretch; the video is dark elsewhere.
BRIGHT = [(60, 120), (17_777, 18_005), (35_401, 35_480), (35_703, 35_822)]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a film that is bright while something is done."""
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    shades = [
        av.VideoFrame.from_ndarray(np.full((32, 32, 3), value, np.uint8), format="rgb24").reformat(format="yuv420p")
        for value in (30, 220)
    ]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"preset": "ultrafast", "threads": "1", "g": "600"})
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        for index in range(N_FRAMES):
            frame = shades[any(first <= index < stop for first, stop in BRIGHT)]
            frame.pts, frame.time_base = index, 1 / FPS
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_labels_fit_the_frames_at_the_end(film: Path, tmp_path: Path, suffix: str) -> None:
    task = tmp_path / "root" / "tea"
    task.mkdir(parents=True)
    # Somebody who stops the film where it changes notes these times, to the millisecond.
    rows = [f"{float(first / FPS):.3f},{float(stop / FPS):.3f},1 stir\n" for first, stop in BRIGHT]
    for name in ("one", "two"):
        remux(film, task / f"{name}{suffix}")
        (task / f"{name}.csv").write_text("".join(rows))
    write_manifest("mine", "tea", task.parent, "folder", {}, tmp_path / "m.csv", tmp_path / "a.csv", "fail")
    row = read_manifest(tmp_path / "m.csv").iloc[0]
    segments = read_annotations(tmp_path / "a.csv").query("video == 'one'")
    assert row["fps"] == FPS
    assert row["duration_s"] == pytest.approx(float(N_FRAMES / FPS), abs=2e-3)

    frames = scoring_frames(row["duration_s"], row["fps"], 2)
    late = frames[frame_times(frames, row["fps"]) > 588]
    with FrameReader(task / f"one{suffix}", frame_times(late, row["fps"]), 32, "auto", 120, batch=64) as reader:
        shown = np.concatenate([pixels.mean(axis=(1, 2, 3)) > 128 for _, pixels in reader])
    columns = segments["start_s"], segments["end_s"], segments["key_step"]
    exact = truth_labels(*columns, frames, row["fps"], "exact")[-len(late) :] == 1
    assert 0 < shown.sum() < len(shown)
    borders = np.array(BRIGHT).ravel()
    assert all(np.abs(borders - frame).min() <= 1 for frame in late[exact != shown])
    # The published rule is nine seconds early by then.
    cnc = truth_labels(*columns, frames, row["fps"], "cnc")
    last = frame_times(frames[cnc == 1][-1:], row["fps"])[0]
    assert float(BRIGHT[-1][1] / FPS) - last == pytest.approx(600 * (1 - 59 / float(FPS)), abs=0.3)
