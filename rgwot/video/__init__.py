"""Videos: probing a file, the times at which it is sampled, and the frames shown at those times."""

from __future__ import annotations

from rgwot.video.apart import probe
from rgwot.video.decode import READERS
from rgwot.video.frames import FrameReader
from rgwot.video.probing import VideoError, VideoInfo, sample_times

__all__ = ["READERS", "FrameReader", "VideoError", "VideoInfo", "probe", "sample_times"]
