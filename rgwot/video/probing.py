"""Probing of a video in a separate process, so that a crash, a hang or lack of memory affects only one file.

A video may be stored as frames: an HDF5 file with the dataset ``images``, as the CnC code writes them. ``images`` is
``(T, H, W, 3)`` uint8 in the order blue, green, red, with every frame of the video in one size. Such a file has no
frame rate unless somebody added the attribute ``fps``, so the rate comes from the settings.
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
from rgwot.timing import LATE_S, VideoInfo, parse_rate
from rgwot.video import pixels
from rgwot.video.pixels import IMAGES

REMEDY = "re-encode it: ffmpeg -i IN -an -sn -dn -c:v libx264 -preset fast -crf 23 OUT.mp4"
#: Two days; a damaged length could request any amount of memory.
LONGEST_S = 172_800
_MICROSECONDS = 1_000_000
# Decoding stamps should only grow; smaller steps back than this are merely imprecise.
_STEP_BACK_S = 0.5
# Tolerated difference in seconds between the ends of a container and of its longest track.
_END_S = 0.1
_TICK_S = 1e-3
#: Timeout in seconds for opening a file; long, because a file without a rate or length is read to its end.
PROBE_TIMEOUT_S = 600.0
#: Largest address space of the child in bytes; libraries reserve more than they use.
MEMORY = 8 * 2**30
_COMMAND = [sys.executable, "-P", "-c", "from rgwot.video.probing import probe_command; probe_command()"]
H5_SUFFIXES = frozenset({".h5", ".hdf5"})
_FPS = "fps"
_FRAMES = f"expected the dataset {IMAGES!r}, (T, H, W, 3) uint8, blue first"


class VideoError(RgwotError):
    """Error: a video cannot be used; the ``reason`` does not contain the file's name."""

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        self.path = Path(path)
        self.reason = reason
        super().__init__(f"{self.path}: {reason}")


def probe(path: str | os.PathLike[str], frames_fps: Fraction | None = None) -> VideoInfo:
    """Read the facts of a video file, or of frames stored in an HDF5 file, and decode its first frame.

    ``frames_fps`` is the rate of stored frames if their file does not contain it.

    Raises VideoError if the file is missing, empty, not a video or without pictures, if its first frame cannot be
    decoded, or if the decoder crashes, runs out of memory or takes longer than `PROBE_TIMEOUT_S`.
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
        raise VideoError(path, f"could not be opened within {PROBE_TIMEOUT_S:g} s; {REMEDY}") from None
    except subprocess.CalledProcessError as error:
        raise VideoError(path, f"its decoder died (exit code {error.returncode}); {REMEDY}") from None
    answer: dict[str, Any] = json.loads(done.stdout)
    if "reason" in answer:
        raise VideoError(path, answer["reason"])
    return VideoInfo(**{**answer, "fps": Fraction(answer["fps"])})


def probe_here(path: Path, frames_fps: Fraction | None = None) -> VideoInfo:
    """Read the facts of a file in this process, which a damaged file may crash; `probe` uses a process of its own."""
    if not path.is_file():
        raise VideoError(path, "no such file")
    if path.stat().st_size == 0:
        raise VideoError(path, "empty file (0 bytes); copy or download it again")
    if is_stored(path):
        return _stored_facts(path, frames_fps)
    try:
        with pixels.opened(str(path)) as container:
            return _facts(path, container, pixels.picture_track(container))
    except VideoError:
        raise
    except FFmpegError as error:
        raise VideoError(path, f"not a readable video ({pixels.plain(error)}); {REMEDY}") from error
    # Some of FFmpeg's errors are also ValueErrors.
    except ValueError as error:
        raise VideoError(path, str(error)) from None


def probe_command() -> None:
    """Read a path and a rate, which may be empty, from standard input; write the file's facts or fault as JSON."""
    output = pixels.own_output()
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
        raise VideoError(path, f"no frame can be decoded; {REMEDY}")
    packets = None if stream.frames else _packets(container, stream)
    presented = packets.presented if packets else []
    tick_s = float(stream.time_base or 0)
    fps = _rate(stream, [pts for pts in presented if packets and pts * tick_s < packets.whole_s])
    if fps is None:
        raise VideoError(path, f"found no frame rate; {REMEDY}")
    duration = _duration(container, stream, packets)
    if duration <= 0:
        raise VideoError(path, f"found no duration; {REMEDY}")
    if duration > LONGEST_S:
        raise VideoError(path, f"states a length of {float(duration):.4g} s; expected at most {LONGEST_S} s; {REMEDY}")
    turned = round(frame.rotation / 90) % 2
    width, height = (frame.height, frame.width) if turned else (frame.width, frame.height)
    start_s = _start(path, container, stream, pixels.seconds_of(frame, pixels.stamp_of(container)) or 0.0)
    remarks = []
    if told := pixels.told_of_tracks(container, stream, width, height):
        remarks.append(told)
    if (stream.frames or len(presented)) == 1 and container.streams.audio:
        remarks.append("one picture beside sound, as in a sound recording with a cover; leave the file out")
    if start_s:
        remarks.append(
            f"the picture begins {start_s:.2f} s after the sound or the file; annotations beside it and exports have a "
            f"player's times, in which the first frame is at {start_s:.2f} s"
        )
    return VideoInfo(float(duration), fps, width, height, stream.frames or None, start_s, "; ".join(remarks))


