"""Learners of task graphs: functions of a `Tally` that return `Needs`.

`chain`, `intersection` and `precedence` count: one order for everybody, what holds in every video, or in most. `robust`
is for people who err and key steps that were found: it says how likely the orders of the videos are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from rgwot.procedure.orders import Booleans, Floats, Integers, Tally, closure, consensus, surest_first


class Needs(NamedTuple):
    """A strict partial order of K key steps with how sure it is.

    Attributes
    ----------
    relation
        (K, K) [k, l]: k has to come before l; transitively closed, no circle.
    confidence
        (K, K) estimated probability of every need, in the relation or not, 0 to 1.
    weights
        (V,) weight of every video in learning, 0 to 1.
    notes
        Words on what the data does not support.
    """

    relation: NDArray[np.bool_]
    confidence: NDArray[np.float64]
    weights: NDArray[np.float64]
    notes: tuple[str, ...] = ()


def shares_before(tally: Tally) -> NDArray[np.float64]:
    """(K, K) share of videos with both key steps in which [k] comes before [l]; 0 where no video has both."""
    return tally.agree / np.maximum(tally.both, 1)


def circles(tally: Tally, wanted: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return a note where wanted relations run in a circle."""
    found = [str(step) for step in tally.steps[np.diagonal(closure(wanted))]]
    if not found:
        return ()
    return (f"key steps {', '.join(found)} come before each other in a circle; its weakest needs are dropped",)


COUNTED_SHARE = 0.8


def chain(tally: Tally) -> Needs:
    """Let every key step need all that come before it in the Kemeny consensus of the videos' orders."""
    n = len(tally.steps)
    order, _ = consensus(tally.agree.T.astype(np.float64), np.zeros((n, n), dtype=bool), tally.place)
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    return Needs(rank[:, None] < rank[None], shares_before(tally), np.ones(len(tally.present)))


def intersection(tally: Tally) -> Needs:
    """Let l need k where k comes before l in every video that has both, and at least one has.

    Where no video has a pair, such needs may run in a circle; they are taken by the number of videos that have both,
    none that closes one.
    """
    return surest(tally, tally.both.astype(np.float64), (tally.both > 0) & (tally.agree == tally.both))


def precedence(tally: Tally, above: float = COUNTED_SHARE) -> Needs:
    """Let l need k where k comes before l in more than a share ``above`` of the videos that have both.

    Relations are taken from the largest share on, none that closes a circle.
    """
    share = shares_before(tally)
    return surest(tally, share, share > above)


def surest(tally: Tally, strength: Floats, wanted: Booleans) -> Needs:
    """Return wanted needs (K, K), the strongest first, with the shares of videos for confidence."""
    return Needs(
        surest_first(strength, wanted), shares_before(tally), np.ones(len(tally.present)), circles(tally, wanted)
    )


RATES = (0.002, 0.02, 0.1, 0.4)
"""How readily a video does a key step that waits for one other; the smallest first."""
CLEAN = 0.6
"""Probability of the smallest rate, a priori; the others share the rest."""
PENALTY = 1.0
"""What an edge of the graph costs in the logarithm of the likelihood (Akaike)."""
ORDERED = 0.1
"""What a need adds to the logarithm of the likelihood: where few videos do not decide, a pair is ordered."""
STARTS = (2 / 3, 0.8, 0.9, 1 - 1e-9)
"""Shares of the graphs by precedence from which the search starts; the last is what holds in all videos."""
LARGEST = 600.0
"""Logarithm of what fits into a float with room to spare."""
AT_ONCE = 2_000_000
"""Numbers in one array of the likelihood; videos beyond them are taken in portions."""


