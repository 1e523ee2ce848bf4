"""Learners that count: one order for everybody, what holds in every video or in most, and what follows directly."""

from __future__ import annotations

import numpy as np

from rgwot.procedure.learners.needs import Needs, circles, shares
from rgwot.procedure.orders import Booleans, Floats, consensus, surest_first
from rgwot.procedure.tally import Tally

ABOVE = 0.8


def chain(tally: Tally) -> Needs:
    """Let every key step need all that come before it in the Kemeny consensus of the videos' orders."""
    n = len(tally.steps)
    order, _ = consensus(tally.agree.T.astype(np.float64), np.zeros((n, n), dtype=bool), tally.place)
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    return Needs(rank[:, None] < rank[None], shares(tally), np.ones(len(tally.present)))


def intersection(tally: Tally) -> Needs:
    """Let l need k where k comes before l in every video that has both, and at least one has.

    Where no video has a pair, such needs may run in a circle; they are taken by the number of videos that have both,
    none that closes one.
    """
    return _surest(tally, tally.both.astype(np.float64), (tally.both > 0) & (tally.agree == tally.both))


def precedence(tally: Tally, above: float = ABOVE) -> Needs:
    """Let l need k where k comes before l in more than a share ``above`` of the videos that have both.

    Relations are taken from the largest share on, none that closes a circle.
    """
    share = shares(tally)
    return _surest(tally, share, share > above)


def transitions(tally: Tally) -> Needs:
    """Let l need k where k comes directly before l in a share of at least 1 / K of the videos that have l.

    K is the number of key steps. Transitions are those of the videos' orders, taken from the most frequent on,
    none that closes a circle: the graph that process mining calls directly-follows, without its circles.
    """
    n = len(tally.steps)
    follows = np.zeros((n, n))
    for order in tally.orders():
        follows[order[:-1], order[1:]] += 1
    share = follows / np.maximum(tally.present.sum(axis=0), 1)
    return _surest(tally, share, (share >= 1 / max(n, 1)) & (follows > 0))


def _surest(tally: Tally, strength: Floats, wanted: Booleans) -> Needs:
    """Return wanted needs (K, K), the strongest first, with the shares of videos for confidence."""
    return Needs(surest_first(strength, wanted), shares(tally), np.ones(len(tally.present)), circles(tally, wanted))
