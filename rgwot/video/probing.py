"""What a video says about itself, read in a separate process: a crash, a hang or lack of memory costs one file.

A video may be kept as frames: an HDF5 file with the dataset ``images``, as the CnC code writes them. ``images`` is
``(T, H, W, 3)`` uint8 in the order blue, green, red, every frame of the film squashed to one size. Such a file states
no frame rate unless somebody added the attribute ``fps``, so the rate is given next to it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from av.container import InputContainer
from av.error import FFmpegError
from av.video.stream import VideoStream

from rgwot.runtime.errors import RgwotError
from rgwot.runtime.limits import limit_memory
from rgwot.timing import VideoInfo, parse_rate
from rgwot.video import decode
from rgwot.video.decode import IMAGES

REMEDY = "re-encode it: ffmpeg -i IN -map 0:v:0 -an -dn -c:v libx264 -preset fast -crf 23 OUT.mp4"
#: Two days; a damaged length could ask for any amount of memory.
LONGEST_S = 172_800
_MICROSECONDS = 1_000_000
# Stamps of decoding only grow; by less than this they are merely sloppy.
_STEP_BACK_S = 0.5
#: Seconds that opening a file may take; one that states no rate or length is read to its end.
PROBE_TIMEOUT_S = 600.0
#: Bytes of address space of the child; libraries reserve more than they use.
MEMORY = 8 * 2**30
_COMMAND = [sys.executable, "-P", "-c", "from rgwot.video.probing import probe_command; probe_command()"]
H5_SUFFIXES = frozenset({".h5", ".hdf5"})
_FPS = "fps"
_FRAMES = f"expected the dataset {IMAGES!r}, (T, H, W, 3) uint8, blue first"


class VideoError(RgwotError):
    """A video that cannot be used, for a ``reason`` that does not name the file."""

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        self.path = Path(path)
        self.reason = reason
        super().__init__(f"{self.path}: {reason}")


def probe(path: str | os.PathLike[str], frames_fps: Fraction | None = None) -> VideoInfo:
    """Read the facts of a video file, or of frames stored in an HDF5 file, and decode its first frame.

    ``frames_fps`` is the rate of stored frames whose file states none; a video states its own.

    Raises VideoError when the file is missing, empty, not a video, without pictures, its first frame does not decode,
    or the decoder crashes, runs out of memory or takes longer than `PROBE_TIMEOUT_S`.
    """
    request = [os.path.abspath(path), "" if frames_fps is None else str(frames_fps)]
    try:
        done = subprocess.run(
            _COMMAND,
            input=json.dumps(request).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=PROBE_TIMEOUT_S,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise VideoError(path, f"not opened within {PROBE_TIMEOUT_S:g} s, given up; {REMEDY}") from None
    except subprocess.CalledProcessError as error:
        raise VideoError(path, f"its decoder died (exit code {error.returncode}); {REMEDY}") from None
    answer: dict[str, Any] = json.loads(done.stdout)
    if "reason" in answer:
        raise VideoError(path, answer["reason"])
    return VideoInfo(**{**answer, "fps": Fraction(answer["fps"])})


def probe_here(path: Path, frames_fps: Fraction | None = None) -> VideoInfo:
    """Read the facts of a file in this process; `probe` survives whatever happens here."""
    if not path.is_file():
        raise VideoError(path, "no such file")
    if path.stat().st_size == 0:
        raise VideoError(path, "empty file (0 bytes); copy or download it again")
    if is_stored(path):
        return _stored_facts(path, frames_fps)
    try:
        with decode.opened(str(path)) as container:
            if not container.streams.video:
                raise VideoError(path, "no pictures in it (audio only?); expected a video")
            return _facts(path, container, container.streams.video[0])
    except FFmpegError as error:
        raise VideoError(path, f"not a readable video ({decode.plain(error)}); {REMEDY}") from error


def probe_command() -> None:
    """Probe a file: read its path and rate, which may be empty, and write its facts, or why there are none, as JSON."""
    output = decode.own_output()
    path, rate = json.load(sys.stdin)
    limit_memory(MEMORY)
    try:
        info = asdict(probe_here(Path(path), Fraction(rate) if rate else None))
        answer = {**info, "fps": str(info["fps"])}
    except VideoError as error:
        answer = {"reason": error.reason}
    except MemoryError:
        answer = {"reason": f"takes more than {MEMORY // 2**30} GiB of memory to open; {REMEDY}"}
    output.write(json.dumps(answer).encode())
    output.flush()


def _facts(path: Path, container: InputContainer, stream: VideoStream) -> VideoInfo:
    frame = next(container.decode(stream), None)
    if frame is None:
        raise VideoError(path, f"no frame decodes; {REMEDY}")
    packets = None if stream.frames else _packets(container, stream)
    shown = packets.shown if packets else []
    tick_s = float(stream.time_base or 0)
    fps = _rate(stream, [pts for pts in shown if packets and pts * tick_s < packets.whole_s])
    if fps is None:
        raise VideoError(path, f"no frame rate in it; {REMEDY}")
    duration = _duration(container, stream, shown)
    if duration <= 0:
        raise VideoError(path, f"no duration in it; {REMEDY}")
    if duration > LONGEST_S:
        raise VideoError(path, f"states a length of {float(duration):.4g} s; expected at most {LONGEST_S} s; {REMEDY}")
    turned = round(frame.rotation / 90) % 2
    width, height = (frame.height, frame.width) if turned else (frame.width, frame.height)
    return VideoInfo(float(duration), fps, width, height, stream.frames or None)


def _rate(stream: VideoStream, shown: Sequence[int]) -> Fraction | None:
    """Return the average rate: as stated, or counted where the container states no number of frames.

    Without a stated rate, FFmpeg judges by the first few time stamps, which Matroska and WebM round to milliseconds:
    30.3 for 30 frames per second. A whole file gives the rate away, and with it the exact one it stands for.
    """
    stated = stream.average_rate or stream.guessed_rate
    fps = None if not stated else Fraction(stated)
    span = (max(shown) - min(shown)) * Fraction(stream.time_base or 0) if shown else Fraction(0)
    if span <= 0:
        return fps
    counted = (len(shown) - 1) / span
    # Either end may be rounded by half a tick.
    allowed = counted * Fraction(stream.time_base or 0) / span
    usual = (Fraction(round(counted)), Fraction(round(counted * 1001 / 1000) * 1000, 1001))
    likely = [*sorted(usual, key=lambda rate: abs(rate - counted)), *([] if fps is None else [fps])]
    return next((rate for rate in likely if rate and abs(rate - counted) <= allowed), counted)


def _packets(container: InputContainer, stream: VideoStream) -> decode.Stored:
    """Return what the packets say of a track whose container does not count its pictures."""
    packets = decode.stored(container, stream)
    seconds = np.asarray(packets.decoded) * float(stream.time_base or 0)
    # Two recordings in one file; by time stamp the second would be lost behind the first.
    for place in np.flatnonzero(np.diff(seconds) < -_STEP_BACK_S)[:1]:
        raise VideoError(
            container.name,
            f"its time stamps go back from {seconds[place]:.1f} to {seconds[place + 1]:.1f} s, as in recordings put "
            f"one after the other; {REMEDY}",
        )
    return packets


def _duration(container: InputContainer, stream: VideoStream, shown: Sequence[int]) -> Fraction:
    """Return the length of the picture track; the container's may include longer sound.

    What Matroska states may be the end on its own clock, which is then above all stamps: the first frame is time 0.
    """
    if stream.duration and stream.time_base:
        return stream.duration * Fraction(stream.time_base)
    # Matroska keeps the length of a track in a tag.
    stated = Fraction(container.duration or 0, _MICROSECONDS)
    clock = re.fullmatch(r"(\d{1,9}):(\d{1,2}):(\d{1,2}(?:\.\d{0,18})?)", stream.metadata.get("DURATION", "").strip())
    if clock:
        hours, minutes, seconds = (Fraction(part) for part in clock.groups())
        stated = 3600 * hours + 60 * minutes + seconds
    if stated:
        tick = Fraction(stream.time_base or 0)
        return stated - tick * min(shown, default=0) if tick * max(shown, default=0) < stated else stated
    # A file that states no length, such as a live recording, is read through.
    container.seek(0)
    first, last = None, 0
    for packet in container.demux(stream):
        if packet.pts is not None:
            first = packet.pts if first is None else min(first, packet.pts)
            last = max(last, packet.pts + (packet.duration or 0))
    return (last - (first or 0)) * Fraction(stream.time_base or 0)


def is_stored(path: Path) -> bool:
    """Return whether a path names a file of frames instead of a video, by its suffix."""
    return path.suffix.lower() in H5_SUFFIXES


def may_hold_frames(path: Path) -> bool:
    """Return whether a file holds frames, or cannot be read and its probe is to say so; features hold none."""
    try:
        with h5py.File(path, "r") as file:
            return IMAGES in file
    except OSError:
        return True


def _stored_facts(path: Path, frames_fps: Fraction | None) -> VideoInfo:
    """Read the facts of a file of frames, and its first and last frame.

    VideoError when it is damaged, holds no such dataset, or its rate is not known or not ``frames_fps``.
    """
    try:
        with h5py.File(path, "r") as file:
            images = _images(path, file)
            fps = _stored_rate(path, file, images, frames_fps)
            # A copy cut short keeps its header; reading both ends notices.
            for index in (0, -1):
                images[index]
            frames, height, width, _ = images.shape
    except (OSError, KeyError) as error:
        why = str(error.args[0] if error.args else error).strip().splitlines()[0][:120]
        raise VideoError(path, f"not a readable HDF5 file ({why}); copy or write it again") from None
    return VideoInfo(float(frames / fps), fps, width, height, frames)


def _images(path: Path, file: h5py.File) -> h5py.Dataset:
    images = file.get(IMAGES)
    if images is None:
        raise VideoError(path, f"holds {', '.join(map(repr, sorted(file))) or 'nothing'}; {_FRAMES}; features come in "
                               "by a block `imported`")  # fmt: skip
    if not isinstance(images, h5py.Dataset) or images.ndim != 4 or images.shape[3] != 3 or images.dtype != np.uint8:
        found = f"{images.shape} {images.dtype}" if isinstance(images, h5py.Dataset) else "a group"
        raise VideoError(path, f"{IMAGES!r} is {found}; {_FRAMES}")
    if images.shape[0] == 0:
        raise VideoError(path, f"{IMAGES!r} holds no frame; write the file again")
    return images


def _stored_rate(path: Path, file: h5py.File, images: h5py.Dataset, given: Fraction | None) -> Fraction:
    found = images.attrs.get(_FPS, file.attrs.get(_FPS))
    if found is None:
        if given is None:
            raise VideoError(
                path,
                f"no frame rate in it (attribute {_FPS!r}); set frames_fps of the dataset in config.yaml to the "
                "frames per second that were stored, like 30000/1001",
            )
        return given
    try:
        stated = parse_rate(found.decode() if isinstance(found, bytes) else found)
    except ValueError:
        raise VideoError(path, f"attribute {_FPS!r} is {found!r}; expected a rate like 30 or 30000/1001") from None
    if given is not None and given != stated:
        raise VideoError(
            path, f"attribute {_FPS!r} is {stated}, frames_fps is {given}; expected the same; set frames_fps: file"
        )
    return stated
