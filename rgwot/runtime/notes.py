"""Notes on the progress of jobs, for the terminal and the window, because messages in a job's log are not seen.

A job of the workflow writes one small file with what it has done, in a folder that its run names in an environment
variable; jobs on other machines, which do not get this variable, write nothing.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from pathlib import Path

from rgwot.runtime.progress import EVERY_S

FOLDER_VARIABLE = "RGWOT_PROGRESS"
#: Seconds between two notes of a job.
_EVERY_S = 1.0
#: Seconds after which a note is ignored: its job was killed, or is too slow to estimate its end.
_STALE_S = 120.0


class Notes:
    """Writes the note of this process, and removes it at the end; without the variable it writes nothing."""

    def __init__(self) -> None:
        folder = os.environ.get(FOLDER_VARIABLE)
        self._path = Path(folder) / f"{os.getpid()}.json" if folder else None
        self._written = 0.0

    def __call__(self, title: str, done: int, total: int, unit: str, left_s: float) -> None:
        """Write the note, at most once a second; if this fails, no further notes are written."""
        now = time.monotonic()
        if self._path is None or (now - self._written < _EVERY_S and done < total):
            return
        self._written = now
        content = {"title": title, "done": done, "total": total, "unit": unit, "left_s": round(left_s)}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self._path.with_suffix(".tmp")
            temporary.write_text(json.dumps(content), encoding="utf-8")
            os.replace(temporary, self._path)
        except OSError:
            self._path = None

    def close(self) -> None:
        """Remove the note."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def notes(folder: Path) -> list[dict[str, object]]:
    """Return the notes of jobs at work: ``title``, ``done``, ``total``, ``unit`` and ``left_s``, sorted by title."""
    found = []
    for path in folder.glob("*.json"):
        try:
            if time.time() - path.stat().st_mtime < _STALE_S:
                found.append(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError):
            # It was replaced or removed just now.
            continue
    return sorted(found, key=lambda note: str(note["title"]))


def note_in_words(note: dict[str, object]) -> str:
    """Write a note in one line.

    >>> note_in_words({"title": "monday.mp4", "done": 64, "total": 120, "unit": "frame", "left_s": 75})
    'monday.mp4: 64 of 120 frames, 1:15 left'
    """
    left = int(str(note["left_s"]))
    plural = "" if note["total"] == 1 else "s"
    return (
        f"{note['title']}: {note['done']} of {note['total']} {note['unit']}{plural}, {left // 60}:{left % 60:02d} left"
    )


def follow(folder: Path, logger: logging.Logger) -> None:
    """Log what is new in the notes, every ten seconds until the process ends."""

    def work() -> None:
        told: dict[object, object] = {}
        while True:
            time.sleep(EVERY_S)
            for note in notes(folder):
                if told.get(note["title"]) != note["done"]:
                    told[note["title"]] = note["done"]
                    logger.info(note_in_words(note))

    threading.Thread(target=work, daemon=True, name="progress").start()
