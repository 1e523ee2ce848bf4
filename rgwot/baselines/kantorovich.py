r"""Alignment losses of VAVA and OPEL: Kantorovich transport with a prior on the matches (methods 4.5, 4.6).

.. math::
    \min_T \langle T, D\rangle - \lambda_1 I(T) + \lambda_2 \, \mathrm{KL}(T \| P), \quad
    T 1 = 1/N', \; T^\top 1 = 1/M'

P says where matches are expected, on the diagonal (temporal prior) and at the nearest frame of the other video
(optimality prior); the inverse difference moment I adds a second, broader pull to the same places. With
:math:`N' = N + 1` and :math:`M' = M + 1` frames, the virtual frame first, the plan is the Sinkhorn scaling of

.. math:: K = P \circ \exp((S - D) / \lambda_2).

The loss adds to the transported cost a contrast within each video and between the two.

References
----------
W. Liu, B. Tekin, H. Coskun, V. Vineet, P. Fua, M. Pollefeys, "Learning to align sequential actions in the wild",
CVPR 2022 (VAVA); S. Chowdhury et al., "OPEL: Optimal transport guided procedure learning", NeurIPS 2024.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from rgwot.baselines.settings import Kantorovich
from rgwot.losses.interface import PairBatch, accurate
from rgwot.transport.costs import add_virtual_frame, squared_distance

# Margin and temperature of VAVA and OPEL; the margin is in units of the distance averaged over dimensions.
MARGIN, TEMPERATURE = 2.0, 0.5
Density = Literal["gaussian", "laplace"]
SinkhornSolver = Literal["pot", "batched"]
MarginalSide = Literal["rows", "columns"]

# Bounds of phi, base of its decay, and the range that the kernel is clamped to: constants of the public code.
PHI_RANGE = (0.001, 0.999)
PHI_DECAY = 0.999
KERNEL_RANGE = (1e-15, 1e20)
# Numerator of the offset between the virtual frame and every frame; the denominator is the sum of both lengths. It is
# 1.5 times a virtual distance of 5 frames, relative to the mean length.
VIRTUAL_OFFSET = 1.5 * 2 * 5
SINKHORN_PASSES = 20
MOST_PASSES = 100_000
# Width of the prior in VAVA and OPEL, in units of mu.
PRIOR_SCALE = 2.0


def temporal_share(iterations: Tensor, rate: float) -> Tensor:
    r"""Return the share phi of the temporal prior, which falls during training (methods 4.5).

    .. math:: \varphi = 0.999^{\lfloor\sqrt{\mathrm{rate} \cdot \mathrm{iteration} + 1}\rfloor},
        \text{ within } [0.001, 0.999]

    The result is float64, (B,), for the numbers of the iterations (B,), which count from 0 for VAVA with rate 1, and
    from 1 for OPEL with rate 100.
    """
    return (PHI_DECAY ** (rate * iterations.double() + 1).sqrt().floor()).clamp(*PHI_RANGE)


def match_prior(nearest: Tensor, m: int, phi: Tensor, *, density: Density) -> tuple[Tensor, Tensor]:
    r"""Return the prior P and the inverse difference moment S / lambda_1 of the matches (methods 4.5).

    With rows i = 1..N' and columns j = 1..M', :math:`\mu = \sqrt{1/N'^2 + 1/M'^2}`, n(i) the nearest frame of
    row i and :math:`h(u) = 1/(u^2 + 1)`,

    .. math::
        P_{ij} &= \varphi\, g(|i/N' - j/M'| / \mu) + (1 - \varphi)\, g(|j - n(i) - 1| / (M' \mu)) \\
        S_{ij} / \lambda_1 &= \varphi\, h(i/N' - j/M') + (1 - \varphi)\, h((j - n(i) - 1) / M')

    The virtual row and column have the offset :math:`d = 15 / (N' + M')` instead, divided by mu in P; their
    corner keeps the formula, with n = 0. Frame n(i), counted from 0, stands in column n(i) + 2: the published
    offset puts the peak of the optimality prior one frame before the nearest one.

    Parameters
    ----------
    nearest : Tensor, int64, shape (B, N)
        For each real frame of the first video its nearest frame in the second, from 0.
    m : int
        Real frames M of the second video.
    phi : Tensor, shape (B,)
        Share of the temporal prior, in [0, 1].
    density : {"gaussian", "laplace"}
        g: normal density with standard deviation 2 (VAVA), or exp(-u / 2) / 4 (OPEL).

    Returns
    -------
    prior, moment : Tensor, float64, shape (B, N + 1, M + 1)
    """
    rows, columns = nearest.shape[1] + 1, m + 1
    i = torch.arange(1, rows + 1, dtype=torch.float64, device=nearest.device)
    j = torch.arange(1, columns + 1, dtype=torch.float64, device=nearest.device)
    temporal = (i[:, None] / rows - j / columns).abs().expand(len(nearest), -1, -1)
    n = torch.nn.functional.pad(nearest, (1, 0)).double()
    optimal = (j - n[:, :, None] - 1).abs() / columns
    virtual = torch.zeros(rows, columns, dtype=torch.bool, device=nearest.device)
    virtual[0], virtual[:, 0], virtual[0, 0] = True, True, False
    offset = VIRTUAL_OFFSET / (rows + columns)
    temporal, optimal = temporal.masked_fill(virtual, offset), optimal.masked_fill(virtual, offset)
    share, mu = phi.double()[:, None, None], math.sqrt(1 / rows**2 + 1 / columns**2)

    def mixed(temporal: Tensor, optimal: Tensor) -> Tensor:
        return share * temporal + (1 - share) * optimal

    prior = mixed(_density(temporal / mu, density), _density(optimal / mu, density))
    return prior, mixed(1 / (temporal**2 + 1), 1 / (optimal**2 + 1))


def kantorovich_match(x: Tensor, y: Tensor, phi: Tensor, settings: Kantorovich) -> tuple[Tensor, Tensor]:
    r"""Match the frames of pairs of videos by Kantorovich transport with priors (module docstring).

    The cost is :math:`D_{ij} = |x_i - y_j|^2`, with zeta for the virtual frame. The problem is solved in
    float64 and in the log domain.

    Parameters
    ----------
    x, y : Tensor, shape (B, N, D) and (B, M, D)
        Embeddings of the two videos of each pair, in order of time.
    phi : Tensor, shape (B,)
        Share of the temporal prior; see `temporal_share`.
    settings
        ``zeta``, in units of the cost, ``sinkhorn``, ``last`` and ``prior``; ``lambda1``, which is multiplied by N + M,
        and ``lambda2``, which is multiplied by N M / 4.

    Returns
    -------
    plan : Tensor, float64, shape (B, N + 1, M + 1)
        T, total mass 1, virtual row and column first, without gradient.
    score : Tensor, float64, shape (B, N, M)
        :math:`K \circ D` of the real frames, from which the inter-video term takes best and worst matches.
    """
    with torch.no_grad(), torch.autocast(device_type=x.device.type, enabled=False):
        real = squared_distance(x.double(), y.double())
        n, m = real.shape[1:]
        cost = add_virtual_frame(real, settings.zeta)
        prior, moment = match_prior(real.argmin(2), m, phi.to(x.device), density=settings.prior)
        log_kernel = prior.log() + (settings.lambda1 * (n + m) * moment - cost) / (settings.lambda2 * n * m / 4)
        log_kernel = log_kernel.clamp(*(math.log(bound) for bound in KERNEL_RANGE))
        plan = kantorovich_plan(log_kernel, settings.sinkhorn, settings.last)
        return plan, (log_kernel.exp() * cost)[:, 1:, 1:]


def kantorovich_plan(log_kernel: Tensor, solver: SinkhornSolver, last: MarginalSide) -> Tensor:
    """Scale a kernel to uniform marginals by POT's ``ot.sinkhorn`` in the log domain, pair after pair.

    A pass scales the columns, then the rows. Both public codes make 20 passes and scale the columns once more; VAVA's
    then also scales the rows, which completes a 21st pass.

    Parameters
    ----------
    log_kernel : Tensor, float64, shape (B, N, M)
        Logarithm of the kernel, finite.
    solver : {"pot", "batched"}
        ``pot``: the passes of the methods. ``batched`` (named after a solver of earlier versions): as many passes as
        column sums with a relative error of 1e-6 require.
    last : {"rows", "columns"}
        Side that is scaled last, whose sums are exact: ``rows`` (VAVA) or ``columns`` (OPEL). The sums of the other
        side are only as accurate as the number of passes makes them.

    Returns
    -------
    Tensor, shape (B, N, M)
        Total mass 1.
    """
    import ot

    _, rows, columns = log_kernel.shape
    p, q = log_kernel.new_full((rows,), 1 / rows), log_kernel.new_full((columns,), 1 / columns)
    passes, error = SINKHORN_PASSES + (last == "rows"), 0.0
    if solver == "batched":
        passes, error = MOST_PASSES, 1e-6 / columns
    # POT's kernel is exp(-M / reg); with M = -log_kernel and reg = 1 it is exp(log_kernel).
    options = {"method": "sinkhorn_log", "numItermax": passes, "stopThr": error, "warn": False}
    plan = torch.stack([ot.sinkhorn(p, q, -kernel, 1.0, **options) for kernel in log_kernel])
    return plan if last == "rows" else plan * (q / plan.sum(1))[:, None, :]


def _density(u: Tensor, density: Density) -> Tensor:
    if density == "gaussian":
        return torch.exp(-(u**2) / (2 * PRIOR_SCALE**2)) / (PRIOR_SCALE * math.sqrt(2 * math.pi))
    return torch.exp(-u / PRIOR_SCALE) / (2 * PRIOR_SCALE)


def align_kantorovich(batch: PairBatch, settings: Kantorovich) -> Tensor:
    """Return the loss of transport with a prior and contrast in and between videos (VAVA, OPEL; methods 4.5), (P,)."""
    phi = temporal_share(batch.iterations + settings.count_from, settings.phi_rate)
    plan, score = kantorovich_match(batch.x.detach(), batch.y.detach(), phi, settings)
    return vava_loss(batch.x, batch.y, plan, score, settings)


def vava_loss(x: Tensor, y: Tensor, plan: Tensor, score: Tensor, settings: Kantorovich) -> Tensor:
    r"""Return the loss of VAVA (of OPEL with weighted negatives) for every pair of videos.

    .. math:: L = \tfrac12 (C(X) + C(Y)) + \frac{\langle T, D\rangle}{N' M' \cdot N M} + \lambda_c L_{inter}

    with C of :func:`intra_video_loss`, the plan T of N' = N + 1 and M' = M + 1 frames, :math:`D_{ij} = |x_i - y_j|^2`
    with zeta for the virtual frame, and :func:`inter_video_loss` on distances averaged over the dimensions. The plan
    is a constant, so the gradient with respect to D is T, as for the minimum of the transport problem. Both
    divisions of the transport cost are the public code's; for N = M = 32 they leave it a weight of 9e-7.

    Parameters
    ----------
    x : Tensor, shape (B, N, D)
        Embeddings of the first video of each pair, in order of time, of any length.
    y : Tensor, shape (B, M, D)
        Embeddings of the second video of each pair.
    plan, score
        From `kantorovich_match`.
    settings
        ``zeta``, the cost of the virtual frame; ``window`` and ``weighted_negatives`` (see `intra_video_loss`), and
        ``lambda_c``, the weight of the contrast between the videos.

    Returns
    -------
    Tensor, shape (B,)
    """
    n, m = x.shape[1], y.shape[1]
    with torch.autocast(device_type=x.device.type, enabled=False):
        x, y, plan = accurate(x, y, plan)
        distance = squared_distance(x, y)
        transport = (plan * add_virtual_frame(distance, settings.zeta)).sum((1, 2)) / ((n + 1) * (m + 1))
        of_x, of_y = (intra_video_loss(video, settings.window, settings.weighted_negatives) for video in (x, y))
        inter = inter_video_loss(distance / x.shape[2], score)
        return (of_x + of_y) / 2 + transport / (n * m) + settings.lambda_c * inter


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
    r"""Return a loss that falls as the worst match of a frame moves farther away than its best match.

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
        log 2 if best and worst matches are equally far; towards 0 if the worst are much farther.
    """
    best = _matched(distance, score.argmax(2), score.argmax(1))
    worst = _matched(distance, score.argmin(2), score.argmin(1))
    return torch.nn.functional.softplus((best - worst) / TEMPERATURE)


def _matched(distance: Tensor, columns: Tensor, rows: Tensor) -> Tensor:
    """Return the mean distance of rows to their matches, plus the mean distance of columns to theirs, (B,)."""
    of_rows = distance.gather(2, columns[:, :, None]).mean((1, 2))
    return of_rows + distance.gather(1, rows[:, None, :]).mean((1, 2))
