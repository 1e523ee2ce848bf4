"""Progress of long loops: a bar on a terminal, otherwise a line in the log every ten seconds."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

from tqdm import tqdm

EVERY_S = 10.0
Listener = Callable[[str, int, int, str, float], None]
"""A function of a title, the steps that are done, all of them, their unit, and the seconds left."""
listeners: list[Listener] = []
"""Functions that are also told of every step."""
_T = TypeVar("_T")


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
        self._bar = (
            tqdm(desc=title, total=total, initial=start, unit=unit, leave=False) if sys.stderr.isatty() else None
        )

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
