"""One lock per output: one process makes it, others wait."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

logger = logging.getLogger(__name__)


@contextmanager
def alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep other processes of this machine from making the same output, waiting while one of them does.

    The other process may have made the output meanwhile. The lock is a hidden file next to the output, removed in the
    end; the system releases it when the process ends, however it ends. Where a file system has no locks, nothing is
    locked.
    """
    target = Path(path)
    lock = FileLock(target.with_name(f".{target.name}.lock"))
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        logger.warning("%s: another process is making it; waiting for it to end", target)
        lock.acquire()
    except OSError as error:
        logger.debug("%s: no lock (%s)", target, error.strerror)
    try:
        yield
    finally:
        # While it is held: whoever waits for this file sees that it is gone, and locks a new one.
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()
