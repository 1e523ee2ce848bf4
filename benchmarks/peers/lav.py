"""Soft dynamic time warping with a custom backward pass, for batches of pairs (LAV; peers 10)."""

from __future__ import annotations

from typing import Any, cast

import torch
from pydantic import Field
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from rgwot.blocks import Positive
from rgwot.config.extensions import Extension
from rgwot.config.methods import Family
from rgwot.losses.interface import PairBatch, accurate
from rgwot.losses.settings import Loss
from rgwot.transport.costs import squared_distance


class SoftDtw(Loss):
    """Soft dynamic time warping (peers 10)."""

    NAME = "soft_dtw"
    FUNCTION = "lav:align_soft_dtw"
    SOURCE = "LAV"

    gamma: Positive = Field(0.1, description="smoothing, in units of squared distance; LAV")


def align_soft_dtw(batch: PairBatch, settings: SoftDtw) -> Tensor:
    """Return the loss of soft dynamic time warping (LAV; peers 10), (P,)."""
    return soft_dtw_loss(batch.x, batch.y, gamma=settings.gamma)


def soft_dtw_loss(x: Tensor, y: Tensor, *, gamma: float) -> Tensor:
    r"""Soft-DTW of the squared distances between two videos, divided by the frames of the first.

    .. math:: L = \frac{1}{N} \mathrm{softDTW}_\gamma(D), \qquad D_{ij} = |x_i - y_j|^2

    Parameters
    ----------
    x : Tensor, shape (P, N, D)
        Embeddings of the first video of each pair, in order of time.
    y : Tensor, shape (P, M, D)
        Embeddings of the second video of each pair, in order of time.
    gamma : float
        Smoothing, > 0, in units of squared distance.

    Returns
    -------
    Tensor, shape (P,)
        One value per pair. It may be negative: identical constant videos have -gamma / N times the logarithm of the
        number of monotone paths.
    """
    with torch.autocast(device_type=x.device.type, enabled=False):
        return soft_dtw(squared_distance(*accurate(x, y)), gamma) / x.shape[1]


def soft_dtw(cost: Tensor, gamma: float) -> Tensor:
    r"""Return the soft minimum of the cost over all monotone paths through a matrix.

    .. math::
        R_{ij} = D_{ij} - \gamma \log \left(e^{-R_{i-1,j-1}/\gamma} + e^{-R_{i-1,j}/\gamma}
                 + e^{-R_{i,j-1}/\gamma}\right), \qquad \text{value } R_{NM}

    with R_00 = 0 and other R outside the matrix infinite (Cuturi and Blondel 2017, algorithm 1). The gradient is
    the expected path: E_NM = 1 and E_ij is the sum over the three successors of
    E exp((R_successor - D_successor - R_ij) / gamma) (algorithm 2); these exponents are never positive. Both passes
    compute all pairs and all cells of an anti-diagonal at once: O(NM) work in N + M - 1 steps, in float64.

    Parameters
    ----------
    cost : Tensor, shape (P, N, M)
        D, finite.
    gamma : float
        Smoothing, > 0, in units of the cost; towards 0 the value becomes that of dynamic time warping.

    Returns
    -------
    Tensor, shape (P,)
        In the precision of ``cost``. Differentiable once.
    """
    return cast(Tensor, _SoftDTW.apply(cost, gamma))


class _SoftDTW(torch.autograd.Function):
    """The recursion of `soft_dtw` on a skewed matrix, with cell (i, j) of the cost in row i + j and column i."""

    @staticmethod
    def forward(ctx: Any, cost: Tensor, gamma: float) -> Tensor:
        """Return R_NM (P,) of ``cost`` (P, N, M)."""
        diagonal = _skewed(cost.double())
        accumulated = torch.empty_like(diagonal)
        accumulated[:, 0] = diagonal[:, 0]
        # Outside the matrix, and two steps before the first cell, every path is infinitely long.
        before = torch.full_like(diagonal[:, 0], torch.inf)
        for d in range(1, diagonal.shape[1]):
            last = accumulated[:, d - 1]
            ways = torch.stack([last, _down(last), _down(before)])
            accumulated[:, d] = diagonal[:, d] - gamma * torch.logsumexp(-ways / gamma, 0)
            before = last
        ctx.save_for_backward(diagonal, accumulated)
        ctx.gamma = gamma
        ctx.columns = cost.shape[2]
        ctx.dtype = cost.dtype
        return accumulated[:, -1, -1].to(cost.dtype)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """Return the gradient with respect to the cost (P, N, M): the expected path times the incoming gradient."""
        diagonal, accumulated = ctx.saved_tensors
        # ``entered``: the soft minimum over a cell's predecessors, which is the accumulated cost without the cell's own
        # cost; minus infinity outside the matrix, because no path enters there.
        entered = torch.where(diagonal.isinf(), -torch.inf, accumulated - diagonal)
        entered = F.pad(entered, (0, 1, 0, 2), value=-torch.inf)
        right, below, across = (
            ((successor - accumulated) / ctx.gamma).exp()
            for successor in (entered[:, 1:-1, :-1], entered[:, 1:-1, 1:], entered[:, 2:, 1:])
        )
        expected = torch.zeros_like(accumulated)
        expected[:, -1, -1] = 1
        after = torch.zeros_like(expected[:, 0])
        for d in range(expected.shape[1] - 2, -1, -1):
            following = expected[:, d + 1]
            expected[:, d] = following * right[:, d] + _up(following) * below[:, d] + _up(after) * across[:, d]
            after = following
        rows, columns = expected.shape[2], ctx.columns
        i = torch.arange(rows, device=expected.device)[:, None]
        j = torch.arange(columns, device=expected.device)[None, :]
        path = expected[:, i + j, i]
        return (path * gradients[0].double()[:, None, None]).to(ctx.dtype), None


def _skewed(cost: Tensor) -> Tensor:
    """Put anti-diagonals into rows: (P, N, M) to (P, N + M - 1, N), infinite outside the matrix."""
    rows, columns = cost.shape[1:]
    i = torch.arange(rows, device=cost.device)[None, :]
    j = torch.arange(rows + columns - 1, device=cost.device)[:, None] - i
    outside = (j < 0) | (j >= columns)
    return cost[:, i, j.clamp(0, columns - 1)].masked_fill(outside, torch.inf)


def _down(values: Tensor) -> Tensor:
    """Value of the row above, (P, N): entry i has the value at i - 1."""
    return F.pad(values[:, :-1], (1, 0), value=torch.inf)


def _up(values: Tensor) -> Tensor:
    """Value of the row below, (P, N): entry i has the value at i + 1."""
    return F.pad(values[:, 1:], (0, 1))


EXTENSION = Extension(
    losses=[SoftDtw],
    methods=(
        Family(
            "lav",
            "soft dynamic time warping and C-IDM",
            sets={
                "loss.alignment": "soft_dtw",
                "cidm.beta": 0.5 / 32,  # 0.5 in LAV, which also divides C-IDM by N
                "cidm.unit": "native_frames",
                "cidm.sigma": 10.0,
            },
        ),
    ),
)
