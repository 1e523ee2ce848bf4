"""Child processes that are kept for further requests, because starting one takes a quarter of a second."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

_idle: list[Child] = []
_lock = threading.Lock()


@contextlib.contextmanager
def child_of(command: Sequence[str]) -> Iterator[Child]:
    """Lend a child process that runs a command, an idle one or a new one, and keep it for reuse.

    It is ended if the block is left early, by an error or because a generator is closed.
    """
    with _lock:
        usable = [child for child in _idle if child.command == command and child.usable]
        if usable:
            _idle.remove(usable[-1])
    child = usable[-1] if usable else Child(command)
    try:
        yield child
    except BaseException:
        child.close()
        raise
    with _lock:
        # Those that ended are forgotten here, or the list would grow.
        _idle[:] = [other for other in (*_idle, child) if other.usable]


def end_idle() -> None:
    """End those that are kept."""
    with _lock:
        ending, _idle[:] = [child for child in _idle if child.usable], []
    for child in ending:
        child.close()


class Child:
    """A child process with a pipe from and to it."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = command
        self._owner = os.getpid()
        self._process = self._started()
        self._used = False
        self._again: bytes | None = None

    def _started(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        return subprocess.Popen(self.command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)

    @property
    def usable(self) -> bool:
        """Whether it lives and belongs to this process, and not to the one this was forked from."""
        return self._owner == os.getpid() and self._process.poll() is None

    def send(self, request: Mapping[str, Any]) -> None:
        """Write a request, as a line of JSON; what is wrong shows when there is no answer."""
        line = json.dumps(request).encode() + b"\n"
        # One that was idle may have been about to end.
        self._again = line if self._used else None
        self._used = True
        self._write(line)

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def received(self, length: int, deadline: float) -> bytearray:
        """Return the next bytes that it writes; TimeoutError when they come too late, EOFError when it ends before."""
        assert self._process.stdout is not None
        try:
            content = _received(self._process.stdout, length, deadline)
        except EOFError:
            line, self._again = self._again, None
            code = self._process.wait()
            if line is None:
                raise EOFError(f"exit code {code}") from None
            self.close()
            self._process = self._started()
            self._write(line)
            return self.received(length, deadline)
        self._again = None
        return content

    def kill(self) -> None:
        """End the process, in whichever thread somebody waits for it."""
        self._again = None
        if self._owner == os.getpid():
            self._process.kill()

    def close(self) -> None:
        """End the process and give back what it took."""
        self.kill()
        if self._owner == os.getpid():
            self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def __del__(self) -> None:
        # As the interpreter ends, modules may be gone; the child then ends with its standard input.
        with contextlib.suppress(Exception):
            self.close()


def _received(pipe: IO[bytes], length: int, deadline: float) -> bytearray:
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
