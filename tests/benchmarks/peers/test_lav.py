from __future__ import annotations

import math
from functools import partial

import lav
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lav import soft_dtw
from torch import Tensor

soft_dtw_loss = partial(lav.soft_dtw_loss, gamma=0.1)
SIZES = [(1, 1), (1, 4), (5, 1), (2, 2), (4, 6), (7, 3)]


def costs(n: int, m: int, seed: int = 0, batch: int = 3) -> Tensor:
    return torch.rand(batch, n, m, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def recursion(cost: Tensor, gamma: float) -> Tensor:
    """Return R_NM of one matrix by the recursion over three neighbours, cell by cell, differentiable by autograd."""
    n, m = cost.shape
    values = {(0, 0): cost.new_zeros(())}
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            before = [values[cell] for cell in ((i - 1, j - 1), (i - 1, j), (i, j - 1)) if cell in values]
            total = torch.stack([torch.exp(-value / gamma) for value in before]).sum()
            values[i, j] = cost[i - 1, j - 1] - gamma * torch.log(total)
    return values[n, m]


def cheapest(cost: Tensor) -> float:
    """Return the least cost of dynamic time warping, by enumeration of all monotone paths."""

    def ways(i: int, j: int) -> float:
        here = cost[i, j].item()
        before = [ways(a, b) for a, b in ((i - 1, j - 1), (i - 1, j), (i, j - 1)) if a >= 0 and b >= 0]
        return here + (min(before) if before else 0.0)

    return ways(cost.shape[0] - 1, cost.shape[1] - 1)


@pytest.mark.parametrize("gamma", [0.05, 0.1, 2.0])
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_value_and_gradient_against_the_recursion(n: int, m: int, gamma: float) -> None:
    cost = costs(n, m).requires_grad_()
    value = soft_dtw(cost, gamma)
    expected = torch.stack([recursion(matrix, gamma) for matrix in cost])
    torch.testing.assert_close(value, expected, rtol=1e-12, atol=1e-12)
    # The pairs have different weights, none of them 1, so that the incoming gradient must be passed on.
    above = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    (gradient,) = torch.autograd.grad(value, cost, above)
    (through,) = torch.autograd.grad(expected, cost, above)
    torch.testing.assert_close(gradient, through, rtol=1e-10, atol=1e-12)


def test_two_by_two_by_hand() -> None:
    # Three paths lead from corner to corner: straight across, or through one of the two other cells.
    cost = torch.tensor([[[0.3, 0.2], [0.7, 0.4]]], dtype=torch.float64, requires_grad=True)
    value = soft_dtw(cost, 0.5)
    through_right, through_below = math.exp(-0.2 / 0.5), math.exp(-0.7 / 0.5)
    total = 1 + through_right + through_below
    assert value.item() == pytest.approx(0.7 - 0.5 * math.log(total))
    (gradient,) = torch.autograd.grad(value.sum(), cost)
    expected = [[1, through_right / total], [through_below / total, 1]]
    torch.testing.assert_close(gradient[0], torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize(("n", "m", "paths"), [(3, 3, 13), (4, 4, 63), (2, 5, 9), (1, 6, 1)])
def test_without_cost_it_counts_the_paths(n: int, m: int, paths: int) -> None:
    value = soft_dtw(torch.zeros(1, n, m, dtype=torch.float64), 0.1)
    assert value.item() == pytest.approx(-0.1 * math.log(paths), abs=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_limit_and_expected_path(seed: int, n: int, m: int) -> None:
    cost = costs(n, m, seed, batch=2).requires_grad_()
    hard = torch.tensor([cheapest(matrix) for matrix in cost.detach()], dtype=torch.float64)
    torch.testing.assert_close(soft_dtw(cost, 1e-4), hard, rtol=0, atol=1e-3)
    soft = soft_dtw(cost, 0.5)
    assert (soft <= hard + 1e-12).all()
    (path,) = torch.autograd.grad(soft.sum(), cost)
    assert ((path > -1e-12) & (path < 1 + 1e-12)).all()
    torch.testing.assert_close(path[:, 0, 0], torch.ones(2, dtype=torch.float64))
    torch.testing.assert_close(path[:, -1, -1], torch.ones(2, dtype=torch.float64))
    # Every path crosses every row and every column.
    assert (path.sum(1) > 1 - 1e-9).all()
    assert (path.sum(2) > 1 - 1e-9).all()


def videos(seed: int = 0, batch: int = 2, n: int = 6, m: int = 5, dim: int = 4) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(batch, n, dim, dtype=torch.float64, generator=generator)
    y = torch.randn(batch, m, dim, dtype=torch.float64, generator=generator)
    return torch.nn.functional.normalize(x, dim=2), torch.nn.functional.normalize(y, dim=2)


def test_loss_is_the_value_per_frame_of_the_first_video() -> None:
    x, y = videos(batch=3)
    loss = soft_dtw_loss(x, y, gamma=0.2)
    for p in range(3):
        cost = torch.tensor([[((a - b) ** 2).sum().item() for b in y[p]] for a in x[p]], dtype=torch.float64)
        assert loss[p].item() == pytest.approx(recursion(cost, 0.2).item() / 6, rel=1e-9)
        torch.testing.assert_close(soft_dtw_loss(x[p : p + 1], y[p : p + 1], gamma=0.2), loss[p : p + 1])
    assert torch.autograd.gradcheck(
        lambda x, y: soft_dtw_loss(x, y, gamma=0.2), (x.requires_grad_(), y.requires_grad_())
    )


def test_order_matters() -> None:
    x, _ = videos(1)
    assert (soft_dtw_loss(x, x) < soft_dtw_loss(x, x.flip(1))).all()
    torch.testing.assert_close(soft_dtw_loss(x.flip(1), x.flip(1)), soft_dtw_loss(x, x))


def test_training_precision_and_length() -> None:
    x, y = videos(2, batch=4, n=32, m=32, dim=128)
    gradients = []
    for dtype in (torch.float32, torch.float64):
        own = x.to(dtype).requires_grad_()
        loss = soft_dtw_loss(own, y.to(dtype))
        assert loss.dtype == dtype
        gradients.append(torch.autograd.grad(loss.sum(), own)[0].double())
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-3, atol=1e-5)
