"""Checkpoints, from which a stopped training continues."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

from rgwot.runtime.files import write_tensors
from rgwot.runtime.tensors import UnreadableTensors, load_tensors

log = logging.getLogger(__name__)


class Checkpoint:
    """The saved state of a run, in ``.resume/<digest>/`` next to its output directory.

    ``identity`` has everything on which the result depends, as JSON values; a run with another identity has another
    checkpoint. Snakemake does not know these files.
    """

    def __init__(self, output_dir: Path, identity: object) -> None:
        text = json.dumps(identity, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.path = output_dir.parent / ".resume" / digest / "state.pt"

    def load(self) -> dict[str, object] | None:
        """Return the last saved state, or None if there is none or it is unreadable, such as after a power failure."""
        if not self.path.exists():
            return None
        try:
            state: dict[str, object] = load_tensors(self.path)
        except UnreadableTensors as error:
            log.warning("%s; starting again", error)
            return None
        return state

    def save(self, state: dict[str, object]) -> None:
        """Replace the saved state."""
        write_tensors(state, self.path)

    def remove(self) -> None:
        """Remove the saved state, and the side directory when no other run uses it."""
        self.path.unlink(missing_ok=True)
        for directory in (self.path.parent, self.path.parent.parent):
            with contextlib.suppress(OSError):
                directory.rmdir()


@contextlib.contextmanager
def stop_requested() -> Iterator[Callable[[], int]]:
    """Catch SIGTERM and SIGINT: the yielded function returns the received signal, or 0.

    A second signal acts as usual.
    """
    received = [0]
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def note(number: int, _frame: object) -> None:
        received[0] = number
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, note)
    try:
        yield lambda: received[0]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
