"""Limits of the processes that open files nobody vouches for."""

from __future__ import annotations

import contextlib


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
