"""Readers of videos. Numbers drawn into the frames identify them, so tests check which frames are read."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine import resident_mib
from videos import number, picture, remux, rotate_metadata, truncate, write_video

from rgwot.runtime.errors import RgwotError
from rgwot.timing import sample_times
from rgwot.video import FrameReader, VideoError, decord_package, frames, probe, readers_of
from rgwot.video.pixels import earliest, frames_on_screen, refuse_absurd

NTSC = Fraction(30000, 1001)
SIZE = 64
#: The readers that are installed, in the order in which they are tried.
HERE = readers_of(Path("a.mp4"), "auto")
needs_decord = pytest.mark.skipif(decord_package() != "decord", reason="decord is not installed")


def read_all(reader: FrameReader) -> np.ndarray:
    batches = list(reader)
    indices = np.concatenate([i for i, _ in batches])
    assert indices.tolist() == list(range(len(indices)))
    return np.concatenate([f for _, f in batches])


def numbers(reader: FrameReader) -> list[int]:
    return [number(frame) for frame in read_all(reader)]


def milliseconds(time: Fraction) -> Fraction:
    """Round a time as Matroska does, halves up."""
    return Fraction(math.floor(time * 1000 + Fraction(1, 2)), 1000)


def shown_exactly(stamps: list[Fraction], times: list[Fraction]) -> list[int]:
    """Return, in exact arithmetic, which frame is on the screen at each time: the last one that began."""
    return [max(i for i, stamp in enumerate(stamps) if stamp <= time) for time in times]


# --- probing ---


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_probe_gives_the_exact_rate_and_the_duration_of_the_pictures(tmp_path: Path, suffix: str) -> None:
    info = probe(write_video(tmp_path / f"a.{suffix}", 60, NTSC, audio_s=5.0))
    assert info.fps == NTSC
    assert info.duration_s == pytest.approx(float(60 / NTSC), abs=1e-3)
    assert (info.width, info.height) == (96, 64)
    assert info.frames in (60, None)


@pytest.mark.parametrize("suffix", [".mkv", ".webm", ".mp4"])
def test_the_duration_counts_from_the_first_frame(tmp_path: Path, suffix: str) -> None:
    late = write_video(tmp_path / f"late{suffix}", 60, first=150, codec="libvpx" if suffix == ".webm" else "libx264")
    assert probe(late).duration_s == pytest.approx(2, abs=0.002)


def test_probe_gives_the_size_as_shown(tmp_path: Path) -> None:
    upright = write_video(tmp_path / "a.mp4", 2)
    for clockwise, size in ((90, (64, 96)), (180, (96, 64)), (270, (64, 96))):
        info = probe(rotate_metadata(upright, tmp_path / f"{clockwise}.mp4", clockwise))
        assert (info.width, info.height) == size


def test_probe_measures_a_file_without_a_stated_duration(tmp_path: Path) -> None:
    live = remux(write_video(tmp_path / "a.mp4", 45), tmp_path / "live.webm.mkv", live="1")
    assert probe(live).duration_s == pytest.approx(1.5, abs=0.002)


def test_the_duration_is_that_of_the_pictures_where_no_track_states_its_own(tmp_path: Path) -> None:
    content = write_video(tmp_path / "a.mkv", 50, 10, audio_s=7).read_bytes().replace(b"DURATION", b"DURATIOX")
    (tmp_path / "b.mkv").write_bytes(content)
    assert probe(tmp_path / "b.mkv").duration_s == 5
    # The header of a truncated copy has the full length.
    (tmp_path / "c.mkv").write_bytes(content[: len(content) // 2])
    assert probe(tmp_path / "c.mkv").duration_s > 6.9


def without_rate(path: Path) -> Path:
    """Remove the rate of a Matroska file, which files of many recorders and sites do not state."""
    content = bytearray(path.read_bytes())
    start = content.index(b"\x23\xe3\x83")
    length = content[start + 3] & 0x7F
    content[start : start + 4 + length] = bytes([0xEC, 0x80 | (length + 2), *bytes(length + 2)])
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("rate", ["12", "24000/1001", "24", "25", "30000/1001", "30", "60000/1001", "60", "25/2"])
def test_probe_counts_the_frames_of_a_file_that_states_no_rate(tmp_path: Path, rate: str) -> None:
    fps = Fraction(rate)
    mp4 = write_video(tmp_path / "a.mp4", 130, fps, (32, 32))
    mkv = remux(mp4, tmp_path / "a.mkv")
    assert probe(mkv).fps == fps
    actual = probe(without_rate(mkv)).fps
    # FFmpeg's own guess from millisecond stamps is off by up to 4 %.
    assert actual == fps if fps.denominator in (1, 1001) else float(actual) == pytest.approx(float(fps), rel=2e-4)


def test_probe_counts_as_far_as_a_damaged_file_goes(tmp_path: Path) -> None:
    mkv = without_rate(remux(write_video(tmp_path / "a.mp4", 300, 24), tmp_path / "a.mkv"))
    content = mkv.read_bytes()
    mkv.write_bytes(content[: len(content) * 2 // 3] + bytes(len(content) // 3))
    assert probe(mkv).fps == 24


def test_probe_passes_over_hidden_pictures_of_vp8(tmp_path: Path) -> None:
    path = tmp_path / "a.webm"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libvpx", rate=30, options={"deadline": "realtime", "cpu-used": "8"})
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        pictures = (av.VideoFrame.from_ndarray(picture(i, 32, 32), format="rgb24") for i in range(91))
        packets = [packet for frame in (*pictures, None) for packet in stream.encode(frame)]
        for packet in packets:
            container.mux(packet)
            if packet.pts % 10 == 5:
                hidden = av.Packet(bytes([bytes(packet)[0] & 0xEF, *bytes(packet)[1:]]))
                hidden.stream, hidden.time_base = stream, packet.time_base
                hidden.pts = hidden.dts = packet.pts
                container.mux(hidden)
    assert probe(without_rate(path)).fps == 30


# --- sampling times ---


@given(
    duration=st.floats(0, 5000, allow_nan=False),
    fps=st.floats(0.05, 60) | st.sampled_from([2, 15, 30, 10, NTSC]),
)
def test_sample_times_are_all_multiples_below_the_duration(duration: float, fps: float) -> None:
    times = sample_times(duration, fps)
    assert (times < duration).all()
    assert np.array_equal(times, np.arange(len(times)) / float(fps))
    assert len(times) / float(fps) >= duration * (1 - 1e-12)
    assert (len(times) > 0) == (duration > 0)


@pytest.mark.parametrize(("duration", "fps"), [(-1, 2), (1, 0), (float("nan"), 2), (float("inf"), 2)])
def test_sample_times_refuse_nonsense(duration: float, fps: float) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        sample_times(duration, fps)


@given(st.integers(0, 170_000), st.sampled_from([Fraction(24), Fraction(25), Fraction(30), NTSC]))
def test_a_rounded_stamp_counts_from_the_time_that_was_meant(index: int, fps: Fraction) -> None:
    exact = index / fps
    rounded = milliseconds(exact)
    for stamp in (float(rounded), float(np.float32(rounded)), float(exact)):
        begins = earliest(np.array([stamp]), float(1 / fps))[0]
        assert begins < float(exact)
        assert begins == pytest.approx(min(float(exact), stamp), abs=2e-6 + 2.5e-7 * stamp)


def test_shown_is_the_last_frame_that_began_and_nothing_after_the_end() -> None:
    begin = np.array([0.0, 0.1, 0.5, 2.0])
    times = np.array([0.0, 0.09, 0.1, 0.4999, 1.9, 2.0, 2.04, 2.05, 2.2])
    assert frames_on_screen(begin, 2.05, times).tolist() == [0, 0, 1, 1, 2, 3, 3]


# --- which frame is served ---


@pytest.mark.parametrize("reader", HERE)
@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
@pytest.mark.parametrize("fps", [Fraction(30), NTSC])
@pytest.mark.parametrize("sampling", [2, 15])
def test_constant_rate(tmp_path: Path, reader: str, suffix: str, fps: Fraction, sampling: int) -> None:
    path = write_video(tmp_path / f"a.{suffix}", 100, fps)
    times = sample_times(probe(path).duration_s, sampling)
    stamps = [i / fps for i in range(100)]
    if suffix == "mkv":
        stamps = [min(stamp, milliseconds(stamp)) for stamp in stamps]
    expected = shown_exactly(stamps, [Fraction(i, sampling) for i in range(len(times))])
    assert numbers(FrameReader(path, times, SIZE, reader)) == expected


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_variable_rate_by_time_stamp_and_both_readers_agree(tmp_path: Path, suffix: str) -> None:
    gaps = np.random.default_rng(3).choice([20, 33, 100, 400], 49)
    ticks = [0, *np.cumsum(gaps).tolist()]
    path = write_video(tmp_path / f"a.{suffix}", 50, ticks=ticks)
    times = np.arange(int(ticks[-1] / 100)) / 10
    expected = shown_exactly([Fraction(t, 1000) for t in ticks], [Fraction(i, 10) for i in range(len(times))])
    assert len(set(expected)) < len(expected)  # some frames are on the screen at several times
    for reader in HERE:
        assert numbers(FrameReader(path, times, SIZE, reader)) == expected


def test_time_zero_is_the_first_frame(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 30, first=45)
    for reader in HERE:
        assert numbers(FrameReader(path, np.array([0.0, 0.5]), SIZE, reader)) == [0, 15]


@pytest.mark.parametrize("reader", HERE)
def test_starting_late_gives_the_same_pixels(tmp_path: Path, reader: str) -> None:
    path = write_video(tmp_path / "a.mp4", 240, 10, gop=25)
    times = sample_times(24.0, 5)
    whole = read_all(FrameReader(path, times, SIZE, reader))
    late = read_all(FrameReader(path, times[80:], SIZE, reader))
    assert np.array_equal(whole[80:], late)


@pytest.mark.parametrize("form", ["plain", "mkv", "odd", "one frame", "rotated 90", "rotated 180", "rotated 270"])
def test_the_readers_give_the_same_pixels(tmp_path: Path, form: str) -> None:
    path = write_video(tmp_path / ("a.mkv" if form == "mkv" else "a.mp4"), 30)
    if form == "odd":
        path = write_video(tmp_path / "odd.mp4", 30, size=(97, 65), pix_fmt="yuv444p")
    elif form == "one frame":
        path = write_video(tmp_path / "one.mp4", 1)
    elif form.startswith("rotated"):
        path = rotate_metadata(path, tmp_path / "rotated.mp4", int(form.split()[1]))
    times = sample_times(probe(path).duration_s, 10)
    # Rows of 97 pixels are not a multiple of any alignment.
    first, *others = (read_all(FrameReader(path, times, 97, r)).astype(int) for r in HERE)
    for second in others:
        if decord_package() == "decord2":
            # decord2 resizes by another filter, so `auto` uses it only if PyAV fails.
            assert np.abs(first - second).mean() < 2
            continue
        # Turning after squashing, as done here, rounds the chroma differently from turning before.
        assert np.abs(first - second).max() <= (4 if form.startswith("rotated") else 0)
        assert np.abs(first - second).mean() < 0.1


@pytest.mark.parametrize(
    ("package", "order"), [("decord", ["decord", "pyav"]), ("decord2", ["pyav", "decord"]), ("", ["pyav"])]
)
def test_what_gives_the_same_features_comes_first(
    monkeypatch: pytest.MonkeyPatch, package: str, order: list[str]
) -> None:
    monkeypatch.setattr(frames, "decord_package", lambda: package)
    assert readers_of(Path("a.mp4"), "auto") == order
    assert readers_of(Path("a.mp4"), "pyav") == ["pyav"]
    assert readers_of(Path("a.ts"), "auto") == ["pyav"]
    assert readers_of(Path("a.h5"), "decord") == ["h5"]
    if not package:
        with pytest.raises(RgwotError, match="decord is not installed here; set features.reader to auto or pyav"):
            FrameReader("a.mp4", np.array([0.0]), SIZE, "decord")


# --- when a reader fails ---


def test_a_transport_stream_is_left_to_pyav(tmp_path: Path) -> None:
    path = remux(write_video(tmp_path / "a.mp4", 45), tmp_path / "a.ts")
    reader = FrameReader(path, sample_times(1.5, 10), SIZE)
    assert numbers(reader) == list(range(0, 45, 3))
    assert reader.readers == ["pyav"]


@pytest.mark.parametrize(
    ("suffix", "options"),
    [(".mp4", {"movflags": "frag_keyframe+empty_moov"}), (".mov", {"use_editlist": "0"}), (".flv", {})],
)
def test_frames_shown_later_than_decoded_are_left_to_pyav(tmp_path: Path, suffix: str, options: dict[str, str]) -> None:
    path = remux(write_video(tmp_path / "a.mp4", 100, 10, gop=10), tmp_path / f"b{suffix}", **options)
    reader = FrameReader(path, sample_times(10, 2), SIZE, "decord")
    reader_of_all = FrameReader(path, sample_times(10, 2), SIZE)
    assert numbers(reader_of_all) == list(range(0, 100, 5))
    assert reader_of_all.readers == ["pyav"]
    with pytest.raises(RgwotError, match="shifted"), reader:
        numbers(reader)


def test_a_truncated_file_yields_what_decodes_and_says_so(tmp_path: Path) -> None:
    whole = write_video(tmp_path / "a.mp4", 120)
    path = truncate(whole, tmp_path / "cut.mp4", 0.6)
    times = sample_times(probe(path).duration_s, 10)
    reader = FrameReader(path, times, SIZE)
    found = numbers(reader)
    assert found == list(range(0, 3 * len(found), 3))
    assert 0 < reader.served == len(found) < len(times)
    if decord_package() != "decord2":  # decord2 decodes some frames more than PyAV
        assert reader.readers == ["pyav"]
    assert [clause.split(":")[0] for clause in reader.failures] == HERE
    assert "/" not in "".join(reader.failures)


def test_nothing_decodes(tmp_path: Path) -> None:
    path = tmp_path / "text.mp4"
    path.write_text("not a video\n" * 50)
    with pytest.raises(
        VideoError, match=rf"no frame can be decoded \({'; '.join(f'{reader}: .*' for reader in HERE)}\)"
    ):
        list(FrameReader(path, np.array([0.0]), SIZE))


@needs_decord
@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("hang", "killed after 1 s without a frame"),
        ("half", "killed after 1 s without a frame"),
        ("die", "died (exit code -9)"),
        ("stop", "ends at 0.10 s"),
    ],
)
def test_the_second_reader_takes_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behaviour: str, message: str
) -> None:
    path = write_video(tmp_path / "a.mp4", 30)
    fake = tmp_path / "fake.py"
    fake.write_text(
        f"""
