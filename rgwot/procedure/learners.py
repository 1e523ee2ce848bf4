"""Learners of task graphs: functions of a `Tally` that return `Needs`.

`chain`, `intersection` and `precedence` count: one order for everybody, what holds in every video, or in most. `robust`
is for people who err and key steps that were found: videos that contradict the rest count less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, expit

from rgwot.procedure.orders import Booleans, Floats, Tally, closure, consensus, surest_first


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


NEEDED = 0.85
"""Share of pairs of key steps that are ordered, a priori, while videos are weighed."""
ERROR, ERROR_WORTH = 0.005, 40.2
"""Share of needs that a video breaks, a priori, and the number of needs that this is worth (Beta 0.2, 40)."""
FIRST_ERROR = 0.05
"""Share of needs that each video breaks, to begin with."""
REWEIGHTINGS = 8
"""Of weighing; nothing moves after about five."""
BROKEN = 3.5
"""Needs that a video may break before it counts half, where no key step is free."""
BY_CHANCE = 12.0
"""How many more for each one that a video without mistakes is expected to break by chance."""
SOFTNESS = 1.0
"""Broken needs by which a weight falls from 1/2 to 1 / (1 + e)."""
SLIP, SLIP_MORE = 0.006, 0.03
"""Probability that a need is broken by a video that counts, and by how much it grows with the share set aside."""
SLIP_FOUND = 0.03
"""``slip`` for key steps that a decoder found, which err in every video."""
ALIKE, ALIKE_FOUND = 0.0, 1.0
"""How much the share of pairs that are ordered says of a single pair; where few videos differ little else does."""
CALIBRATION = (-0.5, 1.1, 0.9)
"""Of the confidence: constant, per key step in between (up to `BETWEEN`), per unit of the log odds (up to `ODDS`)."""
BETWEEN, ODDS = 6, 3.0


def robust(
    tally: Tally,
    needed: float = NEEDED,
    broken: float = BROKEN,
    by_chance: float = BY_CHANCE,
    softness: float = SOFTNESS,
    slip: float = SLIP,
    slip_more: float = SLIP_MORE,
    alike: float = ALIKE,
) -> Needs:
    """Learn needs in two passes over all pairs of key steps (methods 10.3).

    First, videos are weighed. A pair is either needed, and broken by video v with its own probability e_v, or free,
    and done in one order with a probability of which nothing is known (uniform). EM on both: the posterior of each
    need from all e_v, and e_v from the needs that v breaks. A video that breaks more of them than somebody without
    mistakes would by chance is set aside: with b_v the needs it breaks, F the free pairs and V the videos,

        w_v = 1 / (1 + exp((b_v − broken − by_chance · 2 F / (V (V + 1))) / softness)).

    Secondly, with A and B the sums of weights of the videos that agree and disagree with k before l, the log odds of a
    need are B log(slip + slip_more · (1 − mean w)) − log Beta(A + 1, B + 1), and ``alike`` times the log odds that a
    pair of this task is ordered, (P − F + 1) / (F + 1) of P pairs. Needs are taken where these are above 0, from the
    largest on, none that closes a circle. So few videos give their intersection, and the more there are the more
    exceptions a need may have.
    """  # noqa: D205
    n_videos, n = tally.present.shape
    if n < 2 or not n_videos:
        return Needs(np.zeros((n, n), dtype=bool), np.zeros((n, n)), np.ones(n_videos))
    breaks, free = _broken(tally, needed)
    allowed = broken + by_chance * 2 * free / (n_videos * (n_videos + 1))
    weights = expit((allowed - breaks) / softness)
    agree = np.einsum("v,vkl->kl", weights, tally.earlier.astype(np.float64))
    against = agree.T
    odds = against * np.log(slip + slip_more * (1 - weights.mean())) - betaln(agree + 1, against + 1)
    odds = odds + alike * np.log((n * (n - 1) / 2 - free + 1) / (free + 1))
    odds = np.where(tally.both > 0, odds, -np.inf)
    wanted = odds > 0
    np.fill_diagonal(wanted, False)
    relation = surest_first(odds, wanted)
    return Needs(relation, _confidence(relation, odds), weights, circles(tally, wanted))


def _broken(tally: Tally, needed: float) -> tuple[Floats, float]:
    """Return how many needs each video breaks (V,), and the number of free pairs."""
    n_videos, n = tally.present.shape
    first = tally.earlier.reshape(n_videos, n * n).astype(np.float64)
    second = tally.earlier.transpose(0, 2, 1).reshape(n_videos, n * n).astype(np.float64)
    errors = np.full(n_videos, FIRST_ERROR)
    agree, against = first.sum(axis=0), second.sum(axis=0)
    free = np.log1p(-needed) + betaln(agree + 1, against + 1)
    need = np.zeros(n * n)
    for _ in range(REWEIGHTINGS):
        forward = np.log(needed / 2) + np.log1p(-errors) @ first + np.log(errors) @ second
        backward = forward.reshape(n, n).T.ravel()
        need = np.exp(forward - np.logaddexp(np.logaddexp(forward, backward), free))
        broken, kept = second @ need, first @ need
        errors = np.clip((broken + ERROR * ERROR_WORTH) / (broken + kept + ERROR_WORTH), 5e-4, 0.5)
    sure = need > 0.5
    ordered = sure.reshape(n, n) | sure.reshape(n, n).T
    return second @ sure, float((~ordered).sum() - n) / 2


def _confidence(relation: Booleans, odds: Floats) -> Floats:
    """Return the calibrated probability of every need: a logistic function of its log odds and of what lies between.

    Of a need that others imply, each of the key steps in between is evidence.
    """
    between = relation.astype(np.int64) @ relation.astype(np.int64)
    constant, per_step, per_odds = CALIBRATION
    found: Floats = expit(constant + per_step * np.minimum(between, BETWEEN) + per_odds * np.minimum(odds, ODDS))
    return found


#: By name; the settings of a learner are the keyword arguments of its function.
LEARNERS: Mapping[str, Callable[..., Needs]] = {
    learner.__name__: learner for learner in (chain, intersection, precedence, robust)
}

#: Settings for key steps that a decoder found, of the learners that have any: `learn(recordings, **FOUND["robust"])`.
FOUND: Mapping[str, Mapping[str, float]] = {"robust": {"slip": SLIP_FOUND, "alike": ALIKE_FOUND}}
