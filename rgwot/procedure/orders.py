"""Recordings as arrays, partial orders as matrices, and total orders that fit them.

A relation is a boolean matrix (K, K): [k, l] says that k has to come before l.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rgwot.procedure.interface import Event, Recording

if TYPE_CHECKING:
    import networkx

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

SUBSTANTIAL = 0.5
"""An occurrence can give a key step its place if it lasts this part of the longest one in the video."""


def placed(recording: Recording) -> dict[int, Event]:
    """Return the event that gives each key step its place: the first at least half as long as its longest event.

    Decoded key steps flicker, so their first occurrence is often a fragment.

    >>> placed(Recording("a", (Event(1, 0, 0.5), Event(2, 1, 4), Event(1, 5, 9), Event(1, 9, 14)), 20))[1]
    Event(key_step=1, start_s=5, end_s=9)
    """
    longest: dict[int, float] = {}
    for step, start_s, end_s in recording.events:
        longest[step] = max(longest.get(step, 0.0), end_s - start_s)
    first_long: dict[int, Event] = {}
    for event in recording.events:
        if event.end_s - event.start_s >= SUBSTANTIAL * longest[event.key_step]:
            first_long.setdefault(event.key_step, event)
    return first_long


@dataclass(frozen=True)
class Tally:
    """Counts and times of K key steps in V videos; times are in seconds, NaN where a video lacks the key step.

    Attributes
    ----------
    steps
        (K,) the key steps, ascending.
    count
        (V, K) occurrences.
    start, end
        (V, K) start and end of the occurrence that gives the key step its place (`placed`).
    total
        (V, K) total time of all occurrences, without pauses.
    duration
        (V,) length of the videos.
    """

    steps: Integers
    count: Integers
    start: Floats
    end: Floats
    total: Floats
    duration: Floats

    @cached_property
    def present(self) -> Booleans:
        """(V, K) whether a video has a key step."""
        return self.count > 0

    @cached_property
    def earlier(self) -> Booleans:
        """(V, K, K) whether a video has both key steps and [k] begins before [l] (`placed`); ends break ties."""
        start, end = self.start[:, :, None], self.end[:, :, None]
        other_start, other_end = self.start[:, None, :], self.end[:, None, :]
        earlier: Booleans = (start < other_start) | ((start == other_start) & (end < other_end))
        return earlier

    @cached_property
    def agree(self) -> Integers:
        """(K, K) number of videos in which [k] comes before [l]."""
        agree: Integers = self.earlier.sum(axis=0, dtype=np.int64)
        return agree

    @cached_property
    def both(self) -> Integers:
        """(K, K) number of videos that have both key steps."""
        present = self.present.astype(np.int64)
        return present.T @ present

    @cached_property
    def place(self) -> Floats:
        """(K,) median relative time of a key step in the videos: the middle of its `placed` occurrence, 0 to 1."""
        middle = (self.start + self.end) / 2 / np.maximum(self.duration, 1e-9)[:, None]
        return np.clip(np.nanmedian(middle, axis=0), 0.0, 1.0) if middle.size else np.zeros(len(self.steps))

    def orders(self) -> list[Integers]:
        """Return for each video the indices (into ``steps``) of its key steps in the order of the video."""
        orders = []
        for present, start, end in zip(self.present, self.start, self.end, strict=True):
            where = np.flatnonzero(present)
            orders.append(where[np.lexsort((self.place[where], end[where], start[where]))])
        return orders


def tally(recordings: Sequence[Recording]) -> Tally:
    """Count the key steps of recordings; K is the number of key steps that occur in any of them."""
    steps = np.array(sorted({event.key_step for recording in recordings for event in recording.events}), dtype=np.int64)
    index = {int(step): place for place, step in enumerate(steps)}
    shape = (len(recordings), len(steps))
    count, total = np.zeros(shape, dtype=np.int64), np.zeros(shape)
    start, end = np.full(shape, np.nan), np.full(shape, np.nan)
    for row, recording in enumerate(recordings):
        for event in recording.events:
            count[row, index[event.key_step]] += 1
        for step, seconds in recording.seconds.items():
            total[row, index[step]] = seconds
        for step, start_s, end_s in placed(recording).values():
            start[row, index[step]], end[row, index[step]] = start_s, end_s
    return Tally(steps, count, start, end, total, np.array([recording.duration_s for recording in recordings]))


EXACT_STATES = 20_000
"""Largest number of sets of done key steps for the exact consensus; 14 key steps without any need have 16,384."""
LONGEST_BLOCK = 8
"""Most key steps that the approximate consensus moves as one block."""


def closure(relation: Booleans) -> Booleans:
    """Return the transitive closure of a relation, which may have cycles.

    >>> closure(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)).astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    import networkx

    return _matrix(networkx.transitive_closure(networkx.DiGraph(relation)))


def reduction(relation: Booleans) -> Booleans:
    """Return the transitive reduction of a relation without cycles: needs that follow from others are left out.

    >>> reduction(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)).astype(int).tolist()
    [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    """
    import networkx

    return _matrix(networkx.transitive_reduction(networkx.DiGraph(relation)))


def surest_first(strength: Floats, wanted: Booleans) -> Booleans:
    """Add the wanted pairs to a relation by strength, except those that close a cycle; return its transitive closure.

    Pairs of equal ``strength`` (K, K) are ordered by the total strength of the wanted pairs in their row and column.
    """
    n = len(strength)
    before, after = np.nonzero(wanted & ~np.eye(n, dtype=bool))
    support = np.where(wanted, strength, 0.0)
    tie = support.sum(axis=1)[before] + support.sum(axis=0)[after]
    closed = np.zeros((n, n), dtype=bool)
    for index in np.lexsort((-tie, -strength[before, after])):
        k, l = before[index], after[index]  # noqa: E741
        if closed[l, k] or closed[k, l]:
            continue
        above, below = closed[:, k].copy(), closed[l].copy()
        above[k] = below[l] = True
        closed |= above[:, None] & below[None]
    return closed


