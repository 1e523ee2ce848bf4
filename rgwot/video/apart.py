"""Probing in a process apart: a file on which the decoder crashes, hangs or takes all memory costs no more than itself.

The child answers one request after another, so its start (a quarter of a second) is paid once. A request is a line of
JSON, an answer a length (four bytes, big endian) and that much JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

from rgwot.video.decode import own_output
from rgwot.video.probing import REMEDY, VideoError, VideoInfo, probe_here

#: Seconds that opening a file may take; one that states no rate or length is read to its end.
TIMEOUT_S = 600.0
#: Bytes of address space of the child; libraries reserve more than they use.
MEMORY = 8 * 2**30
_COMMAND = [sys.executable, "-P", "-c", "from rgwot.video.apart import serve; serve()"]
_own = threading.local()


def probe(path: str | os.PathLike[str], frames_fps: Fraction | None = None) -> VideoInfo:
    """Read the facts of a video file, or of frames stored in an HDF5 file, and decode its first frame.

    ``frames_fps`` is the rate of stored frames whose file states none; a video states its own.

    Raises VideoError when the file is missing, empty, not a video, without pictures, its first frame does not decode,
    or the decoder crashes, runs out of memory or takes longer than `TIMEOUT_S`.
    """
    child: _Prober | None = getattr(_own, "child", None)
    if child is None or not child.usable:
        child = _own.child = _Prober()
    request = {"path": os.path.abspath(path), "frames_fps": None if frames_fps is None else str(frames_fps)}
    try:
        answer = child.ask(request, TIMEOUT_S)
    except TimeoutError:
        raise VideoError(path, f"not opened within {TIMEOUT_S:g} s, given up; {REMEDY}") from None
    except EOFError as error:
        raise VideoError(path, f"its decoder died ({error}); {REMEDY}") from None
    if "reason" in answer:
        raise VideoError(path, answer["reason"])
    return VideoInfo(**{**answer, "fps": Fraction(answer["fps"])})


class _Prober:
    """The child process of one thread."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._child = subprocess.Popen(
            _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    @property
    def usable(self) -> bool:
        """Whether it lives and belongs to this process, and not to the one this was forked from."""
        return self._owner == os.getpid() and self._child.poll() is None

    def ask(self, request: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Return the answer to a request; EOFError when the child dies of it, TimeoutError when it takes too long."""
        stdin, stdout = self._child.stdin, self._child.stdout
        assert stdin is not None
        assert stdout is not None
        # A child that died before shows when its answer is missing.
        with contextlib.suppress(BrokenPipeError):
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()
        deadline = time.monotonic() + timeout_s
        try:
            length = int.from_bytes(received(stdout, 4, deadline), "big")
            answer: dict[str, Any] = json.loads(received(stdout, length, deadline))
        except TimeoutError:
            self.close()
            raise
        except EOFError:
            raise EOFError(f"exit code {self._child.wait()}") from None
        return answer

    def close(self) -> None:
        """End the child."""
        if self._owner == os.getpid():
            self._child.kill()
            self._child.wait()

    def __del__(self) -> None:
        # As the interpreter ends, modules may be gone; the child then ends with its standard input.
        with contextlib.suppress(Exception):
            self.close()
            for pipe in (self._child.stdin, self._child.stdout):
                if pipe is not None:
                    pipe.close()


def received(pipe: IO[bytes], length: int, deadline: float) -> bytearray:
    """Read so many bytes that a child writes; TimeoutError when they come too late, EOFError when it ends before."""
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


def serve() -> None:
    """Answer requests on standard input until it ends."""
    output = own_output()
    # Not on Windows; the time limit still holds there.
    with contextlib.suppress(ImportError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    for line in sys.stdin.buffer:
        request = json.loads(line)
        rate = request["frames_fps"]
        try:
            info = asdict(probe_here(Path(request["path"]), None if rate is None else Fraction(rate)))
            answer = {**info, "fps": str(info["fps"])}
        except VideoError as error:
            answer = {"reason": error.reason}
        except MemoryError:
            answer = {"reason": f"takes more than {MEMORY // 2**30} GiB of memory to open; {REMEDY}"}
        content = json.dumps(answer).encode()
        output.write(len(content).to_bytes(4, "big") + content)
        output.flush()
