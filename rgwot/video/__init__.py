"""Videos: probing a file, and the frames shown at some times."""

from __future__ import annotations

from rgwot.video.decode import READERS
from rgwot.video.frames import FrameReader
from rgwot.video.isolated import probe
from rgwot.video.probing import VideoError, VideoInfo

__all__ = ["READERS", "FrameReader", "VideoError", "VideoInfo", "probe"]
