"""What holds in most videos."""

from __future__ import annotations

import numpy as np

from rgwot.procedure.learners.needs import Needs, circles, shares
from rgwot.procedure.orders import surest_first
from rgwot.procedure.tally import Tally

ABOVE = 0.8


def precedence(tally: Tally, above: float = ABOVE) -> Needs:
    """Let l need k where k comes before l in more than a share ``above`` of the videos that have both.

    Relations are taken from the largest share on, none that closes a circle.
    """
    share = shares(tally)
    wanted = share > above
    return Needs(surest_first(share, wanted), share, np.ones(len(tally.present)), circles(tally, wanted))
