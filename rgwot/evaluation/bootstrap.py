"""How far a comparison of two methods over tasks and seeds can be trusted: the paired bootstrap.

Everything here is a function of arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

DRAWS = 10_000
#: Draws in one array; keeps memory small.
_AT_ONCE = 1000


class Estimate(NamedTuple):
    """A value as observed, and the ends of its percentile interval."""

    value: float
    low: float
    high: float


def task_mean(values: Sequence[ArrayLike]) -> float:
    """Mean over tasks of the mean over the seeds of a task; ``values`` has one array (S_k,) per task."""
    return float(np.mean([np.mean(of_task) for of_task in _tasks(values)]))


def compare(
    first: Sequence[ArrayLike],
    second: Sequence[ArrayLike],
    *,
    difference: bool = False,
    draws: int = DRAWS,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Compare the means over tasks of two methods, with a percentile interval of the paired hierarchical bootstrap.

    A draw takes as many tasks as there are, with replacement and the same for both methods; then, for every task
    taken, as many of its seeds as there are, with replacement. Where both have as many seeds, seeds are paired, too. A
    method with one seed contributes no spread of seeds.

    Parameters
    ----------
    first, second
        One array per task, of one value per seed; the same tasks in the same order.
    difference
        Mean of ``first`` minus mean of ``second`` instead of their ratio.
    draws
        Number of draws.
    level
        Probability that the interval is meant to cover, in (0, 1).
    seed
        Of the draws: the same numbers give the same interval.

    Returns
    -------
    Estimate
        Ratio or difference of the observed means, and the interval; infinite or NaN where the second mean is 0.

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
    rng = np.random.default_rng(seed)
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


def _tasks(values: Sequence[ArrayLike]) -> list[NDArray[np.float64]]:
    tasks = [np.asarray(of_task, dtype=np.float64) for of_task in values]
    if not tasks or any(of_task.ndim != 1 or not of_task.size for of_task in tasks):
        raise ValueError("values: found no task, or one without a seed; expected one value per task and seed")
    return tasks
