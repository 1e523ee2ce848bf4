"""One thread of PyTorch: sums over several are added up in another order, so that threads change rounding."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def threads_kept() -> Iterator[None]:
    """Leave PyTorch with as many threads as it had, whatever is done meanwhile."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute in one thread, and in as many as before afterwards."""
    with threads_kept():
        torch.set_num_threads(1)
        yield
