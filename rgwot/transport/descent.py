"""The converged solver of fused Gromov-Wasserstein transport: entropic mirror descent with a safeguard.

Two forms of the same descent. :func:`descend` takes problems out of the batch once they have converged, and lets
every Sinkhorn solve end as soon as its marginals are exact enough: the least arithmetic, for a CPU.
:mod:`rgwot.transport.rounds` does the same in rounds of fixed work that need no answer from the host, for a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rgwot.transport.problem import Problem, State
from rgwot.transport.sinkhorn import check_interval

# Sinkhorn and Newton work in float64; below this relative error only rounding is left.
FLOOR = 1e-12
_ROUNDING = 2e-15
# Entries solved together on a CPU: 60 pairs of 33 frames, 4 of 128.
_CPU_ENTRIES = 2**16


@dataclass(frozen=True)
class Rules:
    """When a step counts, how long the next one is and when to stop.

    A full step is the fixed-point iteration of Peyre et al., which may oscillate between plans when the
    structural part is strong; for short steps F falls because the entropy bounds the curvature of the
    quadratic part. The linear cost z therefore moves towards the gradient by a step in (0, 1], halved whenever F
    would rise.

    Attributes
    ----------
    limit : float
        Stationarity at which a problem has converged.
    inner_tolerance : float
        Marginal error of the iterates. Until the end, marginals need not be tighter than the plan is stationary: F
        is corrected for them.
    slack : float
        Rise of F that the marginal error explains.
    safe_step : float
        Step with which F falls whatever the plan: <C^x D C^y, D> <= |D|_1^2 / r <= 2 KL / r, so that the entropy
        outweighs the structural part.
    """

    limit: float
    inner_tolerance: float
    slack: float
    safe_step: float

    @classmethod
    def of(cls, problem: Problem, tolerance: float) -> Rules:
        """Rules of a problem whose marginals are to be exact to ``tolerance``."""
        limit = tolerance**0.5
        inner_tolerance = max(0.1 * limit / (1 + 4 * problem.alpha / problem.epsilon), FLOOR)
        return cls(
            limit=limit,
            inner_tolerance=inner_tolerance,
            slack=max(problem.epsilon * inner_tolerance**2, _ROUNDING),
            safe_step=problem.epsilon / (problem.epsilon + 2 * problem.alpha / problem.r),
        )

    def is_running(self, state: State) -> Tensor:
        """Which problems are not stationary enough yet, (B,)."""
        return state.stationarity > 0.9 * self.limit

    def falls(self, problem: Problem, state: State, trial: State, step: Tensor) -> Tensor:
        """Whether F falls from a state to a trial as far as a step of that length should make it, (B,)."""
        return trial.objective <= state.objective - 0.1 * problem.predicted_fall(state, step) + self.slack

    def next_step(self, step: Tensor, falls: Tensor) -> Tensor:
        """Longer after a step that counted, shorter after one that did not, (B,)."""
        return torch.where(falls, 1.3 * step, 0.5 * step).clamp(self.safe_step, 1)


def descend(problem: Problem, max_iterations: int, tolerance: float) -> tuple[State, Tensor]:
    """Find a stationary point of every problem; iterations (B,) beside it.

    On a CPU a batch is solved in parts: beyond some entries problems gain nothing from each other's company, but wait
    for each other and fall out of the cache.
    """
    batch, n, m = problem.cost.shape
    indices = torch.arange(batch, device=problem.cost.device)
    part = _CPU_ENTRIES // (n * m) if indices.device.type == "cpu" else batch
    solved = [
        _descend_together(problem.take(index), max_iterations, tolerance)
        for index in torch.split(indices, max(1, part))
    ]
    return State.joined([state for state, _ in solved]), torch.cat([iterations for _, iterations in solved])


def _descend_together(problem: Problem, max_iterations: int, tolerance: float) -> tuple[State, Tensor]:
    device = problem.cost.device
    iterations = torch.ones(len(problem.cost), dtype=torch.int64, device=device)
    if problem.is_linear:
        return problem.project(problem.start(), None, tolerance), iterations

    rules = Rules.of(problem, tolerance)
    state = problem.project(problem.start(), None, rules.inner_tolerance)
    index = torch.arange(len(problem.cost), device=device)
    final, whole, step = state.take(index), problem, torch.ones_like(state.objective)
    for done in range(1, max_iterations):
        if done % check_interval(device) == 0:
            running = rules.is_running(state)
            if not bool(running.all()):
                final.put(index, state)
                index, step = index[running], step[running]
                problem, state = problem.take(running), state.take(running)
            if len(index) == 0:
                break
        trial = problem.project(state.z + step[:, None, None] * state.residual, state.f, rules.inner_tolerance)
        falls = rules.falls(problem, state, trial, step)
        state = trial.where(falls, state)
        step = rules.next_step(step, falls)
        iterations[index] += 1
    final.put(index, state)
    return whole.project(final.z, final.f, tolerance), iterations
