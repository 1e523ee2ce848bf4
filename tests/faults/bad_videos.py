"""Kinds of bad videos, how each is made, and what comes of it; docs/troubleshooting.md sums them up."""

from __future__ import annotations

import os
import struct
import wave
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import av
import av.bitstream
import numpy as np
from videos import picture, remux, rotate_metadata, truncate, write_audio, write_video

FRAMES = 48


@dataclass(frozen=True)
class Kind:
    """A kind of video.

    Attributes
    ----------
    name
        What is wrong with it.
    make
        Writes it into a folder and returns its path.
    manifest
        What planning and the manifest say under ``skip``: ``listed``, ``skipped``, or ``no video`` where the file is
        not taken for one. Under ``fail`` a skipped video ends the stage with the file named.
    store
        Status of its feature store under ``skip``; empty where there is none. Under ``fail`` anything but ``ok`` ends
        the stage with the file named.
    said
        Words of the reason.
    """

    name: str
    make: Callable[[Path], Path]
    manifest: str = "listed"
    store: str = "ok"
    said: str = ""


def plain(folder: Path, name: str = "bad.mp4") -> Path:
    return write_video(folder / name, FRAMES, 24)


def source(folder: Path, name: str = "whole.mp4") -> Path:
    """Write a good video where no dataset looks for one."""
    (folder.parent / "aside").mkdir(exist_ok=True)
    return plain(folder.parent / "aside", name)


def written(folder: Path, content: bytes, name: str = "bad.mp4") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def changed(folder: Path, place: bytes, offset: int, content: bytes) -> Path:
    """Copy a good mp4 with some bytes written at an offset from the first place where others stand."""
    data = bytearray(source(folder).read_bytes())
    start = data.index(place) + offset
    data[start : start + len(content)] = content
    return written(folder, bytes(data))


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


def sound(folder: Path) -> Path:
    path = folder / "bad.mp4"
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(8000))
    return path


def stated_length(folder: Path) -> Path:
    """Write a wrong length into the headers of an mp4 and of its track."""
    data = bytearray(source(folder).read_bytes())
    for box in (b"mvhd", b"mdhd"):
        struct.pack_into(">I", data, data.index(box) + 20, 2**32 - 1)
    return written(folder, bytes(data))


def tagged_length(folder: Path, hours_and_minutes: bytes) -> Path:
    """Write a wrong length into the tag of a track of Matroska."""
    data = remux(source(folder), folder.parent / "aside" / "whole.mkv").read_bytes()
    place = data.index(b"00:00:", data.index(b"DURATION"))
    return written(folder, data[:place] + hours_and_minutes + data[place + 5 :], "bad.mkv")


def damaged(folder: Path, content: Callable[[int], bytes], suffix: str) -> Path:
    """Copy a good video of 6 s with a fifth of its middle replaced."""
    whole = write_video(source(folder).with_name("long.mp4"), 3 * FRAMES, 24)
    data = (whole if suffix == ".mp4" else remux(whole, whole.with_suffix(suffix))).read_bytes()
    start, length = len(data) * 2 // 5, len(data) // 5
    return written(folder, data[:start] + content(length) + data[start + length :], f"bad{suffix}")


def one_after_the_other(folder: Path, *sizes: tuple[int, int]) -> Path:
    parts = []
    for number, size in enumerate(sizes):
        part = write_video(source(folder).with_name(f"{number}.mp4"), FRAMES, 24, size)
        parts.append(remux(part, part.with_suffix(".ts")).read_bytes())
    return written(folder, b"".join(parts))


def growing(folder: Path) -> Path:
    """Write a film whose second half has larger pictures, its time stamps going on."""
    path = folder / "bad.mkv"
    parts = [source(folder, "small.mp4"), write_video(source(folder).with_name("large.mp4"), FRAMES, 24, (160, 120))]
    with av.open(str(path), "w") as film, av.open(str(parts[0])) as small, av.open(str(parts[1])) as large:
        stream = film.add_stream_from_template(small.streams.video[0])
        for number, part in enumerate((small, large)):
            # Raw H.264 carries its own parameters with every key frame.
            bits = av.bitstream.BitStreamFilterContext("h264_mp4toannexb", part.streams.video[0])
            for packet in part.demux(video=0):
                for annexed in bits.filter(packet if packet.dts is not None else None):
                    annexed.pts += number * 2 * 12288
                    annexed.dts += number * 2 * 12288
                    annexed.stream = stream
                    film.mux(annexed)
    return path


