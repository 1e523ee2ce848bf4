"""Balanced entropic optimal transport for a linear cost, in the log domain.

At the temperatures used here plain Sinkhorn passes can need thousands of rounds (two clusters of frames
exchange mass only through the virtual frame), so the row potential is updated by Newton steps on the concave
semi-dual, whose Hessian is a small (N, N) matrix. A Newton step is taken only where it raises the dual at
least as much as a Sinkhorn pass would, which keeps the global convergence of Sinkhorn and ends in quadratic
convergence.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

# Above this size a Newton step, O(N^2 M), costs more than the Sinkhorn passes, O(N M), that it saves.
NEWTON_MAX_FRAMES = 1024

# Largest change of a potential in one update: exp() of it, times a plan entry, stays finite in float64.
_MAX_CHANGE = 300.0

# Row and column sweeps that stand in for the exact solution above NEWTON_MAX_FRAMES.
_SWEEPS = 20


@dataclass(frozen=True)
class SinkhornResult:
    r"""Solution of an entropic transport problem.

    Attributes
    ----------
    plan, log_plan : Tensor, shape (B, N, M)
        The plan and its logarithm, which stays finite where the plan underflows.
    f : Tensor, shape (B, N)
        Row potential in units of epsilon; pass it back in to warm-start a neighbouring problem.
    marginal_error : Tensor, shape (B,)
        Largest relative violation of a row sum, max_i \|(T 1)_i - p_i\| / p_i; column sums are exact.
    """

    plan: Tensor
    log_plan: Tensor
    f: Tensor
    marginal_error: Tensor


def check_interval(device: torch.device) -> int:
    """Return how often to test for convergence: rarely on an accelerator, where the host must wait for it."""
    return 1 if device.type == "cpu" else 4


def sinkhorn(
    cost: Tensor,
    p: Tensor,
    q: Tensor,
    epsilon: float,
    *,
    f: Tensor | None = None,
    tolerance: float = 1e-6,
    max_passes: int = 1000,
) -> SinkhornResult:
    r"""Minimise :math:`\langle C, T\rangle + \epsilon \sum T \log T` subject to T 1 = p and T^T 1 = q.

    Parameters
    ----------
    cost : Tensor, shape (B, N, M), float64
    p : Tensor, shape (B, N)
        Row marginal, positive, sum 1.
    q : Tensor, shape (B, M)
        Column marginal, positive, sum 1.
    epsilon : float
        Entropy weight, in units of the cost.
    f : Tensor, shape (B, N), optional
        Row potential to start from, in units of epsilon.
    tolerance : float
        Stop when the marginal error of every problem of the batch is at most this.
    max_passes : int
        Upper limit of potential updates.

    Returns
    -------
    SinkhornResult

    References
    ----------
    M. Cuturi, "Sinkhorn distances", NeurIPS 2013; Newton steps on the semi-dual as in G. Peyre and M. Cuturi,
    "Computational optimal transport", 2019, section 4.
    """
    log_kernel = cost / -epsilon
    log_p, log_q = p.log(), q.log()
    newton = min(cost.shape[1:]) <= NEWTON_MAX_FRAMES
    every = check_interval(cost.device)
    f = torch.zeros_like(p) if f is None else f
    for done in range(max_passes + 1):
        g = log_q - torch.logsumexp(log_kernel + f[:, :, None], 1)
        log_plan = log_kernel + f[:, :, None] + g[:, None, :]
        plan = log_plan.exp()
        rows = plan.sum(2)
        error = ((rows - p).abs() / p).amax(1)
        last = done == max_passes
        if last or (done % every == 0 and bool((error <= tolerance).all())):
            break
        change = log_p - rows.clamp_min(torch.finfo(rows.dtype).tiny).log()
        if newton:
            change = _best_change(plan, rows, change, p, q)
        f = f + change.clamp(-_MAX_CHANGE, _MAX_CHANGE)
    return SinkhornResult(plan, log_plan, f, error)


def _best_change(plan: Tensor, rows: Tensor, pass_change: Tensor, p: Tensor, q: Tensor) -> Tensor:
    """Choose what raises the semi-dual most: a Sinkhorn pass or a Newton step at one of three lengths."""
    factor, failed = _semidual_factor(plan, rows, q)
    step = torch.cholesky_solve((p - rows)[:, :, None], factor)[:, :, 0]
    step = torch.where((failed == 0)[:, None] & step.isfinite(), step, pass_change)
    length = step.abs().amax(1, keepdim=True)
    changes = torch.stack([pass_change, step * (2 / (2 + length)), step * (6 / (6 + length)), step], 1)
    changes = changes.clamp(-_MAX_CHANGE, _MAX_CHANGE)
    columns = changes.exp() @ plan / q[:, None, :]
    gain = (changes @ p[:, :, None])[:, :, 0] - (columns.log() @ q[:, :, None])[:, :, 0]
    best = gain.nan_to_num(nan=-torch.inf, posinf=-torch.inf).argmax(1)
    return changes[torch.arange(len(best), device=best.device), best]


def _semidual_factor(plan: Tensor, rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """Factor (B, N, N) of diag(rows) - T diag(1/columns) T^T, and where that failed, non-zero, (B,)."""
    # A constant added to f changes nothing: the outer product fills this null space.
    constant = rows[:, :, None] * rows[:, None, :]
    hessian = torch.baddbmm(constant, plan / columns[:, None, :], plan.transpose(1, 2), alpha=-1)
    hessian.diagonal(dim1=1, dim2=2).add_(rows * (1 + 1e-13))
    factor, failed = torch.linalg.cholesky_ex(hessian)
    return factor, failed


def tangent_part(values: Tensor, plan: Tensor) -> Tensor:
    r"""Subtract row and column constants so that T * values has row and column sums zero.

    The constants u_i, v_j minimise :math:`\sum_{ij} T_{ij} (A_{ij} - u_i - v_j)^2`; what is left of a
    gradient A is its part along the transport polytope.

    Parameters
    ----------
    values : Tensor, shape (B, N, M), float64
    plan : Tensor, shape (B, N, M), float64
        Positive row and column sums.

    Returns
    -------
    Tensor, shape (B, N, M)
    """
    rows, columns = plan.sum(2), plan.sum(1)
    if min(plan.shape[1:]) <= NEWTON_MAX_FRAMES:
        factor, failed = _semidual_factor(plan, rows, columns)
        weighted = plan * values
        share = weighted.sum(1) / columns
        u = torch.cholesky_solve(weighted.sum(2, keepdim=True) - plan @ share[:, :, None], factor)
        u = torch.where((failed == 0)[:, None, None] & u.isfinite(), u, 0.0)
        values = values - u
    for _ in range(_SWEEPS if min(plan.shape[1:]) > NEWTON_MAX_FRAMES else 1):
        values = values - (plan * values).sum(1, keepdim=True) / columns[:, None, :]
        values = values - (plan * values).sum(2, keepdim=True) / rows[:, :, None]
    return values
