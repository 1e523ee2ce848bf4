r"""Fused Gromov-Wasserstein transport with the banded structural prior (methods 3.4).

.. math::
    F(T) = (1-\alpha) \langle \tilde C, T\rangle + \alpha \langle C^x T C^y, T\rangle - \epsilon H(T), \quad
    T 1 = p, \; T^\top 1 = q, \; H(T) = -\sum_{ij} T_{ij} \log T_{ij}

with uniform p and q. There are two solvers. ``converged`` descends F to a stationary point by entropic mirror descent
(G. Peyre, M. Cuturi, J. Solomon, "Gromov-Wasserstein averaging of kernel and distance matrices", ICML 2016) with a step
that is shortened until F falls. ``parity`` repeats the fixed loop of the public research code, whose row sums are far
from p.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeVar

import torch
from torch import Tensor

from rgwot.runtime.limits import one_thread
from rgwot.transport.costs import structure_product, structure_radius
from rgwot.transport.sinkhorn import sinkhorn, tangent_part

Solver = Literal["converged", "parity"]
AnyState = TypeVar("AnyState", bound=tuple[Tensor, ...])

# Sinkhorn and Newton work in float64; below this relative error only rounding is left.
_FLOOR = 1e-12
_ROUNDING = 2e-15
# Problems with at most this many entries are solved on the CPU, on whichever device they are: on a GPU, launching the
# many small kernels takes longer than their arithmetic (three times as long for four pairs of 32 frames;
# benchmarks/gpu.py). The CPU uses one thread: several threads would wait for each other after every small operation.
_SMALL = 2**15


class TransportResult(NamedTuple):
    r"""A batch of transport plans and how well each problem was solved.

    Attributes
    ----------
    plan : Tensor, shape (B, N, M)
        Plan with total mass 1, in the type of the cost (float32 for half-precision costs).
    objective : Tensor, float64, shape (B,)
        F(T), the entropy term included.
    iterations : Tensor, int64, shape (B,)
        Outer iterations; 1 where the structural prior is inactive and the problem is linear.
    marginal_error : Tensor, float64, shape (B,)
        Largest relative violation of a marginal, max over i and j of \|(T 1)_i - p_i\| / p_i and
        \|(T^T 1)_j - q_j\| / q_j, before rounding to the type of the plan.
    stationarity : Tensor, float64, shape (B,)
        Residual of the optimality conditions, sum_ij T_ij \|grad F_ij - u_i - v_j\| / epsilon with u, v the
        row and column constants that fit best: to first order the mass that a further full step would move.
    converged : Tensor, bool, shape (B,)
        ``converged`` solver: marginal error at most ``tolerance`` and stationarity at most its square root.
        ``parity`` solver: marginal error at most ``tolerance``, which it hardly ever is.
    """

    plan: Tensor
    objective: Tensor
    iterations: Tensor
    marginal_error: Tensor
    stationarity: Tensor
    converged: Tensor


def solve(
    cost: Tensor,
    *,
    alpha: float,
    epsilon: float,
    r: float,
    solver: Solver,
    max_iterations: int,
    tolerance: float,
    parity_outer: int = 25,
    parity_inner: int = 1,
    length: int | None = None,
) -> TransportResult:
    r"""Solve a batch of fused Gromov-Wasserstein problems (module docstring; methods 3.4).

    The plan is computed in float64 whatever the type of the cost, outside autocast and without gradient: the problems
    are small, and a marginal error of 1e-6 is out of reach in float32. Up to 32,768 costs from a GPU are processed by
    one thread of the CPU; the result is on the device of the cost. An outer iteration costs O(NM) for the structure and
    for each Sinkhorn pass, and O(N^2 M) for each Newton step, which saves thousands of passes. F is not convex: the
    plan found is the stationary point reached from the product of the marginals.

    Parameters
    ----------
    cost : Tensor, shape (B, N, M)
        Cost :math:`\tilde C`, the virtual frame included where one is used.
    alpha : float
        Weight of the structural (Gromov-Wasserstein) part, in [0, 1].
    epsilon : float
        Entropy weight, > 0, in units of the cost.
    r : float
        Radius of the structural prior as a fraction of the sequence, >= 0. Below 1/min(N, M) the problem is linear and
        is solved at once.
    solver : {"converged", "parity"}
        ``converged``: gradient (1-alpha) C + 2 alpha C^x T C^y, stationary point of F, exact marginals.
        ``parity``: ``parity_outer`` times [kernel exp(-G/epsilon), G = (1-alpha) C + alpha C^x T C^y, without
        the factor 2; ``parity_inner`` passes of row then column scaling from b = 1]. Column sums are exact,
        row sums are not.
    max_iterations : int
        Limit of outer iterations of ``converged``.
    tolerance : float
        Marginal error to reach, relative; not below 1e-12. The objective is then accurate to about epsilon times this,
        because its error is of second order in the error of the plan (see ``TransportResult.stationarity``).
    parity_outer, parity_inner : int
        Loop counts of ``parity``; the public code uses 25 and 1.
    length : int, optional
        As in :func:`~rgwot.transport.costs.structure_product`.

    Raises
    ------
    ValueError
        If the cost is not a finite (B, N, M) tensor or a parameter is out of range.
    """
    if cost.ndim != 3:
        raise ValueError(f"cost: found shape {tuple(cost.shape)}, expected (B, N, M)")
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha: found {alpha}, expected a value in [0, 1]")
    if not epsilon > 0:
        raise ValueError(f"epsilon: found {epsilon}, expected a value above 0")
    if not r >= 0:
        raise ValueError(f"r: found {r}, expected a value of at least 0")
    if min(max_iterations, parity_outer, parity_inner) < 1:
        limits = f"{max_iterations}, {parity_outer}, {parity_inner}"
        raise ValueError(f"max_iterations, parity_outer, parity_inner: found {limits}, expected at least 1")
    if solver not in {"converged", "parity"}:
        raise ValueError(f"solver: found {solver!r}, expected 'converged' or 'parity'")
    moved = cost.device.type != "cpu" and cost.numel() <= _SMALL
    alone = one_thread() if moved else nullcontext()
    with torch.no_grad(), torch.autocast(device_type=cost.device.type, enabled=False), alone:
        linear = (1 - alpha) * (cost.cpu() if moved else cost).double()
        if not bool(linear.isfinite().all()):
            raise ValueError("cost: found a value that is not finite, expected finite costs")
        p, q = (linear.new_full((len(linear), size), 1 / size) for size in linear.shape[1:])
        problem = _Problem(linear, p, q, alpha, epsilon, r, length)
        tolerance = max(tolerance, _FLOOR)
        if solver == "parity":
            state, iterations = _parity(problem, parity_outer, parity_inner)
        else:
            state, iterations = _descend(problem, max_iterations, tolerance)
        error = problem.marginal_error(state.plan)
        limit = torch.inf if solver == "parity" else tolerance**0.5
        result = TransportResult(
            plan=state.plan.to(torch.promote_types(cost.dtype, torch.float32)),
            objective=state.objective,
            iterations=iterations,
            marginal_error=error,
            stationarity=state.stationarity,
            converged=(error <= tolerance) & (state.stationarity <= limit),
        )
        return TransportResult(*(value.to(cost.device) for value in result))


class _State(NamedTuple):
    """An iterate: plan = exp(f + g - z / epsilon) is the entropic optimum of the linear cost z."""

    z: Tensor
    f: Tensor
    plan: Tensor
    objective: Tensor
    residual: Tensor
    stationarity: Tensor

    def take(self, keep: Tensor) -> _State:
        """Return the state of the problems that an index or mask selects."""
        return _State(*(value[keep] for value in self))

    def put(self, index: Tensor, state: _State) -> None:
        """Overwrite the problems ``index`` of this state."""
        for mine, theirs in zip(self, state, strict=True):
            mine[index] = theirs


@dataclass(frozen=True)
class _Problem:
    """The data of a batch of problems; ``cost`` is already multiplied by 1 - alpha."""

    cost: Tensor
    p: Tensor
    q: Tensor
    alpha: float
    epsilon: float
    r: float
    length: int | None

    @property
    def is_linear(self) -> bool:
        """Whether the structural prior changes no plan."""
        return self.alpha == 0 or structure_radius(self.length or min(self.cost.shape[1:]), self.r) == 0

    def take(self, keep: Tensor) -> _Problem:
        """Return the problems that an index or mask selects."""
        return replace(self, cost=self.cost[keep], p=self.p[keep], q=self.q[keep])

    def product_plan(self) -> Tensor:
        """Return p q^T, where every solver starts."""
        return self.p[:, :, None] * self.q[:, None, :]

    def marginal_error(self, plan: Tensor) -> Tensor:
        """Return the largest relative violation of a marginal, (B,)."""
        rows = ((plan.sum(2) - self.p).abs() / self.p).amax(1)
        columns = ((plan.sum(1) - self.q).abs() / self.q).amax(1)
        return torch.maximum(rows, columns)

    def state(self, z: Tensor, f: Tensor, plan: Tensor, log_plan: Tensor) -> _State:
        """Evaluate the plan that potential f and linear cost z lead to."""
        structure = structure_product(plan, self.r, self.length)
        objective = (plan * (self.cost + self.alpha * structure + self.epsilon * log_plan)).sum((1, 2))
        # To first order, this corrects F for the remaining error of row sums, at the price epsilon f per unit of mass.
        objective = objective + self.epsilon * (f * (self.p - plan.sum(2))).sum(1)
        residual = self.cost + 2 * self.alpha * structure + self.epsilon * log_plan
        residual = tangent_part(residual, plan)
        stationarity = (plan * residual.abs()).sum((1, 2)) / self.epsilon
        return _State(z, f, plan, objective, residual, stationarity)

    def project(self, z: Tensor, f: Tensor | None, tolerance: float) -> _State:
        """Return the entropic optimum of the linear cost z; Sinkhorn starts from the potential f."""
        result = sinkhorn(z / -self.epsilon, self.p, self.q, f=f, tolerance=tolerance)
        return self.state(z, result.f, result.plan, result.log_plan)


def where_state(condition: Tensor, these: AnyState, others: AnyState) -> AnyState:
    """Choose for each problem between two states: ``these`` if its condition (B,) holds, otherwise ``others``."""
    pairs = zip(these, others, strict=True)
    return type(these)(*(torch.where(condition.view(-1, *[1] * (ours.ndim - 1)), ours, other) for ours, other in pairs))


def _descend(problem: _Problem, max_iterations: int, tolerance: float) -> tuple[_State, Tensor]:
    """Return a stationary point of every problem, and the number of iterations (B,).

    A full step is the fixed-point iteration of Peyre et al., which may oscillate between plans when the structural part
    is strong; for short steps F falls because the entropy bounds the curvature of the quadratic part. The linear cost z
    therefore moves towards the gradient by a step in (0, 1], halved whenever F would rise. Problems that have converged
    leave the batch.
    """
    alpha, epsilon = problem.alpha, problem.epsilon
    start = problem.cost + 2 * alpha * structure_product(problem.product_plan(), problem.r, problem.length)
    iterations = torch.ones(len(start), dtype=torch.int64, device=start.device)
    if problem.is_linear:
        return problem.project(start, None, tolerance), iterations

    limit = tolerance**0.5
    # Before the final projection, marginals need not be more accurate than the plan is stationary, because F is
    # corrected for their error.
    inner_tolerance = max(0.1 * limit / (1 + 4 * alpha / epsilon), _FLOOR)
    # Rise of F that the marginal error explains.
    slack = max(epsilon * inner_tolerance**2, _ROUNDING)
    # With this step F falls whatever the plan: <C^x D C^y, D> <= |D|_1^2 / r <= 2 KL / r, so that the entropy
    # outweighs the structural part.
    safe_step = epsilon / (epsilon + 2 * alpha / problem.r)

    state = problem.project(start, None, inner_tolerance)
    index = torch.arange(len(start), device=start.device)
    final, part, step = state.take(index), problem, torch.ones_like(state.objective)
    for _ in range(1, max_iterations):
        running = state.stationarity > 0.9 * limit
        if not bool(running.all()):
            final.put(index, state)
            index, step = index[running], step[running]
            part, state = part.take(running), state.take(running)
        if len(index) == 0:
            break
        trial = part.project(state.z + step[:, None, None] * state.residual, state.f, inner_tolerance)
        # The decrease of F that a step of this length should bring, to first order.
        predicted = step * (state.plan * state.residual**2).sum((1, 2)) / epsilon
        falls = trial.objective <= state.objective - 0.1 * predicted + slack
        state = where_state(falls, trial, state)
        step = torch.where(falls, 1.3 * step, 0.5 * step).clamp(safe_step, 1)
        iterations[index] += 1
    final.put(index, state)
    return problem.project(final.z, final.f, tolerance), iterations


def _parity(problem: _Problem, outer: int, inner: int) -> tuple[_State, Tensor]:
    """Run the loop of the public code, without dividing the kernel by its maximum, which cancels in the log domain."""
    log_p, log_q = problem.p.log(), problem.q.log()
    plan = problem.product_plan()
    # With a linear problem every round starts from the same kernel and returns the same plan.
    outer = 1 if problem.is_linear else outer
    for _ in range(outer):
        gradient = problem.cost + problem.alpha * structure_product(plan, problem.r, problem.length)
        log_kernel = gradient / -problem.epsilon
        g = torch.zeros_like(log_q)
        for _ in range(inner):
            f = log_p - torch.logsumexp(log_kernel + g[:, None, :], 2)
            g = log_q - torch.logsumexp(log_kernel + f[:, :, None], 1)
        log_plan = log_kernel + f[:, :, None] + g[:, None, :]
        plan = log_plan.exp()
    state = problem.state(gradient, torch.zeros_like(f), plan, log_plan)
    return state, torch.full((len(plan),), outer, dtype=torch.int64, device=plan.device)