import json, os, struct, sys, time
line = sys.stdin.buffer.readline()
request = json.loads(line)
if request["reader"] == "pyav":
    import io, runpy
    class Again:
        lines, fileno = [b"", line], staticmethod(sys.stdin.fileno)
        class buffer:
            readline = staticmethod(lambda: Again.lines.pop())
    sys.stdin = Again
    runpy.run_path({str(frames._WORKER)!r}, run_name="__main__")
frame = bytes([7]) * (request["size"] ** 2 * 3)
os.write(1, struct.pack(">cI", b"F", 1) + frame)
behaviour = {behaviour!r}
if behaviour == "die":
    os.kill(os.getpid(), 9)
if behaviour == "stop":
    os.write(1, struct.pack(">cI", b"D", 0))
if behaviour == "half":
    os.write(1, struct.pack(">cI", b"F", 1) + frame[:10])
if behaviour in ("hang", "half"):
    time.sleep(1000)
"""
    )
    monkeypatch.setattr(frames, "_WORKER", fake)
    start = time.monotonic()
    reader = FrameReader(path, sample_times(1.0, 10), SIZE, timeout_s=1)
    found = read_all(reader)
    assert time.monotonic() - start < 600
    assert (found[0] == 7).all()
    assert [number(frame) for frame in found[1:]] == list(range(3, 30, 3))
    assert reader.readers == ["decord", "pyav"]
    assert len(reader.versions) == 2
    assert reader.failures == [f"decord: {'the decoder ' if behaviour == 'die' else ''}{message}"]


def test_closing_ends_the_child(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 60)
    before = children()
    with FrameReader(path, sample_times(2.0, 30), SIZE, batch=1) as reader:
        next(reader)
        assert len(children() - before) == 1
    assert children() == before
    assert list(reader) == []


def test_a_decoder_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", 300)
    code = (
        "import os, signal\nfrom rgwot.video import FrameReader\nfrom rgwot.timing import sample_times\n"
        f"reader = FrameReader({str(path)!r}, sample_times(10.0, 30), 32, batch=1)\nnext(reader)\n"
        "import psutil\nprint(*(child.pid for child in psutil.Process().children()), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert output.returncode == -signal.SIGKILL, output.stderr
    (child,) = map(int, output.stdout.split())
    wait_for(lambda: gone(child))


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def wait_for(true: Callable[[], bool]) -> None:
    limit = time.monotonic() + 600
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.01)


def children() -> set[str]:
    listing = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    if not listing.exists():
        pytest.skip("no list of child processes on this system")
    return set(listing.read_text().split())


def test_memory_does_not_grow_with_the_length(tmp_path: Path) -> None:
    def peak_mb(count: int) -> float:
        path = write_video(tmp_path / f"{count}.mp4", count, 30, size=(320, 240), gop=30)
        # Every measurement has its own process, because the peak memory of finished children never falls.
        code = (
            "import resource, numpy as np\n"
            "from rgwot.video import FrameReader\n"
            f"times = np.arange({count}) / 30\n"
            f"assert sum(len(f) for _, f in FrameReader({str(path)!r}, times, 240)) == {count}\n"
            "usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]\n"
            "print(max(use.ru_maxrss for use in usage))\n"
        )
        return resident_mib(int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout))

    # The frames of the longer video alone take 100 MB.
    assert peak_mb(660) < peak_mb(60) + 40


# --- AVI, which stores no presentation times ---


@pytest.mark.parametrize("out_of_order", [0, 2])
@pytest.mark.parametrize("reader", ["auto", "pyav"])
@pytest.mark.parametrize("first", [0, 137])
def test_h264_in_avi_serves_every_frame_at_its_time(tmp_path: Path, out_of_order: int, reader: str, first: int) -> None:
    path = write_video(tmp_path / "a.avi", 200, 10, out_of_order=out_of_order)
    frames_read = FrameReader(path, np.arange(first, 200) / 10, SIZE, reader=reader)
    assert numbers(frames_read) == list(range(first, 200))
    assert frames_read.readers == ["pyav"]
    if reader == "auto" and HERE[0] == "decord":
        assert "expected increasing times" in frames_read.failures[0]


@pytest.mark.parametrize(
    "stamps",
    [
        [-3.07e17, 0.0, 0.1],
        [0.0, 0.1, 0.1],
        [0.0, math.nan, 0.1],
        [0.0, 0.1, math.inf],
    ],
)
def test_absurd_stamps_are_refused(stamps: list[float]) -> None:
    with pytest.raises(ValueError, match="expected increasing times"):
        refuse_absurd(np.array(stamps))
