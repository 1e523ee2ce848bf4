"""From the embeddings of two videos to the weights of the alignment loss (methods 3.3 to 3.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from rgwot.transport.costs import cosine_cost, relative_positions, temporal_prior
from rgwot.transport.fused_gromov_wasserstein import TransportResult, solve
from rgwot.transport.partial import solve_partial
from rgwot.transport.virtual import add_virtual_frame, drop_unmatched, matched_frames, remove_virtual_frame

Virtual = Literal["cost", "threshold", "none"]


@dataclass(frozen=True)
class FrameAlignment:
    """Soft matches between the real frames of each pair of videos.

    Attributes
    ----------
    weights : Tensor, shape (B, N, M)
        T* of the alignment loss: the plan between real frames times the number of rows of the transport
        problem, so that a fully matched row sums to about 1. No gradient.
    transport : TransportResult
        The solved problem, including the virtual row and column when ``virtual="cost"``.
    x_matched : Tensor, bool, shape (B, N)
    y_matched : Tensor, bool, shape (B, M)
        False for frames left out of the loss by ``virtual="threshold"``; all True otherwise.
    """

    weights: Tensor
    transport: TransportResult
    x_matched: Tensor
    y_matched: Tensor


def align_frames(
    x: Tensor,
    y: Tensor,
    *,
    alpha: float = 0.3,
    epsilon: float = 0.07,
    rho: float = 0.35,
    r: float = 0.02,
    zeta: float = 0.5,
    solver: Literal["converged", "parity"] = "converged",
    virtual: Virtual = "cost",
    max_iterations: int = 100,
    tolerance: float = 1e-6,
    x_positions: Tensor | None = None,
    y_positions: Tensor | None = None,
) -> FrameAlignment:
    r"""Match the frames of pairs of videos by regularised fused Gromov-Wasserstein transport.

    Cost :math:`\tilde C = C + \rho R`, virtual frame, transport, removal of the virtual frame, rescaling of
    rows. Computed in float64, outside autocast and without gradient.

    Parameters
    ----------
    x : Tensor, shape (B, N, D)
        Embeddings of the first video of each pair, in temporal order.
    y : Tensor, shape (B, M, D)
        Embeddings of the second video of each pair, in temporal order.
    alpha, epsilon, r, solver, max_iterations, tolerance
        See :func:`~rgwot.transport.fused_gromov_wasserstein.solve`.
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

    Returns
    -------
    FrameAlignment

    Raises
    ------
    ValueError
        If shapes disagree or only one of the two positions is given.
    """
    _check_virtual(virtual)
    with torch.no_grad(), torch.autocast(device_type=x.device.type, enabled=False):
        cost = _cost(x, y, rho, x_positions, y_positions)
        if virtual == "cost":
            cost = add_virtual_frame(cost, zeta)
        transport = solve(
            cost,
            alpha=alpha,
            epsilon=epsilon,
            r=r,
            solver=solver,
            max_iterations=max_iterations,
            tolerance=tolerance,
        )
        weights, x_matched, y_matched = _real_frames(transport.plan, virtual, zeta)
        return FrameAlignment(weights.to(_loss_type(x)), transport, x_matched, y_matched)


def align_frames_partially(
    x: Tensor,
    y: Tensor,
    *,
    alpha: float = 0.3,
    epsilon: float = 0.07,
    rho: float = 0.35,
    zeta: float = 0.5,
    tau_m: float = 0.5,
    lambda_s: float = 1.0,
    b: float = 0.1,
    virtual: Virtual = "cost",
    max_iterations: int = 100,
    tolerance: float = 1e-6,
    x_positions: Tensor | None = None,
    y_positions: Tensor | None = None,
) -> Tensor:
    """Match the frames of pairs of videos by fused partial transport, our reconstruction of REMAP (methods 4.8).

    As :func:`align_frames`, with the problem of :mod:`rgwot.transport.partial` in place of the balanced one.

    Parameters
    ----------
    x, y, rho, zeta, virtual, x_positions, y_positions
        See `align_frames`.
    alpha, epsilon, tau_m, lambda_s, b, max_iterations, tolerance
        See `rgwot.transport.partial.solve_partial`.

    Returns
    -------
    Tensor, shape (B, N, M)
        The plan between real frames times the number of rows of the transport problem. No gradient.

    Raises
    ------
    ValueError
        As `align_frames`.
    """
    _check_virtual(virtual)
    with torch.no_grad(), torch.autocast(device_type=x.device.type, enabled=False):
        cost = _cost(x, y, rho, x_positions, y_positions)
        transport = solve_partial(
            add_virtual_frame(cost, zeta) if virtual == "cost" else cost,
            alpha=alpha,
            epsilon=epsilon,
            tau_m=tau_m,
            lambda_s=lambda_s,
            b=b,
            virtual=virtual == "cost",
            max_iterations=max_iterations,
            tolerance=tolerance,
        )
        return _real_frames(transport.plan, virtual, zeta)[0].to(_loss_type(x))


def _check_virtual(virtual: str) -> None:
    if virtual not in {"cost", "threshold", "none"}:
        raise ValueError(f"virtual: found {virtual!r}, expected 'cost', 'threshold' or 'none'")


def _loss_type(x: Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)


def _cost(x: Tensor, y: Tensor, rho: float, x_positions: Tensor | None, y_positions: Tensor | None) -> Tensor:
    """Cost C + rho R between real frames, float64, (B, N, M)."""
    if (x_positions is None) != (y_positions is None):
        raise ValueError("x_positions, y_positions: found one of the two, expected both or none")
    cost = cosine_cost(x.double(), y.double())
    if x_positions is None or y_positions is None:
        n, m = cost.shape[1:]
        x_positions = relative_positions(n, dtype=cost.dtype, device=cost.device)
        y_positions = relative_positions(m, dtype=cost.dtype, device=cost.device)
    return cost + rho * temporal_prior(x_positions.to(cost), y_positions.to(cost))


def _real_frames(plan: Tensor, virtual: Virtual, zeta: float) -> tuple[Tensor, Tensor, Tensor]:
    """Weights of the real frames, rows rescaled, and which frames of both videos take part."""
    rows = plan.shape[1]
    if virtual == "cost":
        plan = remove_virtual_frame(plan)
    if virtual == "threshold":
        x_matched, y_matched = matched_frames(plan, zeta)
        plan = drop_unmatched(plan, x_matched, y_matched)
    else:
        x_matched = torch.ones(plan.shape[:2], dtype=torch.bool, device=plan.device)
        y_matched = torch.ones(plan.shape[::2], dtype=torch.bool, device=plan.device)
    return rows * plan, x_matched, y_matched
