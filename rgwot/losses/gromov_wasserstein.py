"""Cross-entropy with a fused Gromov-Wasserstein plan: the alignment loss of RGWOT (methods 3.3 to 3.6)."""

from __future__ import annotations

from torch import Tensor

from rgwot.config.settings import Settings
from rgwot.losses.cross_entropy import alignment_loss
from rgwot.losses.interface import PairBatch
from rgwot.transport import align_frames


def align_gromov_wasserstein(batch: PairBatch, settings: Settings) -> Tensor:
    """Cross-entropy with the regularised fused Gromov-Wasserstein plan (RGWOT; methods 3.3 to 3.6), (P,)."""
    ot = settings.ot
    x_positions, y_positions = batch.prior_positions(settings)
    weights = align_frames(
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
    return alignment_loss(batch.x, batch.y, weights, settings.loss.tau, settings.loss.symmetric)
