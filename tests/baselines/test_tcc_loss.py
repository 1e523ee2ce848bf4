from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rgwot.baselines import tcc
from rgwot.baselines.settings import Tcc
from rgwot.baselines.tcc import VARIANCE_FLOOR, elementwise_distance

Pair = tuple[Tensor, Tensor, Tensor, Tensor]


def tcc_loss(x: Tensor, y: Tensor, x_times: Tensor, y_times: Tensor, **changes: Any) -> Tensor:
    return tcc.tcc_loss(x, y, x_times, y_times, Tcc(**changes))


def pair(seed: int = 0, batch: int = 2, n: int = 6, m: int = 5, dim: int = 3) -> Pair:
    generator = torch.Generator().manual_seed(seed)
    x = 0.4 * torch.randn(batch, n, dim, dtype=torch.float64, generator=generator)
    y = 0.4 * torch.randn(batch, m, dim, dtype=torch.float64, generator=generator)
    times = [torch.rand(batch, size, dtype=torch.float64, generator=generator).sort(1)[0] for size in (n, m)]
    return x, y, times[0], times[1]


def weights(point: list[float], others: list[list[float]], tau: float) -> list[float]:
    """Return the softmax of minus the squared distances over D tau, one term at a time."""
    terms = [
        math.exp(-sum((a - b) ** 2 for a, b in zip(point, other, strict=True)) / (len(point) * tau)) for other in others
    ]
    return [term / sum(terms) for term in terms]


def blend(shares: list[float], points: list[list[float]]) -> list[float]:
    return [sum(share * point[d] for share, point in zip(shares, points, strict=True)) for d in range(len(points[0]))]


def error(s: float, shares: list[float], times: list[float], lambda_v: float) -> float:
    mean = sum(share * time for share, time in zip(shares, times, strict=True))
    variance = sum(share * (time - mean) ** 2 for share, time in zip(shares, times, strict=True))
    return (s - mean) ** 2 / variance + lambda_v * math.log(variance)


def written_out(x: Tensor, y: Tensor, x_times: Tensor, y_times: Tensor, tau: float, lambda_v: float) -> float:
    """Return the loss of one pair, computed one frame at a time."""
    directions = []
    for first, second, stamps in ((x, y, x_times), (y, x, y_times)):
        u, v, times = first.tolist(), second.tolist(), stamps.tolist()
        cycles = []
        for i, point in enumerate(u):
            neighbour = blend(weights(point, v, tau), v)
            cycles.append(error(times[i], weights(neighbour, u, tau), times, lambda_v))
        directions.append(sum(cycles) / len(cycles))
    return sum(directions) / 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_two_frames_worked_out_by_hand(dtype: torch.dtype) -> None:
    # u = v = (0, 1), D tau = 1. The neighbour of 0 is w = 1 / (1 + e), and the squared distances from there to 1 and
    # to 0 differ by 1 - 2 w = tanh(1/2), so the way back lands on 1 with odds q / (1 - q) = exp(-tanh(1/2)). With the
    # frames half a video apart, mean = q / 2 and variance = q (1 - q) / 4, so mean^2 / variance is q / (1 - q).
    odds = math.exp(-math.tanh(0.5))
    q = odds / (1 + odds)
    x = torch.tensor([[[0.0], [1.0]]], dtype=dtype)
    times = torch.tensor([[0.25, 0.75]], dtype=dtype)
    loss = tcc_loss(x, x.clone(), times, times, tau=1.0, lambda_v=0.5)
    assert loss.dtype == dtype
    assert loss.item() == pytest.approx(odds + 0.5 * math.log(q * (1 - q) / 4), rel=1e-6)


@pytest.mark.parametrize(("tau", "lambda_v"), [(0.1, 1e-3), (0.5, 0.0), (3.0, 0.7)])
def test_against_loops(tau: float, lambda_v: float) -> None:
    batch = pair()
    loss = tcc_loss(*batch, tau=tau, lambda_v=lambda_v)
    for p in range(2):
        assert loss[p].item() == pytest.approx(written_out(*(value[p] for value in batch), tau, lambda_v), rel=1e-9)


def test_a_collapsed_embedding_costs_one() -> None:
    _, _, x_times, y_times = pair(1)
    x, y = torch.ones(2, 6, 3, dtype=torch.float64), torch.ones(2, 5, 3, dtype=torch.float64)
    # The weights of the way back are uniform, so the mean of (s - mean)^2 / variance is 1.
    torch.testing.assert_close(tcc_loss(x, y, x_times, y_times, lambda_v=0), torch.ones(2, dtype=torch.float64))


def test_norms_added_entry_by_entry_worked_out_by_hand() -> None:
    # |u_j|^2 + |v_j|^2 is (1 + 1, 4 + 1, 1 + 9) in every row i, from which twice the products of frame i of u with the
    # frames of v are subtracted.
    u = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [0.0, -1.0]]])
    v = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.0, -3.0]]])
    expected = [[2 - 2, 5 - 0, 10 - 0], [2 - 0, 5 - 4, 10 + 12], [2 - 0, 5 + 2, 10 - 6]]
    assert elementwise_distance(u, v)[0].tolist() == expected
    assert elementwise_distance(u / 2, 3 * v)[0, 1].tolist() == [0.25 + 9, 1 + 9 - 6, 0.25 + 81 + 18]
    short, long = torch.tensor([[[0.5], [3.0]]]), torch.tensor([[[2.0], [1.0]]])
    # 0.25 + 4 - 12 is negative, so it is clipped to 0.
    assert elementwise_distance(short, long)[0].tolist() == [[0.25 + 4 - 2, 9 + 1 - 1], [0, 9 + 1 - 6]]


