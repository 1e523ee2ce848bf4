r"""Fused partial Gromov-Wasserstein transport and its loss: our reconstruction of REMAP (peers 1).

The public sources of REMAP describe its problem in words; every formula and default here is ours.

.. math::
    F(T) = (1-\alpha) \langle \tilde C, T\rangle
         + \alpha \sum_{ijkl} (C^x_{ik} - C^y_{jl})^2 T_{ij} T_{kl}
         + \epsilon\, \mathrm{KL}(T \| p q^\top)
         + \tau_m [\mathrm{KL}(T 1 \| p) + \mathrm{KL}(T^\top 1 \| q)]
         + \lambda_s [\mathrm{tr}(T^\top L_x T) + \mathrm{tr}(T L_y T^\top)]

over all T >= 0, with :math:`\mathrm{KL}(a \| b) = \sum a \log(a/b) - a + b`. :math:`C^x_{ik} = e^{-|i-k| / (b N)}` is a
Laplace kernel of the positions, L_x the Laplacian of the chain of frames, so that the last term is the summed
squared change of the plan from frame to frame. The entropy is relative to p q^T: if it were only -H(T), unconstrained
marginals would let the number of frames decide how much mass moves. Frames without a partner lose their mass, to the
virtual frame or altogether.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from pydantic import Field
from torch import Tensor

from rgwot.baselines.kantorovich import inter_video_loss
from rgwot.blocks import NonNegative, Positive
from rgwot.config.extensions import Extension
from rgwot.config.methods import Family
from rgwot.losses.interface import PairBatch, accurate
from rgwot.losses.settings import PairPlan
from rgwot.transport.costs import cosine_cost
from rgwot.transport.fused_gromov_wasserstein import where_state
from rgwot.transport.matching import alignment_cost, real_frames


class Partial(PairPlan):
    """Fused partial transport and contrast between the videos; all defaults are ours."""

    NAME = "partial"
    FUNCTION = "remap:align_partial"
    SOURCE = "REMAP; our reconstruction"

    tau_m: Positive = Field(0.5, description="weight of the marginals")
    lambda_s: NonNegative = Field(1.0, description="weight of the smoothness along both videos")
    b: Positive = Field(0.1, description="scale of the Laplace structure kernels, share of N")
    lambda_c: NonNegative = Field(1.0, description="weight of the contrast between the videos")


# Number of Sinkhorn passes per step; a few are enough, because a step is only a linearisation.
_PASSES = 5
# Weight of the divergence from the last plan, in units of epsilon, at the first step.
_FIRST_WEIGHT = 1.0
# Relative rounding error of F; smaller changes count as none.
_ROUNDING = 1e-14


class PartialResult(NamedTuple):
    """A batch of plans and how well each problem was solved.

    Attributes
    ----------
    plan : Tensor, float64, shape (B, N, M)
        Plan of any total mass, near 1 for large tau_m.
    objective : Tensor, float64, shape (B,)
        F(T).
    iterations : Tensor, int64, shape (B,)
    stationarity : Tensor, float64, shape (B,)
        sum_ij T_ij |grad F_ij| / epsilon; zero at a stationary point (all are interior).
    converged : Tensor, bool, shape (B,)
        Whether the stationarity reached the tolerance.
    """

    plan: Tensor
    objective: Tensor
    iterations: Tensor
    stationarity: Tensor
    converged: Tensor


def laplace_kernel(n: int, b: float, *, virtual: bool = False, device: torch.device | None = None) -> Tensor:
    r"""Structure matrix :math:`C_{ik} = e^{-|i-k| / (b n)}`, positive definite, shape (n, n) or (n + 1, n + 1).

    Parameters
    ----------
    n : int
        Number of real frames.
    b : float
        Scale as a share of the video, > 0.
    virtual : bool
        Whether to put a virtual frame first, which is related only to itself, because it has no place in time.
    """
    index = torch.arange(n, dtype=torch.float64, device=device)
    kernel = torch.exp(-(index[:, None] - index).abs() / (b * n))
    if virtual:
        kernel = torch.nn.functional.pad(kernel, (1, 0, 1, 0))
        kernel[0, 0] = 1.0
    return kernel


def chain_laplacian(n: int, *, virtual: bool = False, device: torch.device | None = None) -> Tensor:
    """Laplacian of a chain of n frames, shape (n, n); with a virtual frame, which has no neighbours, (n + 1, n + 1)."""
    step = torch.eye(n, dtype=torch.float64, device=device).diff(dim=0)
    return torch.nn.functional.pad(step.T @ step, (1, 0, 1, 0)) if virtual else step.T @ step


def solve_partial(cost: Tensor, settings: Partial) -> PartialResult:
    r"""Find a stationary point of F (module docstring) for uniform p and q, from T = p q^T.

    Mirror descent: each step takes the quadratic terms as linear and adds s KL(T || T_k), which leaves an unbalanced
    entropic problem, :math:`\min \langle G, T\rangle + (\epsilon + s) \sum T \log T + \ldots`, of which a few
    Sinkhorn passes with softened marginals are done. The weight s grows until F falls. F is not convex. In float64,
    without gradient; the problems of a batch do not influence each other.

    Parameters
    ----------
    cost : Tensor, shape (B, N, M)
        Cost, the virtual row and column included.
    settings
        Settings ``alpha`` and ``epsilon``, weights in units of the cost; ``virtual``, by which the first row and column
        stand for the virtual frame (``cost``) or not; at most ``max_iterations`` steps. A problem has converged if its
        stationarity is at most the square root of ``tolerance``: F depends on stationarity in second order, and
        ``tolerance`` is that of F relative to epsilon.
        ``tau_m`` and ``lambda_s``, weights in units of the cost, and ``b``.
    """
    virtual = settings.virtual == "cost"
    with torch.no_grad(), torch.autocast(device_type=cost.device.type, enabled=False):
        n, m = (size - virtual for size in cost.shape[1:])
        problem = _PartialProblem(
            cost=(1 - settings.alpha) * cost.double(),
            x=laplace_kernel(n, settings.b, virtual=virtual, device=cost.device),
            y=laplace_kernel(m, settings.b, virtual=virtual, device=cost.device),
            x_chain=settings.lambda_s * chain_laplacian(n, virtual=virtual, device=cost.device),
            y_chain=settings.lambda_s * chain_laplacian(m, virtual=virtual, device=cost.device),
            alpha=settings.alpha,
            epsilon=settings.epsilon,
            tau_m=settings.tau_m,
        )
        return _descend(problem, settings.max_iterations, settings.tolerance**0.5)


class _PartialState(NamedTuple):
    """A plan's logarithm, F, the gradient G without the divergences, log ratios of columns, and stationarity."""

    log_plan: Tensor
    objective: Tensor
    linear: Tensor
    log_columns: Tensor
    stationarity: Tensor


