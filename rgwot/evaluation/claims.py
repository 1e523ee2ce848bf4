"""What measurements say of a claim: it holds, it does not hold, or they cannot tell (methods 6.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from numpy.typing import ArrayLike

from rgwot.evaluation.bootstrap import compare

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "cannot tell"

#: Probability that any interval of a claim misses.
ERROR = 0.05
#: With fewer tasks nothing is said: drawing among two says next to nothing of a third.
LEAST_TASKS = 3

Values = Sequence[ArrayLike]
"""One array per task, of one value per seed."""


class Judgement(NamedTuple):
    """The weakest comparison of a claim, its interval, and the verdict on the claim."""

    of: str
    over: str
    effect: float
    low: float
    high: float
    n_tasks: int
    verdict: str


def judge(
    values: Mapping[str, Values], pairs: Sequence[tuple[str, str]], *, margin: float = 0.0, ratio: bool = False
) -> Judgement:
    """Judge a claim that says of pairs of experiments that the first is above the second, of all of them together.

    An effect is the difference of the means over tasks, or their ratio minus 1, with the percentile interval of the
    paired bootstrap over tasks and seeds (`rgwot.evaluation.bootstrap.compare`) at the level 1 - 0.05 / n for n pairs.

    Parameters
    ----------
    values
        What is compared, by experiment: larger is better, the same tasks in the same order everywhere.
    pairs
        Experiments, first above second. "Best" and "above ... above ..." are several pairs.
    margin
        How far below the second the first may lie, >= 0: 0 for "above", more for "as good as".
    ratio
        Compare by ratio.

    Returns
    -------
    Judgement
        ``holds`` where every interval lies above -margin, ``does not hold`` where one lies below it, else
        ``cannot tell``, which is also said of fewer than three tasks. The effect is the smallest one.

    Examples
    --------
    >>> scores = {"new": [[0.6, 0.7], [0.5, 0.6], [0.8, 0.8]], "old": [[0.2, 0.3], [0.1, 0.2], [0.4, 0.3]]}
    >>> judge(scores, [("new", "old")]).verdict
    'holds'
    """
    if not pairs:
        raise ValueError("pairs: found none, expected at least one pair of experiments")
    level, nothing = 1 - ERROR / len(pairs), 1 if ratio else 0
    effects = [compare(values[of], values[over], difference=not ratio, level=level) for of, over in pairs]
    n_tasks = len(values[pairs[0][0]])
    if n_tasks < LEAST_TASKS:
        verdict = UNKNOWN
    elif all(effect.low - nothing > -margin for effect in effects):
        verdict = HOLDS
    elif any(effect.high - nothing < -margin for effect in effects):
        verdict = FAILS
    else:
        verdict = UNKNOWN
    lowest, (of, over) = min(zip(effects, pairs, strict=True), key=lambda compared: compared[0].value)
    effect, low, high = (value - nothing for value in lowest)
    return Judgement(of, over, effect, low, high, n_tasks, verdict)
