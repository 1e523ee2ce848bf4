r"""Linear systems of the concave semi-dual of entropic transport.

With a plan T whose row sums are a and whose column sums are b, the negative Hessian of the semi-dual with respect to
the row potential (in units of epsilon) and the normal matrix of a least-squares fit of row and column constants are
the same matrix,

.. math:: H = \mathrm{diag}(a) - T \mathrm{diag}(b)^{-1} T^\top,

positive semi-definite with the constants as null space. It is factored, O(N^2 M), all problems of a batch at once.
"""

from __future__ import annotations

import torch
from torch import Tensor


def solve_semidual(plan: Tensor, rows: Tensor, columns: Tensor, right: Tensor) -> Tensor:
    r"""Solve :math:`(\mathrm{diag}(a) - T \mathrm{diag}(b)^{-1} T^\top) u = c`.

    Parameters
    ----------
    plan : Tensor, shape (B, N, M), float64
        T, entries >= 0.
    rows, columns : Tensor, shape (B, N) and (B, M)
        Its sums a and b, positive.
    right : Tensor, shape (B, N)
        c, of sum 0.

    Returns
    -------
    Tensor, shape (B, N)
        u, fixed up to a constant; not finite where a factorisation failed.
    """
    # A constant added to the potential changes nothing: the outer product fills this null space.
    constant = rows[:, :, None] * rows[:, None, :]
    hessian = torch.baddbmm(constant, plan / columns[:, None, :], plan.transpose(1, 2), alpha=-1)
    hessian.diagonal(dim1=1, dim2=2).add_(rows * (1 + 1e-13))
    factor, failed = torch.linalg.cholesky_ex(hessian)
    solution = torch.cholesky_solve(right[:, :, None], factor)[:, :, 0]
    return torch.where((failed == 0)[:, None], solution, torch.nan)


def tangent_part(values: Tensor, plan: Tensor) -> Tensor:
    r"""Subtract row and column constants so that T * values has row and column sums zero.

    The constants u_i, v_j minimise :math:`\sum_{ij} T_{ij} (A_{ij} - u_i - v_j)^2`; what is left of a
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
