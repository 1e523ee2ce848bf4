"""A video as browsers play it: small, H.264 (or VP9 without that encoder), with the times of the frames kept.

It runs as a process of its own, because it opens files of others: ``python -m rgwot.window.transcode VIDEO [OUTPUT]``.
Without an output it only tells whether browsers play the video as it is, by its exit code.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import cast

#: Containers and codecs that browsers play, with eight bits and halved colours.
_SUFFIXES = (".mp4", ".m4v", ".mov", ".webm")
_CODECS = ("h264", "vp8", "vp9", "av1")
_PIXELS = ("yuv420p", "yuvj420p")
#: Longer side of a proxy in pixels.
SIDE = 640
#: Encoders and their options, the first that is there is used.
_ENCODERS = {
    "libx264": {"preset": "veryfast", "crf": "27", "g": "30"},
    "libvpx-vp9": {"deadline": "realtime", "cpu-used": "8", "crf": "36", "b": "0", "g": "30"},
}
_TICKS = 90_000
_MOST_BYTES = 4 * 2**30
PLAYS, PLAYS_NOT = 0, 3


def plays(video: Path) -> bool:
    """Return whether browsers play a video as it is."""
    from rgwot.video import decode

    if video.suffix.lower() not in _SUFFIXES:
        return False
    with decode.opened(str(video)) as container:
        stream = decode.picture_tracks(container)[0]
        return stream.codec_context.name in _CODECS and stream.codec_context.pix_fmt in _PIXELS


def transcode(video: Path, output: Path) -> None:
    """Write a proxy of a video; its first frame is at 0, and the others as long after it as in the video."""
    import av
    import numpy as np
    from av.video.stream import VideoStream

    from rgwot.video import decode

    with decode.opened(str(video)) as source, av.open(str(output), "w", format="mp4") as target:
        track = decode.picture_tracks(source)[0]
        made: VideoStream | None = None
        first: Fraction | None = None
        track.thread_type = "AUTO"
        last = -1
        for frame in source.decode(track):
            if frame.pts is None or frame.time_base is None:
                continue
            seconds = frame.pts * Fraction(frame.time_base)
            first = seconds if first is None else first
            picture = np.rot90(frame.to_ndarray(format="rgb24"), round(frame.rotation / 90) % 4)
            height, width = picture.shape[:2]
            if made is None:
                name = next(name for name in _ENCODERS if name in av.codecs_available)
                made = cast(VideoStream, target.add_stream(name, rate=30, options=_ENCODERS[name]))
                scale = min(1.0, SIDE / max(width, height))
                made.width, made.height = (max(2, 2 * round(side * scale / 2)) for side in (width, height))
                made.pix_fmt = "yuv420p"
                made.codec_context.time_base = Fraction(1, _TICKS)
            shown = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture, dtype=np.uint8), format="rgb24")
            shown = shown.reformat(made.width, made.height, "yuv420p")
            # Encoders want times that grow.
            last = max(last + 1, round((seconds - first) * _TICKS))
            shown.pts, shown.time_base = last, Fraction(1, _TICKS)
            target.mux(made.encode(shown))
        if made is None:
            raise ValueError(f"{video}: no frame can be decoded")
        target.mux(made.encode(None))


def main() -> None:
    """Tell whether a video plays, or write its proxy."""
    from rgwot.runtime.limits import limit_memory

    limit_memory(_MOST_BYTES)
    video, *output = map(Path, sys.argv[1:])
    if output:
        transcode(video, output[0])
    else:
        sys.exit(PLAYS if plays(video) else PLAYS_NOT)


if __name__ == "__main__":
    main()