def robust(tally: Tally, clean: float = CLEAN, penalty: float = PENALTY) -> Needs:
    """Learn the needs under which the videos' orders are likeliest, with a penalty for every edge (methods 9.3).

    Whoever follows the needs does, one after the other, any key step that waits for nothing. Others are done with a
    rate that is the video's own: of the key steps of a video that are not done yet,

        P(x next) = u(x) / Σ_y u(y),   u(x) = 1 where no need of x is unmet, else θ_v / (number of unmet needs).

    Orders are read from the start and from the end, half and half, so that a key step done too late costs no more than
    one done too early. θ_v is one of `RATES`, the smallest with probability ``clean``. The weight of a video is the
    posterior probability of the lower half of them.

    The search adds or removes single needs, the best first, from graphs of different strictness (`STARTS`); the
    best end counts. A need of the reduced graph has the confidence at which its removal costs the likelihood, one that
    others imply that of the weakest need on the surest way.
    """  # noqa: D205
    n_videos, n = tally.present.shape
    if n < 2 or not n_videos:
        return Needs(np.zeros((n, n), dtype=bool), np.zeros((n, n)), np.ones(n_videos))
    share = shares_before(tally)
    # Of equals the first in time is taken, whatever the numbers of the key steps.
    places = np.lexsort((tally.agree.sum(axis=0), tally.place))
    by_place = np.ix_(places, places)
    seen = (tally.both > 0)[by_place]
    rank = np.argsort(places)
    orders = _Orders([rank[order] for order in tally.orders()], n, clean)
    best: _State | None = None
    tried: set[bytes] = set()
    for above in STARTS:
        start = surest_first(share, share > above)[by_place]
        if start.tobytes() not in tried:
            tried.add(start.tobytes())
            found = _climb(orders, start, seen, penalty)
            if best is None or found.value > best.value + 1e-6:
                best = found
    assert best is not None
    back = np.ix_(rank, rank)
    return Needs(best.relation[back], _confidence(best.relation, best.gains)[back], best.weights)


class _State(NamedTuple):
    """A relation (K, K) with its penalised log likelihood, and what changing single needs does.

    ``gains`` is what having each need that can be changed alone gains in likelihood, ``better`` by how much changing it
    raises the penalised likelihood; both are -inf for the others.
    """

    relation: Booleans
    value: float
    gains: Floats
    better: Floats
    weights: Floats


def _climb(orders: _Orders, start: Booleans, seen: Booleans, penalty: float) -> _State:
    """Change needs that videos have seen (K, K) while that helps.

    In each round, needs without a common key step are changed at once; where that helps less than the best one alone,
    the best one alone.
    """

    def look(relation: Booleans) -> _State:
        value, change, weights = orders.likelihood(relation)
        edges, single, more = _single_changes(relation)
        single &= relation | seen
        gains = np.where(single, np.where(relation, -change, change), -np.inf)
        # Rounded, so that ties are ties on every machine.
        step = change - penalty * more + np.where(relation, -ORDERED, ORDERED)
        better = np.where(single, np.round(step, 7), -np.inf)
        return _State(relation, value - penalty * edges + ORDERED * relation.sum(), gains, better, weights)

    now = look(start)
    while (most := now.better.max()) > 0:
        order = np.argsort(-now.better, axis=None, kind="stable")
        pairs = [divmod(int(at), len(start)) for at in order[: np.count_nonzero(now.better > 0)]]
        then = look(_changed(now.relation, pairs))
        now = then if then.value >= now.value + most - 1e-9 else look(_changed(now.relation, pairs[:1]))
    return now


def _changed(relation: Booleans, pairs: Sequence[tuple[int, int]]) -> Booleans:
    """Return the relation with needs changed, the first ones first, none that has a key step of one before."""
    relation, touched = relation.copy(), set[int]()
    for pair in pairs:
        if touched.isdisjoint(pair) and (not touched or _single_changes(relation)[1][pair]):
            relation[pair] ^= True
            touched.update(pair)
    return relation


def _single_changes(relation: Booleans) -> tuple[int, Booleans, Integers]:
    """Return the edges of the reduced graph, which pairs can be changed alone, and how many edges more that makes.

    A need can be removed where nothing lies between, and added where all that comes before its first comes before its
    second and all that comes after its second after its first: the relation stays transitive.
    """
    one = relation.astype(np.int64)
    between = one @ one
    edges = relation & (between == 0)
    bridges = (relation & (between == 1)).astype(np.int64)
    covers = edges.astype(np.int64)
    removed = one.T @ bridges + bridges @ one.T - 1
    added = 1 - one.T @ covers - covers @ one.T
    addable = (one.T @ (1 - one) == 0) & ((1 - one) @ one.T == 0) & ~(relation | relation.T)
    np.fill_diagonal(addable, False)
    return int(covers.sum()), edges | addable, np.where(relation, removed, added)


