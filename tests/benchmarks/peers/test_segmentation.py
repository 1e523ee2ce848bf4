"""The segmentation problem of ASOT: gradient, fixed points, sums and memory (peers 2)."""

from __future__ import annotations

import math

import pytest
import torch
from asot import (
    Weights,
    segmentation_cost,
    segmentation_gradient,
    segmentation_residual,
    solve_segmentation,
)
from torch import Tensor

BREAKFAST = {"alpha": 0.4, "r": 0.04, "epsilon": 0.07, "lambda_": 0.1}
AT_TEST = {"alpha": 0.7, "r": 0.04, "epsilon": 0.04, "lambda_": 0.01}


def objective(plan: Tensor, cost: Tensor, alpha: float, r: float, epsilon: float, lambda_: float) -> Tensor:
    """Return the objective F as written, with N x N and K x K matrices."""
    n, K = plan.shape
    apart = (torch.arange(n)[:, None] - torch.arange(n)).abs()
    Cv = ((apart > 0) & (apart <= n * r)).double() / r
    Ca = 1 - torch.eye(K, dtype=torch.float64)
    coupling = torch.einsum("ij,kl,ik,jl->", Cv, Ca, plan, plan)
    shares = plan.sum(0)
    return (
        (1 - alpha) * (cost * plan).sum()
        + alpha / 2 * coupling
        + epsilon * (plan * plan.log()).sum()
        + lambda_ * (shares * (K * shares).log()).sum()
    )


