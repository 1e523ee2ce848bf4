"""L-BFGS on many small problems at once, each with its own history and line search (methods 4.2).

`torch.optim.LBFGS` takes one problem: forty of them in turn take longer than a training step, and their sum as one
problem ends far above what each reaches by itself, and ties the result of one to the others. Here problems are rows,
which never mix. Directions, line search and stopping rules are those of PyTorch's optimiser, so that a minimisation
that is cut short ends where that one would: a search for the strong conditions of Wolfe after Nocedal and Wright,
"Numerical optimization", 2006, algorithms 3.5 and 3.6, with cubic interpolation. (Newer versions of PyTorch also end a
search in the middle when its step has no evaluations left; those of GTCC's time did not.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from rgwot.transport.fused_gromov_wasserstein import where_state

Objective = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Points (R, n), one per problem -> values (R,) and gradients (R, n)."""

KEPT_MOVES = 10
# Conditions of Wolfe: sufficient decrease, and slope.
DECREASE, SLOPE = 1e-4, 0.9
TRIALS = 26
LEAST_GRADIENT, LEAST_CHANGE, LEAST_CURVATURE = 1e-7, 1e-9, 1e-10


class _Point(NamedTuple):
    """A place on the line of each problem: how far (R,), value (R,), slope along the line (R,), gradient (R, n)."""

    t: Tensor
    value: Tensor
    slope: Tensor
    gradient: Tensor


class _History:
    """The last moves and changes of the gradient of every problem, for the inverse Hessian; empty places count 0."""

    def __init__(self, x: Tensor) -> None:
        self.moves, self.changes = (x.new_zeros(KEPT_MOVES, *x.shape) for _ in range(2))
        self.inverse, self.scale = x.new_zeros(KEPT_MOVES, len(x)), x.new_ones(len(x))

    def add(self, move: Tensor, change: Tensor) -> None:
        """Keep the moves (R, n) along which the slope rose; others are no information."""
        along = (move * change).sum(1)
        learned = along > LEAST_CURVATURE
        self.moves, self.changes, self.inverse = (
            torch.where(learned[:, None] if old.ndim == 3 else learned, torch.cat([old[1:], new[None]]), old)
            for old, new in ((self.moves, move), (self.changes, change), (self.inverse, 1 / along))
        )
        self.scale = torch.where(learned, along / (change * change).sum(1), self.scale)

    def direction(self, gradient: Tensor) -> Tensor:
        """Return minus the inverse Hessian times the gradient, (R, n)."""
        q, shares = -gradient, []
        for k in reversed(range(KEPT_MOVES)):
            shares.append(self.inverse[k] * (self.moves[k] * q).sum(1))
            q = q - shares[-1][:, None] * self.changes[k]
        q = q * self.scale[:, None]
        for k in range(KEPT_MOVES):
            share = shares.pop() - self.inverse[k] * (self.changes[k] * q).sum(1)
            q = q + share[:, None] * self.moves[k]
        return q


