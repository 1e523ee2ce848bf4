"""Alignment loss: cross-entropy between the transport plan and the soft nearest neighbours (methods 3.6)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from rgwot.losses.interface import PairBatch, accurate
from rgwot.losses.settings import FusedGromovWasserstein, GromovWasserstein
from rgwot.transport import align_frames

# Floor inside the logarithm of the public code; log P can then not fall below -25.3.
_PROBABILITY_FLOOR = 1e-11


def alignment_loss(x: Tensor, y: Tensor, plan: Tensor, tau: float, symmetric: bool) -> Tensor:
    r"""Return the cross-entropy of softmax matches with the transport plan, for every pair of videos.

    .. math::
        L = -\frac{1}{N} \sum_{ij} T^*_{ij} \log(P_{ij} + 10^{-11}), \qquad
        P_{ij} = \mathrm{softmax}_j (x_i \cdot y_j / \tau)

    With ``symmetric``, L is the mean of this sum and of the same sum with P normalised over i instead of j. The
    logarithm is taken as log(exp(log P) + 1e-11) without forming P, in float32 or better even under autocast.

    Parameters
    ----------
    x : Tensor, shape (B, N, D)
        Unit-length embeddings of the first video of each pair.
    y : Tensor, shape (B, M, D)
        Unit-length embeddings of the second video of each pair.
    plan : Tensor, shape (B, N, M)
        T*, rescaled so that rows sum to about 1 (``FrameAlignment.weights``); no gradient flows into it.
    tau : float
        Softmax temperature, > 0, in units of the dot product.
    symmetric : bool
        Whether each y_j is also matched with the frames of x, not only each x_i with those of y.

    Returns
    -------
    Tensor, shape (B,)
        One value per pair, >= 0 up to 1e-11.

    Raises
    ------
    ValueError
        If shapes disagree.
    """
    if x.ndim != 3 or y.ndim != 3 or plan.shape != (x.shape[0], x.shape[1], y.shape[1]):
        shapes = f"{tuple(x.shape)}, {tuple(y.shape)}, {tuple(plan.shape)}"
        raise ValueError(f"x, y, plan: found {shapes}, expected (B, N, D), (B, M, D), (B, N, M)")
    with torch.autocast(device_type=x.device.type, enabled=False):
        x, y, plan = accurate(x, y, plan.detach())
        logits = x @ y.transpose(1, 2) / tau
        log_p = _floored_log(torch.log_softmax(logits, 2))
        if symmetric:
            log_p = (log_p + _floored_log(torch.log_softmax(logits, 1))) / 2
        return -(plan * log_p).sum((1, 2)) / x.shape[1]


def _floored_log(log_p: Tensor) -> Tensor:
    return torch.logaddexp(log_p, log_p.new_tensor(math.log(_PROBABILITY_FLOOR)))


def plan_weights(batch: PairBatch, ot: FusedGromovWasserstein) -> Tensor:
    """Return the weights (P, N, N) with which RGWOT's plan matches the frames of x with those of y (methods 3.5)."""
    x_positions, y_positions = batch.prior_positions(ot.prior_time)
    return align_frames(
        batch.x.detach(),
        batch.y.detach(),
        alpha=ot.alpha,
        epsilon=ot.epsilon,
        rho=ot.rho,
        r=ot.r,
        zeta=ot.zeta,
        solver=ot.solver,
        virtual=ot.virtual,
        max_iterations=ot.max_iterations,
        tolerance=ot.tolerance,
        x_positions=x_positions,
        y_positions=y_positions,
    ).weights


def align_gromov_wasserstein(batch: PairBatch, settings: GromovWasserstein) -> Tensor:
    """Return the cross-entropy with the regularised fused Gromov-Wasserstein plan (RGWOT; methods 3.3 to 3.6), (P,)."""
    return alignment_loss(batch.x, batch.y, plan_weights(batch, settings), settings.tau, settings.symmetric)
