"""Threads of PyTorch: another number of them adds in another order, which changes rounding."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


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
