"""Threads for computations that do not depend on each other; results are the same for any number of threads."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import TypeVar

from rgwot.runtime.errors import RgwotError

_T = TypeVar("_T")
_R = TypeVar("_R")


def check_n_jobs(n_jobs: int | None, what: str) -> None:
    """Raise RgwotError if ``n_jobs``, a number of ``what``, is not a number as in scikit-learn."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise RgwotError(f"n_jobs: found {n_jobs!r}, expected a number of {what}, or -1 for all processors")


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Let `in_threads` use ``n_jobs`` threads inside; None changes nothing, and -1 stands for all processors."""
    check_n_jobs(n_jobs, "threads")
    if n_jobs is None:
        yield
        return
    from joblib import parallel_config

    with parallel_config(backend="threading", n_jobs=n_jobs):
        yield


def in_threads(function: Callable[[_T], _R], items: Iterable[_T]) -> list[_R]:
    """Apply a function to each item, in as many threads as `threads` allows, by default one; return all results.

    Results are in the order of the items. They do not depend on the number of threads if the function changes nothing
    that the items share, such as a random generator.
    """
    from joblib import Parallel, delayed

    # Filters belong to the process; threads that change them at the same time might leave theirs behind.
    with warnings.catch_warnings():
        return list(Parallel(require="sharedmem")(delayed(function)(item) for item in items))
