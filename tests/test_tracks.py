"""Files with several picture tracks, or late pictures: everything that reads them uses the same track and clock."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.stream import Disposition
from numpy.typing import NDArray
from videos import number, picture, remux, together, write_audio, write_video

from rgwot.datasets.annotation_files import read_annotation_file
from rgwot.datasets.manifest import write_manifest
from rgwot.records import read_annotations, read_manifest
from rgwot.reporting.export import export, videos_of
from rgwot.study.doctor import examine
from rgwot.video import FrameReader, VideoError, probe
from rgwot.video.frames import cut

TIMES = np.arange(0, 3, 0.5)
ROWS = "start_s,end_s,label\n2,4.5,first\n4.5,7.8,second\n"


def hundreds(frame: int) -> NDArray[np.uint8]:
    return picture(100 + frame, 192, 128)


def read(path: Path, reader: str = "auto") -> list[int]:
    with FrameReader(path, TIMES, 96, reader) as frames:
        return [number(frame) for _, batch in frames for frame in batch]


def clip_of(path: Path, output: Path) -> list[int]:
    cut(path, 1, 2, output, Fraction(10))
    with av.open(str(output)) as container:
        return [number(frame.to_ndarray(format="rgb24")) for frame in container.decode(video=0)]


def written(root: Path, name: str = "tea") -> tuple[list[dict[str, object]], list[tuple[object, ...]]]:
    write_manifest("own", name, root, "folder", {}, root / "m.csv", root / "a.csv", "fail")
    return read_manifest(root / "m.csv").to_dict("records"), [
        tuple(row) for row in read_annotations(root / "a.csv")[["start_s", "end_s", "name"]].to_numpy().tolist()
    ]


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".mov"])
@pytest.mark.parametrize("swapped", [False, True])
def test_of_two_cameras_the_same_is_read_everywhere(tmp_path: Path, suffix: str, swapped: bool) -> None:
    sources = [
        write_video(tmp_path / "a.mp4", 40, 10),
        write_video(tmp_path / "b.mp4", 40, 10, (192, 128), drawn=hundreds),
    ]
    path = together(tmp_path / f"two{suffix}", *sources[:: -1 if swapped else 1])
    info = probe(path)
    base = 100 if info.width == 192 else 0
    assert (info.width, info.height) == ((192, 128) if base else (96, 64))
    assert read(path) == read(path, "pyav") == [base + 5 * at for at in range(6)]
    assert clip_of(path, tmp_path / "clip.mp4") == [base + at for at in range(10, 20)]
    assert info.remark.startswith(f"2 picture tracks; track {int(bool(base) != swapped)} ({info.width}x{info.height})")
    # decord chooses a track by itself, so it must not read such a file.
    with pytest.raises(VideoError, match="picture tracks"):
        read(path, "decord")


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
@pytest.mark.parametrize("first", [True, False])
def test_a_still_is_never_the_video(tmp_path: Path, suffix: str, first: bool) -> None:
    still = write_video(tmp_path / "cover.mp4", 1, 10, (320, 200))
    film = write_video(tmp_path / "a.mp4", 40, 10)
    path = together(tmp_path / f"both{suffix}", *([still, film] if first else [film, still]))
    info = probe(path)
    assert (info.duration_s, info.width) == (4.0, 96)
    assert read(path) == [0, 5, 10, 15, 20, 25]
    assert "2 picture tracks" in info.remark


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_one_picture_beside_sound_is_reported(tmp_path: Path, suffix: str) -> None:
    still, sound = write_video(tmp_path / "cover.mp4", 1, 10, (320, 200)), write_audio(tmp_path / "s.m4a")
    assert "as in a sound recording" in probe(together(tmp_path / f"song{suffix}", still, sound)).remark
    assert probe(still).remark == ""
    film = write_video(tmp_path / "a.mp4", 20, 10)
    assert probe(together(tmp_path / f"film{suffix}", film, sound)).remark == ""


@pytest.mark.parametrize("suffix", [".mp4", ".mkv"])
def test_a_few_slides_are_never_the_video(tmp_path: Path, suffix: str) -> None:
    slides = write_video(tmp_path / "slides.mp4", 3, 10, (320, 200))
    path = together(tmp_path / f"both{suffix}", slides, write_video(tmp_path / "a.mp4", 60, 10))
    info = probe(path)
    assert (info.duration_s, info.width) == (6.0, 96)
    assert read(path) == [0, 5, 10, 15, 20, 25]


def test_clips_of_a_transport_stream_begin_with_their_first_frame(tmp_path: Path) -> None:
    path = remux(write_video(tmp_path / "a.mp4", 60, 10), tmp_path / "a.ts")
    assert clip_of(path, tmp_path / "clip.mp4") == list(range(10, 20))


@pytest.mark.parametrize("fps", [1, 10])
@pytest.mark.parametrize("flags", ["dash", "frag_keyframe+empty_moov", "frag_every_frame+empty_moov"])
def test_files_of_fragments_with_frames_out_of_order(tmp_path: Path, fps: int, flags: str) -> None:
    path = remux(write_video(tmp_path / "a.mp4", 60, fps, gop=10), tmp_path / "f.mp4", movflags=flags)
    info = probe(path)
    assert (info.duration_s, info.fps) == (60 / fps, fps)
    with FrameReader(path, np.arange(0, 60, 6) / fps, 96) as frames:
        assert [number(frame) for _, batch in frames for frame in batch] == list(range(0, 60, 6))


def test_a_marked_cover_is_not_a_track(tmp_path: Path) -> None:
    cover = write_video(tmp_path / "cover.avi", 1, 10, (320, 200), codec="mjpeg", pix_fmt="yuvj420p")
    film = write_video(tmp_path / "a.mp4", 40, 10)
    marked = together(tmp_path / "both.mp4", cover, film, marks={0: Disposition.attached_pic})
    assert probe(marked).remark == ""
    assert read(marked) == [0, 5, 10, 15, 20, 25]
    alone = together(tmp_path / "song.mp4", cover, write_audio(tmp_path / "s.m4a"), marks={0: Disposition.attached_pic})
    with pytest.raises(VideoError, match="found no pictures"):
        probe(alone)


@pytest.mark.parametrize(
    ("name", "sound", "late_s", "expected"),
    [
        ("late.mp4", True, (2, 0), 2.0),
        ("late.mkv", True, (2, 0), 2.0),
        ("late.ts", True, (2, 0), 2.0),
        # With an empty edit, the file begins without a picture.
        ("edit.mp4", False, (2,), 2.0),
        ("edit.mov", False, (2,), 2.0),
        # Otherwise a single track has an arbitrary origin, and starts at 0.
        ("origin.mkv", False, (2,), 0.0),
        ("origin.ts", False, (2,), 0.0),
        ("sound_late.mp4", True, (0, 2), 0.0),
        ("usual.mp4", True, (0, 0), 0.0),
        ("nearly.mp4", True, (0.05, 0), 0.0),
    ],
)
def test_start_of_the_picture(
    tmp_path: Path, name: str, sound: bool, late_s: tuple[float, ...], expected: float
) -> None:
    sources = [write_video(tmp_path / "a.mp4", 60, 10, out_of_order=0), write_audio(tmp_path / "s.m4a", 8)]
    path = together(tmp_path / name, *sources[: 1 + sound], late_s=late_s)
    info = probe(path)
    # The muxers of .ts and .mkv delay the pictures, because the codec of the sound begins before 0.
    assert info.start_s == pytest.approx(expected, abs=0.07 if name.endswith((".ts", ".mkv")) else 1e-6)
    assert info.duration_s == pytest.approx(6, abs=0.11)
    # Features count from the first frame.
    assert read(path) == [0, 5, 10, 15, 20, 25]
    assert bool(info.remark) == (expected > 0)


@pytest.mark.parametrize("form", ["csv", "elan", "boris"])
def test_annotations_and_exports_have_the_time_of_players(tmp_path: Path, form: str) -> None:
    task = tmp_path / "root/tea"
    task.mkdir(parents=True)
    late = together(
        task / "late.mp4",
        write_video(tmp_path / "a.mp4", 60, 10),
        write_audio(tmp_path / "s.m4a", 8),
        late_s=(2, 0),
    )
    (task / "late.csv").write_text(ROWS, encoding="utf-8")
    rows, segments = written(tmp_path / "root")
    assert rows[0]["start_s"] == 2
    # The second segment is cut at the end of the picture, at 8 s of a player.
    assert segments == [(0, 2.5, "first"), (2.5, 5.8, "second")]

    table = read_annotations(tmp_path / "root/a.csv")
    videos = videos_of(table, read_manifest(tmp_path / "root/m.csv"), {1: "first", 2: "second"}, tmp_path / "root")
    export(form, videos, tmp_path / "out")
    file = tmp_path / "out" / {"csv": "segments.csv", "elan": "late.eaf", "boris": "project.boris"}[form]
    exported = read_annotation_file(file)
    assert exported[["start_s", "end_s"]].to_numpy().tolist() == [[2, 4.5], [4.5, 7.8]]
    # The exported file, put beside the video, gives the same annotation.
    (task / "late.csv").unlink()
    (task / f"late{file.suffix}").write_bytes(file.read_bytes())
    assert written(tmp_path / "root")[1] == segments

    export("clips", videos, tmp_path / "clips")
    with av.open(str(tmp_path / "clips/key_step_02/late_0004.500.mp4")) as container:
        frames = [number(frame.to_ndarray(format="rgb24")) for frame in container.decode(video=0)]
    assert frames == list(range(25, 58))
    assert late.exists()


def test_times_before_the_picture_are_reported(tmp_path: Path) -> None:
    task = tmp_path / "tea"
    task.mkdir()
    film, sound = write_video(tmp_path / "a.mp4", 60, 10), write_audio(tmp_path / "s.m4a", 8)
    for name in ("r0", "r1"):
        together(task / f"{name}.mp4", film, sound, late_s=(2, 0))
    (task / "r0.csv").write_text("start_s,end_s,label\n0,1.5,first\n3,4,second\n", encoding="utf-8")
    (task / "r1.csv").write_text(ROWS.replace("2,4.5", "1.5,4.5"), encoding="utf-8")
    entry = {"layout": "folder", "root": str(tmp_path), "settings": {"features": {"weights": "random"}}}
    report = examine({"datasets": {"own": entry}}, "own")
    told = [(finding.severity, finding.file, finding.where, finding.message) for finding in report.findings]
    assert len([line for line in told if line[0] == "warning" and "begins 2.00 s after" in line[3]]) == 2
    assert [line[:3] for line in told if line[0] == "error"] == [("error", "tea/r0.csv", "line 2")]
    assert next(line[3] for line in told if line[0] == "error").endswith("add 2 to all of them")
    assert any("starts before the first frame (2 s); clipped" in line[3] for line in told)


def test_labels_of_frames_count_from_the_first_frame(tmp_path: Path) -> None:
    task = tmp_path / "tea"
    task.mkdir()
    film, sound = write_video(tmp_path / "a.mp4", 60, 10), write_audio(tmp_path / "s.m4a", 8)
    together(task / "late.mp4", film, sound, late_s=(2, 0))
    (task / "late.txt").write_text("first\n" * 25 + "second\n" * 35, encoding="utf-8")
    write_manifest(
        "own", "tea", tmp_path, "folder", {"labels_fps": "10"}, tmp_path / "m.csv", tmp_path / "a.csv", "fail"
    )
    assert read_annotations(tmp_path / "a.csv")[["start_s", "end_s"]].to_numpy().tolist() == [[0, 2.5], [2.5, 6]]
