"""From the embeddings of two videos to the weights of the alignment loss (methods 3.3 to 3.5)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from rgwot.config.settings import TransportSettings
from rgwot.transport.costs import add_virtual_frame, cosine_cost, relative_positions, temporal_prior
from rgwot.transport.fused_gromov_wasserstein import TransportResult, solve
from rgwot.transport.partial import solve_partial

# What the two problems read of the settings.
BALANCED = ("alpha", "epsilon", "max_iterations", "tolerance", "r", "solver")
PARTIAL = ("alpha", "epsilon", "max_iterations", "tolerance", "tau_m", "lambda_s", "b")


class FrameAlignment(NamedTuple):
    """Soft matches between the real frames of each pair of videos.

    Attributes
    ----------
    transport : TransportResult
        The solved problem, including the virtual row and column when ``virtual="cost"``.
    weights : Tensor, shape (B, N, M)
        T* of the alignment loss: the plan between real frames times the number of rows of the transport
        problem, so that a fully matched row sums to about 1. No gradient.
    x_matched, y_matched : Tensor, bool, shape (B, N) and (B, M)
        False for frames left out of the loss by ``virtual="threshold"``; all True otherwise.
    """

    transport: TransportResult
    weights: Tensor
    x_matched: Tensor
    y_matched: Tensor


def align_frames(
    x: Tensor, y: Tensor, ot: TransportSettings, positions: tuple[Tensor, Tensor] | None = None
) -> FrameAlignment:
    r"""Match the frames of pairs of videos by regularised fused Gromov-Wasserstein transport.

    Cost :math:`\tilde C = C + \rho R`, virtual frame, transport, removal of the virtual frame, rescaling of
    rows. Computed in float64, outside autocast and without gradient.

    Parameters
    ----------
    x, y : Tensor, shape (B, N, D) and (B, M, D)
        Embeddings of the two videos of each pair, in temporal order.
    ot : TransportSettings
        rho, zeta, what :func:`~rgwot.transport.fused_gromov_wasserstein.solve` reads, and the virtual frame. ``cost``:
        one of cost zeta precedes both sequences and is dropped afterwards, with the mass that went to it.
        ``threshold``: transport between real frames only; frames whose largest matching probability is below zeta
        lose their row or column. ``none``: every frame is matched.
    positions : tuple of Tensor, shapes (N,) or (B, N) and (M,) or (B, M), optional
        Relative times in [0, 1] of the frames for the temporal prior; sampled positions i/N, j/M by default.

    Raises
    ------
    ValueError
        If shapes disagree.
    """
    with torch.no_grad(), torch.autocast(device_type=x.device.type, enabled=False):
        transport = solve(_cost(x, y, ot, positions), **{key: getattr(ot, key) for key in BALANCED})
        return FrameAlignment(transport, *_real_frames(transport.plan, ot, x.dtype))


def align_frames_partially(
    x: Tensor, y: Tensor, ot: TransportSettings, positions: tuple[Tensor, Tensor] | None = None
) -> Tensor:
    """Match the frames of pairs of videos by fused partial transport, our reconstruction of REMAP (methods 4.8).

    As :func:`align_frames`, with the problem of :func:`rgwot.transport.partial.solve_partial` in place of the balanced
    one; returns the weights, (B, N, M).
    """
    with torch.no_grad(), torch.autocast(device_type=x.device.type, enabled=False):
        problem = {key: getattr(ot, key) for key in PARTIAL}
        plan = solve_partial(_cost(x, y, ot, positions), virtual=ot.virtual == "cost", **problem).plan
        return _real_frames(plan, ot, x.dtype)[0]


def matched_frames(plan: Tensor, zeta: float) -> tuple[Tensor, Tensor]:
    """Which real frames have a partner whose matching probability reaches zeta (methods 3.5).

    The probability that x_i goes with y_j is the plan divided by its row sum, and that y_j goes with x_i the
    plan divided by its column sum. Of a converged plan (B, N, M) between real frames, without virtual row and column,
    and zeta in [0, 1]; returns bool, (B, N) and (B, M).
    """
    # Compared without dividing: a row without mass then counts as unmatched instead of becoming NaN.
    row, column = plan.sum(2), plan.sum(1)
    return (plan.amax(2) >= zeta * row) & (row > 0), (plan.amax(1) >= zeta * column) & (column > 0)


def _cost(x: Tensor, y: Tensor, ot: TransportSettings, positions: tuple[Tensor, Tensor] | None) -> Tensor:
    """Cost C + rho R in float64, with the virtual frame where it has a cost."""
    cost = cosine_cost(x.double(), y.double())
    s, u = positions or (relative_positions(size, dtype=cost.dtype, device=cost.device) for size in cost.shape[1:])
    cost = cost + ot.rho * temporal_prior(s.to(cost), u.to(cost))
    return add_virtual_frame(cost, ot.zeta) if ot.virtual == "cost" else cost


def _real_frames(plan: Tensor, ot: TransportSettings, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Weights of the real frames, rows rescaled, and which frames of both videos take part."""
    rows = plan.shape[1]
    if ot.virtual == "cost":
        plan = plan[:, 1:, 1:]
    if ot.virtual == "threshold":
        x_matched, y_matched = matched_frames(plan, ot.zeta)
        plan = plan * (x_matched[:, :, None] & y_matched[:, None, :])
    else:
        x_matched, y_matched = (torch.ones_like(plan.sum(dim), dtype=torch.bool) for dim in (2, 1))
    return (rows * plan).to(torch.promote_types(dtype, torch.float32)), x_matched, y_matched
