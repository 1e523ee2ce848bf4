r"""Structural prior: the banded matrices C^x and C^y and their product with a plan (methods 3.3).

With :math:`\delta` the index difference, N and M the numbers of frames (the virtual frame included) and r the
radius,

.. math::
    C^x_{ik} = \begin{cases} 1/r & 1 \le \delta \le N r \\ 0 & \text{else} \end{cases} \qquad
    C^y_{jl} = \begin{cases} 0 & 1 \le \delta \le M r \\ 1 & \text{else} \end{cases}

so C^x has a zero diagonal and C^y a unit diagonal: two frames that are neighbours in one video and not
neighbours in the other are charged 1/r. The width of the band is the integer a = floor(N r), its height 1/r.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rgwot.losses.settings import structure_radius


def structure_matrix_x(n: int, r: float, *, dtype: torch.dtype | None = None) -> Tensor:
    """Dense C^x, shape (n, n): symmetric, zero diagonal, 1/r within the band."""
    return _band(n, structure_radius(n, r)).to(dtype or torch.get_default_dtype()) / (r or 1.0)


def structure_matrix_y(m: int, r: float, *, dtype: torch.dtype | None = None) -> Tensor:
    """Dense C^y, shape (m, m): symmetric, unit diagonal, zero within the band."""
    return (~_band(m, structure_radius(m, r))).to(dtype or torch.get_default_dtype())


def structure_product(plan: Tensor, r: float, length: int | None = None) -> Tensor:
    r"""Product C^x T C^y in O(NM) operations, whatever the radius.

    The band of C^x sums a window of rows and C^y is one minus a band, so that

    .. math:: C^x T C^y = \tfrac{1}{r} B_x (T 1 1^T - T B_y)

    where B sums the a neighbours on each side; both are differences of cumulative sums.

    Parameters
    ----------
    plan : Tensor, shape (B, N, M)
        Any real matrix, usually a transport plan.
    r : float
        Radius, >= 0.
    length : int, optional
        Frames of both sequences of which r is a share, where they were cut; by default N and M.

    Returns
    -------
    Tensor, shape (B, N, M)
        Zero if the band of C^x is empty.
    """
    n, m = (length, length) if length else plan.shape[-2:]
    a_x, a_y = structure_radius(n, r), structure_radius(m, r)
    if a_x == 0:
        return torch.zeros_like(plan)
    far = plan.sum(-1, keepdim=True) - neighbour_sum(plan, a_y, dim=-1)
    return neighbour_sum(far, a_x, dim=-2) / r


def _band(n: int, a: int) -> Tensor:
    index = torch.arange(n)
    delta = (index[:, None] - index[None, :]).abs()
    return (delta >= 1) & (delta <= a)


def neighbour_sum(values: Tensor, a: int, dim: int) -> Tensor:
    """Sum of the a entries before and the a entries after each entry along ``dim``, zeros outside."""
    n = values.shape[dim]
    a = min(a, n - 1)
    if a <= 0:
        return torch.zeros_like(values)
    total = values.cumsum(dim)
    # total[i + a] - total[i - a - 1] - values[i] in place: large intermediate results cost more than the arithmetic.
    sums = torch.empty_like(values)
    sums.narrow(dim, 0, n - a).copy_(total.narrow(dim, a, n - a))
    sums.narrow(dim, n - a, a).copy_(total.narrow(dim, n - 1, 1).expand_as(sums.narrow(dim, n - a, a)))
    sums.narrow(dim, a + 1, n - a - 1).sub_(total.narrow(dim, 0, n - a - 1))
    return sums.sub_(values)
