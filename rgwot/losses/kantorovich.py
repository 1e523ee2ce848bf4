"""Losses of VAVA and OPEL: transport cost, and contrast within a video and between two (methods 4.5, 4.6)."""

from __future__ import annotations

import torch
from torch import Tensor

from rgwot.config.settings import Settings
from rgwot.losses.interface import PairBatch, accurate
from rgwot.transport.costs import add_virtual_frame, squared_distance
from rgwot.transport.kantorovich import Matching, kantorovich_match, temporal_share

ABOUT = {
    "description": "transport with a prior on the matches, contrast within and between videos",
    "source": "VAVA, OPEL",
    "reads": (
        "ot.zeta", "ot.sinkhorn", "ot.last", "loss.prior", "loss.phi_rate", "loss.count_from", "loss.lambda1",
        "loss.lambda2", "loss.window", "loss.weighted_negatives", "loss.lambda_c",
    ),
    "place": 5,
}  # fmt: skip

# Of both methods, in units of the distance averaged over dimensions.
MARGIN, TEMPERATURE = 2.0, 0.5


def align_kantorovich(batch: PairBatch, settings: Settings) -> Tensor:
    """Transport with a prior on the matches, and contrast within and between videos (VAVA, OPEL; methods 4.5), (P,)."""
    ot, loss = settings.ot, settings.loss
    matching = kantorovich_match(
        batch.x.detach(),
        batch.y.detach(),
        temporal_share(batch.iterations + loss.count_from, loss.phi_rate),
        density=loss.prior,
        zeta=ot.zeta,
        lambda1=loss.lambda1,
        lambda2=loss.lambda2,
        solver=ot.sinkhorn,
        last=ot.last,
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


def vava_loss(
    x: Tensor,
    y: Tensor,
    matching: Matching,
    *,
    zeta: float,
    window: float,
    weighted_negatives: bool,
    lambda_c: float,
) -> Tensor:
    r"""Loss of VAVA, and with weighted negatives of OPEL, for every pair of videos.

    .. math:: L = \tfrac12 (C(X) + C(Y)) + \frac{\langle T, D\rangle}{N' M' \cdot N M} + \lambda_c L_{inter}

    with C of :func:`intra_video_loss`, the plan T of N' = N + 1 and M' = M + 1 frames, :math:`D_{ij} = |x_i - y_j|^2`
    with zeta for the virtual frame, and :func:`inter_video_loss` on distances averaged over the dimensions. The plan
    is a constant: the gradient with respect to D is T, that of the minimum which the transport problem has. Both
    divisions of the transport cost are the public code's; for N = M = 32 they leave it a weight of 9e-7.

    Parameters
    ----------
    x : Tensor, shape (B, N, D)
        Embeddings of the first video of each pair, in order of time, of any length.
    y : Tensor, shape (B, M, D)
        Embeddings of the second video of each pair.
    matching : Matching
        From `rgwot.transport.kantorovich.kantorovich_match`.
    zeta : float
        Cost of the virtual frame, as in the matching.
    window, weighted_negatives
        See `intra_video_loss`.
    lambda_c : float
        Weight of the contrast between the videos.

    Returns
    -------
    Tensor, shape (B,)

    Raises
    ------
    ValueError
        If shapes disagree.
    """
    n, m = x.shape[1], y.shape[1]
    if matching.plan.shape != (len(x), n + 1, m + 1):
        raise ValueError(f"plan: found shape {tuple(matching.plan.shape)}, expected {(len(x), n + 1, m + 1)}")
    with torch.autocast(device_type=x.device.type, enabled=False):
        x, y, plan = accurate(x, y, matching.plan)
        distance = squared_distance(x, y)
        transport = (plan * add_virtual_frame(distance, zeta)).sum((1, 2)) / ((n + 1) * (m + 1))
        intra = intra_video_loss(x, window, weighted_negatives) + intra_video_loss(y, window, weighted_negatives)
        inter = inter_video_loss(distance / x.shape[2], matching.score)
        return intra / 2 + transport / (n * m) + lambda_c * inter


def intra_video_loss(x: Tensor, window: float, weighted_negatives: bool) -> Tensor:
    r"""Pull near frames of a video together and push far ones apart, by sampled position.

    .. math::
        C = \frac{1}{N^2} \sum_{ij} [|i - j| > w]\, \omega_{ij} \max(0, \lambda - d_{ij})
            + [|i - j| \le w]\, \frac{d_{ij}}{(i - j)^2 + 1}, \qquad
        d_{ij} = \tfrac1D |x_i - x_j|^2

    with lambda = 2, omega = 1 (VAVA) or omega = (i - j)^2 + 1 (OPEL; that is `rgwot.losses.cidm.cidm_loss` on
    positions instead of times).

    Parameters
    ----------
    x : Tensor, shape (B, N, D)
        Embeddings of the sampled frames of each video, in order of time.
    window : float
        w, in sampled frames.
    weighted_negatives : bool
        Whether far pairs are weighted by (i - j)^2 + 1.

    Returns
    -------
    Tensor, shape (B,)
        One value per video, >= 0.
    """
    d = squared_distance(x, x) / x.shape[2]
    index = torch.arange(x.shape[1], dtype=d.dtype, device=d.device)
    gap = (index[:, None] - index).abs()
    omega = gap**2 + 1
    apart = (MARGIN - d).clamp_min(0)
    return torch.where(gap > window, omega * apart if weighted_negatives else apart, d / omega).mean((1, 2))


def inter_video_loss(distance: Tensor, score: Tensor) -> Tensor:
    r"""Ask that a frame's worst match be farther away than its best one.

    .. math::
        L = -\log \frac{e^{w / \theta}}{e^{b / \theta} + e^{w / \theta}}, \quad
        b = \tfrac1N \sum_i d_{i, \arg\max_j s_{ij}} + \tfrac1M \sum_j d_{\arg\max_i s_{ij}, j}

    and w the same with arg min: the cross-entropy of the logits (b, w) / theta, theta = 0.5, with w as the right
    answer.

    Parameters
    ----------
    distance : Tensor, shape (B, N, M)
        d, differentiable.
    score : Tensor, shape (B, N, M)
        s, by which matches are chosen; no gradient flows into it.

    Returns
    -------
    Tensor, shape (B,)
        log 2 for equal distances, towards 0 as they part.
    """
    best = _matched(distance, score.argmax(2), score.argmax(1))
    worst = _matched(distance, score.argmin(2), score.argmin(1))
    return torch.nn.functional.softplus((best - worst) / TEMPERATURE)


def _matched(distance: Tensor, columns: Tensor, rows: Tensor) -> Tensor:
    """Mean distance to the match of every row, plus that of every column, (B,)."""
    of_rows = distance.gather(2, columns[:, :, None]).mean((1, 2))
    return of_rows + distance.gather(1, rows[:, None, :]).mean((1, 2))
