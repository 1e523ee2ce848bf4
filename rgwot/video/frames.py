"""Frames of a video at given times, decoded by a child process that can be killed, and cutting of videos."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from fractions import Fraction
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import IO, Any, Self

import av
import numpy as np
from numpy.typing import NDArray

from rgwot.runtime.errors import RgwotError
from rgwot.video import pixels
from rgwot.video.pixels import READERS, opened
from rgwot.video.probing import VideoError, is_stored, probe

# decord reads these formats correctly; for others it returns wrong frames, or hangs at the end of a transport stream.
_DECORD = {".avi", ".m4v", ".mkv", ".mov", ".mp4", ".webm"}
_WORKER = Path(pixels.__file__)


class FrameReader:
    """The frames of a video at given times: an iterator over batches and a context manager that is thread-safe.

    The frame at a time is the last one stamped at or before it. Time 0 is the first frame; rounded stamps are corrected
    (`rgwot.video.pixels.earliest`). A child process decodes the video; memory does not grow with its length.

    Yields ``(indices, frames)``: ``indices`` ``(b,)`` int64 into the requested times, in order and without gaps;
    ``frames`` ``(b, size, size, 3)`` uint8 RGB, upright, with the whole picture resized to a square. If the file ends
    early, so does the iteration: compare `served` with the number of times. Iterating raises `VideoError` if no reader
    returns a single frame.

    Parameters
    ----------
    path
        The video.
    times
        ``(T,)`` increasing times, seconds.
    size
        Side of the square in pixels to which frames are resized (bilinear, over the area covered).
    reader
        ``decord``, ``pyav`` or ``auto``: decord if it reads the format correctly, and PyAV from the first frame that
        decord did not return because it failed, hung or ended early. Without decord, ``auto`` uses PyAV, which gives
        nearly the same pixels (0.14 % of the bytes differ, by at most two levels), and then decord2, whose pixels
        differ more because it resizes with another filter. Stored frames are read by ``h5``.
    timeout_s
        A reader is killed after this many seconds without a new batch.
    batch
        Frames per batch.
    threads
        Threads of the decoder.
    frames_fps
        Frames per second of stored frames whose file has no rate, see `probe`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        times: NDArray[np.float64],
        size: int,
        reader: str = "auto",
        timeout_s: float = 600.0,
        batch: int = 8,
        threads: int = 2,
        frames_fps: Fraction | None = None,
    ) -> None:
        self._path = Path(path)
        self._times = np.asarray(times, dtype=np.float64)
        self._size = size
        if reader == "decord" and not decord_package():
            raise RgwotError("features.reader: decord is not installed here; set features.reader to auto or pyav")
        self._order = readers_of(self._path, reader)
        self._frames_fps = frames_fps
        self._timeout_s = timeout_s
        self._request: dict[str, object] = {
            "path": str(self._path.absolute()), "size": size, "batch": batch, "threads": threads
        }  # fmt: skip
        self.served = 0  #: number of frames returned so far
        self.readers: list[str] = []  #: the readers that returned frames, in order
        self.failures: list[str] = []  #: why each reader ended early
        self._closed = False
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._batches = self._read()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        with self._lock:
            return next(self._batches)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child process and with it the iteration, in any thread."""
        self._closed = True
        if self._process is not None:
            self._process.kill()
        with self._lock:
            self._batches.close()

    @property
    def versions(self) -> dict[str, str]:
        """Versions of the readers that returned frames, by name, in order."""
        return {
            name: metadata.version(decord_package() if name == "decord" else READERS[name]) for name in self.readers
        }

    def _read(self) -> Generator[tuple[NDArray[np.int64], NDArray[np.uint8]], None, None]:
        for name in self._order:
            # decord is not tried after another reader: it would return frames that PyAV finds damaged.
            if self.served == len(self._times) or self._closed or (name == "decord" and self.readers):
                break
            reason = yield from self._read_with(name)
            if reason or self.served < len(self._times):
                self.failures.append(f"{name}: {reason or f'ends at {self._times[self.served]:.2f} s'}")
        if self.served == 0 and len(self._times) and not self._closed:
            raise VideoError(self._path, f"no frame can be decoded ({'; '.join(self.failures)})")

    def _read_with(self, name: str) -> Generator[tuple[NDArray[np.int64], NDArray[np.uint8]], None, str]:
        """Yield the batches of a reader; return why it stopped early."""
        request = self._request | {"times": self._times[self.served :].tolist(), "reader": name}
        if name == "h5":
            request["fps"] = str(probe(self._path, self._frames_fps).fps)
        pipe = subprocess.PIPE
        # -P keeps the worker's folder off its module path.
        command = [sys.executable, "-P", str(_WORKER)]
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
            self._process = process
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                # If the child has died, this fails, and so does the read below, which reports the exit code.
                with contextlib.suppress(OSError):
                    process.stdin.write(json.dumps(request).encode() + b"\n")
                    process.stdin.flush()
                while True:
                    deadline = time.monotonic() + self._timeout_s
                    kind, length = pixels.HEADER.unpack(_received(process.stdout, pixels.HEADER.size, deadline))
                    shape = (length, self._size, self._size, 3)
                    content = _received(process.stdout, math.prod(shape) if kind == b"F" else length, deadline)
                    if kind != b"F":
                        return content.decode()
                    if name not in self.readers:
                        self.readers.append(name)
                    indices = np.arange(self.served, self.served + length)
                    self.served += length
                    yield indices, np.frombuffer(content, dtype=np.uint8).reshape(shape)
            except TimeoutError:
                return f"killed after {self._timeout_s:g} s without a frame"
            except EOFError:
                return f"the decoder died (exit code {process.wait()})"
            finally:
                process.kill()


def _received(pipe: IO[bytes], length: int, deadline: float) -> bytearray:
    """Return the next bytes of a pipe; raise TimeoutError if they come too late, EOFError if it ends."""
    content = bytearray(length)
    missing = memoryview(content)
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while missing:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError
            count = os.readv(pipe.fileno(), [missing])
            if not count:
                raise EOFError
            missing = missing[count:]
    return content


@functools.cache
def decord_package() -> str:
    """Return the installed distribution of the module ``decord``: ``decord``, ``decord2`` or an empty text."""
    for name in ("decord", "decord2"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            metadata.version(name)
            return name
    return ""


def readers_of(path: Path, reader: str) -> list[str]:
    """Return the readers of a file in the order in which they are tried; ``reader`` is as for `FrameReader`."""
    if is_stored(path):
        return ["h5"]
    if reader != "auto":
        return [reader]
    if path.suffix.lower() not in _DECORD:
        return ["pyav"]
    return {"decord": ["decord", "pyav"], "decord2": ["pyav", "decord"]}.get(decord_package(), ["pyav"])


def cut(
    source: str | os.PathLike[str],
    start_s: float,
    end_s: float,
    output: Path,
    fps: Fraction | None = None,
    quality: int = 23,
) -> int:
    """Cut a part out of a video: upright, encoded again and without sound.

    Parameters
    ----------
    source
        The video.
    start_s, end_s
        Seconds from its first frame; a frame at the end is not written.
    output
        The file to write; it is not written if no frame can be decoded.
    fps
        Rate of the output; by default that of the video.
    quality
        Constant rate factor of x264, smaller is better.

    Returns
    -------
    int
        Number of frames.
    """
    count = 0
    with opened(str(source)) as container, av.open(str(output), "w") as target:
        stream = pixels.picture_track(container)
        stream.thread_type = "AUTO"
        # Times count from the first frame, regardless of the file's clock.
        origin = next((frame.time for frame in container.decode(stream)), None) or 0.0
        # Seek to the key frame before the start; earlier frames are dropped below.
        container.seek(int((origin + max(0.0, start_s - 1)) * av.time_base))
        frames = container.decode(stream)
        first = next(frames, None)
        # Contrary to its stubs, PyAV has frames without a time.
        if first is None or first.time is None or first.time - origin > start_s:  # type: ignore[redundant-expr]
            # Some containers seek to a later key frame than requested; then everything is read from the beginning.
            container.seek(0)
            frames, first = container.decode(stream), None
        stream_out: Any = None
        for frame in chain([] if first is None else [first], frames):
            if frame.time is None or frame.time - origin < start_s:  # type: ignore[redundant-expr]
                continue
            if frame.time - origin >= end_s:
                break
            upright: NDArray[np.uint8] = np.rot90(frame.to_ndarray(format="rgb24"), frame.rotation // 90)
            # Sides must be even, because colours have half the resolution.
            height, width = (side // 2 * 2 for side in upright.shape[:2])
            if stream_out is None:
                stream_out = target.add_stream(
                    "libx264", rate=fps or stream.average_rate or 25, options={"crf": str(quality)}
                )
                stream_out.height, stream_out.width, stream_out.pix_fmt = height, width, "yuv420p"
            picture = np.ascontiguousarray(upright[:height, :width])
            target.mux(stream_out.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            count += 1
        if stream_out is not None:
            target.mux(stream_out.encode())
    if not count:
        output.unlink(missing_ok=True)
    return count
