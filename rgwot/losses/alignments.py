"""Which alignment loss a method trains with: `loss.alignment` of the settings names an entry of `ALIGNMENTS`.

What else sets the named methods apart is data too, in `rgwot.methods`. A new alignment loss is a
file in `rgwot.losses` and one entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor

from rgwot.losses.alignment import alignment_loss
from rgwot.settings import Settings
from rgwot.transport import align_frames


@dataclass(frozen=True)
class PairBatch:
    """Embeddings of P pairs of videos, N frames each.

    Attributes
    ----------
    x, y
        (P, N, D) in order of time, rows of norm 1 unless ``encoder.unit_norm`` is off.
    x_times, x_lengths, y_times, y_lengths
        (P, N) times of the frames and (P,) lengths of the videos, in one unit.
    iterations
        (P,) which iteration of the training each pair is, from 0.
    """

    x: Tensor
    y: Tensor
    x_times: Tensor
    x_lengths: Tensor
    y_times: Tensor
    y_lengths: Tensor
    iterations: Tensor


Alignment = Callable[[PairBatch, Settings], Tensor]


def gromov_wasserstein(batch: PairBatch, settings: Settings) -> Tensor:
    """Cross-entropy with the regularised fused Gromov-Wasserstein plan (RGWOT; methods 3.3 to 3.6), (P,)."""
    ot = settings.ot
    in_time = ot.prior_time == "times"
    matched = align_frames(
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
        x_positions=batch.x_times / batch.x_lengths[:, None] if in_time else None,
        y_positions=batch.y_times / batch.y_lengths[:, None] if in_time else None,
    )
    return alignment_loss(batch.x, batch.y, matched.weights, settings.loss.tau, symmetric=settings.loss.symmetric)


def no_alignment(batch: PairBatch, settings: Settings) -> Tensor:
    """Nothing: the encoder learns from the contrastive term alone, (P,)."""
    return batch.x.new_zeros(batch.x.shape[0])


ALIGNMENTS: Mapping[str, Alignment] = {
    "gromov_wasserstein": gromov_wasserstein,
    "none": no_alignment,
}
