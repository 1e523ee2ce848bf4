"""Recordings of simulated people who follow a planted graph with occasional errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rgwot.procedure import Event, Recording


def recording(name: str, *steps: int) -> Recording:
    """Return a recording of key steps in a row, each of eight seconds, two seconds apart."""
    events = tuple(Event(step, 10.0 * place, 10.0 * place + 8.0) for place, step in enumerate(steps))
    return Recording(name, events, 10.0 * len(steps))


def recordings(*orders: Sequence[int]) -> list[Recording]:
    """Return a recording of each order, called v0, v1 and so on."""
    return [recording(f"v{number}", *order) for number, order in enumerate(orders)]


def planted(needs: Sequence[tuple[int, int]], n: int, n_videos: int, erring: int, seed: int) -> list[Recording]:
    """Draw orders of key steps 1 to n that meet the needs; the last ``erring`` videos have random orders."""
    rng = np.random.default_rng(seed)
    found = []
    for video in range(n_videos):
        order: list[int] = []
        while len(order) < n:
            ready = [
                step
                for step in range(1, n + 1)
                if step not in order and all(before in order for before, after in needs if after == step)
            ]
            order.append(int(rng.choice(ready)))
        if video >= n_videos - erring:
            order = rng.permutation(order).tolist()
        found.append(recording(f"v{video}", *order))
    return found
