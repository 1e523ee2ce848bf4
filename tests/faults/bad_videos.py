"""Kinds of bad videos, how each is made, and the expected outcome; docs/troubleshooting.md summarises them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import av
import av.bitstream
import numpy as np
from videos import remux, rotate_metadata, truncate, write_audio, write_video

FRAMES = 48


@dataclass(frozen=True)
class Kind:
    """A kind of video.

    Attributes
    ----------
    name
        What is wrong with it.
    make
        Function that writes the video into a folder and returns its path.
    manifest
        What planning and the manifest say under ``skip``: ``listed``, ``skipped``, or ``no video`` where the file is
        not taken for a video. Under ``fail``, a skipped video ends the stage with an error that names the file.
    store
        Status of its feature store under ``skip``; empty if there is none. Under ``fail``, any status but ``ok`` ends
        the stage with an error that names the file.
    said
        Words that the reason contains.
    """

    name: str
    make: Callable[[Path], Path]
    manifest: str = "listed"
    store: str = "ok"
    said: str = ""


def plain(folder: Path, name: str = "bad.mp4") -> Path:
    return write_video(folder / name, FRAMES, 24)


def source(folder: Path, name: str = "whole.mp4") -> Path:
    """Write a good video into a folder that no dataset reads."""
    (folder.parent / "aside").mkdir(exist_ok=True)
    return plain(folder.parent / "aside", name)


def written(folder: Path, content: bytes, name: str = "bad.mp4") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def without_index(folder: Path) -> Path:
    whole = source(folder).read_bytes()
    return written(folder, whole[: whole.index(b"moov") - 4])


def variable(folder: Path) -> Path:
    gaps = np.random.default_rng(0).choice([20, 33, 100, 200], FRAMES - 1)
    return write_video(folder / "bad.mp4", FRAMES, ticks=[0, *np.cumsum(gaps).tolist()])


def no_frames(folder: Path) -> Path:
    path = folder / "bad.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=24)
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"
        stream.encode(None)
        container.start_encoding()
    return path


def an_hour_too_long(folder: Path) -> Path:
    """Write a wrong length into the tag of a track of Matroska."""
    data = remux(source(folder), folder.parent / "aside" / "whole.mkv").read_bytes()
    place = data.index(b"00:00:", data.index(b"DURATION"))
    return written(folder, data[:place] + b"01:00" + data[place + 5 :], "bad.mkv")


def zeros_inside(folder: Path, suffix: str, codec: str = "libx264") -> Path:
    """Write a video of 6 s in which a fifth of the bytes, in the middle, is replaced by zeros."""
    data = write_video(source(folder).with_name(f"long{suffix}"), 3 * FRAMES, 24, codec=codec).read_bytes()
    start, length = len(data) * 2 // 5, len(data) // 5
    return written(folder, data[:start] + bytes(length) + data[start + length :], f"bad{suffix}")


def twice(folder: Path) -> Path:
    """Write a stream two times, one after the other."""
    whole = source(folder)
    return written(folder, remux(whole, whole.with_suffix(".ts")).read_bytes() * 2)


def linked(folder: Path) -> Path:
    path = folder / "bad.mp4"
    path.symlink_to("gone.mp4")
    return path


def directory(folder: Path) -> Path:
    path = folder / "bad.mp4"
    path.mkdir()
    return path


def pipe(folder: Path) -> Path:
    path = folder / "bad.mp4"
    os.mkfifo(path)
    return path


KINDS = [
    Kind("nothing wrong", plain),
    Kind("variable frame rate", variable),
    Kind("rotated by its metadata", lambda folder: rotate_metadata(source(folder), folder / "bad.mp4", 90)),
    Kind("one frame long", lambda folder: write_video(folder / "bad.mp4", 1, 24)),
    Kind("10 bits per colour", lambda folder: write_video(folder / "bad.mp4", FRAMES, 24, pix_fmt="yuv420p10le")),
    Kind("odd size, no chroma subsampling",
         lambda folder: write_video(folder / "bad.mp4", FRAMES, 24, (97, 65), pix_fmt="yuv444p")),
    Kind("truncated, index in front", lambda folder: truncate(source(folder), folder / "bad.mp4", 0.6),
         "listed", "partial", "only the first"),
    Kind("truncated, index lost", without_index, "skipped", "skipped", "not a readable video"),
    Kind("empty", lambda folder: written(folder, b""), "skipped", "skipped", "0 bytes"),
    Kind("text", lambda folder: written(folder, b"<html>404</html>\n" * 99), "skipped", "skipped", "not a readable"),
    Kind("sound only, in mp4", lambda folder: write_audio(folder / "bad.mp4"), "skipped", "skipped", "only sound"),
    Kind("picture track without frames", no_frames, "skipped", "skipped", "found no pictures"),
    Kind("wrong length in a tag, Matroska: an hour too much", an_hour_too_long, "listed", "partial", "only the first"),
    Kind("zeros in the middle, Matroska", lambda folder: zeros_inside(folder, ".mkv"),
         "listed", "partial", "only the first"),
    Kind("zeros in the middle, AVI", lambda folder: zeros_inside(folder, ".avi", "mpeg4"),
         "listed", "partial", "only the first"),
    Kind("time stamps begin anew midway", twice, "skipped", "skipped", "its time stamps go back"),
    Kind("directory named .mp4", directory, "no video", ""),
    Kind("symbolic link to nothing", linked, "skipped", "skipped", "no such file"),
    Kind("named pipe", pipe, "skipped", "skipped", "no such file"),
]  # fmt: skip
