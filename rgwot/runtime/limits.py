"""Limits of a process: memory where files are opened that nobody vouches for, and threads of PyTorch.

Another number of threads adds in another order, which changes rounding.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager


def limit_memory(size: int) -> None:
    """Allow this process ``size`` bytes of address space at most.

    Not every system can be told: macOS refuses the call and Windows has none, and there the limit is the machine's.
    """
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = size if hard == resource.RLIM_INFINITY else min(size, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


@contextmanager
def threads_kept() -> Iterator[None]:
    """Restore PyTorch's number of threads afterwards."""
    import torch

    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute in one thread, and restore their number afterwards."""
    import torch

    with threads_kept():
        torch.set_num_threads(1)
        yield
