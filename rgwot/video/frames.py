"""Frames of a video at given times, decoded by a child process that can be killed, and parts cut out of a video."""

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
from pathlib import Path
from typing import IO, Any, Self

import av
import numpy as np
from numpy.typing import NDArray

from rgwot.runtime.errors import RgwotError
from rgwot.video import decode
from rgwot.video.decode import READERS, opened
from rgwot.video.probing import VideoError, is_stored, probe

# What decord reads as it is: of others it serves wrong frames, and never returns from the end of a transport stream.
_DECORD = {".avi", ".m4v", ".mkv", ".mov", ".mp4", ".webm"}
_WORKER = Path(decode.__file__)


class FrameReader:
    """The frames of a video at given times: an iterator over batches and a context manager, safe to share by threads.

    The frame shown at a time is the last one stamped at or before it. Time 0 is the first frame; a stamp that the
    container rounded counts from the time that was meant. Decoding happens in a child process; memory does not grow
    with the length of the video.

    Yields ``(indices, frames)``: ``indices`` is ``(b,)`` int64 into the times asked for, in order and without gaps;
    ``frames`` is ``(b, size, size, 3)`` uint8 RGB, upright, the whole picture squashed to a square. A file that ends
    early ends the iteration early: compare `served` with the number of times. Iterating raises `VideoError` when no
    reader serves a single frame.

    Parameters
    ----------
    path
        The video.
    times
        ``(T,)`` increasing times, seconds.
    size
        Side of the square every frame is squashed to, pixels (bilinear, over the area covered).
    reader
        ``decord``, ``pyav`` or ``auto``: decord, and PyAV from the first frame that decord did not serve,
        because it failed, hung or came to an early end. Without decord it is PyAV, which gives the same pixels, with
        decord2 behind it, which does not: it squashes with another filter. Stored frames are read by ``h5``.
    timeout_s
        Seconds without a new batch after which a reader is killed.
    batch
        Frames per batch.
    threads
        Threads of the decoder.
    frames_fps
        Frames per second of stored frames whose file states none, see `probe`.
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
            raise RgwotError("features.reader: decord is not installed here; set it to auto or pyav")
        self._order = readers_of(self._path, reader)
        self._frames_fps = frames_fps
        self._timeout_s = timeout_s
        self._request: dict[str, Any] = {
            "path": str(self._path.absolute()), "size": size, "batch": batch, "threads": threads
        }  # fmt: skip
        self.served = 0  #: number of times served so far
        self.readers: list[str] = []  #: that served, in order
        self.failures: list[str] = []  #: why a reader ended early, one clause each
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
        """End the child process; the iteration ends with it, in whichever thread it is."""
        self._closed = True
        if self._process is not None:
            self._process.kill()
        with self._lock:
            self._batches.close()

    @property
    def versions(self) -> dict[str, str]:
        """Versions of the readers that served, by their names, in order."""
        return {
            name: metadata.version(decord_package() if name == "decord" else READERS[name]) for name in self.readers
        }

    def _read(self) -> Generator[tuple[NDArray[np.int64], NDArray[np.uint8]], None, None]:
        for name in self._order:
            # What PyAV finds damaged, decord would serve.
            if self.served == len(self._times) or self._closed or (name == "decord" and self.readers):
                break
            reason = yield from self._read_with(name)
            if reason or self.served < len(self._times):
                self.failures.append(f"{name}: {reason or f'ends at {self._times[self.served]:.2f} s'}")
        if self.served == 0 and len(self._times) and not self._closed:
            raise VideoError(self._path, f"no frame decodes ({'; '.join(self.failures)})")

    def _read_with(self, name: str) -> Generator[tuple[NDArray[np.int64], NDArray[np.uint8]], None, str]:
        """Yield batches as one reader gives them; return why it stopped early."""
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
                # A child that has died says so by its exit code.
                with contextlib.suppress(OSError):
                    process.stdin.write(json.dumps(request).encode() + b"\n")
                    process.stdin.flush()
                while True:
                    deadline = time.monotonic() + self._timeout_s
                    kind, length = decode.HEADER.unpack(_received(process.stdout, decode.HEADER.size, deadline))
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
                return f"no frame within {self._timeout_s:g} s, killed"
            except EOFError:
                return f"the decoder died (exit code {process.wait()})"
            finally:
                process.kill()


def _received(pipe: IO[bytes], length: int, deadline: float) -> bytearray:
    """Return the next bytes of a pipe; TimeoutError when they come too late, EOFError when it ends before."""
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
    """Return the distribution whose module ``decord`` is installed: ``decord``, ``decord2``, or nothing of the kind."""
    for name in ("decord", "decord2"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            metadata.version(name)
            return name
    return ""


def readers_of(path: Path, reader: str) -> list[str]:
    """Return the readers of a file in the order in which they are tried; ``reader`` as `FrameReader` has it."""
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
