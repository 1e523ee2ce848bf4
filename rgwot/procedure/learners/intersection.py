"""What holds in every video."""

from __future__ import annotations

import numpy as np

from rgwot.procedure.learners.needs import Needs, circles, shares
from rgwot.procedure.orders import surest_first
from rgwot.procedure.tally import Tally


def intersection(tally: Tally) -> Needs:
    """Let l need k where k comes before l in every video that has both, and at least one has.

    Where no video has a pair, such needs may run in a circle; they are taken by the number of videos that have both,
    none that closes one.
    """
    wanted = (tally.both > 0) & (tally.agree == tally.both)
    relation = surest_first(tally.both.astype(np.float64), wanted)
    return Needs(relation, shares(tally), np.ones(len(tally.present)), circles(tally, wanted))