@dataclass(frozen=True)
class _PartialProblem:
    """Data of a batch; ``cost`` is already multiplied by 1 - alpha and the Laplacians by lambda_s."""

    cost: Tensor
    x: Tensor
    y: Tensor
    x_chain: Tensor
    y_chain: Tensor
    alpha: float
    epsilon: float
    tau_m: float

    @property
    def log_p(self) -> float:
        return -math.log(self.cost.shape[1])

    @property
    def log_q(self) -> float:
        return -math.log(self.cost.shape[2])

    def quadratic_gradient(self, plan: Tensor) -> Tensor:
        """Gradient H T of the quadratic terms, which themselves are <H T, T> / 2."""
        rows, columns = plan.sum(2, keepdim=True), plan.sum(1, keepdim=True)
        structure = self.x**2 @ rows + columns @ self.y**2 - 2 * self.x @ plan @ self.y
        return 2 * (self.alpha * structure + self.x_chain @ plan + plan @ self.y_chain)

    def state(self, log_plan: Tensor) -> _PartialState:
        plan = log_plan.exp()
        quadratic = self.quadratic_gradient(plan)
        log_ratio = log_plan - self.log_p - self.log_q
        log_rows = torch.logsumexp(log_plan, 2, keepdim=True) - self.log_p
        log_columns = torch.logsumexp(log_plan, 1, keepdim=True) - self.log_q
        # KL(a | b) summed over a = T, T 1, T^T 1: sum a log(a / b) by parts, and the masses.
        logs = self.epsilon * log_ratio + self.tau_m * (log_rows + log_columns)
        masses = (self.epsilon + 2 * self.tau_m) * (1 - plan.sum((1, 2)))
        objective = (plan * (self.cost + quadratic / 2 + logs)).sum((1, 2)) + masses
        linear = self.cost + quadratic
        stationarity = (plan * (linear + logs).abs()).sum((1, 2)) / self.epsilon
        return _PartialState(log_plan, objective, linear, log_columns, stationarity)

    def step(self, state: _PartialState, weight: Tensor) -> _PartialState:
        """Sinkhorn passes on the problem linearised at a state, with ``weight`` (B,) times KL(T || T_k)."""
        s = weight[:, None, None]
        entropy = self.epsilon + s
        soft = self.tau_m / (self.tau_m + entropy)
        log_product = self.epsilon * (self.log_p + self.log_q)
        log_kernel = (log_product + s * state.log_plan - state.linear) / entropy
        # At a stationary point, these are the potentials for any s.
        g = -self.tau_m / entropy * state.log_columns
        for _ in range(_PASSES):
            f = soft * (self.log_p - torch.logsumexp(log_kernel + g, 2, keepdim=True))
            g = soft * (self.log_q - torch.logsumexp(log_kernel + f, 1, keepdim=True))
        log_plan = log_kernel + f + g
        # If tau_m is large, the passes are slow to find the total mass, so the plan is scaled by the best factor.
        log_columns = torch.logsumexp(log_plan, 1, keepdim=True) - self.log_q
        log_rows = torch.logsumexp(log_plan, 2, keepdim=True) - self.log_p
        plan = log_plan.exp()
        slope = (plan * (entropy * (f + g) + self.tau_m * (log_rows + log_columns))).sum((1, 2), keepdim=True)
        return self.state(log_plan - slope / ((entropy + 2 * self.tau_m) * plan.sum((1, 2), keepdim=True)))


