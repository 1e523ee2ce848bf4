from __future__ import annotations

import numpy as np
import ot
import pytest
import torch
from torch import Tensor

from rgwot.transport import sinkhorn


def problem(seed: int, batch: int = 3, n: int = 7, m: int = 5) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    cost = 2 * torch.rand(batch, n, m, dtype=torch.float64, generator=generator)
    p = torch.rand(batch, n, dtype=torch.float64, generator=generator) + 0.1
    q = torch.rand(batch, m, dtype=torch.float64, generator=generator) + 0.1
    return cost, p / p.sum(1, keepdim=True), q / q.sum(1, keepdim=True)


def two_clusters(n: int = 32) -> tuple[Tensor, Tensor, Tensor]:
    """Frames of two kinds in unequal numbers: mass moves between the kinds only at a high cost."""
    cost = torch.full((1, n, n), 1.5, dtype=torch.float64)
    cost[:, : n // 4, : n // 2] = 0.01
    cost[:, n // 4 :, n // 2 :] = 0.01
    noise = torch.rand(1, n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    uniform = torch.full((1, n), 1 / n, dtype=torch.float64)
    return cost + 0.1 * noise, uniform, uniform


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 0.03])
@pytest.mark.parametrize("seed", [0, 1])
def test_agrees_with_pot(epsilon: float, seed: int) -> None:
    cost, p, q = problem(seed)
    plan = sinkhorn(-cost / epsilon, p, q, tolerance=1e-12).plan
    for b in range(len(cost)):
        expected = ot.sinkhorn(
            p[b].numpy(), q[b].numpy(), cost[b].numpy(), epsilon, "sinkhorn_log", 100_000, stopThr=1e-13
        )
        np.testing.assert_allclose(plan[b].numpy(), expected, atol=1e-11)


def test_marginals_and_potentials() -> None:
    cost, p, q = problem(3, n=9, m=12)
    result = sinkhorn(-cost / 0.1, p, q, tolerance=1e-9)
    assert result.marginal_error.max() <= 1e-9
    torch.testing.assert_close(result.plan.sum(2), p, rtol=1e-8, atol=0)
    torch.testing.assert_close(result.plan.sum(1), q, rtol=1e-12, atol=0)
    # The plan is optimal: log T + C / epsilon is a row constant plus a column constant.
    dual = result.log_plan + cost / 0.1 - result.f[:, :, None]
    torch.testing.assert_close(dual, dual[:, :1].expand_as(dual), rtol=0, atol=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 0.02, 0.005])
def test_newton_steps_solve_what_passes_alone_do_not(epsilon: float) -> None:
    cost, p, q = two_clusters()
    assert sinkhorn(-cost / epsilon, p, q, tolerance=1e-6, max_passes=200).marginal_error.max() <= 1e-6
    if epsilon < 0.02:
        log_kernel, g = -cost / epsilon, torch.zeros_like(q)
        for _ in range(200):
            f = p.log() - torch.logsumexp(log_kernel + g[:, None, :], 2)
            g = q.log() - torch.logsumexp(log_kernel + f[:, :, None], 1)
        rows = (log_kernel + f[:, :, None] + g[:, None, :]).exp().sum(2)
        assert ((rows - p).abs() / p).max() > 1e-6


def test_costs_far_beyond_the_range_of_exp() -> None:
    cost, p, q = problem(5)
    result = sinkhorn(-1e4 * cost, p, q, tolerance=1e-8, max_passes=5000)
    assert result.marginal_error.max() <= 1e-8
    best = ot.emd2(p[0].numpy(), q[0].numpy(), 1e3 * cost[0].numpy())
    assert (result.plan[0] * 1e3 * cost[0]).sum().item() == pytest.approx(best, rel=1e-6)


def test_warm_start_needs_no_further_pass() -> None:
    cost, p, q = problem(4)
    first = sinkhorn(-cost / 0.1, p, q, tolerance=1e-9)
    assert sinkhorn(-cost / 0.1, p, q, tolerance=1e-9, max_passes=1).marginal_error.max() > 1e-3
    again = sinkhorn(-cost / 0.1, p, q, f=first.f, tolerance=1e-9, max_passes=0)
    torch.testing.assert_close(again.plan, first.plan, rtol=0, atol=1e-12)
