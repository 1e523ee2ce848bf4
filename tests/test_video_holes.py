"""If bytes inside a file are lost, the video ends there, and its frames are right to within a sampling step."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from videos import number, picture, write_video

from rgwot.timing import allowed_loss, sample_times
from rgwot.video import FrameReader, VideoError, probe
from rgwot.video.frames import readers_of

FRAMES, FPS, SAMPLING = 100, 10, 2
SIZE = (160, 120)
PLACES = (0.1, 0.3, 0.45, 0.6, 0.85)
SHARE = 0.08
CODECS = {
    "avi": ("mpeg4", "libx264", "mjpeg", "msmpeg4"),
    "mkv": ("mpeg4", "libx264", "mjpeg", "libvpx", "libvpx-vp9", "libx265", "libsvtav1"),
    "webm": ("libvpx", "libvpx-vp9"),
    "mp4": ("mpeg4", "libx264", "libvpx-vp9", "libx265", "libsvtav1"),
    "mov": ("mpeg4", "libx264", "mjpeg"),
}
SHORT = {("avi", "mpeg4", "auto"), ("mkv", "libx264", "auto")}
LONG = pytest.mark.long
FILES = [
    pytest.param(suffix, codec, reader, marks=() if (suffix, codec, reader) in SHORT else LONG)
    for suffix, codecs in CODECS.items()
    for codec in codecs
    for reader in ("auto", "pyav")
]


def noisy(i: int) -> np.ndarray:
    """Draw a frame number and add noise, so that frames have as many bytes as those of a camera."""
    noise = np.random.default_rng(i).normal(0, 14, (SIZE[1] // 2, SIZE[0] // 2, 1)).repeat(2, 0).repeat(2, 1)
    return np.clip(picture(i, *SIZE) + noise, 0, 255).astype(np.uint8)


def written(folder: Path, suffix: str, codec: str) -> Path:
    if codec not in av.codec.codecs_available:
        pytest.skip(f"PyAV has no {codec} here")
    colours = "yuvj420p" if codec == "mjpeg" else "yuv420p"
    return write_video(folder / f"whole.{suffix}", FRAMES, FPS, SIZE, codec=codec, drawn=noisy, pix_fmt=colours)


def emptied(whole: Path, begin: float, share: float = SHARE) -> Path:
    """Copy a file with zeros in place of a ``share`` of its bytes; the share ``begin`` comes before them."""
    content = bytearray(whole.read_bytes())
    start, length = int(len(content) * begin), int(len(content) * share)
    content[start : start + length] = bytes(length)
    path = whole.with_name(f"{begin}{whole.suffix}")
    path.write_bytes(content)
    return path


def served(path: Path, reader: str) -> tuple[bool, list[int]]:
    """Return whether a file is refused, or ends too early, and by how many frames each picture is late."""
    try:
        info = probe(path)
        times = sample_times(info.duration_s, SAMPLING)
        with FrameReader(path, times, 64, reader) as frames:
            shown = [number(frame) for _, batch in frames for frame in batch]
    except VideoError:
        return True, []
    lost_s = (len(times) - len(shown)) / SAMPLING
    late = [round(time * FPS) - found for time, found in zip(times, shown, strict=False)]
    if len(shown) < len(times):
        # If nothing follows the hole, the picture before it may be cut short.
        late.pop()
    return lost_s > allowed_loss(info.duration_s), late


@pytest.mark.parametrize(("suffix", "codec", "reader"), FILES)
def test_a_hole_ends_the_video_before_it(tmp_path: Path, suffix: str, codec: str, reader: str) -> None:
    whole = written(tmp_path, suffix, codec)
    assert served(whole, reader) == (False, [0] * (FRAMES // FPS * SAMPLING))
    damaged = [emptied(whole, place) for place in PLACES]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda path: served(path, reader), damaged))
    assert max(abs(frames) for _, late in results for frames in late) <= FPS / SAMPLING
    assert sum(found for found, _ in results) >= len(PLACES) - 1


@pytest.mark.parametrize("suffix", ["avi", "mkv"])
def test_what_is_not_lost_is_not_a_hole(tmp_path: Path, suffix: str) -> None:
    """Pictures may last for seconds, and other bytes may lie between them."""
    kept = [i for i in range(FRAMES) if not 20 < i < 70 or i % 10 == 0]
    path = tmp_path / f"a.{suffix}"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=FPS)
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        sound = container.add_stream("pcm_s16le", rate=16000)
        for i in kept:
            frame = av.VideoFrame.from_ndarray(noisy(i), format="rgb24")
            frame.pts, frame.time_base = i, Fraction(1, FPS)
            container.mux(stream.encode(frame))
            noise = av.AudioFrame.from_ndarray(np.zeros((1, 1600), np.int16), format="s16", layout="mono")
            noise.sample_rate, noise.pts, noise.time_base = 16000, i * 1600, Fraction(1, 16000)
            container.mux(sound.encode(noise))
        container.mux(stream.encode(None))
    for reader in readers_of(path, "auto"):
        with FrameReader(path, np.arange(FRAMES) / FPS, 64, reader) as frames:
            shown = [number(frame) for _, batch in frames for frame in batch]
        assert shown == [max(j for j in kept if j <= i) for i in range(FRAMES)]


def test_the_rate_is_counted_in_front_of_a_hole(tmp_path: Path) -> None:
    assert probe(emptied(written(tmp_path, "mkv", "mpeg4"), 0.45)).fps == FPS


@pytest.mark.parametrize("suffix", ["mkv", "mp4"])
@pytest.mark.parametrize(
    ("codec", "options"),
    [
        ("libx265", {"preset": "ultrafast", "x265-params": "log-level=none"}),
        ("libx264", {"preset": "ultrafast", "x264-params": "open-gop=1:keyint=12:bframes=3:b-adapt=0:scenecut=0"}),
        ("mpeg2video", {"bf": "2"}),
    ],
)
def test_frames_that_precede_their_key_frame(tmp_path: Path, suffix: str, codec: str, options: dict[str, str]) -> None:
    """Frames are right although some are stored after a key frame and shown before it, which decord cannot decode."""
    path = tmp_path / f"a.{suffix}"
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25, options=options)
        stream.width, stream.height, stream.pix_fmt, stream.gop_size = *SIZE, "yuv420p", 12
        for i in range(FRAMES):
            frame = av.VideoFrame.from_ndarray(noisy(i), format="rgb24")
            frame.pts, frame.time_base = i, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with FrameReader(path, np.arange(0, FRAMES, 5) / 25, 64) as frames:
        assert [number(frame) for _, batch in frames for frame in batch] == list(range(0, FRAMES, 5))
