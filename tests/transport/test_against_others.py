"""The converged solver, compared with exhaustive search on tiny problems and with POT."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import ot
import pytest
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from with_defaults import solve

from rgwot.transport import structure_matrix_x, structure_matrix_y

Array = NDArray[np.float64]


def objective(cost: Array, alpha: float, epsilon: float, r: float) -> Callable[[Array], Array]:
    n, m = cost.shape
    x = structure_matrix_x(n, r, dtype=torch.float64).numpy()
    y = structure_matrix_y(m, r, dtype=torch.float64).numpy()

    def value(plan: Array) -> Array:
        safe = np.maximum(plan, 1e-300)
        terms = (1 - alpha) * cost * plan + alpha * (x @ plan @ y) * plan + epsilon * plan * np.log(safe)
        return terms.sum((-2, -1))

    return value


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("seed", range(5))
def test_two_by_two_against_a_grid(alpha: float, seed: int) -> None:
    """A 2 x 2 plan with uniform marginals is given by one number t, so F can be tabulated over t."""
    rng = np.random.default_rng(seed)
    cost = rng.uniform(0, 2, (2, 2))
    # The grid is as fine near 0 as near 0.5.
    logit = np.linspace(-16, 16, 200_001)
    t, rest = 0.5 / (1 + np.exp(-logit)), 0.5 / (1 + np.exp(logit))
    plans = np.stack([np.stack([t, rest], -1), np.stack([rest, t], -1)], -2)
    values = objective(cost, alpha, 0.15, 1.0)(plans)
    result = solve(torch.from_numpy(cost)[None], alpha=alpha, epsilon=0.15, r=1.0, tolerance=1e-12, max_iterations=2000)
    assert result.converged.all()
    minima = np.flatnonzero((values[1:-1] < values[:-2]) & (values[1:-1] < values[2:])) + 1
    assert len(minima) >= 1
    nearest = minima[np.abs(t[minima] - result.plan[0, 0, 0].item()).argmin()]
    assert t[nearest] == pytest.approx(result.plan[0, 0, 0].item(), abs=3e-5)
    assert values[nearest] == pytest.approx(result.objective.item(), abs=1e-9)
    if alpha < 0.2:
        assert len(minima) == 1
        assert values.min() == values[nearest]


@pytest.mark.parametrize(("alpha", "epsilon"), [(0.05, 0.07), (0.3, 0.07), (0.5, 0.2)])
@pytest.mark.parametrize("seed", range(3))
def test_three_by_three_against_many_starts(alpha: float, epsilon: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost, r, third = rng.uniform(0, 2, (3, 3)), 0.4, np.full(3, 1 / 3)
    value = objective(cost, alpha, epsilon, r)

    def inside(corner: Array) -> float:
        """Return F of the plan whose first two rows and columns are given; infinity outside the polytope."""
        block = corner.reshape(2, 2)
        plan = np.empty((3, 3))
        plan[:2, :2] = block
        plan[:2, 2], plan[2, :2] = 1 / 3 - block.sum(1), 1 / 3 - block.sum(0)
        plan[2, 2] = block.sum() - 1 / 3
        return float(value(plan)) if plan.min() > 0 else np.inf

    actual = []
    for _ in range(12):
        start = ot.sinkhorn(third, third, rng.uniform(0, 1, (3, 3)), 0.2)[:2, :2].ravel()
        for _ in range(3):
            search = minimize(
                inside, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12, "maxfev": 2000}
            )
            start = search.x
        actual.append(search.fun)
    result = solve(
        torch.from_numpy(cost)[None], alpha=alpha, epsilon=epsilon, r=r, tolerance=1e-10, max_iterations=2000
    )
    assert result.converged.all()
    assert np.abs(np.array(actual) - result.objective.item()).min() < 1e-6
    if alpha < 0.1:
        assert min(actual) == pytest.approx(result.objective.item(), abs=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("seed", [0, 1])
def test_pot_with_the_square_loss(alpha: float, seed: int) -> None:
    """POT has no product loss: with C2 = -C^y / 2 the cross term -2 C1 C2 of the square loss is C^x C^y."""
    rng = np.random.default_rng(seed)
    n, m, r, epsilon = 10, 8, 0.25, 0.1
    cost, p, q = rng.uniform(0, 1, (n, m)), np.full(n, 1 / n), np.full(m, 1 / m)
    x = structure_matrix_x(n, r, dtype=torch.float64).numpy()
    y = structure_matrix_y(m, r, dtype=torch.float64).numpy()
    expected = ot.gromov.entropic_fused_gromov_wasserstein(
        cost, x, -y / 2, p, q, "square_loss", epsilon=epsilon, symmetric=True, alpha=alpha,
        max_iter=5000, tol=1e-13, numItermax=10_000, stopThr=1e-13,
    )  # fmt: skip
    result = solve(
        torch.from_numpy(cost)[None], alpha=alpha, epsilon=epsilon, r=r, tolerance=1e-12, max_iterations=5000
    )
    value = objective(cost, alpha, epsilon, r)
    assert float(value(expected)) == pytest.approx(result.objective.item(), abs=1e-8)
    np.testing.assert_allclose(result.plan[0].numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("alpha", [0.2, 0.5])
@pytest.mark.parametrize("epsilon", [0.1, 0.03])
def test_a_proximal_step_of_pot_stays_at_the_plan(alpha: float, epsilon: float) -> None:
    """POT's batched solver leaves out the entropy, so the gradient of the entropy at the plan is added to the cost."""
    others = pytest.importorskip("ot.batch", reason="POT 0.9.7 or later")
    batch, n, m, r = 3, 10, 8, 0.25
    cost = torch.from_numpy(np.random.default_rng(2).uniform(0, 1, (batch, n, m)))
    x = structure_matrix_x(n, r, dtype=torch.float64).expand(batch, n, n)
    y = structure_matrix_y(m, r, dtype=torch.float64).expand(batch, m, m)
    plan = solve(cost, alpha=alpha, epsilon=epsilon, r=r, tolerance=1e-12, max_iterations=5000).plan

    def step(costs: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = others.solve_gromov_batch(
            x, -y / 2, reg=0.05, M=costs, alpha=alpha, T_init=plan, symmetric=True, max_iter=1, max_iter_inner=10_000,
            tol_inner=1e-14,
        ).plan  # fmt: skip
        return found

    torch.testing.assert_close(step(cost + epsilon / (1 - alpha) * plan.log()), plan, rtol=0, atol=1e-6)
    assert (step(cost) - plan).abs().max() > 1e-3