def without_times(folder: Path) -> Path:
    path = folder / "bad.mp4"
    with av.open(str(path), "w", format="h264") as container:
        stream = container.add_stream("libx264", rate=24, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p"
        for number in range(FRAMES):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture(number, 96, 64), format="rgb24")))
        container.mux(stream.encode(None))
    return path


def photograph(folder: Path) -> Path:
    from PIL import Image

    path = folder / "bad.mp4"
    Image.fromarray(picture(1, 96, 64)).save(path, format="JPEG")
    return path


def linked(folder: Path, target: str) -> Path:
    path = folder / "bad.mp4"
    path.symlink_to(target)
    return path


def directory(folder: Path) -> Path:
    path = folder / "bad.mp4"
    path.mkdir()
    return path


def pipe(folder: Path) -> Path:
    path = folder / "bad.mp4"
    os.mkfifo(path)
    return path


def renamed(folder: Path) -> Path:
    return source(folder).rename(folder / "bad.video")


KINDS = [
    Kind("nothing wrong", plain),
    Kind("variable frame rate", variable),
    Kind("rotated by its metadata", lambda folder: rotate_metadata(source(folder), folder / "bad.mp4", 90)),
    Kind("one frame long", lambda folder: write_video(folder / "bad.mp4", 1, 24)),
    Kind("10 bits per colour", lambda folder: write_video(folder / "bad.mp4", FRAMES, 24, pix_fmt="yuv420p10le")),
    Kind("odd size, no chroma subsampling",
         lambda folder: write_video(folder / "bad.mp4", FRAMES, 24, (97, 65), pix_fmt="yuv444p")),
    Kind("raw H.264 without time stamps, named .mp4", without_times, "skipped", "skipped", "not a readable"),
    Kind("a photograph named .mp4", photograph),
    Kind("truncated, index in front", lambda folder: truncate(source(folder), folder / "bad.mp4", 0.6),
         "listed", "partial", "only the first"),
    Kind("truncated, index lost", without_index, "skipped", "skipped", "not a readable video"),
    Kind("empty", lambda folder: written(folder, b""), "skipped", "skipped", "0 bytes"),
    Kind("text", lambda folder: written(folder, b"<html>404</html>\n" * 99), "skipped", "skipped", "not a readable"),
    Kind("noise", lambda folder: written(folder, np.random.default_rng(0).bytes(20000)), "skipped", "skipped", "not a"),
    Kind("sound only, in mp4", lambda folder: write_audio(folder / "bad.mp4"), "skipped", "skipped", "audio only?"),
    Kind("sound only, a WAV named .mp4", sound, "skipped", "skipped", "audio only?"),
    Kind("picture track without frames", no_frames, "skipped", "skipped", "no pictures in it"),
    Kind("wrong length in the headers, mp4", stated_length),
    Kind("wrong length in a tag, Matroska: an hour too much", lambda folder: tagged_length(folder, b"01:00"),
         "listed", "partial", "only the first"),
    Kind("wrong length in a tag, Matroska: four days too much", lambda folder: tagged_length(folder, b"99:99"),
         "skipped", "skipped", "states a length"),
    Kind("unknown codec", lambda folder: changed(folder, b"stsd", 16, b"zzzz"), "skipped", "skipped", ""),
    Kind("noise in the middle, mp4", lambda folder: damaged(folder, np.random.default_rng(0).bytes, ".mp4"),
         "listed", "partial", "only the first"),
    Kind("zeros in the middle, Matroska", lambda folder: damaged(folder, bytes, ".mkv"),
         "listed", "partial", "only the first"),
    Kind("time stamps begin anew midway", lambda folder: one_after_the_other(folder, (96, 64), (96, 64)),
         "skipped", "skipped", "its time stamps go back"),
    Kind("picture size changes midway", lambda folder: growing(folder)),
    Kind("directory named .mp4", directory, "no video", ""),
    Kind("symbolic link to itself", lambda folder: linked(folder, "bad.mp4"), "skipped", "skipped", "no such file"),
    Kind("symbolic link to nothing", lambda folder: linked(folder, "gone.mp4"), "skipped", "skipped", "no such file"),
    Kind("named pipe", pipe, "skipped", "skipped", "no such file"),
    Kind("unknown suffix", renamed, "no video", ""),
]  # fmt: skip
