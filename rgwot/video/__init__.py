"""Videos: probing a file, and the frames shown at some times."""

from __future__ import annotations

from rgwot.timing import VideoInfo
from rgwot.video.frames import FrameReader, decord_package, readers_of
from rgwot.video.pixels import READERS
from rgwot.video.probing import VideoError, probe

__all__ = ["READERS", "FrameReader", "VideoError", "VideoInfo", "decord_package", "probe", "readers_of"]
