"""Parts of videos, encoded again."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from rgwot.video.decode import opened


def cut(
    source: str | os.PathLike[str],
    start_s: float,
    end_s: float,
    output: Path,
    fps: Fraction | None = None,
    quality: int = 23,
) -> int:
    """Write the frames of a video from one time to another, upright, encoded again and without sound.

    Parameters
    ----------
    source
        The video.
    start_s, end_s
        Seconds from its first frame; a frame at the end is not written.
    output
        Where to write; nothing is there afterwards if no frame decodes.
    fps
        Rate of what is written; None: that of the video.
    quality
        Constant rate factor of x264, smaller is better.

    Returns
    -------
    int
        Number of frames.
    """
    count = 0
    with opened(str(source)) as container, av.open(str(output), "w") as target:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        # Times count from the first frame, wherever a file's own clock starts.
        origin = next((frame.time for frame in container.decode(stream)), None) or 0.0
        # To the key frame before it; earlier frames are dropped below.
        container.seek(int((origin + max(0.0, start_s - 1)) * av.time_base))
        made: Any = None
        for frame in container.decode(stream):
            if frame.time is None or frame.time - origin < start_s:
                continue
            if frame.time - origin >= end_s:
                break
            upright: NDArray[Any] = np.rot90(frame.to_ndarray(format="rgb24"), frame.rotation // 90)
            # Even sides: the colours of a clip have half the resolution.
            height, width = (side // 2 * 2 for side in upright.shape[:2])
            if made is None:
                made = target.add_stream(
                    "libx264", rate=fps or stream.average_rate or 25, options={"crf": str(quality)}
                )
                made.height, made.width, made.pix_fmt = height, width, "yuv420p"
            pixels = np.ascontiguousarray(upright[:height, :width])
            target.mux(made.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
            count += 1
        if made is not None:
            target.mux(made.encode())
    if not count:
        output.unlink(missing_ok=True)
    return count
