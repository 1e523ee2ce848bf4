"""Visual cost between two videos, the temporal prior added to it, and the virtual frame (methods 3.3, 3.5)."""

from __future__ import annotations

import torch
from torch import Tensor


def cosine_cost(x: Tensor, y: Tensor) -> Tensor:
    r"""Cosine distance between every frame of one video and every frame of another.

    .. math:: C_{ij} = 1 - \frac{x_i \cdot y_j}{|x_i| |y_j|}

    Parameters
    ----------
    x : Tensor, shape (B, N, D)
        Embeddings of the first video of each pair; any scale.
    y : Tensor, shape (B, M, D)
        Embeddings of the second video of each pair.

    Returns
    -------
    Tensor, shape (B, N, M)
        Values in [0, 2]; a zero vector is at distance 1 from everything.

    Raises
    ------
    ValueError
        If the batch or embedding dimensions disagree.
    """
    _check(x, y)
    unit_x = torch.nn.functional.normalize(x, dim=2)
    unit_y = torch.nn.functional.normalize(y, dim=2)
    return 1 - unit_x @ unit_y.transpose(1, 2)


def squared_distance(x: Tensor, y: Tensor) -> Tensor:
    r"""Squared Euclidean distance :math:`|x_i - y_j|^2` between frames of two videos, or of one (y = x).

    Shapes and errors are those of :func:`cosine_cost`; values are >= 0. Both videos are centred first, which loses
    fewer digits where distances are small against the lengths.
    """
    _check(x, y)
    centre = torch.cat([x, y], 1).mean(1, keepdim=True).detach()
    x, y = x - centre, y - centre
    squares = (x * x).sum(2)[:, :, None] + (y * y).sum(2)[:, None, :]
    return (squares - 2 * x @ y.transpose(1, 2)).clamp_min(0)


def relative_positions(n: int, *, dtype: torch.dtype | None = None, device: torch.device | None = None) -> Tensor:
    """Positions i/N in [0, 1), i = 0..N-1, of N sampled frames (methods 3.3: the index, not the time stamp)."""
    return torch.arange(n, dtype=dtype or torch.get_default_dtype(), device=device) / n


def temporal_prior(x_positions: Tensor, y_positions: Tensor) -> Tensor:
    r"""Temporal prior :math:`R_{ij} = |s_i - u_j|` between relative positions (methods 3.3).

    With :func:`relative_positions` this is the published \|i/N - j/M\|; with time stamps divided by the length of the
    video it is the prior in true relative time, which differs because frames are sampled at random.

    Parameters
    ----------
    x_positions, y_positions : Tensor, shape (N,) or (B, N), (M,) or (B, M)
        Relative positions in [0, 1] in the two videos.

    Returns
    -------
    Tensor, shape (N, M) or (B, N, M)
        Values in [0, 1].
    """
    return (x_positions[..., :, None] - y_positions[..., None, :]).abs()


def add_virtual_frame(cost: Tensor, zeta: float) -> Tensor:
    """Prepend a row and a column of cost zeta, the corner included: (B, N, M) to (B, N + 1, M + 1).

    Frames without a good partner send their mass there; zeta has the unit of the cost (methods 3.5).
    """
    return torch.nn.functional.pad(cost, (1, 0, 1, 0), value=zeta)


def _check(x: Tensor, y: Tensor) -> None:
    if x.ndim != 3 or y.ndim != 3 or x.shape[0] != y.shape[0] or x.shape[2] != y.shape[2]:
        raise ValueError(f"embeddings: found {tuple(x.shape)} and {tuple(y.shape)}, expected (B, N, D) and (B, M, D)")
