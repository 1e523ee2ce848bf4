"""Cross-entropy with a fused Gromov-Wasserstein plan: the alignment loss of RGWOT (methods 3.3 to 3.6)."""

from __future__ import annotations

from torch import Tensor

from rgwot.losses.cross_entropy import alignment_loss
from rgwot.losses.interface import PairBatch
from rgwot.losses.settings import CrossEntropySettings, FusedGromovWassersteinSettings
from rgwot.transport import align_frames


def plan_weights(batch: PairBatch, ot: FusedGromovWassersteinSettings) -> Tensor:
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


def align_gromov_wasserstein(
    batch: PairBatch, ot: FusedGromovWassersteinSettings, loss: CrossEntropySettings
) -> Tensor:
    """Cross-entropy with the regularised fused Gromov-Wasserstein plan (RGWOT; methods 3.3 to 3.6), (P,)."""
    return alignment_loss(batch.x, batch.y, plan_weights(batch, ot), loss.tau, loss.symmetric)