def problem(B: int, n: int, K: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Return embeddings of B videos that do K steps one after the other, and the centres of the steps."""
    generator = torch.Generator().manual_seed(seed)
    centres = torch.nn.functional.normalize(torch.randn(K, 16, generator=generator, dtype=torch.float64), dim=1)
    noise = 0.15 * torch.randn(B, n, 16, generator=generator, dtype=torch.float64)
    return torch.nn.functional.normalize(centres[torch.arange(n) * K // n] + noise, dim=2), centres


def test_cost_by_hand() -> None:
    f = torch.tensor([[[1.0, 0.0], [0.6, 0.8]]])
    centres = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    expected = [[1 + 0.2 * 0.0, 0 + 0.2 * 0.5], [0.2 + 0.2 * 0.5, 0.4 + 0.2 * 0.0]]
    torch.testing.assert_close(segmentation_cost(f, centres, 0.2)[0], torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("weights", [BREAKFAST, AT_TEST, {**BREAKFAST, "r": 0.3}], ids=["train", "test", "wide"])
def test_the_gradient_is_that_of_the_objective(weights: dict[str, float]) -> None:
    generator = torch.Generator().manual_seed(1)
    plan = torch.rand(2, 27, 4, generator=generator, dtype=torch.float64) + 0.01
    plan /= plan.sum((1, 2), keepdim=True)
    cost = torch.rand(2, 27, 4, generator=generator, dtype=torch.float64)
    gradient = segmentation_gradient(plan.log(), cost, Weights(**weights))
    for one, its_cost, its_gradient in zip(plan, cost, gradient, strict=True):
        one = one.clone().requires_grad_()
        objective(one, its_cost, **weights).backward()
        # The library leaves out the constant in the gradient of the entropy.
        torch.testing.assert_close(its_gradient + weights["epsilon"], one.grad, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("weights", [BREAKFAST, AT_TEST], ids=["train", "test"])
def test_where_the_steps_come_to_rest_the_plan_is_a_mean_field(weights: dict[str, float]) -> None:
    n, K = 100, 5
    f, centres = problem(1, n, K)
    cost = segmentation_cost(f, centres, 0.2)
    log_plan = solve_segmentation(cost, Weights(**weights), 4000)
    p, shares = n * log_plan[0].exp(), log_plan[0].exp().sum(0)
    reach = round(n * weights["r"])
    field = torch.empty_like(p)
    for i in range(n):
        near = [j for j in range(i - reach, i + reach + 1) if j != i]
        # The mean is over all 2 N r positions; those beyond the ends of the video cost nothing.
        apart = sum(1 - p[j] for j in near if 0 <= j < n) / len(near)
        field[i] = torch.exp(
            -((1 - weights["alpha"]) * cost[0, i] + 2 * weights["alpha"] * apart
              + weights["lambda_"] * (K * shares).log()) / weights["epsilon"]
        )  # fmt: skip
    field /= field.sum(1, keepdim=True)
    assert (p - field).abs().max() < 1e-9
    assert segmentation_residual(log_plan, cost, Weights(**weights)).item() == pytest.approx(0, abs=1e-9)
    # The published number of steps, 25, does not reach convergence.
    early = solve_segmentation(cost, Weights(**weights), 25)
    assert segmentation_residual(early, cost, Weights(**weights)).item() > 1e-5


@pytest.mark.parametrize("iterations", [0, 1, 25])
def test_rows_keep_their_mass_and_videos_their_own_plan(iterations: int) -> None:
    f, centres = problem(3, 40, 4)
    cost = segmentation_cost(f, centres, 0.2)
    log_plan = solve_segmentation(cost, Weights(**BREAKFAST), iterations)
    torch.testing.assert_close(log_plan.exp().sum(2), torch.full((3, 40), 1 / 40, dtype=torch.float64))
    for video in range(3):
        alone = solve_segmentation(cost[video : video + 1], Weights(**BREAKFAST), iterations)
        torch.testing.assert_close(alone[0], log_plan[video], rtol=1e-12, atol=1e-12)


def test_steps_in_noise_are_found_and_a_flicker_is_smoothed_away() -> None:
    f, centres = problem(1, 100, 5)
    f[0, 30] = centres[4]
    truth = torch.arange(100) * 5 // 100
    cost = segmentation_cost(f, centres, 0.2)
    smoothed = solve_segmentation(cost, Weights(**AT_TEST), 25).argmax(2)[0]
    assert smoothed.tolist() == truth.tolist()
    alone = solve_segmentation(cost, Weights(**{**AT_TEST, "alpha": 0.0}), 25).argmax(2)[0]
    assert alone[30] == 4


def test_shares_are_pulled_together_and_none_is_forced() -> None:
    # All frames look like step 0; with a large lambda, the other steps still get some of them.
    cost = torch.tensor([0.0, 0.1, 0.1], dtype=torch.float64).expand(1, 30, 3).contiguous()
    shares = [
        solve_segmentation(cost, Weights(0.0, 0.04, 0.02, pull), 2000).exp().sum(1)[0] for pull in (0.0, 0.1, 10.0)
    ]
    assert shares[0][0] > 0.98
    assert shares[0][0] > shares[1][0] > shares[2][0] > 1 / 3
    assert shares[2].tolist() == pytest.approx([1 / 3] * 3, abs=0.01)


@pytest.mark.parametrize(("n", "K"), [(1, 1), (1, 5), (2, 2), (3, 7), (50, 1)])
@pytest.mark.parametrize("weights", [BREAKFAST, AT_TEST, {**BREAKFAST, "epsilon": 5.0}, {**BREAKFAST, "lambda_": 0.0}])
def test_few_frames_and_few_steps_come_to_rest_too(n: int, K: int, weights: dict[str, float]) -> None:
    for cost in (torch.zeros(1, n, K, dtype=torch.float64), segmentation_cost(*problem(1, n, K), 0.2)):
        log_plan = solve_segmentation(cost, Weights(**weights), 500)
        assert log_plan.isfinite().all()
        torch.testing.assert_close(log_plan.exp().sum(2), torch.full((1, n), 1 / n, dtype=torch.float64))
        assert segmentation_residual(log_plan, cost, Weights(**weights)).item() < 1e-6


def test_a_video_of_twenty_thousand_frames_takes_memory_linear_in_them() -> None:
    n, K = 20_000, 7
    f, centres = problem(1, n, K)
    log_plan = solve_segmentation(segmentation_cost(f, centres, 0.2), Weights(**AT_TEST), 25)
    assert (log_plan.argmax(2)[0] == torch.arange(n) * K // n).double().mean() > 0.999
    assert math.isclose(log_plan.exp().sum().item(), 1, rel_tol=1e-9)
