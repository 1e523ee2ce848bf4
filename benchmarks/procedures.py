"""Draw random procedures, and recordings of simulated people who follow them with errors, for graphs.py.

A procedure has 7 to 25 key steps. Its needs are those that two or three random orders have in common, or form chains
that join, or are random. People do any key step whose needs are met, with habits that belong to the procedure. People
who err also move key steps, or runs of up to three, to a place that breaks a need, and leave out more key steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot.procedure import Event, Recording
from rgwot.procedure.orders import closure

Booleans = NDArray[np.bool_]


class Planted(NamedTuple):
    """Transitively closed needs (K, K) of the key steps 1 to K, where [k, l] means that l needs k; and recordings."""

    needs: Booleans
    recordings: list[Recording]


def draw_procedure(rng: np.random.Generator, n_videos: int, erring: float) -> Planted:
    """Draw a procedure and recordings, of which a share ``erring`` breaks needs; a few others swap two steps."""
    n = int(rng.integers(7, 26))
    needs = _needs(rng, n)
    # The usual order, how strongly people prefer it, and how much they prefer to go on with steps that they began.
    usual = np.argsort(_follow(rng, needs, np.zeros(n), 0.0, float(rng.choice([1, 3]))))
    habit, going_on = float(rng.choice([0, 0, 0.1, 0.2, 0.4])), float(rng.choice([1, 3, 8]))
    often = rng.dirichlet(np.full(n, rng.choice([0.3, 1.0, 5.0]))) + 1e-3
    moved, runs = rng.uniform(0.02, 0.25) * n, float(rng.choice([0.0, 0.3]))
    slips, missing = float(rng.choice([0.0, 0.05, 0.1])), rng.uniform(0, 0.08)
    who = set(rng.permutation(n_videos)[: rng.binomial(n_videos, erring)].tolist())
    recordings = []
    for video in range(n_videos):
        order = _follow(rng, needs, usual, habit, going_on)
        if video in who:
            count = min(n, max(1, rng.poisson(moved)))
            for step in rng.choice(n, size=count, replace=False, p=often / often.sum()):
                order = _moved(rng, needs, order, int(step), runs)
        elif rng.random() < slips:
            at = int(rng.integers(n - 1))
            order[at], order[at + 1] = order[at + 1], order[at]
        kept = rng.random(n) >= missing * (2 if video in who else 1)
        events = tuple(Event(step + 1, float(at), at + 1.0) for at, step in enumerate(order) if kept[step])
        recordings.append(Recording(f"v{video}", events, float(n)))
    return Planted(needs, recordings)


def _needs(rng: np.random.Generator, n: int) -> Booleans:
    needs, kind = np.zeros((n, n), dtype=bool), int(rng.integers(3))
    if kind == 0:
        place = np.arange(n)
        needs = place[:, None] < place
        for _ in range(rng.integers(1, 3)):
            other = np.argsort(np.argsort(place + rng.normal(0, rng.uniform(0.1, 0.6) * n / 2, n)))
            needs &= other[:, None] < other
    elif kind == 1:
        window = int(rng.integers(2, 7))
        for step in range(n - 1):
            needs[step, rng.integers(step + 1, min(n, step + window))] = True
            if rng.random() < 0.2:
                needs[step, rng.integers(step + 1, n)] = True
    else:
        window, share = int(rng.integers(2, n + 1)), rng.uniform(0.1, 0.6)
        for step in range(n):
            near = np.arange(step + 1, min(n, step + window))
            needs[step, near] = rng.random(len(near)) < share
    names = rng.permutation(n)
    return closure(needs)[np.ix_(names, names)]


def _follow(
    rng: np.random.Generator, needs: Booleans, usual: NDArray[np.generic], habit: float, going_on: float
) -> list[int]:
    done, order = np.zeros(len(needs), dtype=bool), list[int]()
    while len(order) < len(needs):
        ready = np.flatnonzero(~done & ~(needs & ~done[:, None]).any(axis=0))
        weight = np.exp(-habit * usual[ready].astype(np.float64))
        if order:
            weight *= np.where(needs[order[-1], ready], going_on, 1.0)
        order.append(int(rng.choice(ready, p=weight / weight.sum())))
        done[order[-1]] = True
    return order


def _moved(rng: np.random.Generator, needs: Booleans, order: list[int], step: int, runs: float) -> list[int]:
    for _ in range(20):
        at = order.index(step)
        length = int(rng.integers(1, 4)) if rng.random() < runs else 1
        run, rest = order[at : at + length], order[:at] + order[at + length :]
        to = int(rng.integers(len(rest) + 1))
        new = rest[:to] + run + rest[to:]
        place = np.argsort(new)
        if (needs[step] & (place < place[step])).any() or (needs[:, step] & (place > place[step])).any():
            return new
    return order
