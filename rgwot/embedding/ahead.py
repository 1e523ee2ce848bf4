"""Making the next inputs while the last ones are worked on.

What an iteration reads is a function of the seed and the iteration, so reading ahead changes when something is read and
nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

THREAD = "rgwot-read-ahead"


@contextmanager
def read_ahead(
    make: Callable[[Key], Value], keys: Iterable[Key], *, background: bool
) -> Generator[Iterator[Value], None, None]:
    """Give ``make(key)`` for all keys in order, made one ahead of what was asked for.

    Leaving the block, by an error too, drops what nobody asked for and waits for the one that is being made.

    Parameters
    ----------
    make
        Called with one key at a time, in order; what it raises is raised where its value is asked for.
    keys
        What to make.
    background
        Whether a thread makes the values; False: each is made when it is asked for.
    """
    if not background:
        yield map(make, keys)
        return
    pool = ThreadPoolExecutor(1, thread_name_prefix=THREAD)
    try:
        yield _in_order(pool, make, keys)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _in_order(pool: ThreadPoolExecutor, make: Callable[[Key], Value], keys: Iterable[Key]) -> Iterator[Value]:
    pending: deque[Future[Value]] = deque()
    for key in keys:
        pending.append(pool.submit(make, key))
        if len(pending) == 2:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()
