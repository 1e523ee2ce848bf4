"""Bad videos are found and stop nothing."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import h5py
import numpy as np
import pytest
from doctor_helpers import content, entry, put, said
from videos import truncate, write_video

from rgwot.study.doctor import examine, stated_frames
from rgwot.video import READERS, VideoInfo


def test_bad_videos_do_not_stop_the_others(tea: Path, clip: Path) -> None:
    folder = tea / "tea"
    truncate(clip, folder / "cut.mp4", 0.6)
    put(folder / "zero.mp4", b"")
    put(folder / "noise.mp4", b"\x00\x01noise" * 500)
    (folder / "link.mp4").symlink_to("nowhere.mp4")
    for name in ("cut", "zero", "noise", "link"):
        put(folder / f"{name}.csv", b"1,2,1 boil\n")
    report = examine(content(mine=entry(tea)), "mine", jobs=2)
    assert {video.entry.name: video.status for video in report.videos} == {
        "one": "ok", "two": "ok", "cut": "ok", "zero": "skipped", "noise": "skipped", "link": "skipped",
    }  # fmt: skip
    (early,) = said(report, file="tea/cut.mp4")
    assert "ffmpeg -i IN -map 0:v:0" in early
    # The last sample lies a second before the end of 10 s.
    assert re.search(r"no frame can be decoded at .*9\.\d\d s of 10\.\d\d s", early)
    assert "0 bytes" in said(report, file="tea/zero.mp4")[0]
    assert said(report, file="tea/noise.mp4", rule="video")
    assert said(report, file="tea/link.mp4", rule="video")
    assert report.exit_code() == 1
    quick = examine(content(mine=entry(tea)), "mine", quick=True)
    assert {video.entry.name for video in quick.videos if not video.usable} == {"zero", "link"}


@pytest.mark.parametrize(("suffix", "codec"), [("avi", "mpeg4"), ("mkv", "libx264")])
def test_a_hole_is_found(tea: Path, suffix: str, codec: str) -> None:
    path = write_video(tea / "tea" / f"hole.{suffix}", 100, 10, codec=codec)
    content_of = path.read_bytes()
    start, length = len(content_of) * 45 // 100, len(content_of) // 12
    put(path, content_of[:start] + bytes(length) + content_of[start + length :])
    (told,) = said(examine(content(mine=entry(tea)), "mine"), file=f"tea/hole.{suffix}", rule="frames")
    assert re.search(r"no frame can be decoded at .*4\.50, 6\.75, 9\.00 s", told)


@pytest.mark.parametrize(("frames", "faulty"), [(300, False), (271, False), (331, True), (260, True), (None, False)])
def test_stated_frames_agree_with_the_duration(frames: int | None, faulty: bool) -> None:
    """Within one second of 10 s at 30 per second: 270 to 330 frames."""
    told = stated_frames(VideoInfo(10.0, Fraction(30), 32, 32, frames))
    assert ("ffmpeg -i IN" in told) == faulty
    assert bool(told) == faulty


def test_the_second_reader_takes_over(tea: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rgwot.video.readers_of", lambda path, reader: ["nothing_like_it", "pyav"])
    monkeypatch.setitem(READERS, "nothing_like_it", "numpy")
    report = examine(content(mine=entry(tea)), "mine")
    assert not report.findings
    assert {(video.facts.reader, video.facts.decoded) for video in report.videos} == {("pyav", 5)}


def test_fewer_frames_than_samples_are_told(tea: Path) -> None:
    write_video(tea / "tea" / "slow.mp4", 4, Fraction(1, 5))
    (told,) = said(examine(content(mine=entry(tea)), "mine"), rule="fps", severity="warning", file="tea/slow.mp4")
    assert "0.2 frames per second" in told
    assert "10 times" in told


def test_copies_are_told(tea: Path) -> None:
    (tea / "other").mkdir()
    for path in ("tea/copy.mp4", "other/copy.mp4"):
        put(tea / path, (tea / "tea/two.mp4").read_bytes())
    report = examine(content(mine=entry(tea)), "mine")
    told = {one.file: one.message for one in report.findings if one.rule == "copy"}
    assert told.keys() == {"tea/copy.mp4", "tea/two.mp4"}
    assert all("other/copy.mp4" in message for message in told.values())


def test_stored_frames(tmp_path: Path) -> None:
    for name in ("one", "two"):
        path = tmp_path / "root" / "tea" / f"{name}.h5"
        path.parent.mkdir(parents=True, exist_ok=True)
        with h5py.File(path, "w") as file:
            file["images"] = np.full((40, 8, 8, 3), len(name), np.uint8)
            file["name"] = name
    report = examine(content(mine=entry(tmp_path / "root", frames_fps=10)), "mine")
    assert report.count("error") == 0
    assert {(video.facts.duration_s, video.facts.decoded) for video in report.videos} == {(4.0, 5)}