def minimise(objective: Objective, start: Tensor, *, steps: int, iterations: int, rate: float) -> Tensor:
    """Minimise R objectives of n numbers each by L-BFGS with the strong conditions of Wolfe.

    Every evaluation serves all problems, wherever each of them is in its line search.

    Parameters
    ----------
    objective
        Values and gradients.
    start : Tensor, shape (R, n)
        Where each begins, best in float64.
    steps, iterations : int
        Steps of at most that many iterations. As in ``torch.optim.LBFGS``, a step also ends when it has evaluated the
        objective ``iterations + 1`` times, once of them at its beginning.
    rate : float
        Length first tried in every line search, as a share of the direction.

    Returns
    -------
    Tensor, shape (R, n)
    """
    x = start.clone()
    value, gradient = objective(x)
    history = _History(x)
    direction, t = -gradient, rate / gradient.abs().sum(1).clamp_min(1)
    here = _Point(torch.zeros_like(t), value, (gradient * direction).sum(1), gradient)
    low = high = here
    closed = near = torch.zeros_like(t, dtype=torch.bool)
    tried, evaluated, iteration, step = torch.zeros(4, len(x), dtype=torch.int64, device=x.device)
    evaluated = evaluated + 1
    running = here.slope < -LEAST_CHANGE
    while bool(running.any()):
        value, gradient = objective(x + t[:, None] * direction)
        new = _Point(t, value, (gradient * direction).sum(1), gradient)
        tried, evaluated = tried + 1, evaluated + 1
        rises = (value > here.value + DECREASE * t * here.slope) | ((value >= low.value) & (closed | (tried > 2)))
        flat = ~rises & (new.slope.abs() <= -SLOPE * here.slope)
        # Past a minimum, as seen from the best so far, that one is the other end.
        beyond = ~rises & ~flat & (torch.where(closed, new.slope * (high.t - low.t), new.slope) >= 0)
        last = low
        high = where_state(rises, new, where_state(beyond, low, high))
        low = where_state(rises, low, new)
        closed = closed | rises | beyond
        swapped = closed & (high.value < low.value)
        low, high = where_state(swapped, high, low), where_state(swapped, low, high)
        narrow = closed & ((high.t - low.t).abs() * direction.abs().amax(1) < LEAST_CHANGE)
        ended = running & (flat | narrow | (tried >= TRIALS))
        t, near = _next(low, where_state(closed, high, last), closed, near)
        if not bool(ended.any()):
            continue

        move = torch.where(ended, low.t, 0.0)[:, None] * direction
        x = x + move
        history.add(move, low.gradient - here.gradient)
        iteration = iteration + ended
        small = (move.abs().amax(1) <= LEAST_CHANGE) | ((low.value - here.value).abs() < LEAST_CHANGE)
        rested = ended & ((iteration == iterations) | (evaluated > iterations) | small)
        iteration, evaluated = iteration.masked_fill(rested, 0), evaluated.masked_fill(rested, 1)
        step = step + rested
        moved = torch.where(ended[:, None], low.gradient, here.gradient)
        direction = torch.where(ended[:, None], history.direction(moved), direction)
        slope = (moved * direction).sum(1)
        fresh = _Point(torch.zeros_like(t), low.value, slope, moved)
        here, low, high = (where_state(ended, fresh, point) for point in (here, low, high))
        closed, near, tried = closed & ~ended, near & ~ended, tried.masked_fill(ended, 0)
        t = t.masked_fill(ended, rate)
        going = (step < steps) & (slope < -LEAST_CHANGE) & (moved.abs().amax(1) > LEAST_GRADIENT)
        running = running & (~ended | going)
    return x


def _next(low: _Point, other: _Point, closed: Tensor, near: Tensor) -> tuple[Tensor, Tensor]:
    """Where to look next (R,): the minimum of the cubic through both ends, between them if closed, else farther on.

    A second time in a row near an end, it is moved a tenth of the interval away from it; ``near`` says which were near.
    """
    before = other.t < low.t
    left, right = where_state(before, other, low), where_state(before, low, other)
    width = right.t - left.t
    bend = left.slope + right.slope + 3 * (left.value - right.value) / width
    square = bend * bend - left.slope * right.slope
    root = square.clamp_min(0).sqrt()
    turn = right.t - width * (right.slope + root - bend) / (right.slope - left.slope + 2 * root)
    # Before the interval is closed, low is the farther end.
    first = torch.where(closed, left.t, low.t + 0.01 * width)
    last = torch.where(closed, right.t, 10 * low.t)
    turn = torch.where((square >= 0) & turn.isfinite(), turn, (first + last) / 2).clamp(first, last)
    margin = 0.1 * width
    beside = closed & (torch.minimum(last - turn, turn - first) < margin)
    pushed = beside & (near | (turn >= last) | (turn <= first))
    away = torch.where((turn - last).abs() < (turn - first).abs(), last - margin, first + margin)
    return torch.where(pushed, away, turn), beside & ~pushed
