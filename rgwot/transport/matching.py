"""From the embeddings of two videos to the weights of the alignment loss (methods 3.3 to 3.5)."""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from rgwot.transport.costs import add_virtual_frame, cosine_cost, relative_positions, temporal_prior
from rgwot.transport.fused_gromov_wasserstein import Solver, TransportResult, solve

Virtual = Literal["cost", "threshold", "none"]


class FrameAlignment(NamedTuple):
    """Soft matches between the real frames of each pair of videos.

    Attributes
    ----------
    transport : TransportResult
        The solved problem, including the virtual row and column when ``virtual="cost"``.
    weights : Tensor, shape (B, N, M)
        T* of the alignment loss: the plan between real frames times the number of rows of the transport
        problem, so that a fully matched row sums to about 1. No gradient.
    """

    transport: TransportResult
    weights: Tensor


def align_frames(
    x: Tensor,
    y: Tensor,
    *,
    alpha: float,
    epsilon: float,
    rho: float,
    r: float,
    zeta: float,
    solver: Solver,
    virtual: Virtual,
    max_iterations: int,
    tolerance: float,
    x_positions: Tensor | None = None,
    y_positions: Tensor | None = None,
) -> FrameAlignment:
    r"""Match the frames of pairs of videos by regularised fused Gromov-Wasserstein transport.

    The steps are: cost :math:`\tilde C = C + \rho R`, virtual frame, transport, removal of the virtual frame, rescaling
    of rows. They are computed in float64, outside autocast and without gradient.

    Parameters
    ----------
    x, y : Tensor, shape (B, N, D) and (B, M, D)
        Embeddings of the two videos of each pair, in temporal order.
    alpha, epsilon, r, solver, max_iterations, tolerance
        As in :func:`~rgwot.transport.fused_gromov_wasserstein.solve`: weights of the structural part and of the
        entropy, radius of the structural prior, and how the problem is solved.
    rho : float
        Weight of the temporal prior.
    zeta : float
        Cost of the virtual frame, or the matching probability below which a frame is left out.
    virtual : {"cost", "threshold", "none"}
        ``cost``: a virtual frame of cost zeta precedes both sequences and is dropped afterwards, with the
        mass that went to it. ``threshold``: transport between real frames only; frames whose largest matching
        probability is below zeta lose their row or column. ``none``: every frame is matched.
    x_positions, y_positions : Tensor, shape (N,) or (B, N), (M,) or (B, M), optional
        Relative times in [0, 1] of the frames for the temporal prior; sampled positions i/N, j/M by default.

    Raises
    ------
    ValueError
        If shapes disagree or only one of the two positions is given.
    """
    with torch.no_grad(), torch.autocast(device_type=x.device.type, enabled=False):
        cost = alignment_cost(x, y, rho, zeta, virtual, x_positions, y_positions)
        transport = solve(
            cost, alpha=alpha, epsilon=epsilon, r=r, solver=solver, max_iterations=max_iterations, tolerance=tolerance
        )
        return FrameAlignment(transport, real_frames(transport.plan, virtual, zeta, x.dtype))


def matched_frames(plan: Tensor, zeta: float) -> tuple[Tensor, Tensor]:
    """Return which real frames have a partner whose matching probability reaches zeta (methods 3.5).

    The probability that x_i goes with y_j is the plan divided by its row sum; the probability that y_j goes with x_i is
    the plan divided by its column sum.

    Parameters
    ----------
    plan : Tensor, shape (B, N, M)
        Converged plan between real frames, without virtual row and column.
    zeta : float
        Threshold in [0, 1].

    Returns
    -------
    x_matched, y_matched : Tensor, bool, shape (B, N) and (B, M)
    """
    # Compared without dividing: a row without mass then counts as unmatched instead of becoming NaN.
    row, column = plan.sum(2), plan.sum(1)
    return (plan.amax(2) >= zeta * row) & (row > 0), (plan.amax(1) >= zeta * column) & (column > 0)


def alignment_cost(
    x: Tensor,
    y: Tensor,
    rho: float,
    zeta: float,
    virtual: Virtual,
    x_positions: Tensor | None,
    y_positions: Tensor | None,
) -> Tensor:
    """Return the cost C + rho R in float64, with the virtual frame if ``virtual`` is ``cost``."""
    if virtual not in {"cost", "threshold", "none"}:
        raise ValueError(f"virtual: found {virtual!r}, expected 'cost', 'threshold' or 'none'")
    if (x_positions is None) != (y_positions is None):
        raise ValueError("x_positions, y_positions: found one of the two, expected both or none")
    cost = cosine_cost(x.double(), y.double())
    if x_positions is None or y_positions is None:
        x_positions, y_positions = (
            relative_positions(size, dtype=cost.dtype, device=cost.device) for size in cost.shape[1:]
        )
    cost = cost + rho * temporal_prior(x_positions.to(cost), y_positions.to(cost))
    return add_virtual_frame(cost, zeta) if virtual == "cost" else cost


def real_frames(plan: Tensor, virtual: Virtual, zeta: float, dtype: torch.dtype) -> Tensor:
    """Return the weights of the real frames, with rescaled rows."""
    rows = plan.shape[1]
    if virtual == "cost":
        plan = plan[:, 1:, 1:]
    if virtual == "threshold":
        x_matched, y_matched = matched_frames(plan, zeta)
        plan = plan * (x_matched[:, :, None] & y_matched[:, None, :])
    return (rows * plan).to(torch.promote_types(dtype, torch.float32))
