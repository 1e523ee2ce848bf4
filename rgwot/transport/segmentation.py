r"""Transport between the frames of a video and K key steps: the segmentation problem of ASOT (methods 5.12).

Key steps have centres :math:`A_k`, frames unit embeddings :math:`f_i`. A plan T sends every frame's mass 1/N to key
steps and minimises

.. math::
    F(T) = (1-\alpha) \langle C, T\rangle + \tfrac{\alpha}{2} \langle C^v T C^a, T\rangle
           + \epsilon \sum_{ik} T_{ik} \log T_{ik} + \lambda \sum_k m_k \log(K m_k), \qquad
    m_k = \sum_i T_{ik}, \quad \sum_k T_{ik} = \tfrac1N

with :math:`C^v_{ij} = 1/r` for :math:`0 < |i-j| \le N r`, else 0, and :math:`C^a_{kl} = [k \ne l]`: neighbours in time
that go to different key steps cost, and so do key steps of uneven shares, softly. The band is summed by differences of
cumulative sums, so everything takes O(NK) time and memory.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from rgwot.config.radius import structure_radius
from rgwot.transport.costs import relative_positions
from rgwot.transport.structure import neighbour_sum

# Length of the first change of log T at its largest entry; the released code's.
_FIRST_CHANGE = 4.0


def segmentation_cost(f: Tensor, centres: Tensor, rho: float) -> Tensor:
    r"""Cost of every frame at every key step, cosine distance and temporal prior.

    .. math:: C_{ik} = 1 - f_i \cdot A_k + \rho\, |i/N - k/K|

    with i and k counted from 0. The prior knows key steps by their numbers, whatever those mean.

    Parameters
    ----------
    f : Tensor, shape (B, N, D)
        Embeddings of the frames of B videos in order of time, of length 1.
    centres : Tensor, shape (K, D)
        A, rows of length 1.
    rho : float
        Weight of the prior, >= 0.

    Returns
    -------
    Tensor, shape (B, N, K), float64
    """
    n, K = f.shape[1], len(centres)
    frames, steps = (relative_positions(size, dtype=torch.float64, device=f.device) for size in (n, K))
    return 1 - f.double() @ centres.double().T + rho * (frames[:, None] - steps).abs()


def segmentation_gradient(
    log_plan: Tensor, cost: Tensor, *, alpha: float, r: float, epsilon: float, lambda_: float
) -> Tensor:
    r"""Gradient of F, up to a constant.

    .. math:: \nabla F = (1-\alpha) C + \alpha\, C^v T C^a + \epsilon \log T + \lambda (\log(K m) + 1), \qquad
              (C^v T C^a)_{ik} = \frac1r \sum_{0 < |j-i| \le Nr} \Big(\sum_l T_{jl} - T_{jk}\Big)

    The constant is that of the entropy, epsilon, which rows of fixed mass do not feel.

    Parameters
    ----------
    log_plan, cost : Tensor, shape (B, N, K), float64
        log T, finite, and C.
    alpha, r, epsilon, lambda_ : float
        As in the objective; r > 0 is a share of N.
    """
    K = cost.shape[2]
    linear = _linear(log_plan.exp(), cost, alpha, r)
    return linear + epsilon * log_plan + lambda_ * (_log_shares(log_plan) + math.log(K) + 1)


def solve_segmentation(
    cost: Tensor, *, alpha: float, r: float, epsilon: float, lambda_: float, iterations: int
) -> Tensor:
    r"""Descend from T = 1/(NK) by mirror steps, as published (methods 5.12).

    .. math:: T \leftarrow T \exp(-\eta \nabla F(T)), \quad \text{rows rescaled to } 1/N, \qquad
              \eta = \min\Big(\frac{4}{\max |\nabla F|}, \frac{1}{\epsilon + \lambda}\Big)

    with the gradient at the start in eta, which is every video's own. Where the steps come to rest, p = NT is a mean
    field: see :func:`segmentation_residual`.

    Parameters
    ----------
    cost : Tensor, shape (B, N, K), float64
        C, finite.
    alpha, r, epsilon, lambda_ : float
        As in the objective: alpha in [0, 1], r > 0, epsilon > 0, lambda_ >= 0.
    iterations : int
        Steps, >= 0.

    Returns
    -------
    Tensor, shape (B, N, K), float64
        Logarithm of T, whose rows add up to 1/N.
    """
    if cost.ndim != 3 or 0 in cost.shape or not epsilon > 0 or not r > 0:
        raise ValueError(
            f"cost, epsilon, r: found shape {tuple(cost.shape)}, {epsilon} and {r}, expected (B, N, K) without a 0, "
            "and values above 0"
        )
    _, n, K = cost.shape
    log_n, weights = math.log(n), {"alpha": alpha, "r": r, "epsilon": epsilon, "lambda_": lambda_}
    log_plan = torch.full_like(cost, -log_n - math.log(K))
    eta = torch.zeros(())
    for step in range(iterations):
        gradient = segmentation_gradient(log_plan, cost, **weights)
        if step == 0:
            # Beyond the cap a step overshoots even where entropy and shares are all there is: few frames, few steps.
            largest = gradient.abs().amax((1, 2), keepdim=True)
            eta = (_FIRST_CHANGE / largest).clamp_max(1 / (epsilon + lambda_))
        log_plan = torch.log_softmax(log_plan - eta * gradient, 2) - log_n
    return log_plan


def segmentation_residual(
    log_plan: Tensor, cost: Tensor, *, alpha: float, r: float, epsilon: float, lambda_: float
) -> Tensor:
    r"""Distance of p = NT from the mean field that it would be at rest.

    .. math::
        p_{ik} \propto \exp\left(-\left[(1-\alpha) C_{ik} + \frac{\alpha}{Nr} \sum_{0 < |j-i| \le Nr} (1 - p_{jk})
        + \lambda \log(K m_k)\right] / \epsilon\right)

    Returns
    -------
    Tensor, shape (B,)
        The largest difference of two probabilities, in [0, 1].
    """
    linear = _linear(log_plan.exp(), cost, alpha, r) + lambda_ * _log_shares(log_plan)
    field = torch.softmax(-linear / epsilon, 2)
    return (torch.softmax(log_plan, 2) - field).abs().amax((1, 2))


def _linear(plan: Tensor, cost: Tensor, alpha: float, r: float) -> Tensor:
    """(1 - alpha) C + alpha C^v T C^a."""
    others = plan.sum(2, keepdim=True) - plan
    return (1 - alpha) * cost + alpha / r * neighbour_sum(others, structure_radius(plan.shape[1], r), dim=1)


def _log_shares(log_plan: Tensor) -> Tensor:
    """Log m_k, (B, 1, K)."""
    return torch.logsumexp(log_plan, 1, keepdim=True)
