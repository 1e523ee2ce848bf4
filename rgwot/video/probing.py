"""What a video file says about itself."""

from __future__ import annotations

import math
import os
import re
from fractions import Fraction
from pathlib import Path

from av.container import InputContainer
from av.error import FFmpegError
from av.video.stream import VideoStream

from rgwot.runtime.errors import RgwotError
from rgwot.timing import VideoInfo
from rgwot.video import decode

REMEDY = "re-encode it: ffmpeg -i IN -map 0:v:0 -an -dn -c:v libx264 -preset fast -crf 23 OUT.mp4"
#: Two days; a damaged length could ask for any amount of memory.
LONGEST_S = 172_800
_MICROSECONDS = 1_000_000
# Stamps of decoding only grow; by less than this they are merely sloppy.
_STEP_BACK_S = 0.5


class VideoError(RgwotError):
    """A video that cannot be used, for a ``reason`` that does not name the file."""

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        self.path = Path(path)
        self.reason = reason
        super().__init__(f"{self.path}: {reason}")


def facts_of(path: Path) -> VideoInfo:
    """Return the facts of a video file; VideoError if it is no video, without pictures, or its first frame is bad."""
    try:
        with decode.opened(str(path)) as container:
            if not container.streams.video:
                raise VideoError(path, "no pictures in it (audio only?); expected a video")
            return _facts(path, container, container.streams.video[0])
    except FFmpegError as error:
        raise VideoError(path, f"not a readable video ({decode.plain(error)}); {REMEDY}") from error


def _facts(path: Path, container: InputContainer, stream: VideoStream) -> VideoInfo:
    frame = next(container.decode(stream), None)
    if frame is None:
        raise VideoError(path, f"no frame decodes; {REMEDY}")
    fps = _rate(container, stream)
    if fps is None:
        raise VideoError(path, f"no frame rate in it; {REMEDY}")
    duration = _duration(container, stream)
    if duration <= 0:
        raise VideoError(path, f"no duration in it; {REMEDY}")
    if duration > LONGEST_S:
        raise VideoError(path, f"states a length of {float(duration):.4g} s; expected at most {LONGEST_S} s; {REMEDY}")
    turned = round(frame.rotation / 90) % 2
    width, height = (frame.height, frame.width) if turned else (frame.width, frame.height)
    return VideoInfo(float(duration), fps, width, height, stream.frames or None)


def _rate(container: InputContainer, stream: VideoStream) -> Fraction | None:
    """Return the average rate: as stated, or counted where the container states no number of frames.

    Without a stated rate, FFmpeg judges by the first few time stamps, which Matroska and WebM round to milliseconds:
    30.3 for 30 frames per second. A whole file gives the rate away, and with it the exact one it stands for.
    """
    stated = stream.average_rate or stream.guessed_rate
    fps = None if not stated else Fraction(stated)
    if stream.frames:
        return fps
    shown = _shown_packets(container, stream)
    span = (max(shown) - min(shown)) * Fraction(stream.time_base or 0) if shown else Fraction(0)
    if span <= 0:
        return fps
    counted = (len(shown) - 1) / span
    # Either end may be rounded by half a tick.
    allowed = counted * Fraction(stream.time_base or 0) / span
    usual = (Fraction(round(counted)), Fraction(round(counted * 1001 / 1000) * 1000, 1001))
    likely = [*sorted(usual, key=lambda rate: abs(rate - counted)), *([] if fps is None else [fps])]
    return next((rate for rate in likely if rate and abs(rate - counted) <= allowed), counted)


def _shown_packets(container: InputContainer, stream: VideoStream) -> list[int]:
    """Return the time stamps of all pictures of the track, without decoding them."""
    container.seek(0)
    # VP8 stores pictures that only others refer to as packets of their own; the fifth bit says that one is shown.
    hides = stream.codec_context.name == "vp8"
    tick_s = float(stream.time_base or 0)
    shown: list[int] = []
    last_s = -math.inf
    try:
        for packet in container.demux(stream):
            if packet.dts is not None:
                # Two recordings in one file; by time stamp the second would be lost behind the first.
                if packet.dts * tick_s < last_s - _STEP_BACK_S:
                    raise VideoError(
                        container.name,
                        f"its time stamps go back from {last_s:.1f} to {packet.dts * tick_s:.1f} s, as in recordings "
                        f"put one after the other; {REMEDY}",
                    )
                last_s = packet.dts * tick_s
            hidden = hides and packet.size and not bytes(packet)[0] & 0x10
            if packet.pts is not None and not hidden:
                shown.append(packet.pts)
    except FFmpegError:
        # Damaged from here on. What to do about it is for those to say who decode it.
        pass
    return shown


def _duration(container: InputContainer, stream: VideoStream) -> Fraction:
    """Return the length of the picture track; the container's may include longer sound."""
    if stream.duration and stream.time_base:
        return stream.duration * Fraction(stream.time_base)
    # Matroska keeps the length of a track in a tag.
    clock = re.fullmatch(r"(\d{1,9}):(\d{1,2}):(\d{1,2}(?:\.\d{0,18})?)", stream.metadata.get("DURATION", "").strip())
    if clock:
        hours, minutes, seconds = (Fraction(part) for part in clock.groups())
        return 3600 * hours + 60 * minutes + seconds
    if container.duration:
        return Fraction(container.duration, _MICROSECONDS)
    # A file that states no length, such as a live recording, is read through.
    container.seek(0)
    first, last = None, 0
    for packet in container.demux(stream):
        if packet.pts is not None:
            first = packet.pts if first is None else min(first, packet.pts)
            last = max(last, packet.pts + (packet.duration or 0))
    return (last - (first or 0)) * Fraction(stream.time_base or 0)
