"""Progress of long loops: a bar on a terminal or in a notebook, otherwise a line in the log every ten seconds."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from rgwot.runtime.threads import check_n_jobs

EVERY_S = 10.0
NOTEBOOK_DELAY_S = 2.0
"""A notebook keeps what is written, so a bar appears there only if the loop takes longer than this."""
Listener = Callable[[str, int, int, str, float], None]
"""A function of a title, the number of finished steps and of all steps, their unit, and the seconds left."""
listeners: list[Listener] = []
"""Functions that are also called at every step."""
_T = TypeVar("_T")
_R = TypeVar("_R")
_shown: ContextVar[bool] = ContextVar("shown", default=True)


@contextmanager
def progress_shown(shown: bool) -> Iterator[None]:
    """Show the progress of loops inside if ``shown``, unless a context around this one hides it."""
    token = _shown.set(shown and _shown.get())
    try:
        yield
    finally:
        _shown.reset(token)


class Progress:
    """Reports the progress of a loop of ``total`` steps, each called ``unit``.

    ``start`` of them were done before, in a resumed run; the rate counts only this run.
    """

    def __init__(self, logger: logging.Logger, title: str, total: int, start: int = 0, unit: str = "it") -> None:
        self._logger = logger
        self._title = title
        self._total = total
        self._start = self._done = start
        self._unit = unit
        self._began = self._reported = time.monotonic()
        self._quiet, notebook = not _shown.get(), "ipykernel" in sys.modules
        self._bar = None
        if not self._quiet and (notebook or sys.stderr.isatty()):
            from tqdm import tqdm

            delay = NOTEBOOK_DELAY_S if notebook else 0.0
            self._bar = tqdm(desc=title, total=total, initial=start, unit=unit, leave=False, delay=delay)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, steps: int, text: str = "") -> None:
        """Count more ``steps``, and report them if it is time; the last step is always reported."""
        self._done += steps
        now = time.monotonic()
        rate = (self._done - self._start) / max(now - self._began, 1e-9)
        remaining_s = (self._total - self._done) / max(rate, 1e-9)
        for listener in listeners:
            listener(self._title, self._done, self._total, self._unit, remaining_s)
        if self._quiet:
            return
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.update(steps)
            return
        if now - self._reported < EVERY_S and self._done < self._total:
            return
        self._reported = now
        self._logger.info(
            "%s: %d of %d %s%s, %.3g %s/s, %d:%02d left",
            self._title, self._done, self._total, self._unit, f", {text}" if text else "", rate, self._unit,
            remaining_s // 60, remaining_s % 60,
        )  # fmt: skip


def with_progress(logger: logging.Logger, title: str, items: Collection[_T], unit: str = "it") -> Iterator[_T]:
    """Iterate over items and report the progress; the parameters are explained in `Progress`."""
    with Progress(logger, title, len(items), unit=unit) as progress:
        for item in items:
            yield item
            progress.advance(1)


def mapped(
    function: Callable[[_T], _R],
    items: Collection[_T],
    n_jobs: int | None,
    *,
    logger: logging.Logger,
    title: str,
    unit: str = "it",
) -> list[_R]:
    """Apply a function to each item, in ``n_jobs`` processes, and report the progress; return the results in order.

    ``n_jobs`` is that of scikit-learn: None is one process unless `joblib.parallel_config` says otherwise, -1 all
    processors. Progress that the function itself reports is not shown.
    """
    from sklearn.utils.parallel import Parallel, delayed

    check_n_jobs(n_jobs, "processes")

    def inside() -> Iterable[_R]:
        # Without other processes, nothing has to be pickled.
        if n_jobs == 1 or len(items) < 2:
            return map(function, items)
        results: Iterable[_R] = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(function)(one) for one in items)
        return results

    made: list[_R] = []
    with Progress(logger, title, len(items), unit=unit) as progress, progress_shown(False):
        for result in inside():
            made.append(result)
            progress.advance(1)
    return made
