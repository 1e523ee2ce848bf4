"""Priors, kernel and plan of VAVA and OPEL, compared with plain loops over frames in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor
from with_defaults import kantorovich_match

from rgwot.baselines.kantorovich import Density, MarginalSide, kantorovich_plan, match_prior, temporal_share
from rgwot.transport import sinkhorn

Array = NDArray[np.float64]


def embeddings(seed: int, batch: int, n: int, m: int, d: int = 4, scale: float = 1.0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x, y = (scale * torch.randn(batch, size, d, dtype=torch.float64, generator=generator) for size in (n, m))
    return x, y


def g(u: float, density: str) -> float:
    if density == "gaussian":
        return math.exp(-u * u / 8) / (2 * math.sqrt(2 * math.pi))
    return math.exp(-u / 2) / 4


def plain(
    x: Array, y: Array, phi: float, density: str, zeta: float, lambda1: float, lambda2: float
) -> dict[str, Array]:
    """Return P, S, D and the kernel of one pair, entry by entry; i = 1 and j = 1 are the virtual frames."""
    n, m = len(x) + 1, len(y) + 1
    mu = math.sqrt(1 / n**2 + 1 / m**2)
    out = {name: np.zeros((n, m)) for name in "PSDK"}
    for i in range(1, n + 1):
        nearest = 0
        if i > 1:
            nearest = min(range(m - 1), key=lambda j: float(((x[i - 2] - y[j]) ** 2).mean()))
        for j in range(1, m + 1):
            temporal, optimal = abs(i / n - j / m), abs(j - nearest - 1) / m
            if (i == 1) != (j == 1):
                temporal = optimal = 1.5 * 2 * 5 / (n + m)
            at = i - 1, j - 1
            out["P"][at] = phi * g(temporal / mu, density) + (1 - phi) * g(optimal / mu, density)
            out["S"][at] = phi * lambda1 / (temporal**2 + 1) + (1 - phi) * lambda1 / (optimal**2 + 1)
            out["D"][at] = zeta if i == 1 or j == 1 else ((x[i - 2] - y[j - 2]) ** 2).sum()
            kernel = out["P"][at] * math.exp((out["S"][at] - out["D"][at]) / lambda2)
            out["K"][at] = min(max(kernel, 1e-15), 1e20)
    return out


@pytest.mark.parametrize("density", ["gaussian", "laplace"])
@pytest.mark.parametrize(("n", "m"), [(5, 5), (6, 4), (3, 8)])
def test_prior_and_moment_by_a_double_loop(density: Density, n: int, m: int) -> None:
    x, y = embeddings(0, 3, n, m)
    nearest = torch.cdist(x, y).argmin(2)
    phi = torch.tensor([0.999, 0.6, 0.001])
    prior, moment = match_prior(nearest, m, phi, density=density)
    assert prior.dtype == moment.dtype == torch.float64
    for b in range(3):
        expected = plain(x[b].numpy(), y[b].numpy(), float(phi[b]), density, 0.5, 1.0, 1.0)
        np.testing.assert_allclose(prior[b], expected["P"], rtol=1e-12)
        np.testing.assert_allclose(moment[b], expected["S"], rtol=1e-12)


def test_optimality_prior_peaks_one_frame_before_the_nearest() -> None:
    nearest = torch.tensor([[3, 1, 4, 2]])
    prior, _ = match_prior(nearest, 6, torch.tensor([0.0]), density="laplace")
    # Row and column 0 belong to the virtual frames, so real frame j is in column j + 1.
    assert prior[0, 1:, 1:].argmax(1).tolist() == [2, 0, 3, 1]


def test_share_of_the_temporal_prior() -> None:
    iterations = torch.tensor([0, 2, 3, 99, 9_999])
    np.testing.assert_allclose(temporal_share(iterations, 1), 0.999 ** np.array([1, 1, 2, 10, 100]), rtol=1e-13)
    powers = np.array([1, 14, 17, 99, 999])
    np.testing.assert_allclose(temporal_share(iterations, 100), 0.999**powers, rtol=1e-12)
    assert temporal_share(torch.tensor([10**9]), 1).item() == 0.001


@pytest.mark.parametrize("last", ["rows", "columns"])
@pytest.mark.parametrize("density", ["gaussian", "laplace"])
def test_kernel_and_plan_by_a_double_loop(density: Density, last: MarginalSide) -> None:
    x, y = embeddings(1, 3, 6, 5)
    phi, zeta = torch.tensor([0.999, 0.6, 0.001]), 0.7
    match = kantorovich_match(x, y, phi, prior=density, zeta=zeta, lambda1=0.8, lambda2=0.3, last=last)
    for b in range(3):
        one = plain(x[b].numpy(), y[b].numpy(), float(phi[b]), density, zeta, 0.8 * 11, 0.3 * 30 / 4)
        np.testing.assert_allclose(match[1][b], (one["K"] * one["D"])[1:, 1:], rtol=1e-11)
        row, column = np.ones(7), np.ones(6)
        for _ in range(20):
            row = (1 / 7) / (one["K"] @ ((1 / 6) / (one["K"].T @ row)))
        column = (1 / 6) / (one["K"].T @ row)
        if last == "rows":
            row = (1 / 7) / (one["K"] @ column)
        np.testing.assert_allclose(match[0][b], row[:, None] * one["K"] * column, rtol=1e-10)


def test_kernel_is_clamped() -> None:
    x, y = embeddings(2, 1, 4, 4, scale=30.0)
    squares = ((x[0, :, None] - y[0, None]) ** 2).sum(2)
    low = kantorovich_match(x, y, torch.tensor([0.5]), lambda2=0.01)[1][0]
    np.testing.assert_allclose(low, 1e-15 * squares, rtol=1e-9)
    high = kantorovich_match(x / 1e3, y / 1e3, torch.tensor([0.5]), lambda2=1e-4)[1][0]
    np.testing.assert_allclose(high, 1e20 * squares / 1e6, rtol=1e-9)


def marginal_errors(plan: Tensor) -> tuple[float, float]:
    n, m = plan.shape[1:]
    return float((n * plan.sum(2) - 1).abs().max()), float((m * plan.sum(1) - 1).abs().max())


@pytest.mark.parametrize("scale", [0.1, 1.0])
@pytest.mark.parametrize("phi", [0.999, 0.37])
def test_marginals_at_the_size_of_training(scale: float, phi: float) -> None:
    """With 33 frames of 128 dimensions, the marginal that is scaled last is exact, and the other is within 2e-3.

    The values of phi are those of the first step and of OPEL's last step.
    """
    x, y = embeddings(3, 4, 32, 32, 128, scale)
    rows, columns = marginal_errors(kantorovich_match(x, y, torch.full((4,), phi))[0])
    assert rows < 1e-12
    assert columns < 2e-3
    rows, columns = marginal_errors(kantorovich_match(x, y, torch.full((4,), phi), last="columns")[0])
    assert rows < 2e-3
    assert columns < 1e-12
    assert max(marginal_errors(kantorovich_match(x, y, torch.full((4,), phi), sinkhorn="batched")[0])) < 1e-6


def test_transported_cost_at_the_size_of_training() -> None:
    """Compare with VAVA's public code: 20 passes, then columns and rows once more, without logarithms."""
    x, y = embeddings(5, 1, 32, 32, 128, 0.3)
    one = plain(x[0].numpy(), y[0].numpy(), 0.9, "gaussian", 0.5, 64.0, 0.1 * 32 * 32 / 4)
    row = np.full(33, 1 / 33)
    for _ in range(20):
        row = (1 / 33) / (one["K"] @ ((1 / 33) / (one["K"].T @ row)))
    column = (1 / 33) / (one["K"].T @ row)
    row = (1 / 33) / (one["K"] @ column)
    expected = row @ (one["K"] * one["D"]) @ column
    plan = kantorovich_match(x, y, torch.tensor([0.9], dtype=torch.float64))[0][0].numpy()
    assert (plan * one["D"]).sum() == pytest.approx(expected, rel=5e-15)


def test_marginals_of_a_hard_kernel() -> None:
    log_kernel = -20 * torch.rand(2, 9, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    assert marginal_errors(kantorovich_plan(log_kernel, "pot", "rows"))[1] > 1e-4
    converged = kantorovich_plan(log_kernel, "batched", "rows")
    assert max(marginal_errors(converged)) < 1e-6
    assert max(marginal_errors(kantorovich_plan(log_kernel, "batched", "columns"))) < 1e-6
    uniform = (torch.full((2, size), 1 / size, dtype=torch.float64) for size in (9, 7))
    np.testing.assert_allclose(sinkhorn(log_kernel, *uniform, tolerance=1e-9)[0], converged, atol=1e-7)
