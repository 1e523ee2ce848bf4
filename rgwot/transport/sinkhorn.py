"""Balanced entropic optimal transport for a linear cost, in the log domain.

At the temperatures used here plain Sinkhorn passes can need thousands of rounds (two clusters of frames
exchange mass only through the virtual frame), so the row potential is updated by Newton steps on the concave
semi-dual (:mod:`rgwot.transport.semidual`). A Newton step is taken only where it raises the dual at least as much as
a Sinkhorn pass would, which keeps the global convergence of Sinkhorn and ends in quadratic convergence.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from rgwot.transport.semidual import solve_semidual

# Updates of the potentials at most.
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
        Row potential in units of epsilon; pass it back in to warm-start a neighbouring problem.
    marginal_error : Tensor, shape (B,)
        Largest relative violation of a row sum, max_i \|(T 1)_i - p_i\| / p_i; column sums are exact.
    """

    plan: Tensor
    log_plan: Tensor
    f: Tensor
    marginal_error: Tensor


def sinkhorn(
    cost: Tensor,
    p: Tensor,
    q: Tensor,
    epsilon: float,
    *,
    tolerance: float,
    f: Tensor | None = None,
    max_passes: int = _MAX_PASSES,
) -> SinkhornResult:
    r"""Minimise :math:`\langle C, T\rangle + \epsilon \sum T \log T` subject to T 1 = p and T^T 1 = q.

    Parameters
    ----------
    cost : Tensor, shape (B, N, M), float64
    p, q : Tensor, shape (B, N) and (B, M)
        Row and column marginal, positive, sum 1.
    epsilon : float
        Entropy weight, in units of the cost.
    tolerance : float
        Stop when the marginal error of every problem of the batch is at most this.
    f : Tensor, shape (B, N), optional
        Row potential to start from, in units of epsilon.
    max_passes : int
        Upper limit of potential updates.

    References
    ----------
    M. Cuturi, "Sinkhorn distances", NeurIPS 2013; Newton steps on the semi-dual as in G. Peyre and M. Cuturi,
    "Computational optimal transport", 2019, section 4.
    """
    log_kernel = cost / -epsilon
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
    """Change of the row potential that raises the semi-dual most: a Sinkhorn pass or a Newton step of three lengths."""
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
