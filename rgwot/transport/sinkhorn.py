"""Balanced entropic optimal transport for a linear cost, in the log domain.

At the temperatures used here plain Sinkhorn passes can need thousands of rounds (two clusters of frames
exchange mass only through the virtual frame), so the row potential is updated by Newton steps on the concave
semi-dual (`solve_semidual`). A Newton step is taken only where it raises the dual at least as much as
a Sinkhorn pass would, which keeps the global convergence of Sinkhorn and ends in quadratic convergence.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


def solve_semidual(plan: Tensor, rows: Tensor, columns: Tensor, right: Tensor) -> Tensor:
    r"""Solve :math:`(\mathrm{diag}(a) - T \mathrm{diag}(b)^{-1} T^\top) u = c`.

    Parameters
    ----------
    plan : Tensor, shape (B, N, M), float64
        T, entries >= 0.
    rows, columns : Tensor, shape (B, N) and (B, M)
        Row sums a and column sums b of T, positive.
    right : Tensor, shape (B, N)
        c, of sum 0.

    Returns
    -------
    Tensor, shape (B, N)
        u, fixed up to a constant; not finite where a factorisation failed.
    """
    # Adding a constant to the potential changes nothing; the outer product removes this null space.
    constant = rows[:, :, None] * rows[:, None, :]
    hessian = torch.baddbmm(constant, plan / columns[:, None, :], plan.transpose(1, 2), alpha=-1)
    hessian.diagonal(dim1=1, dim2=2).add_(rows * (1 + 1e-13))
    factor, failed = torch.linalg.cholesky_ex(hessian)
    solution = torch.cholesky_solve(right[:, :, None], factor)[:, :, 0]
    return torch.where((failed == 0)[:, None], solution, torch.nan)


def tangent_part(values: Tensor, plan: Tensor) -> Tensor:
    r"""Subtract row and column constants so that T * values has row and column sums zero.

    The constants u_i, v_j minimise :math:`\sum_{ij} T_{ij} (A_{ij} - u_i - v_j)^2`; the remainder of a
    gradient A is its part along the transport polytope.

    Parameters
    ----------
    values, plan : Tensor, shape (B, N, M), float64
        A and T, which has positive row and column sums.
    """
    rows, columns = plan.sum(2), plan.sum(1)
    weighted = plan * values
    share = weighted.sum(1) / columns
    right = weighted.sum(2) - (plan @ share[:, :, None])[:, :, 0]
    u = solve_semidual(plan, rows, columns, right)
    values = values - torch.where(u.isfinite().all(1, keepdim=True), u, 0.0)[:, :, None]
    values = values - (plan * values).sum(1, keepdim=True) / columns[:, None, :]
    return values - (plan * values).sum(2, keepdim=True) / rows[:, :, None]


# Largest number of updates of the potentials.
_MAX_PASSES = 1000
# Largest change of a potential in one update: exp() of it, times a plan entry, stays finite in float64.
_MAX_CHANGE = 300.0


class SinkhornResult(NamedTuple):
    r"""Solution of an entropic transport problem.

    Attributes
    ----------
    plan, log_plan : Tensor, shape (B, N, M)
        The plan and its logarithm, which stays finite where the plan underflows.
    f : Tensor, shape (B, N)
        Row potential, in units of epsilon for a cost; pass it back in to warm-start a neighbouring problem.
    marginal_error : Tensor, shape (B,)
        Largest relative violation of a row sum, max_i \|(T 1)_i - p_i\| / p_i; column sums are exact.
    """

    plan: Tensor
    log_plan: Tensor
    f: Tensor
    marginal_error: Tensor


def sinkhorn(
    log_kernel: Tensor,
    p: Tensor,
    q: Tensor,
    *,
    tolerance: float,
    f: Tensor | None = None,
    max_passes: int = _MAX_PASSES,
) -> SinkhornResult:
    r"""Scale a kernel to marginals: minimise :math:`\sum T (\log T - \log K)` subject to T 1 = p and T^T 1 = q.

    With :math:`\log K = -C / \epsilon` this is entropic transport of the cost C,
    :math:`\langle C, T\rangle + \epsilon \sum T \log T`.

    Parameters
    ----------
    log_kernel : Tensor, shape (B, N, M), float64
    p, q : Tensor, shape (B, N) and (B, M)
        Row and column marginal, positive, sum 1.
    tolerance : float
        Stop when the marginal error of every problem of the batch is at most this.
    f : Tensor, shape (B, N), optional
        Row potential to start from.
    max_passes : int
        Upper limit of potential updates.

    References
    ----------
    M. Cuturi, "Sinkhorn distances", NeurIPS 2013; Newton steps on the semi-dual as in G. Peyre and M. Cuturi,
    "Computational optimal transport", 2019, section 4.
    """
    log_p, log_q = p.log(), q.log()
    f = torch.zeros_like(p) if f is None else f
    for done in range(max_passes + 1):
        scaled = log_kernel + f[:, :, None]
        log_plan = scaled + (log_q - torch.logsumexp(scaled, 1))[:, None, :]
        plan = log_plan.exp()
        error = ((plan.sum(2) - p).abs() / p).amax(1)
        if done == max_passes or bool((error <= tolerance).all()):
            break
        f = f + _best_change(plan, log_p, p, q)
    return SinkhornResult(plan, log_plan, f, error)


def _best_change(plan: Tensor, log_p: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """Return the change of the row potential that raises the semi-dual most: a Sinkhorn pass or a Newton step."""
    rows = plan.sum(2)
    pass_change = log_p - rows.clamp_min(torch.finfo(rows.dtype).tiny).log()
    step = solve_semidual(plan, rows, q, p - rows)
    step = torch.where(step.isfinite(), step, pass_change)
    length = step.abs().amax(1, keepdim=True)
    changes = torch.stack([pass_change, step * (2 / (2 + length)), step * (6 / (6 + length)), step], 1)
    changes = changes.clamp(-_MAX_CHANGE, _MAX_CHANGE)
    columns = changes.exp() @ plan / q[:, None, :]
    gain = (changes @ p[:, :, None])[:, :, 0] - (columns.log() @ q[:, :, None])[:, :, 0]
    best = gain.nan_to_num(nan=-torch.inf, posinf=-torch.inf).argmax(1)
    return changes[torch.arange(len(best), device=best.device), best]
