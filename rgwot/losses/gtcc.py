"""Generalised temporal cycle consistency (GTCC): several neighbours per frame, and frames that may be dropped.

This is our reading of the published abstract (several soft neighbours found by a Gaussian mixture model, a cycle back
from each, a drop function that looks at the other video; methods 4.2), not the authors' formulas.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from rgwot.config.settings import Settings
from rgwot.losses.interface import PairBatch
from rgwot.losses.tcc import accurate, check_pair, check_positive, cycle_error, matches

ABOUT = {
    "description": "several cycles per frame and frames that may be dropped",
    "source": "GTCC; our reading of the abstract",
    "reads": ("loss.tau", "loss.lambda_v", "loss.components", "loss.eta"),
    "place": 3,
}

# Passes of expectation maximisation, from components spread evenly over the video.
PASSES = 10
# Share of frames dropped before anything is learned, about.
DROPPED_AT_FIRST = 0.1


def align_gtcc(batch: PairBatch, settings: Settings) -> Tensor:
    """Cycle consistency with several neighbours and dropped frames (GTCC, our reading; methods 4.2), (P,)."""
    loss, keep = settings.loss, batch.learned
    if keep is None:
        raise ValueError("learned: found None, expected the drop function of learned_by")
    return gtcc_loss(
        batch.x,
        batch.y,
        *batch.shares,
        keep(batch.x, batch.y),
        keep(batch.y, batch.x),
        components=loss.components,
        eta=loss.eta,
        tau=loss.tau,
        lambda_v=loss.lambda_v,
    )


def gtcc_loss(
    x: Tensor,
    y: Tensor,
    x_times: Tensor,
    y_times: Tensor,
    x_log_keep: Tensor,
    y_log_keep: Tensor,
    *,
    components: int,
    eta: float,
    tau: float,
    lambda_v: float,
) -> Tensor:
    r"""Cycle consistency with a mixture of cycles per frame, weighted by how much the frame is kept.

    The matches a_i of frame i of U in V, seen as a distribution over the times of V, are split by a mixture of K
    Gaussians with responsibilities r_ijk, sum_k r_ijk = 1. Each part is a neighbour with a cycle of its own:

    .. math::
        \pi_{ik} = \sum_j a_{ij} r_{ijk}, \qquad
        \tilde v_{ik} = \frac{1}{\pi_{ik}} \sum_j a_{ij} r_{ijk} v_j, \qquad
        \ell_i = \sum_k \pi_{ik} \left[\frac{(s_i - \mu_{ik})^2}{\mathrm{var}_{ik}}
                 + \lambda_v \log \mathrm{var}_{ik}\right]

        L = \mathrm{mean}_i \left[k_i \ell_i - \eta \log k_i\right]

    with mu_ik and var_ik the way back of v~_ik as in `rgwot.losses.tcc.tcc_loss`, averaged over both orders of the
    pair. The best k_i is min(1, eta / l_i): with eta = 1 a frame is dropped as far as its cycles come back worse than
    an answer that knows nothing. With K = 1 and k = 1 this is TCC.

    Parameters
    ----------
    x : Tensor, shape (P, N, D)
        Embeddings of the first video of each pair, of any length.
    y : Tensor, shape (P, M, D)
        Embeddings of the second video of each pair.
    x_times, y_times : Tensor, shape (P, N) and (P, M)
        When the frames were taken as a share of their video, in [0, 1].
    x_log_keep, y_log_keep : Tensor, shape (P, N) and (P, M)
        Logarithm of the weight k in (0, 1] with which a frame counts; see `DropFunction`.
    components : int
        Neighbours per frame, K, at least 1.
    eta : float
        Price of dropping, > 0.
    tau, lambda_v : float
        As in `rgwot.losses.tcc.tcc_loss`.

    Returns
    -------
    Tensor, shape (P,)
        One value per pair. No gradient flows through the responsibilities.

    Raises
    ------
    ValueError
        If shapes disagree, or tau, eta or the number of components is not positive.
    """
    check_pair(x, y, x_times, y_times)
    check_positive(tau=tau, eta=eta, components=components)
    if x_log_keep.shape != x_times.shape or y_log_keep.shape != y_times.shape:
        found = f"{tuple(x_log_keep.shape)}, {tuple(y_log_keep.shape)}"
        expected = f"{tuple(x_times.shape)}, {tuple(y_times.shape)}"
        raise ValueError(f"x_log_keep, y_log_keep: found {found}, expected {expected} as the times")
    with torch.autocast(device_type=x.device.type, enabled=False):
        x, y, x_times, y_times, x_log_keep, y_log_keep = accurate(x, y, x_times, y_times, x_log_keep, y_log_keep)
        total = x.new_zeros(x.shape[0])
        for u, v, u_times, v_times, log_keep in (
            (x, y, x_times, y_times, x_log_keep),
            (y, x, y_times, x_times, y_log_keep),
        ):
            parts = responsibilities(matches(u, v, tau), v_times, components)
            error = multi_cycle_error(u, v, u_times, parts, tau, lambda_v)
            total = total + (log_keep.exp() * error - eta * log_keep).mean(1)
        return total / 2


def multi_cycle_error(u: Tensor, v: Tensor, times: Tensor, parts: Tensor, tau: float, lambda_v: float) -> Tensor:
    """Mean error l (P, N) of the cycles that start at each frame of u (P, N, D), taken at ``times``, and go through v.

    ``parts`` (P, N, M, K) are the responsibilities.
    """
    split = matches(u, v, tau)[..., None] * parts
    weight = split.sum(2)
    neighbours = split.transpose(2, 3) @ v[:, None] / weight[..., None].clamp_min(torch.finfo(u.dtype).tiny)
    expected = times[:, :, None].expand_as(weight)
    error = cycle_error(neighbours.flatten(1, 2), u, times, expected.flatten(1), tau, lambda_v)
    return (weight * error.view_as(weight)).sum(2)


def responsibilities(match: Tensor, times: Tensor, components: int) -> Tensor:
    """Split distributions over the frames of a video into Gaussians in time, by ten passes of weighted EM.

    Components start evenly spread over [0, 1], equally heavy, with standard deviation 1 / (2K), which never falls below
    half a frame, 1 / (2M), so that none can shrink to a point.

    Parameters
    ----------
    match : Tensor, shape (P, N, M)
        N distributions over M frames, rows of sum 1.
    times : Tensor, shape (P, M)
        When the frames were taken, in [0, 1].

    Returns
    -------
    Tensor, shape (P, N, M, K)
        How far frame j belongs to component k of distribution i, sum over k 1. Without gradient.
    """
    with torch.no_grad():
        shape = (*match.shape[:2], components)
        mean = ((torch.arange(components, dtype=match.dtype, device=match.device) + 0.5) / components).expand(shape)
        variance = torch.full_like(mean, (0.5 / components) ** 2)
        share = torch.full_like(mean, 1 / components)
        least = (0.5 / match.shape[2]) ** 2
        when = times[:, None, :, None]
        for _ in range(PASSES):
            parts = _posterior(when, mean, variance, share)
            weighted = match[..., None] * parts
            share = weighted.sum(2).clamp_min(torch.finfo(match.dtype).eps)
            mean = (weighted * when).sum(2) / share
            variance = (weighted * (when - mean[:, :, None]) ** 2).sum(2) / share + least
        return _posterior(when, mean, variance, share)


def _posterior(when: Tensor, mean: Tensor, variance: Tensor, share: Tensor) -> Tensor:
    """Posterior of the components (P, N, K) at the times (P, 1, M, 1): (P, N, M, K)."""
    mean, variance, share = mean[:, :, None], variance[:, :, None], share[:, :, None]
    return torch.softmax(share.log() - variance.log() / 2 - (when - mean) ** 2 / (2 * variance), 3)


class DropFunction(nn.Module):
    """How much each frame of a video should count when it is aligned with another, learned with the encoder.

    Linear, ReLU, Linear of the frame's embedding beside the mean embedding of the other video, each layer-normalised
    so that the scale of the embedding does not matter; log sigmoid of the result. The hidden layer has D units.
    """

    def __init__(self, D: int) -> None:  # noqa: N803 - the paper's symbol
        super().__init__()
        self.hidden = nn.Linear(2 * D, D)
        self.out = nn.Linear(D, 1)
        nn.init.constant_(self.out.bias, math.log(1 / DROPPED_AT_FIRST - 1))

    def forward(self, frames: Tensor, other: Tensor) -> Tensor:
        """Return log k (P, N) <= 0 of the frames (P, N, D) of one video given those of the other (P, M, D)."""
        with torch.autocast(device_type=frames.device.type, enabled=False):
            frames, other = (value.to(self.out.weight.dtype) for value in (frames, other))
            context = other.mean(1, keepdim=True).expand_as(frames)
            seen = [F.layer_norm(value, value.shape[2:]) for value in (frames, context)]
            logits: Tensor = self.out(F.relu(self.hidden(torch.cat(seen, 2)))).squeeze(2)
            return F.logsigmoid(logits)


def learned_gtcc(settings: Settings) -> nn.Module:
    """Make the drop function."""
    return DropFunction(settings.encoder.D)
