"""Make a video that browsers play: small, H.264 (or VP9 without that encoder), with unchanged times of frames.

It runs in a separate process, because files may be damaged: ``python -m rgwot.window.transcode VIDEO [OUTPUT]``.
Without an output, its exit code says whether browsers play the video as it is.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from av import AudioFrame, Packet
    from av.audio.stream import AudioStream
    from av.container import InputContainer, OutputContainer

#: Containers and codecs that browsers play, with eight bits and halved colours.
_SUFFIXES = (".mp4", ".m4v", ".mov", ".webm")
_CODECS = ("h264", "vp8", "vp9", "av1")
_PIXELS = ("yuv420p", "yuvj420p")
#: Longer side of a proxy in pixels.
SIDE = 640
#: Encoders and their options; the first available one is used.
_ENCODERS = {
    "libx264": {"preset": "veryfast", "crf": "27", "g": "30"},
    "libvpx-vp9": {"deadline": "realtime", "cpu-used": "8", "crf": "36", "b": "0", "g": "30"},
}
_TICKS = 90_000
#: Samples of sound per second.
_SAMPLES = 48_000
_MOST_BYTES = 4 * 2**30
PLAYS, PLAYS_NOT = 0, 3


def plays(video: Path) -> bool:
    """Return whether browsers play a video as it is."""
    from rgwot.video import pixels

    if video.suffix.lower() not in _SUFFIXES:
        return False
    with pixels.opened(str(video)) as container:
        # A browser may show a different track from the one that the features come from.
        if len(pixels.picture_tracks(container)) > 1:
            return False
        stream = pixels.picture_track(container)
        return stream.codec_context.name in _CODECS and stream.codec_context.pix_fmt in _PIXELS


class _Sound:
    """The sound of a proxy, as AAC; its times start at the first frame of the pictures."""

    def __init__(self, target: OutputContainer, first: Fraction) -> None:
        import av

        self._first, self._last = first, -1
        self._stream = target.add_stream("aac", rate=_SAMPLES)
        self._stream.layout = "stereo"  # type: ignore[assignment]
        self._resampler = av.AudioResampler("fltp", "stereo", _SAMPLES, frame_size=1024)

    def add(self, frame: AudioFrame | None) -> list[Packet[AudioStream]]:
        """Encode one more frame, or None for the end; return packets. Sound before the first picture is left out."""
        if frame is not None:
            if frame.pts is None or frame.time_base is None:
                return []
            seconds = frame.pts * Fraction(frame.time_base) - self._first
            if seconds < 0:
                return []
            frame.pts = round(seconds / Fraction(frame.time_base))
        packets = []
        for part in self._resampler.resample(frame):
            if part.pts is not None and part.pts > self._last:
                self._last = part.pts
                packets += self._stream.encode(part)
        return packets if frame is not None else packets + self._stream.encode(None)


def _decodable_sound(source: InputContainer) -> list[AudioStream]:
    # Contrary to its stubs, PyAV returns no codec context for a stream without a decoder.
    streams = source.streams.audio
    return [stream for stream in streams if stream.codec_context is not None]  # type: ignore[redundant-expr]


def transcode(video: Path, output: Path) -> None:
    """Write a proxy of a video, whose first frame is at 0; all other times, and the sound, are shifted with it.

    Sound that cannot be decoded is left out.
    """
    import av
    import numpy as np
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

    from rgwot.video import pixels

    with pixels.opened(str(video)) as source, av.open(str(output), "w", format="mp4") as target:
        track = pixels.picture_track(source)
        heard = _decodable_sound(source)[:1]
        made: VideoStream | None = None
        sound: _Sound | None = None
        # Sound may come before the first frame, from which its times count.
        early: list[AudioFrame] = []
        first = Fraction(0)
        track.thread_type = "AUTO"
        last = -1
        for packet in source.demux(track, *heard):
            try:
                frames = packet.decode()
            except av.FFmpegError:
                if packet.stream is track:
                    raise
                continue
            for frame in frames:
                if isinstance(frame, av.AudioFrame):
                    if sound is not None:
                        target.mux(sound.add(frame))
                    else:
                        early.append(frame)
                    continue
                if not isinstance(frame, VideoFrame) or frame.pts is None or frame.time_base is None:
                    continue
                seconds = frame.pts * Fraction(frame.time_base)
                picture = np.rot90(frame.to_ndarray(format="rgb24"), round(frame.rotation / 90) % 4)
                height, width = picture.shape[:2]
                if made is None:
                    first = seconds
                    name = next(name for name in _ENCODERS if name in av.codecs_available)
                    made = cast(VideoStream, target.add_stream(name, rate=30, options=_ENCODERS[name]))
                    scale = min(1.0, SIDE / max(width, height))
                    made.width, made.height = (max(2, 2 * round(side * scale / 2)) for side in (width, height))
                    made.pix_fmt = "yuv420p"
                    made.codec_context.time_base = Fraction(1, _TICKS)
                    if heard:
                        sound = _Sound(target, first)
                        for one in early:
                            target.mux(sound.add(one))
                shown = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture, dtype=np.uint8), format="rgb24")
                shown = shown.reformat(made.width, made.height, "yuv420p")
                # Encoders require increasing times.
                last = max(last + 1, round((seconds - first) * _TICKS))
                shown.pts, shown.time_base = last, Fraction(1, _TICKS)
                target.mux(made.encode(shown))
        if made is None:
            raise ValueError(f"{video}: no frame can be decoded")
        target.mux(made.encode(None))
        if sound is not None:
            target.mux(sound.add(None))


def main() -> None:
    """Exit with a code that says whether a video plays, or write its proxy."""
    from rgwot.runtime.limits import limit_memory

    limit_memory(_MOST_BYTES)
    video, *output = map(Path, sys.argv[1:])
    if output:
        transcode(video, output[0])
    else:
        sys.exit(PLAYS if plays(video) else PLAYS_NOT)


if __name__ == "__main__":
    main()
