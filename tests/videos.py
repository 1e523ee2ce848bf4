"""Small real videos whose pictures carry their own frame number, written with PyAV."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from fractions import Fraction
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType

import av
import numpy as np
from av.stream import Disposition
from numpy.typing import NDArray

from rgwot.synthetic.videos import Scene

BITS = 8
_ROWS = 2
_DARK, _BRIGHT = 40, 215
#: Options of the codecs other than x264.
FAST = {"deadline": "realtime", "cpu-used": "8", "b": "2M"}


def picture(number: int, width: int, height: int) -> NDArray[np.uint8]:
    """Draw a frame number as blocks of two rows of four bits, ``(height, width, 3)`` RGB.

    The top row holds the high bits. The left half is reddish, so that a rotation shows as well.
    """
    bits = np.array([(number >> (BITS - 1 - i)) & 1 for i in range(BITS)]).reshape(_ROWS, -1)
    grey = np.where(bits, _BRIGHT, _DARK).astype(np.uint8)
    rows = np.arange(height) * _ROWS // height
    columns = np.arange(width) * grey.shape[1] // width
    frame = np.repeat(grey[rows][:, columns, None], 3, axis=2)
    frame[:, : width // 2, 0] = np.minimum(frame[:, : width // 2, 0].astype(int) + 30, 255)
    return frame


def number(frame: NDArray[np.uint8]) -> int:
    """Read the frame number back from a picture of any size."""
    height, width = frame.shape[:2]
    centres = (np.arange(BITS // _ROWS) * 2 + 1) * width // (BITS // _ROWS * 2)
    bits = [
        frame[(row * 2 + 1) * height // (_ROWS * 2), column, 1] > (_DARK + _BRIGHT) // 2
        for row in range(_ROWS)
        for column in centres
    ]
    return int("".join("1" if bit else "0" for bit in bits), 2)


def write_video(
    path: Path,
    frames: int = 60,
    fps: Fraction | int = 30,
    size: tuple[int, int] = (96, 64),
    *,
    ticks: Sequence[int] | None = None,
    audio_s: float | None = None,
    gop: int = 12,
    pix_fmt: str = "yuv420p",
    first: int = 0,
    out_of_order: int = 2,
    drawn: Callable[[int], NDArray[np.uint8]] | None = None,
    codec: str = "libx264",
) -> Path:
    """Write a video, H.264 unless another codec is named.

    Parameters
    ----------
    path
        The container follows the suffix.
    frames, fps, size
        Number of frames, frames per second, and (width, height).
    ticks
        Time stamps in thousandths of a second, for a variable rate; default: constant rate.
    audio_s
        Seconds of silence beside the pictures.
    gop, pix_fmt
        Frames between key frames; pixel format.
    first
        Time stamp of the first frame, in frames.
    out_of_order
        Number of neighbouring frames that may be stored after a later one (B-frames).
    drawn
        Function that draws the frame of a number; default: `picture`.
    """
    x264 = {"preset": "ultrafast", "bf": str(out_of_order)}
    rate = Fraction(fps)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate, options=x264 if codec == "libx264" else FAST)
        stream.width, stream.height = size
        stream.pix_fmt = pix_fmt
        stream.gop_size = gop
        stream.codec_context.time_base = Fraction(1, 1000) if ticks is not None else 1 / rate
        sound = container.add_stream("aac", rate=16000) if audio_s is not None else None
        for i in range(frames):
            frame = av.VideoFrame.from_ndarray(picture(i, *size) if drawn is None else drawn(i), format="rgb24")
            frame.pts = ticks[i] if ticks is not None else first + i
            frame.time_base = stream.codec_context.time_base
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
        if sound is not None and audio_s is not None:
            _silence(container, sound, audio_s)
    return path


def write_scene(path: Path, scene: Scene, fps: Fraction | int = 30) -> Path:
    """Write a synthetic scene at any rate into any container; AVI and WebM need codecs of their own."""
    fps, size = Fraction(fps), (scene.width, scene.height)
    codec = {".avi": "mpeg4", ".webm": "libvpx-vp9"}.get(path.suffix.lower(), "libx264")
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_video(
        path, scene.n_frames(fps), fps, size, drawn=lambda i: scene.frame(i, float(i / fps)), codec=codec
    )


def write_audio(path: Path, seconds: float = 1.0) -> Path:
    """Write a file with sound and no pictures."""
    with av.open(str(path), "w") as container:
        _silence(container, container.add_stream("aac", rate=16000), seconds)
    return path


def rotate_metadata(source: Path, path: Path, clockwise: int) -> Path:
    """Copy an mp4 with the display matrix of its track turned by 90, 180 or 270 degrees."""
    turn = {90: (0, 1, -1, 0), 180: (-1, 0, 0, -1), 270: (0, -1, 1, 0)}[clockwise]
    content = bytearray(source.read_bytes())
    upright = struct.pack(">9i", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
    start = content.index(upright, content.index(b"tkhd"))
    a, b, c, d = (value * 0x10000 for value in turn)
    content[start : start + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 0x40000000)
    path.write_bytes(content)
    return path


def remux(source: Path, path: Path, **options: str) -> Path:
    """Copy the pictures of a video into another container."""
    with av.open(str(source)) as old, av.open(str(path), "w", options=options) as new:
        stream = old.streams.video[0]
        copy = new.add_stream_from_template(stream)
        for packet in old.demux(stream):
            if packet.dts is not None:
                packet.stream = copy
                new.mux(packet)
    return path


def together(
    path: Path, *sources: Path, late_s: Sequence[float] = (), marks: Mapping[int, Disposition] = MappingProxyType({})
) -> Path:
    """Copy the first track of each file into one file, delayed by ``late_s``; ``marks`` has dispositions by track."""
    with ExitStack() as stack:
        new = stack.enter_context(av.open(str(path), "w"))
        old = [stack.enter_context(av.open(str(source))).streams[0] for source in sources]
        copies = [new.add_stream_from_template(stream) for stream in old]
        for number, disposition in marks.items():
            copies[number].disposition = disposition
        packets = []
        for stream, copy, late in zip_longest(old, copies, late_s, fillvalue=0.0):
            for packet in stream.container.demux(stream):
                if packet.dts is not None:
                    packet.pts += int(late / packet.time_base)
                    packet.dts += int(late / packet.time_base)
                    packets.append((packet.dts * packet.time_base, copy, packet))
        for _, copy, packet in sorted(packets, key=lambda item: item[0]):
            packet.stream = copy
            new.mux(packet)
    return path


def truncate(source: Path, path: Path, share: float) -> Path:
    """Copy an mp4 with its index in front and cut the end off, keeping a share of the bytes."""
    whole = remux(source, path, movflags="faststart").read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    return path


def _silence(container: av.container.OutputContainer, stream: av.AudioStream, seconds: float) -> None:
    for start in range(0, int(seconds * 16000), 1024):
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 16000
        frame.pts = start
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))
