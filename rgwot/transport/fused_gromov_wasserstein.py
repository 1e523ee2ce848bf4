r"""Fused Gromov-Wasserstein transport with the banded structural prior (methods 3.4).

.. math::
    F(T) = (1-\alpha) \langle \tilde C, T\rangle + \alpha \langle C^x T C^y, T\rangle - \epsilon H(T), \quad
    T 1 = p, \; T^\top 1 = q, \; H(T) = -\sum_{ij} T_{ij} \log T_{ij}

Two solvers. ``converged`` descends F to a stationary point by entropic mirror descent (G. Peyre, M. Cuturi,
J. Solomon, "Gromov-Wasserstein averaging of kernel and distance matrices", ICML 2016) with a step that is
shortened until F falls. ``parity`` repeats the fixed loop of the public research code, whose row sums are far
from p.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from rgwot.transport.descent import FLOOR, descend
from rgwot.transport.problem import Problem, State
from rgwot.transport.rounds import MAX_ENTRIES, descend_in_rounds
from rgwot.transport.structure import structure_product


@dataclass(frozen=True)
class TransportResult:
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
    solver: Literal["converged", "parity"] = "converged",
    p: Tensor | None = None,
    q: Tensor | None = None,
    max_iterations: int = 100,
    tolerance: float = 1e-6,
    parity_outer: int = 25,
    parity_inner: int = 1,
) -> TransportResult:
    r"""Solve a batch of fused Gromov-Wasserstein problems (module docstring; methods 3.4).

    Computed in float64 whatever the type of the cost, outside autocast and without gradient: the problems are
    small, and a marginal error of 1e-6 is out of reach in float32. An outer iteration costs O(NM) for the
    structure, for each Sinkhorn pass and for each step of conjugate gradients; up to 320 frames (1024 on a GPU) a
    factorisation, O(N^2 M), takes the place of the latter. Newton steps save thousands of passes. F is not convex:
    the plan found is the stationary point reached from the product of the marginals. On a GPU batches of moderate
    size run as replays of one CUDA graph per shape (:mod:`rgwot.transport.rounds`).

    Parameters
    ----------
    cost : Tensor, shape (B, N, M)
        Cost :math:`\tilde C`, the virtual frame included where one is used.
    alpha : float
        Weight of the structural (Gromov-Wasserstein) part, in [0, 1].
    epsilon : float
        Entropy weight, > 0, in units of the cost.
    r : float
        Radius of the structural prior as a fraction of the sequence, >= 0. Below
        :func:`~rgwot.transport.structure.smallest_active_radius` the problem is linear and is solved at once.
    solver : {"converged", "parity"}
        ``converged``: gradient (1-alpha) C + 2 alpha C^x T C^y, stationary point of F, exact marginals.
        ``parity``: ``parity_outer`` times [kernel exp(-G/epsilon), G = (1-alpha) C + alpha C^x T C^y, without
        the factor 2; ``parity_inner`` passes of row then column scaling from b = 1]. Column sums are exact,
        row sums are not.
    p : Tensor, shape (N,) or (B, N), optional
        Row marginal, positive, sum 1; uniform by default.
    q : Tensor, shape (M,) or (B, M), optional
        Column marginal, positive, sum 1; uniform by default.
    max_iterations : int
        Limit of outer iterations of ``converged``.
    tolerance : float
        Marginal error to reach, relative; not below 1e-12. The objective is then converged to about epsilon
        times this, being second order in the distance of the plan (see ``TransportResult.stationarity``).
    parity_outer, parity_inner : int
        Loop counts of ``parity``; the public code uses 25 and 1.

    Returns
    -------
    TransportResult

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
        found = f"{max_iterations}, {parity_outer}, {parity_inner}"
        raise ValueError(f"max_iterations, parity_outer, parity_inner: found {found}, expected at least 1")
    # Inference mode takes less time per operation than no_grad; its tensors are of no use to autograd outside.
    with torch.inference_mode(), torch.autocast(device_type=cost.device.type, enabled=False):
        problem = Problem(
            cost=(1 - alpha) * cost.double(),
            p=_marginal("p", p, cost, 1),
            q=_marginal("q", q, cost, 2),
            alpha=alpha,
            epsilon=epsilon,
            r=r,
        )
        if not bool(problem.cost.isfinite().all()):
            raise ValueError("cost: found a value that is not finite, expected finite costs")
        tolerance = max(tolerance, FLOOR)
        if solver == "parity":
            state, iterations = _parity(problem, parity_outer, parity_inner)
            limit = torch.inf
        elif solver == "converged":
            in_rounds = cost.device.type == "cuda" and cost.numel() <= MAX_ENTRIES
            state, iterations = (descend_in_rounds if in_rounds else descend)(problem, max_iterations, tolerance)
            limit = tolerance**0.5
        else:
            raise ValueError(f"solver: found {solver!r}, expected 'converged' or 'parity'")
        error = problem.marginal_error(state.plan)
        converged = (error <= tolerance) & (state.stationarity <= limit)
    return TransportResult(
        plan=state.plan.to(torch.promote_types(cost.dtype, torch.float32), copy=True),
        objective=state.objective.clone(),
        iterations=iterations.clone(),
        marginal_error=error.clone(),
        stationarity=state.stationarity.clone(),
        converged=converged.clone(),
    )


def _parity(problem: Problem, outer: int, inner: int) -> tuple[State, Tensor]:
    """Run the loop of the public code; dividing the kernel by its maximum cancels in the log domain."""
    log_p, log_q = problem.p.log(), problem.q.log()
    plan = problem.product_plan()
    # With a linear problem every round starts from the same kernel and returns the same plan.
    outer = 1 if problem.is_linear else outer
    for _ in range(outer):
        gradient = problem.cost + problem.alpha * structure_product(plan, problem.r)
        log_kernel = gradient / -problem.epsilon
        g = torch.zeros_like(log_q)
        for _ in range(inner):
            f = log_p - torch.logsumexp(log_kernel + g[:, None, :], 2)
            g = log_q - torch.logsumexp(log_kernel + f[:, :, None], 1)
        log_plan = log_kernel + f[:, :, None] + g[:, None, :]
        plan = log_plan.exp()
    state = problem.state(gradient, torch.zeros_like(f), plan, log_plan)
    return state, torch.full((len(plan),), outer, dtype=torch.int64, device=plan.device)


def _marginal(name: str, values: Tensor | None, cost: Tensor, dim: int) -> Tensor:
    batch, size = cost.shape[0], cost.shape[dim]
    if values is None:
        return torch.full((batch, size), 1 / size, dtype=torch.float64, device=cost.device)
    if values.shape not in {(size,), (batch, size)}:
        raise ValueError(f"{name}: found shape {tuple(values.shape)}, expected ({size},) or ({batch}, {size})")
    values = values.to(device=cost.device, dtype=torch.float64)
    if not bool((values > 0).all() & ((values.sum(-1) - 1).abs() < 1e-5).all()):
        raise ValueError(f"{name}: found {values.tolist()}, expected positive values of sum 1")
    return (values / values.sum(-1, keepdim=True)).expand(batch, size)
