"""Temporal cycle consistency (TCC): a frame goes to its soft neighbour in another video and back (methods 4.2)."""

from __future__ import annotations

import torch
from torch import Tensor

from rgwot.baselines.settings import Tcc
from rgwot.losses.interface import PairBatch, accurate

# A cycle that comes back to a single frame has no variance, and its error would be divided by 0. The floor is the
# square of a thousandth of the video (0.3 s of five minutes).
VARIANCE_FLOOR = 1e-6


def align_tcc(batch: PairBatch, settings: Tcc) -> Tensor:
    """Return the loss of temporal cycle consistency (TCC, CnC; methods 4.2), (P,)."""
    return tcc_loss(batch.x, batch.y, *batch.shares, settings)


def tcc_loss(x: Tensor, y: Tensor, x_times: Tensor, y_times: Tensor, settings: Tcc) -> Tensor:
    r"""Regress the time to which the cycle of every frame through the other video returns.

    For frame i of U with embedding u_i and time s_i, against the frames v_j of V:

    .. math::
        a_{ij} = \mathrm{softmax}_j \left(-\frac{|u_i - v_j|^2}{D \tau}\right), \quad
        \tilde v_i = \sum_j a_{ij} v_j, \quad
        b_{ik} = \mathrm{softmax}_k \left(-\frac{|\tilde v_i - u_k|^2}{D \tau}\right)

        \mu_i = \sum_k b_{ik} s_k, \quad \mathrm{var}_i = \sum_k b_{ik} (s_k - \mu_i)^2, \quad
        L = \mathrm{mean}_i \left[\frac{(s_i - \mu_i)^2}{\mathrm{var}_i} + \lambda_v \log \mathrm{var}_i\right]

    averaged over both orders of the pair, (U, V) = (x, y) and (y, x). With an uninformative (uniform) b, the first term
    is 1 for evenly spaced frames. Variances below 1e-6 count as 1e-6.

    Parameters
    ----------
    x : Tensor, shape (P, N, D)
        Embeddings of the first video of each pair, of any length.
    y : Tensor, shape (P, M, D)
        Embeddings of the second video of each pair.
    x_times, y_times : Tensor, shape (P, N) and (P, M)
        Times of the frames as shares of their video, t_i / L, in [0, 1].
    settings
        ``tau``, softmax temperature in units of squared distance per dimension; ``lambda_v``, weight of the logarithm
        of the variance; ``distance``, the distance in the softmaxes, there and back: the squared distance, or what
        CnC's released code uses instead (`elementwise_distance`; N = M).

    Returns
    -------
    Tensor, shape (P,)
        One value per pair, above -14 lambda_v.
    """
    with torch.autocast(device_type=x.device.type, enabled=False):
        x, y, x_times, y_times = accurate(x, y, x_times, y_times)
        directions = []
        for u, v, times in ((x, y, x_times), (y, x, y_times)):
            neighbours = matches(u, v, settings) @ v
            directions.append(cycle_error(neighbours, u, times, settings).mean(1))
        return (directions[0] + directions[1]) / 2


def matches(u: Tensor, v: Tensor, settings: Tcc) -> Tensor:
    """Return the soft neighbours a of every u_i among the v_j: (P, N, D), (P, M, D) to (P, N, M), rows of sum 1.

    a is the softmax over j of -|u_i - v_j|^2 / (D tau), in which |u_i|^2 cancels, or the same with another distance.
    """
    if settings.distance == "elementwise":
        logits = -elementwise_distance(u, v)
    else:
        logits = 2 * u @ v.transpose(1, 2) - (v * v).sum(2)[:, None, :]
    return torch.softmax(logits / (u.shape[2] * settings.tau), 2)


def elementwise_distance(u: Tensor, v: Tensor) -> Tensor:
    r"""Return the distances of CnC's released code, which adds the two vectors of squared norms entry by entry.

    .. math:: d_{ij} = \max\left(0, |u_j|^2 + |v_j|^2 - 2 u_i \cdot v_j\right)

    |u_j|^2 takes the place of |u_i|^2 (methods 4.4): it does not cancel in the softmax over j, and d_ij is the squared
    distance only on the diagonal.

    Parameters
    ----------
    u, v : Tensor, shape (P, N, D)
        Embeddings of two videos with the same number of frames.

    Returns
    -------
    Tensor, shape (P, N, N)
    """
    norms = (u * u).sum(2) + (v * v).sum(2)
    return (norms[:, None, :] - 2 * u @ v.transpose(1, 2)).clamp_min(0)


def cycle_error(neighbours: Tensor, u: Tensor, times: Tensor, settings: Tcc) -> Tensor:
    """Return the variance-aware squared error (P, N) of the time to which the soft neighbour of every frame returns.

    ``neighbours`` and ``u`` have shape (P, N, D); ``times`` (P, N) are the times of u.
    """
    b = matches(neighbours, u, settings)
    mean = (b * times[:, None, :]).sum(2)
    variance = (b * (times[:, None, :] - mean[:, :, None]) ** 2).sum(2).clamp_min(VARIANCE_FLOOR)
    return (times - mean) ** 2 / variance + settings.lambda_v * variance.log()
