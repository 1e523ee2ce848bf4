"""Learners of task graphs: functions of a `Tally` that return `Needs`.

`chain`, `intersection` and `precedence` count pairs of key steps: they take one order for everybody, the needs that
hold in every video, or those that hold in most. `robust` models the likelihood of the videos' orders; it tolerates
people's mistakes and the errors of a decoder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from rgwot.procedure.orders import Booleans, Floats, Integers, Tally, closure, consensus, surest_first


class Needs(NamedTuple):
    """A strict partial order of K key steps, and how sure each need is.

    Attributes
    ----------
    relation
        (K, K) [k, l]: k has to come before l; transitively closed, without cycles.
    confidence
        (K, K) estimated probability of every possible need, whether or not it is in the relation, 0 to 1.
    weights
        (V,) weight of each video in learning, 0 to 1.
    notes
        Sentences on what the data does not support.
    """

    relation: NDArray[np.bool_]
    confidence: NDArray[np.float64]
    weights: NDArray[np.float64]
    notes: tuple[str, ...] = ()


def shares_before(tally: Tally) -> NDArray[np.float64]:
    """Return (K, K) the share of videos with both key steps in which [k] comes before [l]; 0 where none has both."""
    return tally.agree / np.maximum(tally.both, 1)


def circles(tally: Tally, relation: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return a note if a relation (K, K) has a cycle."""
    in_cycle = [str(step) for step in tally.steps[np.diagonal(closure(relation))]]
    if not in_cycle:
        return ()
    return (f"key steps {', '.join(in_cycle)} come before each other in a cycle; its weakest needs are dropped",)


COUNTED_SHARE = 0.8


def chain(tally: Tally) -> Needs:
    """Let every key step need all key steps before it in the Kemeny consensus of the videos' orders."""
    n = len(tally.steps)
    order, _ = consensus(tally.agree.T.astype(np.float64), np.zeros((n, n), dtype=bool), tally.place)
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    return Needs(rank[:, None] < rank[None], shares_before(tally), np.ones(len(tally.present)))


def intersection(tally: Tally) -> Needs:
    """Let l need k if k comes before l in every video that has both, and at least one video has both.

    Such needs can form a cycle if no video has all of their key steps. They are added in order of the number of videos
    that have both; a need that would close a cycle is left out.
    """
    return surest(tally, tally.both.astype(np.float64), (tally.both > 0) & (tally.agree == tally.both))


def precedence(tally: Tally, above: float = COUNTED_SHARE) -> Needs:
    """Let l need k if k comes before l in more than the share ``above`` of the videos that have both.

    Needs are added in order of this share; a need that would close a cycle is left out.
    """
    share = shares_before(tally)
    return surest(tally, share, share > above)


def surest(tally: Tally, strength: Floats, wanted: Booleans) -> Needs:
    """Return the wanted needs (K, K) without cycles (`surest_first`), with `shares_before` as their confidence."""
    return Needs(
        surest_first(strength, wanted), shares_before(tally), np.ones(len(tally.present)), circles(tally, wanted)
    )


RATES = (0.002, 0.02, 0.1, 0.4)
"""Rates θ at which videos do a key step that waits for one other, ascending."""
CLEAN = 0.6
"""Prior probability of the smallest rate; the other rates share the rest."""
PENALTY = 1.0
"""Cost of an edge of the graph in log likelihood (Akaike)."""
ORDERED = 0.1
"""Log likelihood added for each need, so that a pair is ordered if few videos leave it undecided."""
STARTS = (2 / 3, 0.8, 0.9, 1 - 1e-9)
"""Shares for the graphs by precedence from which the search starts; the last keeps what holds in all videos."""
LARGEST = 600.0
"""Log ratios are clipped to this value, so that their exponentials fit into a float."""
AT_ONCE = 2_000_000
"""Most numbers in one array of the likelihood; if there are more, videos are processed in portions."""


