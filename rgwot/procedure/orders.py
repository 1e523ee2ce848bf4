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
"""Part of its longest occurrence in the video that an occurrence has to last to give a key step its place."""


def placed(recording: Recording) -> dict[int, Event]:
    """Return the event that gives each key step its place: the first that lasts at least half as long as its longest.

    Key steps that were found flicker: their first occurrence is often a fragment.

    >>> placed(Recording("a", (Event(1, 0, 0.5), Event(2, 1, 4), Event(1, 5, 9), Event(1, 9, 14)), 20))[1]
    Event(key_step=1, start_s=5, end_s=9)
    """
    longest: dict[int, float] = {}
    for step, start_s, end_s in recording.events:
        longest[step] = max(longest.get(step, 0.0), end_s - start_s)
    found: dict[int, Event] = {}
    for event in recording.events:
        if event.end_s - event.start_s >= SUBSTANTIAL * longest[event.key_step]:
            found.setdefault(event.key_step, event)
    return found


@dataclass(frozen=True)
class Tally:
    """Arrays over V videos and K key steps; times in seconds, NaN where a video does not have a key step.

    Attributes
    ----------
    steps
        (K,) the key steps, ascending.
    count
        (V, K) occurrences.
    start, end
        (V, K) start and end of the occurrence that gives its place (`placed`).
    total
        (V, K) time in seconds of all occurrences.
    duration
        (V,) length of the videos in seconds.
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
        """(V, K, K) whether a video has both and its [k] begins before its [l] (`placed`); of equal starts, ends."""
        start, end = self.start[:, :, None], self.end[:, :, None]
        other_start, other_end = self.start[:, None, :], self.end[:, None, :]
        found: Booleans = (start < other_start) | ((start == other_start) & (end < other_end))
        return found

    @cached_property
    def agree(self) -> Integers:
        """(K, K) videos in which [k] comes before [l]."""
        found: Integers = self.earlier.sum(axis=0, dtype=np.int64)
        return found

    @cached_property
    def both(self) -> Integers:
        """(K, K) videos that have both key steps."""
        present = self.present.astype(np.int64)
        return present.T @ present

    @cached_property
    def place(self) -> Floats:
        """(K,) median of the middle of the occurrence that gives the place over the length of the video, 0 to 1."""
        middle = (self.start + self.end) / 2 / np.maximum(self.duration, 1e-9)[:, None]
        return np.clip(np.nanmedian(middle, axis=0), 0.0, 1.0) if middle.size else np.zeros(len(self.steps))

    def orders(self) -> list[Integers]:
        """Per video the indices (into ``steps``) of its key steps, in their order."""
        found = []
        for present, start, end in zip(self.present, self.start, self.end, strict=True):
            where = np.flatnonzero(present)
            found.append(where[np.lexsort((self.place[where], end[where], start[where]))])
        return found


def tally(recordings: Sequence[Recording]) -> Tally:
    """Count recordings: the key steps are all that occur in any of them."""
    known = np.array(sorted({event.key_step for one in recordings for event in one.events}), dtype=np.int64)
    index = {int(step): place for place, step in enumerate(known)}
    shape = (len(recordings), len(known))
    count, total = np.zeros(shape, dtype=np.int64), np.zeros(shape)
    start, end = np.full(shape, np.nan), np.full(shape, np.nan)
    for row, recording in enumerate(recordings):
        for step, start_s, end_s in recording.events:
            count[row, index[step]] += 1
            total[row, index[step]] += end_s - start_s
        for step, start_s, end_s in placed(recording).values():
            start[row, index[step]], end[row, index[step]] = start_s, end_s
    return Tally(known, count, start, end, total, np.array([recording.duration_s for recording in recordings]))


EXACT_STATES = 20_000
"""Sets of key steps done that the exact consensus may look at; 14 key steps without any need have 16,384."""
LONGEST_BLOCK = 8
"""Key steps that the search beyond that moves at once."""


def closure(relation: Booleans) -> Booleans:
    """Return the transitive closure of a relation, which may have circles.

    >>> closure(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)).astype(int).tolist()
    [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    """
    import networkx

    return _matrix(networkx.transitive_closure(networkx.DiGraph(relation)))


def reduction(relation: Booleans) -> Booleans:
    """Return the transitive reduction of a relation without circles: what follows from other needs is left out.

    >>> reduction(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)).astype(int).tolist()
    [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    """
    import networkx

    return _matrix(networkx.transitive_reduction(networkx.DiGraph(relation)))


def surest_first(strength: Floats, wanted: Booleans) -> Booleans:
    """Take wanted relations from the strongest on, none that closes a circle; return their transitive closure.

    Of equal strength (K, K), those go first that have more strength in the rest of their row and column.
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
    """Return the order nearest to all videos that a relation allows (Kemeny), and whether it is exact.

    The order minimises Σ cost[k, l] over pairs with k before l, where ``cost[k, l]`` (K, K) is the number (or the
    weight) of videos with l before k, among the linear extensions of ``relation`` (without circles). Exact by
    dynamic programming over the sets of key steps that may have been done (Held and Karp's recursion on the order
    ideals of the relation) as long as there are at most `EXACT_STATES` of them; otherwise the order of a greedy pass
    is improved by moving single key steps and blocks until no move helps. Of equal costs, the smaller ``place``
    (K,) goes first.

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
    # best[done] = cost, last step, of the cheapest way to have done exactly these
    layer: dict[int, tuple[float, Floats]] = {0: (0.0, np.zeros(n))}
    came: dict[int, tuple[int, int]] = {}
    seen = 1
    for _ in range(n):
        after: dict[int, tuple[float, Floats]] = {}
        for done, (spent, owed) in layer.items():
            for step in ranked:
                if done >> step & 1 or needs[step] & ~done:
                    continue
                # What placing `step` costs: all that is done comes before it.
                total, then = spent + float(owed[step]), done | 1 << step
                known = after.get(then)
                if known is None:
                    after[then] = (total, owed + cost[step])
                    came[then] = (done, step)
                elif total < known[0] - 1e-9:
                    after[then] = (total, known[1])
                    came[then] = (done, step)
        seen += len(after)
        if seen > EXACT_STATES:
            return None
        layer = after
    order, done = [], (1 << n) - 1
    while done:
        done, step = came[done]
        order.append(step)
    return order[::-1]


def _by_moves(cost: Floats, closed: Booleans, place: Floats) -> list[int]:
    n = len(cost)
    left = np.ones(n, dtype=bool)
    order: list[int] = []
    gain = cost - cost.T  # above 0: k before l costs more than l before k
    while left.any():
        free = np.flatnonzero(left & ~closed[left].any(axis=0))
        owed = gain[np.ix_(free, np.flatnonzero(left))].sum(axis=1)
        step = int(free[np.lexsort((place[free], owed))[0]])
        order.append(step)
        left[step] = False
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
    """Move a block of an order to where it saves most, or return None where nothing saves."""
    block, rest = order[first : first + width], order[:first] + order[first + width :]
    # Passing a step on the right puts it before the block, one on the left after it.
    best, where = -1e-9, None
    spent = 0.0
    for to in range(first, len(rest)):
        if closed[block, rest[to]].any():
            break
        spent += float(gain[rest[to], block].sum())
        if spent < best:
            best, where = spent, to + 1
    spent = 0.0
    for to in range(first - 1, -1, -1):
        if closed[rest[to], block].any():
            break
        spent += float(gain[block, rest[to]].sum())
        if spent < best:
            best, where = spent, to
    return None if where is None else rest[:where] + block + rest[where:]


def either_order(relation: Booleans, order: Sequence[int]) -> list[list[int]]:
    """Group key steps that may be done in either order.

    A group is a run of neighbours in ``order`` (indices of key steps, a linear extension of the relation), as long
    as possible, of which no key step has to come before another by the transitive closure of the relation. Groups of
    one are left out; groups are maximal runs from the left, so that they do not share a key step.

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
