"""The count-based transition graph: which key step follows which one directly."""

from __future__ import annotations

import numpy as np

from rgwot.procedure.learners.needs import Needs, circles, shares
from rgwot.procedure.orders import surest_first
from rgwot.procedure.tally import Tally


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
    wanted = (share >= 1 / max(n, 1)) & (follows > 0)
    return Needs(surest_first(share, wanted), shares(tally), np.ones(len(tally.present)), circles(tally, wanted))
