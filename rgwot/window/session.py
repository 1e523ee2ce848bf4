"""State of the server: the study in the current folder, its runs, saved and learned files, and the open windows."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from rgwot.columns import readable
from rgwot.runtime.errors import RgwotError, one_line
from rgwot.study.datasets import tasks, videos
from rgwot.study.shipped import DEFAULTS
from rgwot.study.study import Study, Task
from rgwot.window.answers import Answers
from rgwot.window.beginning import Proposal, begin
from rgwot.window.last_pages import keep_pages, last_made, last_page
from rgwot.window.proxies import Proxies
from rgwot.window.remaining import STAGES, Remaining, footage
from rgwot.window.runs import QUIET_S, Runs
from rgwot.window.saving import Saving
from rgwot.window.study_files import CONFIG, contents, entries_of, save_another_seed, save_K, target

Answer = TypeVar("Answer")

#: Seconds after which a silent window counts as closed, if it was in sight or hidden: usually a window says that it is
#: closed, but not if its browser ends at once, and browsers let hidden pages send once a minute.
SILENT_S, HIDDEN_S = 60.0, 150.0
#: Seconds for which the server goes on without a window: time to open another one.
ALONE_S = 30.0


class Busy(RgwotError):
    """Error: what a page asks for needs files that a run is rewriting."""


class Session:
    """A study that is open in the window, or a folder of videos until the user has named the study.

    Everything is in the current folder, as for the commands.
    """

    def __init__(self, opened: Path | Proposal) -> None:
        self.proposal = opened if isinstance(opened, Proposal) else None
        self._lock = threading.RLock()
        self._study: tuple[object, Study] | None = None
        self._generation = 0
        # The open windows, with the time up to which each counts as open; and the last pages that were closed.
        self._windows: dict[str, float] = {}
        self._closed = deque[str](maxlen=100)
        self._alone_since = time.monotonic()
        self._met = False
        if isinstance(opened, Path):
            self._enter(opened)

    def _enter(self, folder: Path) -> None:
        os.chdir(folder)
        self.saving, self.runs = Saving(), Runs(keep_pages, self._ran)
        self._remaining = Remaining()
        self.answers, self.proxies = Answers(self.study, self.runs.at_work), Proxies()
        self.proposal = None
        self.runs.want()

    def begin(self, name: str, task: str) -> None:
        """Make the study that was proposed, and begin its first run."""
        with self._lock:
            if self.proposal is None:
                raise RgwotError("study: there is one already")
            self._enter(begin(self.proposal, name, task))

    def close(self) -> None:
        """End what is at work."""
        if self.proposal is None:
            self.runs.close()

    def study(self) -> Study:
        """Return the study as its files are now."""
        with self._lock:
            state = (self._generation, CONFIG.stat().st_mtime_ns if CONFIG.exists() else 0)
            if self._study is None or self._study[0] != state:
                self._study = state, Study.read((DEFAULTS, CONFIG))
            return self._study[1]

    def _changed(self) -> None:
        """Forget what was read of the study's folders."""
        with self._lock:
            self._generation += 1

    def _ran(self) -> None:
        """Record that a run has ended; it may have written new results."""
        self._changed()
        self.answers.ran()

    # Windows

    def seen(self, window: str, page: str = "", hidden: bool = False) -> int:
        """Record that a window shows a page, which may be ``hidden``; return the number of open windows."""
        with self._lock:
            self._met = True
            now = time.monotonic()
            # A request of a page may be answered after the message that the page was closed.
            if page not in self._closed and (len(self._windows) < 100 or window in self._windows):
                self._windows[window] = now + (HIDDEN_S if hidden else SILENT_S)
            self._windows = {name: until for name, until in self._windows.items() if now < until}
            return len(self._windows)

    def gone(self, window: str, page: str = "") -> None:
        """Note that a window was closed, or shows another page than this one."""
        with self._lock:
            self._windows.pop(window, None)
            if page:
                self._closed.append(page)
            self._alone_since = time.monotonic()

    def alone(self) -> bool:
        """Return whether every window has been closed for a while; none counts before the first was opened."""
        with self._lock:
            now = time.monotonic()
            closed = all(until < now for until in self._windows.values())
            return self._met and closed and now - self._alone_since > ALONE_S

    def at_work(self) -> bool:
        """Return whether a run of this server is at work."""
        return self.proposal is None and self.runs.at_work()

    # What pages ask for

    def state(self) -> dict[str, Any]:
        """Return what the pages show of the study and its runs."""
        if self.proposal is not None:
            own = self.proposal
            return {
                "proposal": {
                    "videos": str(own.videos), "study": own.study.name, "flat": own.flat, "tasks": own.tasks
                }
            }  # fmt: skip
        try:
            listed, problem = self._tasks(), ""
        except (RgwotError, OSError) as error:
            # A run rewrites files; files that are missing are reported only after the run has ended.
            listed, problem = [], "" if self.runs.at_work() else one_line(error)
        run = self.runs.state()
        is_reading = run["at_work"] and (run["progress"] or run["stage"] == 1)
        videos = footage(self.study()) if is_reading else {}
        left = self._remaining(run, videos)
        read = [sum(one.is_read for one in videos.values()), len(videos)]
        return {
            "folder": str(Path.cwd()),
            "tasks": listed,
            "problem": problem,
            "run": {**run, "stages": list(STAGES), "left_s": left, "read": read},
            "answers": self.answers.state(),
        }

    def _tasks(self) -> list[dict[str, Any]]:
        study = self.study()
        listed = []
        for dataset in study.config.page_datasets:
            for task in tasks(study, dataset):
                listed.append(
                    {
                        "dataset": dataset, "task": task, "title": readable(task),
                        "videos": len(videos(Task(study, dataset, task))),
                        "made": last_made(dataset, task),
                    }
                )  # fmt: skip
        return listed

    def from_results(self, answer: Callable[[], Answer]) -> Answer:
        """Return an answer that is read from results; raises `Busy` if it cannot be read while a run is at work."""
        running = self.runs.at_work()
        try:
            return answer()
        except (RgwotError, OSError) as error:
            if running or self.runs.at_work():
                raise Busy("Waiting for the run, which is writing the results.") from error
            raise

    def files(self, dataset: str, task: str, only: str = "") -> dict[str, Any]:
        """Return the files that the page of a task may save, as they are now (`contents`)."""
        study = self.study()
        entries_of(study, dataset, task)
        page = last_page(dataset, task)
        return contents(study, self.saving, page.text if page else "", dataset, task, only)

    def save(self, kind: str, dataset: str, task: str, video: str, text: str | None, base: str, apart: bool) -> str:
        """Save a file of a page; return its new digest. New labels are learned from, and a run writes the results."""
        own = target(self.study(), kind, dataset, task, video)
        _, digest = self.saving.save(own, text, base, apart)
        self._changed()
        if not apart:
            if kind == "annotation":
                self.answers.want(dataset, task)
            self.runs.want(QUIET_S)
        return digest

    def save_K(self, K: int) -> None:
        """Save the number of key steps, and make the results with it."""
        save_K(K)
        self._changed()
        self.runs.want()

    def save_another_seed(self) -> None:
        """Make all results with one more seed."""
        save_another_seed()
        self._changed()
        self.runs.want()
