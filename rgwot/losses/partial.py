"""Loss of our reconstruction of REMAP: transported cost and contrast between the videos (methods 4.8)."""

from __future__ import annotations

import torch
from torch import Tensor

from rgwot.config.settings import Settings
from rgwot.losses.interface import PairBatch, accurate
from rgwot.losses.kantorovich import inter_video_loss
from rgwot.transport import align_frames_partially
from rgwot.transport.costs import cosine_cost

ABOUT = {
    "description": "fused partial transport and contrast between the videos",
    "source": "REMAP; our reconstruction",
    "reads": (
        "ot.alpha", "ot.epsilon", "ot.rho", "ot.zeta", "ot.virtual", "ot.prior_time", "ot.max_iterations",
        "ot.tolerance", "ot.tau_m", "ot.lambda_s", "ot.b", "loss.lambda_c",
    ),
    "place": 6,
}  # fmt: skip


def align_partial(batch: PairBatch, settings: Settings) -> Tensor:
    """Fused partial transport and contrast between videos (REMAP, our reconstruction; methods 4.8), (P,)."""
    ot = settings.ot
    x_positions, y_positions = batch.prior_positions(settings)
    weights = align_frames_partially(
        batch.x.detach(),
        batch.y.detach(),
        alpha=ot.alpha,
        epsilon=ot.epsilon,
        rho=ot.rho,
        zeta=ot.zeta,
        tau_m=ot.tau_m,
        lambda_s=ot.lambda_s,
        b=ot.b,
        virtual=ot.virtual,
        max_iterations=ot.max_iterations,
        tolerance=ot.tolerance,
        x_positions=x_positions,
        y_positions=y_positions,
    )
    return remap_loss(batch.x, batch.y, weights, lambda_c=settings.loss.lambda_c)


def remap_loss(x: Tensor, y: Tensor, weights: Tensor, *, lambda_c: float) -> Tensor:
    r"""Two of the three terms of REMAP as we reconstruct it; the third is C-IDM, as in RGWOT.

    .. math:: L = \frac1N \sum_{ij} W_{ij} C_{ij} + \lambda_c L_{inter}, \qquad C_{ij} = 1 - \cos(x_i, y_j)

    W is the plan of fused partial transport and a constant; L_inter is VAVA's contrast between the videos, on C and
    with best and worst matches by W.

    Parameters
    ----------
    x : Tensor, shape (B, N, D)
        Embeddings of the first video of each pair.
    y : Tensor, shape (B, M, D)
        Embeddings of the second video of each pair.
    weights : Tensor, shape (B, N, M)
        W, from `rgwot.transport.matching.align_frames_partially`; no gradient flows into it.
    lambda_c : float
        Weight of the contrast.

    Returns
    -------
    Tensor, shape (B,)
        >= 0.

    Raises
    ------
    ValueError
        If shapes disagree.
    """
    expected = (x.shape[0], x.shape[1], y.shape[1])
    if weights.shape != expected:
        raise ValueError(f"weights: found shape {tuple(weights.shape)}, expected {expected}")
    with torch.autocast(device_type=x.device.type, enabled=False):
        x, y, weights = accurate(x, y, weights.detach())
        cost = cosine_cost(x, y)
        return (weights * cost).sum((1, 2)) / x.shape[1] + lambda_c * inter_video_loss(cost, weights)
