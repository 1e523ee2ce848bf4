"""Runs of the workflow for the window: one at a time, another if something changed meanwhile, none if it is locked.

A run is the command of `rgwot run first`, in a process group of its own, with its messages in a file, so that it also
goes on, and ends well, if the server is killed. A logger plugin of Snakemake's writes where the run stands.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rgwot.runtime.errors import RgwotError
from rgwot.runtime.notes import FOLDER_VARIABLE, notes
from rgwot.study.shipped import snakemake_command
from rgwot.window.remaining import stage_of
from rgwot.window.saving import OWN

LOG = OWN / "run.log"
PROGRESS = OWN / "progress"
STATE = OWN / "run.json"
#: The folder of the logger plugin, which Snakemake finds on the module path.
_PLUGINS = Path(__file__).parent / "plugins"
#: A run that writes what was learned begins when nothing has changed for this many seconds.
QUIET_S = 15.0
#: Seconds that a cancelled run has to end its jobs.
PATIENCE_S = 60.0
_LOCKS = Path(".snakemake/locks")
#: The line with which rgwot's own commands and jobs report a fault.
_FAULT = re.compile(r"^(?:\d\d:\d\d:\d\d ERROR )?rgwot: (.+)$", re.MULTILINE)
#: Number of bytes of the messages, from the end, that are searched for that line.
_TAIL = 200_000


@dataclass
class _Wish:
    """A run that should begin at a time of the monotonic clock."""

    at: float


class Runs:
    """The runs of a study, in the current folder.

    Parameters
    ----------
    before, after
        Called when a run begins, and when it has ended.
    """

    def __init__(self, before: Callable[[], None], after: Callable[[], None]) -> None:
        self._before, self._after = before, after
        self._lock = threading.Lock()
        self._wish: _Wish | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0.0
        self._fault = ""
        self._cancelled = False
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True, name="runs")
        self._thread.start()

    def want(self, quiet_s: float = 0.0) -> None:
        """Request a run, which begins when no other request came for ``quiet_s`` seconds and no run is at work."""
        with self._lock:
            self._wish = _Wish(time.monotonic() + quiet_s)
            self._cancelled = False

    def cancel(self) -> None:
        """End the run at work as Ctrl-C does, and forget the one that waits."""
        with self._lock:
            self._wish = None
            self._cancelled = True
            if self._process is not None:
                self._signal(signal.SIGINT)

    def at_work(self) -> bool:
        """Return whether a run of this server is at work."""
        with self._lock:
            return self._process is not None

    def close(self) -> None:
        """End the run at work, and wait for its end."""
        self.cancel()
        self._closed.set()
        self._thread.join(PATIENCE_S + 5)

    def state(self) -> dict[str, Any]:
        """Return the state of the runs, as a page shows it.

        ``at_work`` and ``waiting`` say whether a run is at work or will begin, ``locked`` whether somebody else's run
        is. ``done`` of ``steps`` jobs are finished, ``stage`` is that of `stage_of`; ``progress`` has a line for each
        video or training with its seconds left. ``fault`` is the line of a failed run, ``log`` the file of its
        messages.
        """
        with self._lock:
            at_work, waiting, fault, cancelled = (
                self._process is not None, self._wish is not None, self._fault, self._cancelled
            )  # fmt: skip
        standing = _standing() if at_work else {}
        return {
            "at_work": at_work,
            "waiting": waiting,
            "cancelled": cancelled and not at_work,
            "locked": not at_work and locked(),
            "done": standing.get("done", 0),
            "steps": standing.get("steps", 0),
            "stage": stage_of(standing.get("at_work", ())),
            "seconds": round(time.monotonic() - self._began) if at_work else 0,
            "progress": notes(PROGRESS) if at_work else [],
            "fault": fault,
            "log": str(LOG),
        }

    def log(self) -> str:
        """Return the end of the messages of the last run."""
        return _tail(LOG)

    def _work(self) -> None:
        while not self._closed.wait(0.3):
            with self._lock:
                due = self._wish is not None and time.monotonic() >= self._wish.at
            if due and not locked():
                self._run()

    def _run(self) -> None:
        try:
            # Without the profile's `quiet`, Snakemake reports which jobs are done.
            options = ["--quiet", "host", "reason", "--nocolor", "--logger", "rgwot", "--logger-rgwot-file", str(STATE)]
            command = snakemake_command(["first", *options])
            modules = os.pathsep.join(filter(None, [str(_PLUGINS), os.environ.get("PYTHONPATH")]))
            OWN.mkdir(exist_ok=True)
            STATE.unlink(missing_ok=True)
            self._before()
            with LOG.open("wb") as log:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, FOLDER_VARIABLE: str(PROGRESS.absolute()), "PYTHONPATH": modules},
                    start_new_session=True,
                )
        except (OSError, RgwotError) as error:
            with self._lock:
                self._wish, self._fault = None, str(error)
            return
        with self._lock:
            self._wish, self._process, self._began, self._fault = None, process, time.monotonic(), ""
        code = self._wait(process)
        with self._lock:
            self._process = None
            if code and not self._cancelled:
                fault = _standing().get("fault") or f"the run ended with code {code}"
                self._fault = fault_in(_tail(LOG)) or f"{fault}; see {LOG}"
        self._after()

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for a run; one that was cancelled and goes on is killed."""
        since: float | None = None
        while (code := process.poll()) is None:
            time.sleep(0.1)
            if self._cancelled:
                since = since or time.monotonic()
                if time.monotonic() - since > PATIENCE_S:
                    self._signal(signal.SIGKILL)
        return code

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def locked() -> bool:
    """Return whether a run has locked the study in the current folder."""
    return _LOCKS.is_dir() and any(_LOCKS.iterdir())


def fault_in(text: str) -> str:
    r"""Return the first fault that rgwot reports in the messages of a run, or an empty text.

    >>> fault_in("Building DAG\nrgwot: monday.mp4: 0 bytes; replace the file\nError in rule extract:")
    'monday.mp4: 0 bytes; replace the file'
    """
    found = _FAULT.search(text)
    return found[1].strip() if found else ""


def _standing() -> dict[str, Any]:
    """Return where the run stands (`snakemake_logger_plugin_rgwot`); empty before the plugin has written."""
    try:
        return dict(json.loads(STATE.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
