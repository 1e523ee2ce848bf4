"""Fuzzy C-means over many samples: all starts in one pass over the data, single precision first, double at the end.

A pass is bound by reading the samples. Here it reads them once for all starts and both products, in pieces that stay
in the cache, and first in single precision, half the bytes. What single precision cannot decide is left to passes in
the precision of the samples, which only the best start is given. A start that arrives at the centres of an earlier one
is given up. Over very many samples a start first goes most of its way on a few thousand of them, since all it takes
from there is a better estimate of the same means. Every end is a fixed point over all samples, to the tolerance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

Floats = NDArray[Any]

SKETCH = 8192
"""Evenly spaced samples on which starts are moved near their ends first, where there are four times as many."""

PIECE = 1024
"""Samples per piece: with D = 128 a piece and its memberships stay in the cache between the two products."""

HANDOVER = 1e-5
"""Root mean square change of the memberships of a sample from which on single precision is not enough."""

SAME_START = 1e-2
"""Distance of the centres of two starts, relative to the spread of the samples, from which they are one start."""

SAME_OBJECTIVE = 1e-6
"""Relative difference of two objectives that single precision cannot tell; the earlier start is kept."""


@dataclass(frozen=True)
class Samples:
    """Samples x (T, D), float32 or float64, their squared distances (T,) from the mean, and the mean (D,).

    The mean is None where it is taken off already. Else it is taken off piece by piece, where samples are used: a copy
    of all would cost as much as several passes.
    """

    x: Floats
    power: Floats
    mean: Floats | None = None

    @classmethod
    def of(cls, offsets: Floats) -> Self:
        """Measure samples less their mean."""
        return cls(offsets, np.einsum("td,td->t", offsets, offsets))

    @classmethod
    def two(cls, x: Floats, mean: Floats) -> tuple[Self, Self]:
        """Return samples as they are, and less their mean in single precision."""
        power, single = np.empty(len(x), dtype=x.dtype), np.empty(x.shape, dtype=np.float32)
        scratch = np.empty((PIECE, x.shape[1]), dtype=x.dtype)
        for begin in range(0, len(x), PIECE):
            piece = slice(begin, begin + PIECE)
            offsets = np.subtract(x[piece], mean, out=scratch[: len(x[piece])])
            power[piece] = np.einsum("td,td->t", offsets, offsets)
            single[piece] = offsets
        return cls(x, power, mean), cls(single, power.astype(np.float32))

    def piece(self, begin: int, scratch: Floats) -> Floats:
        """Return `PIECE` samples, less the mean; ``scratch`` (PIECE, D) may be used for them."""
        x = self.x[begin : begin + PIECE]
        return x if self.mean is None else np.subtract(x, self.mean, out=scratch[: len(x)])

    @property
    def floor(self) -> float:
        """Rounding of |x|^2 - 2 x.c + |c|^2: smaller squared distances are indistinguishable from none."""
        return float(np.finfo(self.x.dtype).eps) * float(np.mean(self.power))

    @property
    def spread(self) -> float:
        """Root mean square distance from the mean."""
        return float(np.sqrt(np.mean(self.power)))


@dataclass(frozen=True)
class Converged:
    """What a start ended with after some ``iterations`` (updates).

    Memberships u (T, K), whose rows add up to 1, centres c (K, D), the objective J = sum_t sum_k u_tk^m |x_t - c_k|^2,
    and whether |U - U_old| (Frobenius) fell to the tolerance.
    """

    memberships: Floats
    centres: Floats
    objective: float
    iterations: int
    converged: bool


def converge(samples: Samples, rough: Passes, max_iterations: int, tolerance: float) -> Converged:
    """Return the best of several starts, converged; ``rough`` are these over the same samples in single precision.

    The limits are those of `rgwot.keysteps.fuzzy_cmeans.fuzzy_cmeans`, with at least 2 iterations.
    """
    candidates = settle(rough, samples, max_iterations - 1)
    limit = min(rough.objective[candidates]) * (1 + SAME_OBJECTIVE)
    best = next(start for start in candidates if rough.objective[start] <= limit)
    fine = rough.continued(samples, best)
    while fine.iterations[0] < max_iterations and not fine.change[0] <= tolerance:
        fine.run([0])
    return Converged(
        memberships=np.ascontiguousarray(fine.memberships[0].T),
        centres=fine.centres[0],
        objective=float(fine.objective[0]),
        iterations=int(fine.iterations[0]),
        converged=bool(fine.change[0] <= tolerance),
    )


def settle(passes: Passes, samples: Samples, max_iterations: int) -> list[int]:
    """Run starts until their memberships hardly change; return those that did not become an earlier one, in order.

    Whether two are one is judged by the spread of ``samples``.
    """
    radius = SAME_START * samples.spread
    # Near m = 1 the rounding of a distance grows by the exponent 1 / (m - 1).
    level = float(np.sqrt(passes.memberships.shape[2]))
    level *= max(HANDOVER, 8 * float(np.finfo(np.float32).eps) / (passes.m - 1))
    running, arrived = list(range(len(passes.memberships))), list[int]()
    for _ in range(max_iterations):
        passes.run(running)
        still: list[int] = []
        for start in running:
            others = (passes.centres[other] for other in [*arrived, *still])
            if not any(_same(passes.centres[start], other, radius) for other in others):
                (arrived if passes.change[start] <= level else still).append(start)
        running = still
        if not running:
            break
    return sorted([*arrived, *running])


def sketch_of(samples: Samples, max_iterations: int) -> Samples | None:
    """Return evenly spaced samples, at least `SKETCH`; None for fewer than four times as many, or very few updates."""
    every = len(samples.x) // SKETCH
    if every < 4 or max_iterations < 20:
        return None
    return Samples(np.ascontiguousarray(samples.x[::every]), np.ascontiguousarray(samples.power[::every]))


def approach(sketch: Samples, starts: Sequence[Floats], m: float, max_iterations: int) -> list[Floats]:
    """Move the centres (K, D) of starts to where they end on a sketch; those that become an earlier one are dropped."""
    passes = Passes.from_centres(sketch, starts, m)
    return [passes.centres[start] for start in settle(passes, sketch, max_iterations // 2)]


class Passes:
    """R starts over the same T samples: memberships (R, K, T), centres (R, K, D), and a pass over the data.

    ``sums`` (R, K, D) and ``totals`` (R, K) are those of the samples weighted by u^m, from which the next centres
    follow; ``change`` (R,) is |U - U_old| (Frobenius) of the last pass, ``objective`` (R,) that of its memberships,
    ``iterations`` (R,) counts passes.
    """

    def __init__(self, samples: Samples, R: int, K: int, m: float) -> None:
        x = samples.x
        self.m = m
        self.memberships = np.zeros((R, K, len(x)), dtype=x.dtype)
        self.centres = np.zeros((R, K, x.shape[1]), dtype=x.dtype)
        self.sums = np.zeros(self.centres.shape)
        self.totals = np.zeros((R, K))
        self.change = np.full(R, np.inf)
        self.objective = np.full(R, np.inf)
        self.iterations = np.zeros(R, dtype=np.int64)
        tiny = float(np.finfo(x.dtype).tiny)
        self._samples = samples
        self._scratch = np.empty((PIECE, x.shape[1]), dtype=x.dtype)
        self._floor = max(samples.floor, tiny)
        self._empty = tiny / float(np.finfo(x.dtype).eps)
        # Weights below the smallest normal number would slow the product with the samples down a hundredfold.
        self._least = (2 * tiny) ** (1 - 1 / m)

    @classmethod
    def from_centres(cls, samples: Samples, starts: Sequence[Floats], m: float) -> Self:
        """Start from centres (K, D) each."""
        passes = cls(samples, len(starts), len(starts[0]), m)
        passes.centres[:] = starts
        # No weight has moved them yet, and giving every sample its memberships is not yet an update.
        passes.run(list(range(len(starts))))
        passes.iterations[:] = 0
        return passes

    @classmethod
    def from_memberships(cls, samples: Samples, starts: Iterable[Floats], m: float) -> Self:
        """Start from memberships (T, K) each."""
        given = [u.T for u in starts]
        passes = cls(samples, len(given), len(given[0]), m)
        for start, u in enumerate(given):
            passes.memberships[start] = u
        passes._weigh()
        return passes

    def means(self) -> list[Floats]:
        """Return the weighted means (K, D) of every start; the overall mean, 0, where nothing has weight."""
        filled = self.totals > self._empty
        means = np.where(filled[..., None], self.sums / np.where(filled, self.totals, 1)[..., None], 0)
        return list(means.astype(self.centres.dtype))

    def continued(self, samples: Samples, start: int) -> Passes:
        """Return one of the starts alone, over the same samples in another precision."""
        _, K, _ = self.memberships.shape
        alone = Passes(samples, 1, K, self.m)
        for name in ("memberships", "centres", "sums", "totals", "iterations"):
            getattr(alone, name)[0] = getattr(self, name)[start]
        return alone

    def _weigh(self) -> None:
        R, K, T = self.memberships.shape
        for begin in range(0, T, PIECE):
            piece = slice(begin, begin + PIECE)
            weights = self.memberships[:, :, piece] ** self.m
            self.totals += weights.sum(axis=2)
            sums = weights.reshape(R * K, -1) @ self._samples.piece(begin, self._scratch)
            self.sums += sums.reshape(self.sums.shape)

    def run(self, starts: list[int]) -> None:
        """Move the centres of some starts to the means and update their memberships.

        With r_k = min_j s_j / s_k of the squared distances s, u_k = r_k^p / Z for p = 1 / (m - 1) and Z = sum_k
        r_k^p; then u_k^m = u_k r_k Z^(1 - m), and J adds up to min_j s_j Z^(1 - m). No power can overflow.
        """
        samples, m, K = self._samples, self.m, self.memberships.shape[1]
        filled = self.totals[starts] > self._empty
        # A centre so far from everything that its weights vanish has no mean to move to and stays.
        means = self.sums[starts] / np.where(filled, self.totals[starts], 1)[..., None]
        centres = np.where(filled[..., None], means, self.centres[starts]).astype(samples.x.dtype)
        flat = centres.reshape(-1, centres.shape[-1])
        lengths = np.einsum("kd,kd->k", flat, flat)[:, None]
        towards = np.ascontiguousarray(-2 * flat.T)
        sums, totals = np.zeros(flat.shape), np.zeros(len(flat))
        change, objective = np.zeros(len(starts)), np.zeros(len(starts))
        for begin in range(0, len(samples.x), PIECE):
            piece = slice(begin, begin + PIECE)
            x = samples.piece(begin, self._scratch)
            squared = np.ascontiguousarray((x @ towards).T)
            squared += lengths
            squared += samples.power[piece]
            ratio = np.maximum(squared, self._floor, out=squared).reshape(len(starts), K, -1)
            nearest = ratio.min(axis=1, keepdims=True)
            np.divide(nearest, ratio, out=ratio)
            np.maximum(ratio, self._least, out=ratio)
            u = ratio.copy() if m == 2 else ratio ** (1 / (m - 1))
            share = u.sum(axis=1, keepdims=True)
            u /= share
            scale = share ** (1 - m)
            objective += (nearest * scale).sum(axis=(1, 2))
            ratio *= u
            ratio *= scale
            weights = ratio.reshape(len(flat), -1)
            sums += weights @ x
            totals += weights.sum(axis=1)
            for place, start in enumerate(starts):
                old = self.memberships[start, :, piece]
                difference = (u[place] - old).ravel()
                change[place] += difference @ difference
                old[:] = u[place]
        self.centres[starts] = centres
        self.sums[starts], self.totals[starts] = sums.reshape(centres.shape), totals.reshape(filled.shape)
        self.change[starts], self.objective[starts] = np.sqrt(change), objective
        self.iterations[starts] += 1


def _same(centres: Floats, others: Floats, radius: float) -> bool:
    """Return whether two sets of centres (K, D) are one but for their order."""
    near = cdist(centres, others) <= radius
    return bool(near.any(axis=0).all() and near.any(axis=1).all())
