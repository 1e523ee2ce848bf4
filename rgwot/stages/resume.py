"""Side checkpoints: a run that was stopped goes on where it was, and ends with the same bits."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rgwot.runtime.files import write_tensors
from rgwot.runtime.tensors import UnreadableTensors, load_tensors

log = logging.getLogger(__name__)


class Checkpoint:
    """The state of one run, in ``.resume/<digest>/`` next to its output directory: no declared output.

    ``identity`` is everything the result depends on, as JSON values; a run with another one has another checkpoint.
    """

    def __init__(self, output_dir: Path, identity: Any) -> None:
        text = json.dumps(identity, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self.path = output_dir.parent / ".resume" / digest / "state.pt"

    def load(self) -> dict[str, Any] | None:
        """Return the state saved last, or None; also where it cannot be read, as after a loss of power."""
        if not self.path.exists():
            return None
        try:
            state: dict[str, Any] = load_tensors(self.path)
        except UnreadableTensors as error:
            log.warning("%s; starting again", error)
            return None
        return state

    def save(self, state: dict[str, Any]) -> None:
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
    """Turn SIGTERM and SIGINT into a question: the yielded function returns the signal received, or 0.

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