def robust(tally: Tally, clean: float = CLEAN, penalty: float = PENALTY) -> Needs:
    """Learn the needs that make the videos' orders likeliest, with a penalty for every edge (methods 9.3).

    A person who follows the needs chooses, at each moment, any key step that waits for nothing. Key steps that still
    wait are chosen at the rate θ_v of the video. Among the key steps of a video that are not done yet,

        P(x next) = u(x) / Σ_y u(y),   u(x) = 1 where no need of x is unmet, else θ_v / (number of unmet needs).

    Orders are read from the start and from the end, half and half, so that a key step done too late costs as much as
    one done too early. θ_v is one of `RATES`; the smallest has the prior probability ``clean``. The weight of a video
    is the posterior probability of the lower half of `RATES`.

    The search starts from graphs of different strictness (`STARTS`), adds or removes single needs, the best first, and
    returns the best result. The confidence of a need in the reduced graph follows from the likelihood that its removal
    costs; a need that others imply has the confidence of the weakest need on its surest path.
    """  # noqa: D205
    n_videos, n = tally.present.shape
    if n < 2 or not n_videos:
        return Needs(np.zeros((n, n), dtype=bool), np.zeros((n, n)), np.ones(n_videos))
    share = shares_before(tally)
    # Ties go to the key step that comes first in time, so that the numbers of the key steps do not matter.
    places = np.lexsort((tally.agree.sum(axis=0), tally.place))
    by_place = np.ix_(places, places)
    co_occur = (tally.both > 0)[by_place]
    rank = np.argsort(places)
    orders = _Orders([rank[order] for order in tally.orders()], n, clean)
    best: _State | None = None
    tried: set[bytes] = set()
    for above in STARTS:
        start = surest_first(share, share > above)[by_place]
        if start.tobytes() not in tried:
            tried.add(start.tobytes())
            candidate = _climb(orders, start, co_occur, penalty)
            if best is None or candidate.value > best.value + 1e-6:
                best = candidate
    assert best is not None
    back = np.ix_(rank, rank)
    return Needs(best.relation[back], _confidence(best.relation, best.gains)[back], best.weights)


class _State(NamedTuple):
    """A relation (K, K) with its penalised log likelihood, and the effect of changing single needs.

    For each need that can be changed alone, ``gains`` is the log likelihood gained by having it, and ``better`` the
    penalised log likelihood gained by changing it; both are -inf for other needs.
    """

    relation: Booleans
    value: float
    gains: Floats
    better: Floats
    weights: Floats


def _climb(orders: _Orders, start: Booleans, co_occur: Booleans, penalty: float) -> _State:
    """Change needs as long as this raises the penalised likelihood; add only needs whose key steps co-occur (K, K).

    Each round changes all helpful needs without a common key step at once, or only the best one if that helps more.
    """

    def look(relation: Booleans) -> _State:
        value, change, weights = orders.likelihood(relation)
        edges, single, more = _single_changes(relation)
        single &= relation | co_occur
        gains = np.where(single, np.where(relation, -change, change), -np.inf)
        # Rounding makes ties the same on every machine.
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
    """Return the relation with the needs of ``pairs`` changed in turn, except pairs with a key step already touched."""
    relation, touched = relation.copy(), set[int]()
    for pair in pairs:
        if touched.isdisjoint(pair) and (not touched or _single_changes(relation)[1][pair]):
            relation[pair] ^= True
            touched.update(pair)
    return relation


def _single_changes(relation: Booleans) -> tuple[int, Booleans, Integers]:
    """Return the number of edges in the reduced graph, which pairs can be changed alone, and how many edges each adds.

    The relation must stay transitive. A need k before l can be removed if no key step lies between, and added if
    everything before k comes before l and everything after l comes after k.
    """
    before = relation.astype(np.int64)
    between = before @ before
    edges = relation & (between == 0)
    bridges = (relation & (between == 1)).astype(np.int64)
    covers = edges.astype(np.int64)
    removed = before.T @ bridges + bridges @ before.T - 1
    added = 1 - before.T @ covers - covers @ before.T
    addable = (before.T @ (1 - before) == 0) & ((1 - before) @ before.T == 0) & ~(relation | relation.T)
    np.fill_diagonal(addable, False)
    return int(covers.sum()), edges | addable, np.where(relation, removed, added)


