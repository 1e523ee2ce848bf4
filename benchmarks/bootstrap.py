"""Intervals for comparisons of two methods over tasks and seeds, by the paired bootstrap.

`scipy.stats.bootstrap` draws at one level; here tasks are drawn, and seeds within them.

`judge` says whether a claim holds, does not hold, or cannot be decided (report/claims.md). All functions take arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

DRAWS = 10_000
#: Number of draws that are computed at once, which limits memory.
_AT_ONCE = 1000

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "cannot tell"

#: Probability that any interval of a claim misses the truth.
ERROR = 0.05
#: With fewer tasks there is no verdict: draws from two tasks say hardly anything about a third.
LEAST_TASKS = 3

Values = Sequence[ArrayLike]
"""One array per task, of one value per seed."""


class Estimate(NamedTuple):
    """A value as observed, and the ends of its percentile interval."""

    value: float
    low: float
    high: float


class Judgement(NamedTuple):
    """The weakest comparison of a claim, its interval, and the verdict on the claim."""

    of: str
    over: str
    effect: float
    low: float
    high: float
    n_tasks: int
    verdict: str


def task_mean(values: Values) -> float:
    """Mean over tasks of the mean over the seeds of a task; ``values`` has one array (S_k,) per task."""
    return float(np.mean([np.mean(of_task) for of_task in _tasks(values)]))


def compare(
    first: Values,
    second: Values,
    *,
    difference: bool = False,
    draws: int = DRAWS,
    level: float = 0.95,
) -> Estimate:
    """Compare the means over tasks of two methods, with a percentile interval of the paired hierarchical bootstrap.

    With K tasks, a draw takes K tasks with replacement, the same for both methods, and S seeds with replacement for
    every drawn task with S seeds. If both methods have equally many seeds, seeds are
    paired, too. With a single seed, the seeds of a method do not vary.

    Parameters
    ----------
    first, second
        One array per task, of one value per seed; the same tasks in the same order.
    difference
        Whether to compare by the difference of the means, first minus second, instead of their ratio.
    draws
        Number of draws.
    level
        Nominal coverage of the interval, in (0, 1); the same arguments give the same interval.

    Returns
    -------
    Estimate
        Ratio or difference of the observed means, and the interval; infinite or NaN if the second mean is 0.

    Raises
    ------
    ValueError
        If the methods have different numbers of tasks, or a task has no seed.

    Examples
    --------
    >>> compare([[0.5, 0.7], [0.3, 0.3]], [[0.5, 0.7], [0.3, 0.3]])
    Estimate(value=1.0, low=1.0, high=1.0)
    >>> compare([[0.25], [0.75]], [[0.5], [1.0]], difference=True)
    Estimate(value=-0.25, low=-0.25, high=-0.25)
    """
    a, b = _tasks(first), _tasks(second)
    if len(a) != len(b):
        raise ValueError(f"tasks: found {len(a)} and {len(b)}, expected the same tasks of both methods")
    rng = np.random.default_rng(0)
    most = max(len(of_task) for of_task in (*a, *b))
    found = []
    for start in range(0, draws, _AT_ONCE):
        n = min(_AT_ONCE, draws - start)
        tasks, luck = rng.integers(0, len(a), (n, len(a))), rng.random((n, len(a), most))
        found.append(_contrast(_drawn(a, tasks, luck), _drawn(b, tasks, luck), difference))
    observed = _contrast(np.array(task_mean(a)), np.array(task_mean(b)), difference)
    with np.errstate(invalid="ignore"):  # between two infinite ratios
        low, high = np.quantile(np.concatenate(found), [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(observed), float(low), float(high))


def judge(
    values: Mapping[str, Values], pairs: Sequence[tuple[str, str]], *, margin: float = 0.0, ratio: bool = False
) -> Judgement:
    """Judge the claim that in every pair of experiments the first is above the second.

    An effect is the difference of the means over tasks, or their ratio minus 1, with the percentile interval of the
    paired bootstrap over tasks and seeds (`compare`) at the level 1 - 0.05 / n for n pairs.

    Parameters
    ----------
    values
        Values by experiment; larger is better, and all experiments have the same tasks in the same order.
    pairs
        Experiments, first above second. "Best" and "above ... above ..." are several pairs.
    margin
        Amount by which the first may lie below the second, >= 0: 0 for "above", more for "as good as".
    ratio
        Whether effects are ratios minus 1 instead of differences.

    Returns
    -------
    Judgement
        ``holds`` if every interval lies above -margin, ``does not hold`` if any lies below, else ``cannot tell``, which
        is also the verdict on fewer than three tasks. The effect is the smallest of all pairs.

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


def _contrast(a: NDArray[Any], b: NDArray[Any], difference: bool) -> NDArray[Any]:
    if difference:
        return np.asarray(a - b)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.divide(a, b))


def _drawn(values: Sequence[NDArray[Any]], tasks: NDArray[Any], luck: NDArray[Any]) -> NDArray[Any]:
    """Mean over the drawn tasks of the mean over their drawn seeds, one per draw."""
    means = np.zeros(tasks.shape)
    for number, of_task in enumerate(values):
        here = tasks == number
        chosen = (luck[here][:, : len(of_task)] * len(of_task)).astype(np.int64)
        means[here] = of_task[chosen].mean(axis=1)
    return np.asarray(means.mean(axis=1))


def _tasks(values: Values) -> list[NDArray[np.float64]]:
    tasks = [np.asarray(of_task, dtype=np.float64) for of_task in values]
    if not tasks or any(of_task.ndim != 1 or not of_task.size for of_task in tasks):
        raise ValueError("values: found no task, or one without a seed; expected one value per task and seed")
    return tasks
