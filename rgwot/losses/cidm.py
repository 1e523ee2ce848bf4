"""Contrastive inverse difference moment (C-IDM): temporal regularisation within one video (methods 3.6)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor


def cidm_loss(
    x: Tensor,
    times: Tensor,
    *,
    lambda_: float,
    sigma: float,
    duration: Tensor | float,
    distance: Literal["squared", "euclidean"],
    weight: Literal["relative_time", "time", "none"],
    positives: Literal["plain", "weighted"],
) -> Tensor:
    r"""Pull frames within sigma of each other together and push the others lambda apart.

    .. math::
        I = \sum_{ij} [|t_i - t_j| > \sigma]\, \omega_{ij} \max(0, \lambda - d_{ij})
                    + [|t_i - t_j| \le \sigma]\, d_{ij}, \qquad
        \omega_{ij} = \left(\frac{t_i - t_j}{L}\right)^2 + 1

    Published versions of this loss are choices of parameters (methods 3.6 describes the choice that is the default):

    ============  ===========  ==============================  =============  ==========
    version       distance     times, sigma, duration          weight         positives
    ============  ===========  ==============================  =============  ==========
    RGWOT code    squared      native frames, 300, L frames    relative_time  plain
    LAV code      squared      t/L, 10/L, 1 (L in frames)      relative_time  plain
    CnC code      euclidean    native frames, 300, L frames    relative_time  weighted
    paper         euclidean    indices, 300, not read          time           weighted
    ============  ===========  ==============================  =============  ==========

    (The public CnC code detaches its distances, so that the term has no gradient. Here the caller may detach them, as
    `rgwot.embedding.loop.objective` does without ``cidm.gradient``.)

    Parameters
    ----------
    x : Tensor, shape (B, N, D)
        Embeddings of the sampled frames of each video.
    times : Tensor, shape (B, N)
        When the frames were taken, in any unit.
    lambda_ : float
        Margin, in units of the distance. For unit vectors and squared distance, 2 means orthogonal.
    sigma : float
        Half width of the window of positives, in the unit of ``times``.
    duration : Tensor of shape (B,) or float
        Length L of each video in the unit of ``times``, > 0.
    distance : {"squared", "euclidean"}
        d = \|x_i - x_j\|^2 or d = \|x_i - x_j\|. The gradient of the second is zero where frames coincide.
    weight : {"relative_time", "time", "none"}
        omega as above, (t_i - t_j)^2 + 1, or 1.
    positives : {"plain", "weighted"}
        Positive term d, or d / omega.

    Returns
    -------
    Tensor, shape (B,)
        One value per video, >= 0.

    Raises
    ------
    ValueError
        If shapes disagree or an option is unknown.
    """
    if x.ndim != 3 or times.shape != x.shape[:2]:
        raise ValueError(f"x, times: found shapes {tuple(x.shape)}, {tuple(times.shape)}, expected (B, N, D), (B, N)")
    _check("distance", distance, ("squared", "euclidean"))
    _check("weight", weight, ("relative_time", "time", "none"))
    _check("positives", positives, ("plain", "weighted"))

    dtype = torch.promote_types(x.dtype, torch.float32)
    with torch.autocast(device_type=x.device.type, enabled=False):
        d = _pairwise_distance(x.to(dtype), distance)
        # Time differences are in float64: float32 cannot distinguish all frames of a long video.
        gap = (times.double()[:, :, None] - times.double()[:, None, :]).abs()
        length = torch.as_tensor(duration, dtype=torch.float64, device=x.device).reshape(-1, 1, 1)
        step = {"relative_time": gap / length, "time": gap, "none": torch.zeros_like(gap)}[weight]
        omega = (step**2 + 1).to(dtype)
        positive = d / omega if positives == "weighted" else d
        return torch.where(gap > sigma, omega * (lambda_ - d).clamp_min(0), positive).sum((1, 2))


def _pairwise_distance(x: Tensor, distance: str) -> Tensor:
    """Return distances (B, N, N) between the rows of x, exactly zero on the diagonal and without infinite slope."""
    norm = (x * x).sum(2)
    squared = (norm[:, :, None] + norm[:, None, :] - 2 * x @ x.transpose(1, 2)).clamp_min(0)
    other = ~torch.eye(x.shape[1], dtype=torch.bool, device=x.device)
    if distance == "squared":
        return squared * other
    # The root has an infinite slope at 0, so coinciding frames get constants: 1 under the root, and 0 as the result.
    apart = (squared > torch.finfo(x.dtype).eps * (norm[:, :, None] + norm[:, None, :])) & other
    return torch.where(apart, torch.where(apart, squared, 1.0).sqrt(), 0.0)


def _check(name: str, value: str, options: tuple[str, ...]) -> None:
    if value not in options:
        raise ValueError(f"{name}: found {value!r}, expected one of {', '.join(options)}")
