"""Which alignment loss a method trains with: `loss.alignment` of the settings names an entry of `ALIGNMENTS`.

What else sets the named methods apart is data too, in `rgwot.config.methods`. A new alignment loss is a
file in `rgwot.losses` and one entry here; one that learns something of its own also has an entry in `LEARNED`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from rgwot.config.settings import Settings
from rgwot.losses.cross_entropy import alignment_loss
from rgwot.losses.gtcc import DropFunction, gtcc_loss
from rgwot.losses.remap import remap_loss
from rgwot.losses.soft_dtw import soft_dtw_loss
from rgwot.losses.tcc import tcc_loss
from rgwot.losses.vava import vava_loss
from rgwot.transport import align_frames, align_frames_partially
from rgwot.transport.kantorovich import kantorovich_match, temporal_share


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
    learned
        What the alignment loss learns beside the encoder (`LEARNED`), or None.
    """

    x: Tensor
    y: Tensor
    x_times: Tensor
    x_lengths: Tensor
    y_times: Tensor
    y_lengths: Tensor
    iterations: Tensor
    learned: nn.Module | None = None

    @property
    def x_shares(self) -> Tensor:
        """Times of the frames of x as shares of the video, t / L, (P, N)."""
        return self.x_times / self.x_lengths[:, None]

    @property
    def y_shares(self) -> Tensor:
        """Times of the frames of y as shares of the video, t / L, (P, N)."""
        return self.y_times / self.y_lengths[:, None]


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
        x_positions=batch.x_shares if in_time else None,
        y_positions=batch.y_shares if in_time else None,
    )
    return alignment_loss(batch.x, batch.y, matched.weights, settings.loss.tau, symmetric=settings.loss.symmetric)


def tcc(batch: PairBatch, settings: Settings) -> Tensor:
    """Temporal cycle consistency (TCC, CnC; methods 4.2), (P,)."""
    loss = settings.loss
    return tcc_loss(batch.x, batch.y, batch.x_shares, batch.y_shares, tau=loss.tau, lambda_v=loss.lambda_v)


def gtcc(batch: PairBatch, settings: Settings) -> Tensor:
    """Cycle consistency with several neighbours and dropped frames (GTCC, our reading; methods 4.2), (P,)."""
    loss, keep = settings.loss, batch.learned
    if keep is None:
        raise ValueError("learned: found None, expected the drop function of learned_by")
    return gtcc_loss(
        batch.x,
        batch.y,
        batch.x_shares,
        batch.y_shares,
        keep(batch.x, batch.y),
        keep(batch.y, batch.x),
        components=loss.components,
        eta=loss.eta,
        tau=loss.tau,
        lambda_v=loss.lambda_v,
    )


def soft_dtw(batch: PairBatch, settings: Settings) -> Tensor:
    """Soft dynamic time warping (LAV; methods 4.3), (P,)."""
    return soft_dtw_loss(batch.x, batch.y, gamma=settings.loss.gamma)


def kantorovich(batch: PairBatch, settings: Settings) -> Tensor:
    """Transport with a prior on the matches, and contrast within and between videos (VAVA, OPEL; methods 4.5), (P,)."""
    ot, loss = settings.ot, settings.loss
    matching = kantorovich_match(
        batch.x.detach(),
        batch.y.detach(),
        temporal_share(batch.iterations, loss.phi_rate),
        density=loss.prior,
        zeta=ot.zeta,
        lambda1=loss.lambda1,
        lambda2=loss.lambda2,
        solver=ot.sinkhorn,
    )
    return vava_loss(
        batch.x,
        batch.y,
        matching,
        zeta=ot.zeta,
        window=loss.window,
        weighted_negatives=loss.weighted_negatives,
        lambda_c=loss.lambda_c,
    )


def partial(batch: PairBatch, settings: Settings) -> Tensor:
    """Fused partial transport and contrast between videos (REMAP, our reconstruction; methods 4.8), (P,)."""
    ot = settings.ot
    in_time = ot.prior_time == "times"
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
        x_positions=batch.x_shares if in_time else None,
        y_positions=batch.y_shares if in_time else None,
    )
    return remap_loss(batch.x, batch.y, weights, lambda_c=settings.loss.lambda_c)


def no_alignment(batch: PairBatch, settings: Settings) -> Tensor:
    """Nothing: the encoder learns from the contrastive term alone, (P,)."""
    return batch.x.new_zeros(batch.x.shape[0])


ALIGNMENTS: Mapping[str, Alignment] = {
    "gromov_wasserstein": gromov_wasserstein,
    "tcc": tcc,
    "gtcc": gtcc,
    "soft_dtw": soft_dtw,
    "kantorovich": kantorovich,
    "partial": partial,
    "none": no_alignment,
}

# Parameters of a loss itself: made from the seed, trained and resumed with the encoder, and no part of the model.
LEARNED: Mapping[str, Callable[[Settings], nn.Module]] = {
    "gtcc": lambda settings: DropFunction(settings.encoder.D),
}


def learned_by(settings: Settings, seed: int) -> nn.Module | None:
    """Make what the alignment loss learns beside the encoder, its initial weights from ``seed``; None for most.

    Leaves the global random state untouched.
    """
    make = LEARNED.get(settings.loss.alignment)
    if make is None:
        return None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make(settings)
