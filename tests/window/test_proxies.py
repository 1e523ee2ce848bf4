"""Copies of videos that browsers play: pictures and sound keep their times."""

from __future__ import annotations

from pathlib import Path

import av
import pytest
from videos import number, picture, together, write_video

from rgwot.video import probe
from rgwot.window.transcode import plays, transcode


def times(path: Path, kind: str) -> list[float]:
    with av.open(str(path)) as container:
        return [float(frame.time) for frame in container.decode(container.streams.get({kind: 0})[0])]


def test_sound_stays_where_it_was_beside_the_pictures(tmp_path: Path) -> None:
    """The sound begins half a second before the pictures, at whose first frame the copy begins."""
    video = write_video(tmp_path / "film.mkv", 60, audio_s=2.5, first=15)
    transcode(video, tmp_path / "copy.mp4")
    pictures = times(tmp_path / "copy.mp4", "video")
    assert pictures == pytest.approx([at / 30 for at in range(60)], abs=1e-3)
    sound = times(tmp_path / "copy.mp4", "audio")
    assert sound[0] == pytest.approx(0, abs=0.07)
    assert sound[-1] == pytest.approx(times(video, "audio")[-1] - 0.5, abs=0.1)


def test_a_silent_film_stays_silent(tmp_path: Path) -> None:
    transcode(write_video(tmp_path / "film.mkv", 10), tmp_path / "copy.mp4")
    with av.open(str(tmp_path / "copy.mp4")) as container:
        assert [stream.type for stream in container.streams] == ["video"]


@pytest.mark.parametrize("swapped", [False, True])
def test_of_several_picture_tracks_the_copy_has_the_one_that_is_read(tmp_path: Path, swapped: bool) -> None:
    """A browser may show another track, so such a file is not played directly."""
    other = write_video(tmp_path / "b.mp4", 20, 10, (192, 128), drawn=lambda frame: picture(100 + frame, 192, 128))
    sources = [write_video(tmp_path / "a.mp4", 20, 10), other]
    path = together(tmp_path / "two.mp4", *sources[:: -1 if swapped else 1])
    assert plays(sources[0])
    assert not plays(path)
    transcode(path, tmp_path / "copy.mp4")
    base = 100 if probe(path).width == 192 else 0
    with av.open(str(tmp_path / "copy.mp4")) as container:
        shown = [number(frame.to_ndarray(format="rgb24")) for frame in container.decode(video=0)]
    assert shown == [base + at for at in range(20)]
