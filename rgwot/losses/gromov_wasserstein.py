"""Cross-entropy with a fused Gromov-Wasserstein plan: the alignment loss of RGWOT (methods 3.3 to 3.6)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from rgwot.config.settings import Settings
from rgwot.losses.interface import PairBatch, accurate, check_positive
from rgwot.transport import align_frames

ABOUT = {
    "description": "cross-entropy with a regularised fused Gromov-Wasserstein plan",
    "source": "RGWOT, WACV 2026",
    "reads": (
        "ot.alpha", "ot.epsilon", "ot.rho", "ot.zeta", "ot.virtual", "ot.prior_time", "ot.max_iterations",
        "ot.tolerance", "ot.r", "ot.solver", "loss.tau", "loss.symmetric",
    ),
    "place": 1,
}  # fmt: skip

# Floor inside the logarithm of the public code; log P can then not fall below -25.3.
_PROBABILITY_FLOOR = 1e-11


def align_gromov_wasserstein(batch: PairBatch, settings: Settings) -> Tensor:
    """Cross-entropy with the regularised fused Gromov-Wasserstein plan (RGWOT; methods 3.3 to 3.6), (P,)."""
    matched = align_frames(batch.x.detach(), batch.y.detach(), settings.ot, batch.prior_positions(settings))
    return alignment_loss(batch.x, batch.y, matched.weights, settings.loss.tau, settings.loss.symmetric)


def alignment_loss(x: Tensor, y: Tensor, plan: Tensor, tau: float, symmetric: bool) -> Tensor:
    r"""Cross-entropy of softmax matches with the transport plan, for every pair of videos (methods 3.6).

    .. math::
        L = -\frac{1}{N} \sum_{ij} T^*_{ij} \log(P_{ij} + 10^{-11}), \qquad
        P_{ij} = \mathrm{softmax}_j (x_i \cdot y_j / \tau)

    Of unit-length embeddings x (B, N, D) and y (B, M, D) and the plan T* (B, N, M), rows rescaled to about 1
    (``FrameAlignment.weights``), into which no gradient flows; the temperature tau > 0 is in units of the dot product.
    With ``symmetric`` the mean of this and of the same sum with P normalised over i instead of j, which also asks each
    y_j for its partner in x. The logarithm is taken as log(exp(log P) + 1e-11) without forming P, and at least in
    float32 under autocast.

    Returns one value per pair, (B,), >= 0 up to 1e-11; raises ValueError if shapes disagree or tau is not positive.
    """
    if x.ndim != 3 or y.ndim != 3 or plan.shape != (x.shape[0], x.shape[1], y.shape[1]):
        found = f"{tuple(x.shape)}, {tuple(y.shape)}, {tuple(plan.shape)}"
        raise ValueError(f"x, y, plan: found {found}, expected (B, N, D), (B, M, D), (B, N, M)")
    check_positive(tau=tau)
    with torch.autocast(device_type=x.device.type, enabled=False):
        x, y, plan = accurate(x, y, plan.detach())
        logits = x @ y.transpose(1, 2) / tau
        log_p = _floored_log(torch.log_softmax(logits, 2))
        if symmetric:
            log_p = (log_p + _floored_log(torch.log_softmax(logits, 1))) / 2
        return -(plan * log_p).sum((1, 2)) / x.shape[1]


def _floored_log(log_p: Tensor) -> Tensor:
    return torch.logaddexp(log_p, log_p.new_tensor(math.log(_PROBABILITY_FLOOR)))
