"""Learners that count: one order for everybody, and what holds in every video or in most."""

from __future__ import annotations

import numpy as np

from rgwot.procedure.learners.needs import Needs, circles, shares_before
from rgwot.procedure.orders import consensus, surest_first
from rgwot.procedure.tally import Booleans, Floats, Tally

ABOVE = 0.8


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


def precedence(tally: Tally, above: float = ABOVE) -> Needs:
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