def _start(path: Path, container: InputContainer, stream: VideoStream, first_s: float) -> float:
    """Return when a player shows the first frame, stamped ``first_s``, or 0 for less than `LATE_S`.

    Players count from the earliest track (but not from sound before 0, with which codecs begin). An edit list may delay
    the pictures, too, which is seen by ignoring the list.
    """
    late = first_s - max(0, container.start_time or 0) / _MICROSECONDS
    if "mp4" in container.format.name and first_s >= LATE_S:
        with pixels.opened(str(path), {"ignore_editlist": "1"}) as unedited_container:
            unedited = unedited_container.streams[stream.index]
            if first_s - float((unedited.start_time or 0) * (unedited.time_base or 0)) >= LATE_S:
                late = first_s
    return late if late >= LATE_S else 0.0


def _rate(stream: VideoStream, presented: Sequence[int]) -> Fraction | None:
    """Return the average frame rate: as stated, or counted if the container does not state the number of frames.

    Without a stated rate, FFmpeg estimates it from the first few time stamps, which Matroska and WebM round to
    milliseconds: 30.3 for 30 frames per second. The whole file gives a better estimate, and thus the exact rate.
    """
    stated = stream.average_rate or stream.guessed_rate
    fps = None if not stated else Fraction(stated)
    span = (max(presented) - min(presented)) * Fraction(stream.time_base or 0) if presented else Fraction(0)
    if span <= 0:
        return fps
    counted = (len(presented) - 1) / span
    # Either end may be rounded by half a tick.
    allowed = counted * Fraction(stream.time_base or 0) / span
    usual = (Fraction(round(counted)), Fraction(round(counted * 1001 / 1000) * 1000, 1001))
    likely = [*sorted(usual, key=lambda rate: abs(rate - counted)), *([] if fps is None else [fps])]
    return next((rate for rate in likely if rate and abs(rate - counted) <= allowed), counted)


def _packets(container: InputContainer, stream: VideoStream) -> pixels.PacketFacts:
    """Return the facts from the packets of a track if its container does not state the number of pictures."""
    packets = pixels.stored(container, stream)
    seconds = np.asarray(packets.decoded) * float(stream.time_base or 0)
    # Stamps that go back mean two recordings in one file; sorted by time stamps, these would be mixed.
    for place in np.flatnonzero(np.diff(seconds) < -_STEP_BACK_S)[:1]:
        raise VideoError(
            container.name,
            f"its time stamps go back from {seconds[place]:.1f} to {seconds[place + 1]:.1f} s, as in recordings put "
            f"one after the other; {REMEDY}",
        )
    return packets