def test_two_frames_with_norms_added_entry_by_entry_worked_out_by_hand() -> None:
    # u = (0, 1), v = (1, 2), D tau = 1: squared norms add up to (1, 5), so the "distances" are (1, 5) from the first
    # frame and (0, 1) from the second, where -1 is clipped to 0.
    there = [1 / (1 + math.exp(-4)), 1 / (1 + math.exp(-1))]
    first, second = (share + 2 * (1 - share) for share in there)
    # On the way back, the squared norms of the neighbours are added to those of u, again column by column.
    on_first, on_second = first**2 + 0, second**2 + 1
    chances = []
    for neighbour in (first, second):
        to_first, to_second = max(0, on_first - 0), max(0, on_second - 2 * neighbour)
        chances.append(1 / (1 + math.exp(to_second - to_first)))
    # q is the probability that the way back lands on the first of the two frames, which are half a video apart.
    expected = 0.0
    for time, q in zip((0.25, 0.75), (1 - chance for chance in chances), strict=True):
        mean = 0.25 * q + 0.75 * (1 - q)
        expected += (time - mean) ** 2 / (q * (1 - q) / 4) / 2
    x, y = torch.tensor([[[0.0], [1.0]]], dtype=torch.float64), torch.tensor([[[1.0], [2.0]]], dtype=torch.float64)
    times = torch.tensor([[0.25, 0.75]], dtype=torch.float64)
    released = Tcc(tau=1.0, lambda_v=0.0, distance="elementwise")
    neighbours = tcc.matches(x, y, released) @ y
    torch.testing.assert_close(neighbours[0, :, 0], torch.tensor([first, second], dtype=torch.float64))
    actual = tcc.cycle_error(neighbours, x, times, released).mean()
    assert actual.item() == pytest.approx(expected, rel=1e-12)


def entry_by_entry(u: Tensor, v: Tensor, tau: float) -> Tensor:
    """Compute the softmax weights of the frames of v for each frame of u, for one pair, entry by entry."""
    n, dim = u.shape
    logits = torch.empty(n, n, dtype=u.dtype)
    for i in range(n):
        for j in range(n):
            found = sum(u[j, d] ** 2 + v[j, d] ** 2 - 2 * u[i, d] * v[j, d] for d in range(dim))
            logits[i, j] = -max(float(found), 0.0) / (dim * tau)
    return torch.softmax(logits, 1)


def test_norms_added_entry_by_entry_against_loops() -> None:
    x, y, x_times, y_times = pair(8, n=5, m=5)
    loss = tcc_loss(x, y, x_times, y_times, lambda_v=0.3, distance="elementwise")
    for p in range(2):
        expected = 0.0
        for u, v, times in ((x[p], y[p], x_times[p]), (y[p], x[p], y_times[p])):
            back = entry_by_entry(entry_by_entry(u, v, 0.1) @ v, u, 0.1)
            cycles = [error(float(times[i]), back[i].tolist(), times.tolist(), 0.3) for i in range(5)]
            expected += sum(cycles) / 10
        assert loss[p].item() == pytest.approx(expected, rel=1e-9)
    assert not torch.allclose(loss, tcc_loss(x, y, x_times, y_times, lambda_v=0.3))


def test_frames_of_one_length_make_no_difference_on_the_way_there() -> None:
    x, y, *_ = pair(9, n=5, m=5)
    x, y = (torch.nn.functional.normalize(value, dim=2) for value in (x, y))
    released = Tcc(distance="elementwise")
    torch.testing.assert_close(tcc.matches(x, y, released), tcc.matches(x, y, Tcc()))


def test_perfect_cycles_cost_the_logarithm_alone() -> None:
    x = 100 * torch.eye(4, dtype=torch.float64)[None]
    times = torch.linspace(0, 0.9, 4, dtype=torch.float64)[None]
    loss = tcc_loss(x.requires_grad_(), x.detach(), times, times, lambda_v=0.1)
    assert loss.item() == pytest.approx(0.1 * math.log(VARIANCE_FLOOR))
    (gradient,) = torch.autograd.grad(loss.sum(), x)
    assert gradient.isfinite().all()


@given(st.integers(0, 10_000), st.floats(1e-3, 1e4))
@settings(max_examples=30, deadline=None)
def test_finite_at_any_scale(seed: int, scale: float) -> None:
    x, y, x_times, y_times = (value.float() for value in pair(seed))
    x = (scale * x).requires_grad_()
    loss = tcc_loss(x, scale * y, x_times, y_times)
    (gradient,) = torch.autograd.grad(loss.sum(), x)
    assert loss.isfinite().all()
    assert gradient.isfinite().all()


@pytest.mark.parametrize(("distance", "m"), [("squared", 3), ("elementwise", 4)])
def test_gradient(distance: str, m: int) -> None:
    x, y, x_times, y_times = pair(2, n=4, m=m)
    assert torch.autograd.gradcheck(
        lambda x, y: tcc_loss(x, y, x_times, y_times, tau=0.3, distance=distance),
        (x.requires_grad_(), y.requires_grad_()),
    )


def test_either_video_may_come_first_in_any_order_of_frames() -> None:
    x, y, x_times, y_times = pair(3, batch=3)
    loss = tcc_loss(x, y, x_times, y_times)
    torch.testing.assert_close(tcc_loss(y, x, y_times, x_times), loss)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    torch.testing.assert_close(tcc_loss(x[:, order], y, x_times[:, order], y_times), loss)
    torch.testing.assert_close(tcc_loss(x + 7, y + 7, x_times, y_times), loss)
    assert not torch.allclose(tcc_loss(x, y, x_times.flip(1), y_times), loss)
