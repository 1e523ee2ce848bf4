"""The virtual frame, to which frames without a partner go (methods 3.5).

Two readings: a virtual frame of constant cost zeta in front of both sequences, which takes mass away from
frames without a good partner (the public code), or a threshold zeta on the matching probability, below which
a frame is left out of the loss altogether (the paper's text).
"""

from __future__ import annotations

import torch
from torch import Tensor


def add_virtual_frame(cost: Tensor, zeta: float) -> Tensor:
    """Prepend a row and a column of cost zeta, the corner included.

    Parameters
    ----------
    cost : Tensor, shape (B, N, M)
    zeta : float
        Cost of leaving a frame unmatched, in units of the cost.

    Returns
    -------
    Tensor, shape (B, N + 1, M + 1)
    """
    return torch.nn.functional.pad(cost, (1, 0, 1, 0), value=zeta)


def remove_virtual_frame(plan: Tensor) -> Tensor:
    """Drop the first row and the first column: (B, N + 1, M + 1) to (B, N, M)."""
    return plan[:, 1:, 1:]


def matched_frames(plan: Tensor, zeta: float) -> tuple[Tensor, Tensor]:
    """Which real frames have a partner whose matching probability reaches zeta.

    The probability that x_i goes with y_j is the plan divided by its row sum, and that y_j goes with x_i the
    plan divided by its column sum.

    Parameters
    ----------
    plan : Tensor, shape (B, N, M)
        Converged plan between real frames, without virtual row and column.
    zeta : float
        Threshold in [0, 1].

    Returns
    -------
    x_matched : Tensor, bool, shape (B, N)
    y_matched : Tensor, bool, shape (B, M)
        False for a frame that is assigned to the virtual frame.
    """
    # Compared without dividing: a row without mass then counts as unmatched instead of becoming NaN.
    row, column = plan.sum(2), plan.sum(1)
    x_matched = (plan.amax(2) >= zeta * row) & (row > 0)
    y_matched = (plan.amax(1) >= zeta * column) & (column > 0)
    return x_matched, y_matched


def drop_unmatched(plan: Tensor, x_matched: Tensor, y_matched: Tensor) -> Tensor:
    """Set the rows and columns of frames assigned to the virtual frame to zero, shape (B, N, M)."""
    return plan * (x_matched[:, :, None] & y_matched[:, None, :])