class _Orders:
    """Orders of videos, and how likely needs make them."""

    def __init__(self, orders: Sequence[Integers], n: int, clean: float) -> None:
        others = len(RATES) - 1
        self.prior = np.log([clean, *[(1 - clean) / others] * others])[:, None] - np.log(2)
        # Weight of a key step by rate and by how many of its needs are unmet, one less and one more among them.
        unmet = np.maximum(np.arange(n + 2), 1)
        self.table = np.array(RATES)[:, None] / unmet
        self.table[:, 0] = 1.0
        portion = max(1, AT_ONCE // (len(RATES) * n * n))
        self.portions = [
            [_one_way(part, n), _one_way([order[::-1] for order in part], n)]
            for part in (orders[at : at + portion] for at in range(0, len(orders), portion))
        ]

    def likelihood(self, relation: Booleans) -> tuple[float, Floats, Floats]:
        """Return its logarithm, by how much changing each need (K, K) alone changes it, and the videos' weights."""
        value, change, weights = 0.0, np.zeros(relation.shape), []
        for ways in self.portions:
            needs = [relation.astype(np.float64), relation.T.astype(np.float64)]
            parts = [self._way(*way, need) for way, need in zip(ways, needs, strict=True)]
            joint = np.stack([own for own, _ in parts]) + self.prior
            each = logsumexp(joint, axis=(0, 1))
            posterior = np.exp(joint - each)
            ratio = np.zeros((len(each), *relation.shape))
            for own, log in zip(posterior, (parts[0][1], parts[1][1].swapaxes(2, 3)), strict=True):
                ratio += np.einsum("ev,evkl->vkl", own, np.exp(np.minimum(log, LARGEST)))
            value += float(each.sum())
            change += np.log(np.maximum(ratio, np.exp(-LARGEST))).sum(axis=0)
            weights.append(posterior.sum(axis=0)[: len(RATES) // 2].sum(axis=0))
        return value, change, np.concatenate(weights)

    def _way(self, left: Floats, next_: Booleans, needs: Floats) -> tuple[Floats, Floats]:
        """Return per rate and video the log likelihood (E, V), and by how much each change (k, l) changes it."""
        unmet = np.rint(left @ needs).astype(np.int64)
        weight = self.table[:, unmet] * left
        total = weight.sum(axis=3, keepdims=True)
        total[total == 0] = 1.0
        chosen = np.log(np.where(next_, weight, 1.0))
        value = chosen.sum(axis=(2, 3)) - np.log(total).sum(axis=(2, 3))

        def changed(step: int) -> Floats:
            there = (left > 0) & (unmet + step >= 0)
            other = np.where(there, self.table[:, np.maximum(unmet + step, 0)], weight)
            log = np.log(np.where(next_ & there, other, 1.0)) - chosen * there - np.log1p((other - weight) / total)
            return np.asarray(left.swapaxes(1, 2) @ log)

        return value, np.where(needs > 0, changed(-1), changed(1))


def _one_way(orders: Sequence[Integers], n: int) -> tuple[Floats, Booleans]:
    """Return (V, K, K) which key steps [x] of a video are left before its choice [i], and which one it chooses."""
    left, chosen = np.zeros((len(orders), n, n)), np.zeros((len(orders), n, n), dtype=bool)
    for video, order in enumerate(orders):
        for at, step in enumerate(order):
            left[video, at, order[at:]] = 1.0
            chosen[video, at, step] = True
    return left, chosen


def _confidence(relation: Booleans, gains: Floats) -> Floats:
    """Return the probability of every need from what single ones gain in log likelihood (K, K)."""
    surest = np.where(relation, gains, -np.inf)
    for between in range(len(relation)):
        surest = np.maximum(surest, np.minimum(surest[:, between, None], surest[between]))
    found: Floats = expit(np.where(relation, surest, gains))
    return found


#: By name; the settings of a learner are the keyword arguments of its function.
LEARNERS: Mapping[str, Callable[..., Needs]] = {
    learner.__name__: learner for learner in (chain, intersection, precedence, robust)
}