def _duration(container: InputContainer, stream: VideoStream, packets: pixels.PacketFacts | None) -> Fraction:
    """Return the length of the picture track, not that of the container, which may include longer sound.

    The length that Matroska states may be the end of the pictures on the file's clock. If it is later than all stamps,
    the first stamp is subtracted, because time 0 is the first frame.
    """
    if stream.duration and stream.time_base:
        length = stream.duration * Fraction(stream.time_base)
        # Files of fragments, in which B-frames may begin late, may state the end on the file's clock, too.
        begin = Fraction(stream.time_base) * min(packets.presented, default=0) if packets else Fraction(0)
        return length - begin if packets and begin > 0 and float(length) > packets.end_s - _TICK_S else length
    # Matroska stores the length of a track in a tag.
    stated = Fraction(container.duration or 0, _MICROSECONDS)
    clock = re.fullmatch(r"(\d{1,9}):(\d{1,2}):(\d{1,2}(?:\.\d{0,18})?)", stream.metadata.get("DURATION", "").strip())
    if clock:
        hours, minutes, seconds = (Fraction(part) for part in clock.groups())
        stated = 3600 * hours + 60 * minutes + seconds
    presented = packets.presented if packets else []
    if packets and not clock and packets.end_s < packets.others_end_s and float(stated) - packets.others_end_s < _END_S:
        # Nothing is missing: the sound lasts to the end, and longer than the pictures.
        stated = Fraction(packets.end_s).limit_denominator(_MICROSECONDS)
    if stated:
        tick = Fraction(stream.time_base or 0)
        return stated - tick * min(presented, default=0) if tick * max(presented, default=0) < stated else stated
    # A file without a length, such as a live recording, is read to its end.
    container.seek(0)
    first, last = None, 0
    for packet in container.demux(stream):
        if packet.pts is not None:
            first = packet.pts if first is None else min(first, packet.pts)
            last = max(last, packet.pts + (packet.duration or 0))
    return (last - (first or 0)) * Fraction(stream.time_base or 0)


def is_stored(path: Path) -> bool:
    """Return whether a path has the suffix of stored frames instead of a video."""
    return path.suffix.lower() in H5_SUFFIXES


def may_hold_frames(path: Path) -> bool:
    """Return whether a file has frames, or cannot be read (so that probing reports it); False for features."""
    try:
        with h5py.File(path, "r") as file:
            return IMAGES in file
    except OSError:
        return True


def _stored_facts(path: Path, frames_fps: Fraction | None) -> VideoInfo:
    """Read the facts of a file of frames, and its first and last frame.

    Raises VideoError if it is damaged, has no dataset ``images``, or its rate is unknown or not ``frames_fps``.
    """
    try:
        with h5py.File(path, "r") as file:
            images = _images(path, file)
            fps = _stored_rate(path, file, images, frames_fps)
            # A truncated copy still has its header, so both ends are read.
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
        names = ", ".join(map(repr, sorted(file))) or "nothing"
        raise VideoError(path, f"holds {names}; {_FRAMES}; if these are features, import them by a block `imported`")
    if not isinstance(images, h5py.Dataset) or images.ndim != 4 or images.shape[3] != 3 or images.dtype != np.uint8:
        actual = f"{images.shape} {images.dtype}" if isinstance(images, h5py.Dataset) else "a group"
        raise VideoError(path, f"{IMAGES!r} is {actual}; {_FRAMES}")
    if images.shape[0] == 0:
        raise VideoError(path, f"{IMAGES!r} holds no frame; write the file again")
    return images


def _stored_rate(path: Path, file: h5py.File, images: h5py.Dataset, set_rate: Fraction | None) -> Fraction:
    attribute = images.attrs.get(_FPS, file.attrs.get(_FPS))
    if attribute is None:
        if set_rate is None:
            raise VideoError(
                path,
                f"found no frame rate (attribute {_FPS!r}); set frames_fps of the dataset in config.yaml to the "
                "rate of the stored frames, such as 30000/1001",
            )
        return set_rate
    try:
        stated = parse_rate(attribute.decode() if isinstance(attribute, bytes) else attribute)
    except ValueError:
        raise VideoError(path, f"attribute {_FPS!r} is {attribute!r}; expected a rate like 30 or 30000/1001") from None
    if set_rate is not None and set_rate != stated:
        raise VideoError(
            path, f"attribute {_FPS!r} is {stated}, frames_fps is {set_rate}; expected the same; set frames_fps: file"
        )
    return stated
