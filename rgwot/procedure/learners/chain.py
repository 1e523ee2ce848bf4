"""The trivial answer: one order for everybody, the one nearest to all videos."""

from __future__ import annotations

import numpy as np

from rgwot.procedure.learners.needs import Needs, shares
from rgwot.procedure.orders import consensus
from rgwot.procedure.tally import Tally


def chain(tally: Tally) -> Needs:
    """Let every key step need all that come before it in the Kemeny consensus of the videos' orders."""
    n = len(tally.steps)
    order, _ = consensus(tally.agree.T.astype(np.float64), np.zeros((n, n), dtype=bool), tally.place)
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    return Needs(rank[:, None] < rank[None], shares(tally), np.ones(len(tally.present)))