def consensus(cost: Floats, relation: Booleans, place: Floats) -> tuple[list[int], bool]:
    """Return the order that a relation allows and that is nearest to all videos (Kemeny), and whether it is exact.

    Among the linear extensions of ``relation`` (without cycles), the order minimises Σ cost[k, l] over pairs with k
    before l, where ``cost[k, l]`` (K, K) is the number (or the weight) of videos with l before k. If at most
    `EXACT_STATES` sets of key steps can have been done at some moment, dynamic programming over these sets is exact
    (Held and Karp's recursion on the order ideals of the relation). Otherwise single key steps and blocks of a greedy
    order are moved until no move helps. Ties go to the smaller ``place`` (K,).

    Examples
    --------
    >>> cost = np.array([[0, 2, 0], [1, 0, 0], [3, 3, 0.]])
    >>> consensus(cost, np.zeros((3, 3), bool), np.zeros(3))
    ([1, 0, 2], True)
    """
    closed = closure(relation)
    exact = _by_ideals(cost, closed, place)
    if exact is not None:
        return exact, True
    return _by_moves(cost, closed, place), False


def _by_ideals(cost: Floats, closed: Booleans, place: Floats) -> list[int] | None:
    n = len(cost)
    needs = [int(sum(1 << int(k) for k in np.flatnonzero(closed[:, step]))) for step in range(n)]
    ranked = np.argsort(place, kind="stable").tolist()
    # layer[done]: the cost of the cheapest order of exactly the key steps `done`, and what each key step would add;
    # came[done]: the set before its last key step, and that key step.
    layer: dict[int, tuple[float, Floats]] = {0: (0.0, np.zeros(n))}
    came: dict[int, tuple[int, int]] = {}
    n_sets = 1
    for _ in range(n):
        after: dict[int, tuple[float, Floats]] = {}
        for done, (spent, owed) in layer.items():
            for step in ranked:
                if done >> step & 1 or needs[step] & ~done:
                    continue
                # The cost of placing `step` now: all done key steps come before it.
                total, then = spent + float(owed[step]), done | 1 << step
                cheapest = after.get(then)
                if cheapest is None:
                    after[then] = (total, owed + cost[step])
                    came[then] = (done, step)
                elif total < cheapest[0] - 1e-9:
                    after[then] = (total, cheapest[1])
                    came[then] = (done, step)
        n_sets += len(after)
        if n_sets > EXACT_STATES:
            return None
        layer = after
    order, done = [], (1 << n) - 1
    while done:
        done, step = came[done]
        order.append(step)
    return order[::-1]


def _by_moves(cost: Floats, closed: Booleans, place: Floats) -> list[int]:
    n = len(cost)
    remaining = np.ones(n, dtype=bool)
    order: list[int] = []
    gain = cost - cost.T  # above 0: k before l costs more than l before k
    while remaining.any():
        free = np.flatnonzero(remaining & ~closed[remaining].any(axis=0))
        owed = gain[np.ix_(free, np.flatnonzero(remaining))].sum(axis=1)
        step = int(free[np.lexsort((place[free], owed))[0]])
        order.append(step)
        remaining[step] = False
    improved = True
    while improved:
        improved = False
        for width in range(1, min(LONGEST_BLOCK, n // 2) + 1):
            for first in range(n - width + 1):
                moved = _move(order, first, width, gain, closed)
                if moved is not None:
                    order, improved = moved, True
    return order


def _move(order: list[int], first: int, width: int, gain: Floats, closed: Booleans) -> list[int] | None:
    """Move a block of an order to where it lowers the cost most; return None if no move lowers it."""
    block, others = order[first : first + width], order[:first] + order[first + width :]
    # Moving the block to the right puts the passed steps before it, moving it to the left after it.
    best, where = -1e-9, None
    spent = 0.0
    for to in range(first, len(others)):
        if closed[block, others[to]].any():
            break
        spent += float(gain[others[to], block].sum())
        if spent < best:
            best, where = spent, to + 1
    spent = 0.0
    for to in range(first - 1, -1, -1):
        if closed[others[to], block].any():
            break
        spent += float(gain[block, others[to]].sum())
        if spent < best:
            best, where = spent, to
    return None if where is None else others[:where] + block + others[where:]


def either_order(relation: Booleans, order: Sequence[int]) -> list[list[int]]:
    """Group key steps that may be done in either order.

    A group is a run of neighbours in ``order`` (indices of key steps, a linear extension of the relation) in which no
    key step has to come before another by the transitive closure of the relation. Runs are made as long as possible
    from the left, so groups do not share key steps. Runs of a single key step are left out.

    >>> either_order(np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], dtype=bool), [0, 1, 2])
    [[1, 2]]
    """
    closed = closure(relation)
    groups: list[list[int]] = []
    current: list[int] = []
    for step in order:
        if current and closed[current, step].any():
            groups.append(current)
            current = []
        current.append(step)
    return [group for group in [*groups, current] if len(group) > 1]


def _matrix(graph: networkx.DiGraph[int]) -> Booleans:
    import networkx

    return np.asarray(networkx.to_numpy_array(graph, range(len(graph)), dtype=bool, weight=None))
