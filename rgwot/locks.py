"""Two processes asked for the same output: one makes it, the other waits."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

logger = logging.getLogger(__name__)


@contextmanager
def alone(path: str | os.PathLike[str]) -> Iterator[bool]:
    """Hold an output for oneself, waiting while another process of this machine does.

    The system lets go of the lock when its process ends, however it ends. Where a file system has no locks, nothing is
    held.

    Parameters
    ----------
    path
        The output. The lock is a hidden file beside it, removed in the end.

    Yields
    ------
    bool
        Whether another process held it first, and may have made the output meanwhile.
    """
    target = Path(path)
    lock = target.with_name(f".{target.name}.lock")
    target.parent.mkdir(parents=True, exist_ok=True)
    waited = False
    while True:
        with lock.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                logger.warning("%s: another process is making it; waiting for it to end", target)
                waited = True
                fcntl.flock(file, fcntl.LOCK_EX)
            except OSError as error:
                logger.debug("%s: no lock (%s)", target, error.strerror)
            # Whoever held it has removed the file, and a third process may have made a new one.
            if not _still_there(lock, file.fileno()):
                continue
            try:
                yield waited
            finally:
                lock.unlink(missing_ok=True)
            return


def _still_there(lock: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), lock.stat())
    except FileNotFoundError:
        return False
