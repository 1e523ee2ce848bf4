"""Answers of the server: those wanted, the one being computed, and the latest answer of every task."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rgwot.runtime.errors import RgwotError, one_line
from rgwot.study.study import Study

if TYPE_CHECKING:
    from rgwot.window.learning import Learner

log = logging.getLogger(__name__)

#: Seconds after which files that a run was rewriting are read again.
AGAIN_S = 2.0


class Answers:
    """The answers of all tasks of a study, computed one after the other.

    Parameters
    ----------
    study
        A function that returns the study as its files are now.
    running
        A function that returns whether a run is at work; a run rewrites files that an answer needs.
    """

    def __init__(self, study: Callable[[], Study], running: Callable[[], bool] = lambda: False) -> None:
        self._study, self._running = study, running
        self._learners: dict[tuple[str, str], Learner] = {}
        self._latest: dict[tuple[str, str], dict[str, Any]] = {}
        self._versions: dict[tuple[str, str], int] = {}
        self._faults: dict[tuple[str, str], str] = {}
        # Whether a wanted answer should be learned (True), or read from what a run wrote (False).
        self._wanted: dict[tuple[str, str], bool] = {}
        # The same for answers that could not be read during a run; they are wanted again after a while.
        self._unread: dict[tuple[str, str], bool] = {}
        self._at_work: tuple[str, str] | None = None
        # Locks for the fields above and for the computation: two at once would take twice as long, and share the cache.
        self._changed, self._computing = threading.Condition(), threading.Lock()
        threading.Thread(target=self._work, daemon=True, name="answers").start()

    def want(self, dataset: str, task: str) -> None:
        """Request an answer from the current labels; it replaces an earlier request."""
        with self._changed:
            self._wanted[dataset, task] = True
            self._changed.notify()

    def ran(self) -> None:
        """Read the latest answers from the files of a run, which also decided which of their deviations hold."""
        with self._changed:
            self._want_unread()
            for key in self._latest:
                self._wanted.setdefault(key, False)
            self._changed.notify()

    def warm(self, dataset: str, task: str) -> None:
        """Load modules and embeddings, so that the answer to the first labels need not wait for them."""

        def work() -> None:
            # A page that is shown before there are results has nothing to prepare.
            with suppress(RgwotError, OSError), self._computing:
                self._learner((dataset, task)).warm(self._study())

        threading.Thread(target=work, daemon=True, name="warm").start()

    def state(self) -> dict[str, Any]:
        """Return for each task the ``version`` of its answer, and what went wrong.

        ``working`` says whether another answer is being computed, ``waiting`` whether it waits for files that a run
        writes.
        """
        with self._changed:
            return {
                "/".join(key): {
                    "version": self._versions.get(key, 0),
                    "working": key in self._wanted or key == self._at_work,
                    "waiting": key in self._unread,
                    "fault": self._faults.get(key, ""),
                }
                for key in {
                    *self._versions,
                    *self._wanted,
                    *self._unread,
                    *self._faults,
                    *filter(None, [self._at_work]),
                }  # fmt: skip
            }

    def latest(self, dataset: str, task: str) -> dict[str, Any]:
        """Return the latest answer of a task with its ``version``; empty if there is none."""
        with self._changed:
            key = dataset, task
            return {**self._latest.get(key, {}), "version": self._versions.get(key, 0)}

    def labels_now(self, dataset: str, task: str) -> dict[str, Any]:
        """Return the labels and names of a task, which may be newer than its page; empty if they cannot be read."""
        with suppress(RgwotError, OSError):
            return self._learner((dataset, task)).labels_now(self._study())
        return {}

    def with_K(self, dataset: str, task: str, K: int) -> dict[str, Any]:
        """Return the answer of a task without labels, with K key steps."""
        with self._computing:
            return self._learner((dataset, task)).with_K(self._study(), K)

    def questions(self, dataset: str, task: str, number: int) -> list[dict[str, Any]]:
        """Return the moments of a task that are most worth a label, the best first."""
        with self._computing:
            return self._learner((dataset, task)).question(self._study(), number)

    def _learner(self, key: tuple[str, str]) -> Learner:
        # Imported here, because this takes seconds, and the first page should not wait for it.
        from rgwot.window.learning import Learner

        return self._learners.setdefault(key, Learner(*key))

    def _want_unread(self) -> None:
        for key, to_learn in self._unread.items():
            self._wanted[key] = self._wanted.get(key, False) or to_learn
        self._unread.clear()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._changed.wait_for(lambda: self._wanted, AGAIN_S):
                    self._want_unread()
                # Saving labels during the computation requests another answer.
                self._at_work = key = next(iter(self._wanted))
                to_learn = self._wanted.pop(key)
            running, unread = self._running(), False
            try:
                with self._computing:
                    learner, study = self._learner(key), self._study()
                    answer, fault = learner.learned(study) if to_learn else learner.written(study), ""
            except (RgwotError, OSError) as error:
                answer, fault, unread = None, one_line(error), True
            except Exception:
                log.exception("%s/%s: no answer", *key)
                answer, fault = None, "an error of rgwot; its traceback is in the terminal"
            with self._changed:
                self._at_work = None
                if unread and (running or self._running()):
                    asked = self._unread if self._running() else self._wanted
                    asked[key] = asked.get(key, False) or to_learn
                    continue
                if to_learn:
                    self._unread.pop(key, None)
                self._faults[key] = fault
                if not fault and (to_learn or answer is not None):
                    self._latest[key] = answer or {}
                    self._versions[key] = self._versions.get(key, 0) + 1