def _descend(problem: _PartialProblem, max_iterations: int, limit: float) -> PartialResult:
    start = torch.full_like(problem.cost, problem.log_p + problem.log_q)
    state = problem.state(start)
    weight = torch.full_like(state.objective, _FIRST_WEIGHT * problem.epsilon)
    iterations = torch.zeros(len(start), dtype=torch.int64, device=start.device)
    for _ in range(max_iterations):
        running = state.stationarity > limit
        if not bool(running.any()):
            break
        trial = problem.step(state, weight)
        change, slack = trial.objective - state.objective, _ROUNDING * (1 + state.objective.abs())
        # If a step changes F by less than rounding, the gradient still shows whether it was good.
        falls = (change < -slack) | ((change <= slack) & (trial.stationarity < state.stationarity))
        state = where_state(falls & running, trial, state)
        weight = torch.where(falls, weight / 2, 4 * weight)
        iterations += running
    converged = state.stationarity <= limit
    return PartialResult(state.log_plan.exp(), state.objective, iterations, state.stationarity, converged)


def align_frames_partially(
    x: Tensor,
    y: Tensor,
    settings: Partial,
    x_positions: Tensor | None = None,
    y_positions: Tensor | None = None,
) -> Tensor:
    """Match the frames of pairs of videos by fused partial transport, our reconstruction of REMAP (peers 1).

    Like :func:`rgwot.transport.align_frames`, but with the problem of :func:`solve_partial` instead of the balanced
    one. Returns the weights, (B, N, M).
    """
    with torch.no_grad(), torch.autocast(device_type=x.device.type, enabled=False):
        cost = alignment_cost(x, y, settings.rho, settings.zeta, settings.virtual, x_positions, y_positions)
        return real_frames(solve_partial(cost, settings).plan, settings.virtual, settings.zeta, x.dtype)


def align_partial(batch: PairBatch, settings: Partial) -> Tensor:
    """Fused partial transport and contrast between videos (REMAP, our reconstruction; peers 1), (P,)."""
    positions = batch.prior_positions(settings.prior_time)
    weights = align_frames_partially(batch.x.detach(), batch.y.detach(), settings, *positions)
    return remap_loss(batch.x, batch.y, weights, lambda_c=settings.lambda_c)


def remap_loss(x: Tensor, y: Tensor, weights: Tensor, *, lambda_c: float) -> Tensor:
    r"""Return two of the three terms of REMAP as we reconstruct it; the third is C-IDM, as in RGWOT.

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
        W, from `align_frames_partially`; no gradient flows into it.
    lambda_c : float
        Weight of the contrast.

    Returns
    -------
    Tensor, shape (B,)
        >= 0.
    """
    with torch.autocast(device_type=x.device.type, enabled=False):
        x, y, weights = accurate(x, y, weights.detach())
        cost = cosine_cost(x, y)
        return (weights * cost).sum((1, 2)) / x.shape[1] + lambda_c * inter_video_loss(cost, weights)


EXTENSION = Extension(
    losses=[Partial],
    methods=(
        Family(
            "remap",
            "fused partial transport; our reconstruction, without the paper's second version",
            sets={"loss.alignment": "partial"},
        ),
    ),
)