class _Orders:
    """The orders of videos, and their likelihood under given needs."""

    def __init__(self, orders: Sequence[Integers], n: int, clean: float) -> None:
        others = len(RATES) - 1
        self.prior = np.log([clean, *[(1 - clean) / others] * others])[:, None] - np.log(2)
        # The weight u of a key step by rate and by its number of unmet needs.
        unmet = np.maximum(np.arange(n + 2), 1)
        self.table = np.array(RATES)[:, None] / unmet
        self.table[:, 0] = 1.0
        portion = max(1, AT_ONCE // (len(RATES) * n * n))
        self.portions = [
            [_one_way(part, n), _one_way([order[::-1] for order in part], n)]
            for part in (orders[at : at + portion] for at in range(0, len(orders), portion))
        ]

    def likelihood(self, relation: Booleans) -> tuple[float, Floats, Floats]:
        """Return the log likelihood, its change if each need (K, K) alone is changed, and the videos' weights."""
        value, change, weights = 0.0, np.zeros(relation.shape), []
        for ways in self.portions:
            needs = [relation.astype(np.float64), relation.T.astype(np.float64)]
            parts = [self._way(*way, need) for way, need in zip(ways, needs, strict=True)]
            joint = np.stack([log_likelihood for log_likelihood, _ in parts]) + self.prior
            each = logsumexp(joint, axis=(0, 1))
            posterior = np.exp(joint - each)
            ratio = np.zeros((len(each), *relation.shape))
            for share, log in zip(posterior, (parts[0][1], parts[1][1].swapaxes(2, 3)), strict=True):
                ratio += np.einsum("ev,evkl->vkl", share, np.exp(np.minimum(log, LARGEST)))
            value += float(each.sum())
            change += np.log(np.maximum(ratio, np.exp(-LARGEST))).sum(axis=0)
            weights.append(posterior.sum(axis=0)[: len(RATES) // 2].sum(axis=0))
        return value, change, np.concatenate(weights)

    def _way(self, remaining: Floats, next_: Booleans, needs: Floats) -> tuple[Floats, Floats]:
        """Return the log likelihood per rate and video (E, V), and its change by each changed need (k, l)."""
        unmet = np.rint(remaining @ needs).astype(np.int64)
        weight = self.table[:, unmet] * remaining
        total = weight.sum(axis=3, keepdims=True)
        total[total == 0] = 1.0
        chosen = np.log(np.where(next_, weight, 1.0))
        value = chosen.sum(axis=(2, 3)) - np.log(total).sum(axis=(2, 3))

        def changed(step: int) -> Floats:
            affected = (remaining > 0) & (unmet + step >= 0)
            changed_weight = np.where(affected, self.table[:, np.maximum(unmet + step, 0)], weight)
            log = (
                np.log(np.where(next_ & affected, changed_weight, 1.0))
                - chosen * affected
                - np.log1p((changed_weight - weight) / total)
            )
            return np.asarray(remaining.swapaxes(1, 2) @ log)

        return value, np.where(needs > 0, changed(-1), changed(1))


def _one_way(orders: Sequence[Integers], n: int) -> tuple[Floats, Booleans]:
    """Return whether key step x of video v remains before choice i, and whether it is chosen: two arrays [v, i, x]."""
    remaining, chosen = np.zeros((len(orders), n, n)), np.zeros((len(orders), n, n), dtype=bool)
    for video, order in enumerate(orders):
        for at, step in enumerate(order):
            remaining[video, at, order[at:]] = 1.0
            chosen[video, at, step] = True
    return remaining, chosen


def _confidence(relation: Booleans, gains: Floats) -> Floats:
    """Return the probability of every need from the gains of single needs in log likelihood (K, K)."""
    surest = np.where(relation, gains, -np.inf)
    for between in range(len(relation)):
        surest = np.maximum(surest, np.minimum(surest[:, between, None], surest[between]))
    confidence: Floats = expit(np.where(relation, surest, gains))
    return confidence


#: The learners by name; the settings of a learner are the keyword arguments of its function.
LEARNERS: Mapping[str, Callable[..., Needs]] = {
    learner.__name__: learner for learner in (chain, intersection, precedence, robust)
}
