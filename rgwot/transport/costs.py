"""Visual cost between two videos, the temporal prior added to it, and the virtual frame (methods 3.3, 3.5)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

# N r is formed in floating point: 100 * 0.29 is 28.999999999999996 and must count as 29 frames.
_ROUNDING = 1e-9


def structure_radius(n: int, r: float) -> int:
    """Return a = floor(n r), the number of neighbours on each side that the prior looks at (methods 3.3).

    Parameters
    ----------
    n : int
        Frames of the transport problem, the virtual frame included.
    r : float
        Radius as a fraction of the sequence, >= 0.

    Returns
    -------
    int
        If it is 0 for either video of a pair, r is below 1/n and the structural prior has no effect: C^x is zero or C^y
        constant, so that <C^x T C^y, T> is the same for every plan with the given marginals.

    Examples
    --------
    >>> structure_radius(33, 0.02), structure_radius(33, 0.04), structure_radius(100, 0.29)
    (0, 1, 29)
    """
    return math.floor(n * r + _ROUNDING)


def structure_matrix_x(n: int, r: float, *, dtype: torch.dtype | None = None) -> Tensor:
    """Return the dense C^x, shape (n, n): symmetric, with zero diagonal and 1/r within the band."""
    return _band(n, structure_radius(n, r)).to(dtype or torch.get_default_dtype()) / (r or 1.0)


def structure_matrix_y(m: int, r: float, *, dtype: torch.dtype | None = None) -> Tensor:
    """Return the dense C^y, shape (m, m): symmetric, with unit diagonal and zero within the band."""
    return (~_band(m, structure_radius(m, r))).to(dtype or torch.get_default_dtype())


def structure_product(plan: Tensor, r: float, length: int | None = None) -> Tensor:
    r"""Return the product C^x T C^y in O(NM) operations, whatever the radius.

    The band of C^x sums a window of rows and C^y is one minus a band, so that

    .. math:: C^x T C^y = \tfrac{1}{r} B_x (T 1 1^T - T B_y)

    where B sums the a neighbours on each side; both products are differences of cumulative sums.

    Parameters
    ----------
    plan : Tensor, shape (B, N, M)
        Any real matrix, usually a transport plan.
    r : float
        Radius, >= 0.
    length : int, optional
        Number of frames of which r is a share, if the sequences were cut; by default N and M.

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
    """Return the sum of the a entries before and the a entries after each entry along ``dim``, zeros outside."""
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


def cosine_cost(x: Tensor, y: Tensor) -> Tensor:
    r"""Return the cosine distance between every frame of one video and every frame of another.

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
    r"""Return the squared distance :math:`|x_i - y_j|^2` between frames of two videos, or of a single one (y = x).

    Shapes and errors are the same as for :func:`cosine_cost`; values are >= 0. Both videos are centred first, which
    loses fewer digits where distances are small compared with the lengths.
    """
    _check(x, y)
    centre = torch.cat([x, y], 1).mean(1, keepdim=True).detach()
    x, y = x - centre, y - centre
    squares = (x * x).sum(2)[:, :, None] + (y * y).sum(2)[:, None, :]
    return (squares - 2 * x @ y.transpose(1, 2)).clamp_min(0)


def relative_positions(n: int, *, dtype: torch.dtype | None = None, device: torch.device | None = None) -> Tensor:
    """Return positions i/N in [0, 1), i = 0..N-1, of N sampled frames (methods 3.3: the index, not the time stamp)."""
    return torch.arange(n, dtype=dtype or torch.get_default_dtype(), device=device) / n


def temporal_prior(x_positions: Tensor, y_positions: Tensor) -> Tensor:
    r"""Return the temporal prior :math:`R_{ij} = |s_i - u_j|` between relative positions (methods 3.3).

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
