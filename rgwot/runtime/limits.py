"""Limits of a process: memory for opening untrusted files, and threads of PyTorch.

With another number of threads, sums are added in another order, which changes rounding.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

from rgwot.runtime.errors import RgwotError


def limit_memory(size: int) -> None:
    """Limit the address space of this process to ``size`` bytes.

    This has no effect on macOS, which refuses the call, and on Windows, which lacks it.
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
    """Restore PyTorch's number of threads at the end."""
    import torch

    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute in a single thread, and restore the number of threads at the end."""
    import torch

    with threads_kept():
        torch.set_num_threads(1)
        yield


def check_device(device: object) -> None:
    """Raise RgwotError for a word that names no device; PyTorch, which knows the existing devices, is not imported."""
    if device not in ("auto", "cpu", "cuda"):
        raise RgwotError(f"device: found {device!r}, expected auto, cpu or cuda")
