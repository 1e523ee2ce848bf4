"""What a learner returns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rgwot.procedure.orders import closure
from rgwot.procedure.tally import Tally


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
