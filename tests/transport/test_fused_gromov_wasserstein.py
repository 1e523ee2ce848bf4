"""Properties of the solver; test_against_others.py and test_align_frames.py compare its results."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor
from with_defaults import solve

from rgwot.transport import structure_matrix_x, structure_matrix_y, structure_radius

PAPER = {"alpha": 0.3, "epsilon": 0.07}


def random_cost(seed: int, batch: int = 4, n: int = 12, m: int = 9) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 1.5 * torch.rand(batch, n, m, dtype=torch.float64, generator=generator)


def gradient(plan: Tensor, cost: Tensor, alpha: float, epsilon: float, r: float) -> Tensor:
    """Return the gradient of F by automatic differentiation of its definition with dense matrices."""
    plan = plan.clone().requires_grad_()
    objective(plan, cost, alpha, epsilon, r).sum().backward()
    assert plan.grad is not None
    return plan.grad


def objective(plan: Tensor, cost: Tensor, alpha: float, epsilon: float, r: float) -> Tensor:
    n, m = plan.shape[1:]
    x, y = structure_matrix_x(n, r, dtype=plan.dtype), structure_matrix_y(m, r, dtype=plan.dtype)
    values = (1 - alpha) * cost * plan + alpha * (x @ plan @ y) * plan + epsilon * plan * plan.log()
    return values.sum((1, 2))


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("r", [0.02, 0.15, 0.4])
def test_marginals_objective_and_optimality_conditions(alpha: float, r: float) -> None:
    cost = random_cost(0)
    result = solve(cost, alpha=alpha, epsilon=0.07, r=r, tolerance=1e-8, max_iterations=1000)
    assert result.converged.all()
    torch.testing.assert_close(result.plan.sum(2), torch.full((4, 12), 1 / 12, dtype=torch.float64), rtol=1e-8, atol=0)
    torch.testing.assert_close(result.plan.sum(1), torch.full((4, 9), 1 / 9, dtype=torch.float64), rtol=1e-8, atol=0)
    assert (result.plan > 0).all()
    torch.testing.assert_close(result.objective, objective(result.plan, cost, alpha, 0.07, r), rtol=1e-9, atol=1e-9)
    # The plan is stationary on the polytope: the gradient is a row constant plus a column constant.
    slopes = gradient(result.plan, cost, alpha, 0.07, r)
    constants = torch.cat([torch.eye(12).repeat_interleave(9, 0), torch.eye(9).repeat(12, 1)], 1).double()
    for plan, slope in zip(result.plan, slopes, strict=True):
        root = plan.flatten().sqrt()[:, None]
        fitted = torch.linalg.lstsq(root * constants, root * slope.flatten()[:, None], driver="gelsd").solution
        residual = slope.flatten() - (constants @ fitted)[:, 0]
        assert (plan.flatten() * residual.abs()).sum() < 1.01e-4 * 0.07


@pytest.mark.parametrize("r", [0.12, 0.25])
def test_objective_never_rises(r: float) -> None:
    cost = random_cost(1)
    limits = (1, 2, 3, 4, 6, 9, 14, 25)
    runs = [solve(cost, alpha=0.6, epsilon=0.03, r=r, max_iterations=limit) for limit in limits]
    steps = torch.stack([run.objective for run in runs]).diff(dim=0)
    assert (steps <= 1e-7).all()
    assert (steps.sum(0) < -0.1).all()
    assert all((run.iterations <= limit).all() for run, limit in zip(runs, limits, strict=True))


def test_full_steps_alone_would_oscillate() -> None:
    """The safeguard is needed: the plain fixed-point iteration swings between plans on this problem."""
    n, r, alpha, epsilon = 12, 1 / 12, 0.9, 0.01
    cost = random_cost(2, batch=1, n=n, m=n)
    x, y = structure_matrix_x(n, r, dtype=cost.dtype), structure_matrix_y(n, r, dtype=cost.dtype)
    plan, values = torch.full((1, n, n), n**-2, dtype=torch.float64), []
    for _ in range(60):
        linear = (1 - alpha) * cost + 2 * alpha * x @ plan @ y
        plan = solve(linear, alpha=0, epsilon=epsilon, r=r).plan
        values.append(objective(plan, cost, alpha, epsilon, r).item())
    assert max(np.diff(values)) > 1e-3
    result = solve(cost, alpha=alpha, epsilon=epsilon, r=r, max_iterations=2000)
    assert result.converged.all()
    assert result.objective.item() < min(values)


def authors_loop(cost: NDArray[np.float64], r: float, alpha: float, epsilon: float, outer: int) -> NDArray[np.float64]:
    """Return the plan of the fixed loop (methods 3.4), with dense matrices and plain exponentials."""
    n, m = cost.shape
    x = structure_matrix_x(n, r, dtype=torch.float64).numpy()
    y = structure_matrix_y(m, r, dtype=torch.float64).numpy()
    plan = np.full((n, m), 1 / (n * m))
    for _ in range(outer):
        kernel = np.exp(-(alpha * x @ plan @ y + (1 - alpha) * cost) / epsilon)
        kernel /= kernel.max()
        left = (1 / n) / kernel.sum(1)
        right = (1 / m) / (kernel.T @ left)
        plan = left[:, None] * kernel * right
    return plan


@pytest.mark.parametrize("r", [0.02, 0.09, 0.2, 0.5])
@pytest.mark.parametrize("outer", [1, 25])
def test_parity_is_the_loop_of_the_public_code(r: float, outer: int) -> None:
    cost = random_cost(3)
    result = solve(cost, **PAPER, r=r, solver="parity", parity_outer=outer)
    for b, plan in enumerate(result.plan):
        np.testing.assert_allclose(plan.numpy(), authors_loop(cost[b].numpy(), r, 0.3, 0.07, outer), atol=1e-12)
    torch.testing.assert_close(result.plan.sum(1), torch.full((4, 9), 1 / 9, dtype=torch.float64))
    assert result.marginal_error.min() > 1e-3
    assert not result.converged.any()
    torch.testing.assert_close(result.marginal_error, (12 * result.plan.sum(2) - 1).abs().amax(1))


@pytest.mark.parametrize("solver", ["converged", "parity"])
def test_nothing_changes_below_the_first_active_radius(solver: str) -> None:
    cost = random_cost(4, n=33, m=33)
    plans = [solve(cost, **PAPER, r=r, solver=solver) for r in (0.0, 0.005, 0.02, 0.999 / 33)]
    for other in plans[1:]:
        assert torch.equal(other.plan, plans[0].plan)
    assert (plans[0].iterations == 1).all()
    active = solve(cost, **PAPER, r=1 / 33, solver=solver)
    assert (active.plan - plans[0].plan).abs().max() > 1e-3 / 33


def test_alpha_is_a_temperature_while_the_prior_is_inactive() -> None:
    cost = random_cost(5, n=33, m=33)
    expected = solve(cost, alpha=0.3, epsilon=0.07, r=0.02).plan
    torch.testing.assert_close(solve(cost, alpha=0, epsilon=0.1, r=0.02).plan, expected, rtol=1e-5, atol=0)


def test_one_active_side_only_adds_a_constant() -> None:
    cost = random_cost(6, n=30, m=8)
    r = 1 / 15
    assert (structure_radius(30, r), structure_radius(8, r)) == (2, 0)
    result, linear = solve(cost, **PAPER, r=r), solve(cost, **PAPER, r=0)
    torch.testing.assert_close(result.plan, linear.plan, rtol=1e-5, atol=0)
    torch.testing.assert_close(result.objective, objective(result.plan, cost, **PAPER, r=r))
    # The constant is alpha p^T C^x p, where C^x has 2 (30 + 30 - 3) entries of 1/r.
    torch.testing.assert_close(result.objective - linear.objective, torch.full((4,), 0.3 * 114 * 15 / 900).double())


@pytest.mark.parametrize("solver", ["converged", "parity"])
@pytest.mark.parametrize("r", [0.02, 0.2])
def test_batch_is_a_loop_and_time_can_be_reversed(solver: str, r: float) -> None:
    cost = random_cost(7)
    together = solve(cost, **PAPER, r=r, solver=solver)
    for b in range(len(cost)):
        alone = solve(cost[b : b + 1], **PAPER, r=r, solver=solver)
        torch.testing.assert_close(alone.plan[0], together.plan[b], rtol=0, atol=1e-6)
        assert alone.iterations[0] == together.iterations[b]
    reversed_time = solve(cost.flip(1, 2), **PAPER, r=r, solver=solver)
    torch.testing.assert_close(reversed_time.plan.flip(1, 2), together.plan, rtol=0, atol=1e-6)


def test_frames_can_be_permuted_while_the_prior_is_inactive() -> None:
    cost = random_cost(8)
    order = torch.randperm(12, generator=torch.Generator().manual_seed(0))
    plan = solve(cost, **PAPER, r=0.02).plan
    torch.testing.assert_close(solve(cost[:, order], **PAPER, r=0.02).plan, plan[:, order], rtol=1e-5, atol=0)


def test_active_prior_makes_neighbours_match_neighbours() -> None:
    cost = random_cost(9, n=16, m=16)

    def broken(plan: Tensor) -> Tensor:
        x, y = structure_matrix_x(16, 0.07, dtype=plan.dtype), structure_matrix_y(16, 0.07, dtype=plan.dtype)
        return ((x @ plan @ y) * plan).sum((1, 2))

    with_prior = solve(cost, alpha=0.3, epsilon=0.07, r=0.07).plan
    without = solve(cost, alpha=0.3, epsilon=0.07, r=0.0).plan
    assert (broken(with_prior) < broken(without)).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_low_precision_costs_are_solved_in_float64(dtype: torch.dtype) -> None:
    cost = random_cost(11).to(dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = solve(cost.requires_grad_(), **PAPER, r=0.2)
    assert result.plan.dtype == torch.float32
    assert not result.plan.requires_grad
    assert result.marginal_error.dtype == torch.float64
    assert result.marginal_error.max() <= 1e-6
    exact = solve(cost.detach().double(), **PAPER, r=0.2)
    torch.testing.assert_close(result.plan, exact.plan.float(), rtol=1e-6, atol=1e-9)


def test_mistakes_are_refused() -> None:
    cost = random_cost(12)
    with pytest.raises(ValueError, match=r"found shape \(12, 9\), expected \(B, N, M\)"):
        solve(cost[0], **PAPER, r=0.02)
    with pytest.raises(ValueError, match="alpha: found 1.2"):
        solve(cost, alpha=1.2, epsilon=0.07, r=0.02)
    with pytest.raises(ValueError, match="epsilon: found 0"):
        solve(cost, alpha=0.3, epsilon=0, r=0.02)
    with pytest.raises(ValueError, match="r: found -0.1"):
        solve(cost, **PAPER, r=-0.1)
    with pytest.raises(ValueError, match="not finite"):
        solve(cost.log() * torch.nan, **PAPER, r=0.02)
    with pytest.raises(ValueError, match="solver: found 'exact'"):
        solve(cost, **PAPER, r=0.02, solver="exact")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
@pytest.mark.parametrize("solver", ["converged", "parity"])
@pytest.mark.parametrize("r", [0.02, 0.1])
@pytest.mark.parametrize("batch", [4, 40])  # small batches are solved on the CPU
def test_cuda_gives_the_plan_of_the_cpu(solver: str, r: float, batch: int) -> None:
    cost = random_cost(13, batch, 33, 33).float()
    cpu, cuda = (solve(cost.to(device), **PAPER, r=r, solver=solver, max_iterations=2000) for device in ("cpu", "cuda"))
    assert all(value.device.type == "cuda" for value in cuda)
    torch.testing.assert_close(cuda.objective.cpu(), cpu.objective, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(cuda.plan.cpu(), cpu.plan, rtol=0, atol=1e-6 if r == 0.02 else 1e-3 / 33)
    assert torch.equal(cuda.converged.cpu(), cpu.converged)
