r"""Linear systems of the concave semi-dual of entropic transport.

With a plan T whose row sums are a and whose column sums are b, the negative Hessian of the semi-dual with respect to
the row potential (in units of epsilon) and the normal matrix of a least-squares fit of row and column constants are
the same matrix,

.. math:: H = \mathrm{diag}(a) - T \mathrm{diag}(b)^{-1} T^\top,

positive semi-definite with the constants as null space. Small systems are factored, O(N^2 M), all problems of a batch
at once. Large ones are solved by conjugate gradients preconditioned by diag(a), O(NM) per step: the eigenvalues of the
preconditioned matrix lie in [0, 1], and only those of slowly mixing groups of frames are far from 1, so that the
number of steps does not grow with the number of frames.
"""

from __future__ import annotations

import torch
from torch import Tensor

# Up to this many rows a factorisation takes less time than conjugate gradients.
DIRECT_MAX_ROWS = 320
# Steps of conjugate gradients at most: one per row would do without rounding, far fewer do in practice.
_MAX_STEPS = 300
# Relative residual of the constants of a tangent part where they are found iteratively.
_TOLERANCE = 1e-5


def solve_semidual(
    plan: Tensor, rows: Tensor, columns: Tensor, right: Tensor, tolerance: Tensor | float, guess: Tensor | None = None
) -> Tensor:
    r"""Solve :math:`(\mathrm{diag}(a) - T \mathrm{diag}(b)^{-1} T^\top) u = c`.

    Parameters
    ----------
    plan : Tensor, shape (B, N, M), float64
        T, entries >= 0.
    rows, columns : Tensor, shape (B, N) and (B, M)
        Its sums a and b, positive.
    right : Tensor, shape (B, N)
        c, of sum 0.
    tolerance : float or Tensor, shape (B,)
        Residual of the iterative solution relative to that of the guess; the direct one is exact to rounding.
    guess : Tensor, shape (B, N), optional
        Where the iterative solution starts; zero by default.

    Returns
    -------
    Tensor, shape (B, N)
        u, fixed up to a constant; not finite where a factorisation failed.
    """
    if plan.shape[1] > DIRECT_MAX_ROWS:
        return _conjugate_gradients(plan, rows, columns, right, tolerance, guess)
    # A constant added to the potential changes nothing: the outer product fills this null space.
    constant = rows[:, :, None] * rows[:, None, :]
    hessian = torch.baddbmm(constant, plan / columns[:, None, :], plan.transpose(1, 2), alpha=-1)
    hessian.diagonal(dim1=1, dim2=2).add_(rows * (1 + 1e-13))
    factor, failed = torch.linalg.cholesky_ex(hessian)
    solution = torch.cholesky_solve(right[:, :, None], factor)[:, :, 0]
    return torch.where((failed == 0)[:, None], solution, torch.nan)


def tangent_part(values: Tensor, plan: Tensor, guess: Tensor) -> Tensor:
    r"""Subtract row and column constants so that T * values has row and column sums zero.

    The constants u_i, v_j minimise :math:`\sum_{ij} T_{ij} (A_{ij} - u_i - v_j)^2`; what is left of a
    gradient A is its part along the transport polytope.

    Parameters
    ----------
    values, plan : Tensor, shape (B, N, M), float64
        A and T, which has positive row and column sums.
    guess : Tensor, shape (B, N)
        An approximation of u, up to a constant.
    """
    rows, columns = plan.sum(2), plan.sum(1)
    weighted = plan * values
    share = weighted.sum(1) / columns
    right = weighted.sum(2) - (plan @ share[:, :, None])[:, :, 0]
    u = solve_semidual(plan, rows, columns, right, _TOLERANCE, guess)
    values = values - torch.where(u.isfinite().all(1, keepdim=True), u, 0.0)[:, :, None]
    values = values - (plan * values).sum(1, keepdim=True) / columns[:, None, :]
    return values - (plan * values).sum(2, keepdim=True) / rows[:, :, None]


def _conjugate_gradients(
    plan: Tensor, rows: Tensor, columns: Tensor, right: Tensor, tolerance: Tensor | float, guess: Tensor | None
) -> Tensor:
    """Solve by conjugate gradients from the guess; a problem that has converged is left as it is."""
    transposed = plan.transpose(1, 2)

    def matrix(u: Tensor) -> Tensor:
        return rows * u - (plan @ ((transposed @ u[:, :, None]) / columns[:, :, None]))[:, :, 0]

    solution = torch.zeros_like(right) if guess is None else guess
    residual = right if guess is None else right - matrix(guess)
    # Rounding leaves a part of c that no u can produce.
    residual = residual - rows * (residual.sum(1, keepdim=True) / rows.sum(1, keepdim=True))
    preconditioned = residual / rows
    direction = preconditioned
    energy = (residual * preconditioned).sum(1, keepdim=True)
    limit = energy * (tolerance[:, None] if isinstance(tolerance, Tensor) else tolerance) ** 2
    for _ in range(_MAX_STEPS):
        running = energy > limit
        if not bool(running.any()):
            break
        image = matrix(direction)
        curvature = (direction * image).sum(1, keepdim=True)
        running &= curvature > 0
        length = torch.where(running, energy / curvature, 0.0)
        solution = solution + length * direction
        residual = residual - length * image
        preconditioned = residual / rows
        before, energy = energy, torch.where(running, (residual * preconditioned).sum(1, keepdim=True), 0.0)
        direction = preconditioned + torch.where(running, energy / before, 0.0) * direction
    return solution
