"""The converged solver in rounds of fixed work, without an answer from the host (methods 3.4).

The same descent as :func:`rgwot.transport.descent.descend`. A round does a few updates of the row potential of every
problem and then, for the problems whose marginals are exact enough by now, one decision of the outer descent; the
others go on in the next round. Whatever has converged is frozen, pair by pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import get_ident

import torch
from torch import Tensor

from rgwot.transport.descent import Rules
from rgwot.transport.problem import Problem, State
from rgwot.transport.repeated import Repeated, Round
from rgwot.transport.sinkhorn import MAX_PASSES, best_change, scaled_plan

#: Above this many entries (4 pairs of 512 frames) the kernels outlast their launches, and problems that have converged
#: are better taken out of the batch.
MAX_ENTRIES = 2**20

# Updates of the potential per round: two to three for a warm start in the descent, about eight for a linear problem.
_UPDATES = 3
# Rounds at most per step of the descent, a few of which need more than one.
_ROUNDS_PER_STEP = 3


@dataclass(frozen=True)
class _Parameters:
    """What a captured round depends on besides its tensors."""

    alpha: float
    epsilon: float
    r: float
    tolerance: float
    max_iterations: int

    def problem(self, constants: Sequence[Tensor]) -> Problem:
        cost, p, q = constants[:3]
        return Problem(cost, p, q, self.alpha, self.epsilon, self.r)


def descend_in_rounds(problem: Problem, max_iterations: int, tolerance: float) -> tuple[State, Tensor]:
    """Find a stationary point of every problem; iterations (B,) beside it."""
    parameters = _Parameters(problem.alpha, problem.epsilon, problem.r, tolerance, max_iterations)
    constants = (problem.cost, problem.p.contiguous(), problem.q.contiguous())
    z, f = problem.start(), torch.zeros_like(constants[1])
    running = torch.ones(len(f), dtype=torch.bool, device=f.device)
    iterations = torch.ones(len(f), dtype=torch.int64, device=f.device)
    if not problem.is_linear:
        first = _evaluate(problem, z, f)
        # Nothing is accepted yet: whatever comes first falls.
        first = replace(first, objective=torch.full_like(first.objective, torch.inf))
        values = [*first.values(), z, f, torch.ones_like(first.objective), iterations, running]
        loop = _loop("descent", z.shape, z.device, parameters, get_ident())
        found = loop(constants, values, _ROUNDS_PER_STEP * max_iterations)
        z, f, iterations = found[0], found[1], found[-2]
    loop = _loop("potentials", z.shape, z.device, parameters, get_ident())
    f = loop((*constants, z), [f, running], MAX_PASSES // _UPDATES)[0]
    return _evaluate(problem, z, f), iterations


@lru_cache(maxsize=8)
def _loop(kind: str, shape: torch.Size, device: torch.device, parameters: _Parameters, thread: int) -> Repeated:
    """Round of one kind for batches of one shape, captured on a GPU at its first use; each thread has its own."""
    cost = torch.zeros(shape, dtype=torch.float64, device=device)
    p, q = (cost.new_full((shape[0], size), 1 / size) for size in shape[1:])
    problem = parameters.problem((cost, p, q))
    running = torch.ones(shape[0], dtype=torch.bool, device=device)
    if kind == "potentials":
        return Repeated(_potentials(parameters), (cost, p, q, cost), (torch.zeros_like(p), running))
    state = _evaluate(problem, cost, torch.zeros_like(p))
    iterations = torch.ones(shape[0], dtype=torch.int64, device=device)
    values = [*state.values(), cost, torch.zeros_like(p), torch.ones_like(state.objective), iterations, running]
    return Repeated(_descent(parameters), (cost, p, q), values)


def _potentials(parameters: _Parameters) -> Round:
    """Round of a linear problem z: constants (cost, p, q, z), values (f, running)."""

    def body(constants: Sequence[Tensor], values: Sequence[Tensor]) -> Sequence[Tensor]:
        f, running = values
        f, error = _update(parameters.problem(constants), constants[3], f, running, parameters.tolerance)
        return f, running & (error > parameters.tolerance)

    return body


def _descent(parameters: _Parameters) -> Round:
    """Round of the descent: constants (cost, p, q), values (state..., z and f on trial, step, iterations, running)."""

    def body(constants: Sequence[Tensor], values: Sequence[Tensor]) -> Sequence[Tensor]:
        problem = parameters.problem(constants)
        rules = Rules.of(problem, parameters.tolerance)
        *fields, z, f, step, iterations, running = values
        state = State(*fields)
        f, error = _update(problem, z, f, running, rules.inner_tolerance)
        ready = running & (error <= rules.inner_tolerance)
        trial = _evaluate(problem, z, f)
        first = state.objective == torch.inf
        falls = first | rules.falls(problem, state, trial, step)
        state = trial.where(ready & falls, state)
        step = torch.where(ready & ~first, rules.next_step(step, falls), step)
        iterations = iterations + (ready & ~first)
        # The first plan is the first iteration, as it is where no structural prior acts.
        running = running & ~(ready & (~rules.is_running(state) | (iterations >= parameters.max_iterations)))
        again = ready[:, None]
        z = torch.where(again[:, :, None], state.z + step[:, None, None] * state.residual, z)
        f = torch.where(again, state.f, f)
        return [*state.values(), z, f, step, iterations, running]

    return body


def _update(
    problem: Problem, z: Tensor, f: Tensor, running: Tensor, tolerance: Tensor | float
) -> tuple[Tensor, Tensor]:
    """Potentials of running problems after a few updates, (B, N), and the marginal error then, (B,)."""
    log_kernel, log_p, log_q = z / -problem.epsilon, problem.p.log(), problem.q.log()
    plan, _, error = scaled_plan(log_kernel, f, problem.p, log_q)
    for _ in range(_UPDATES):
        changes = (running & (error > tolerance))[:, None]
        f = torch.where(changes, f + best_change(plan, log_p, problem.p, problem.q, error), f)
        plan, _, error = scaled_plan(log_kernel, f, problem.p, log_q)
    return f, error


def _evaluate(problem: Problem, z: Tensor, f: Tensor) -> State:
    plan, log_plan, _ = scaled_plan(z / -problem.epsilon, f, problem.p, problem.q.log())
    return problem.state(z, f, plan, log_plan)
