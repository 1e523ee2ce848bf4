"""The descent in rounds, which a GPU runs as a CUDA graph, against the descent that asks the host (on the CPU)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from rgwot.transport import TransportResult, solve
from rgwot.transport.repeated import Repeated
from rgwot.transport.rounds import MAX_ENTRIES, descend_in_rounds

PAPER = {"alpha": 0.3, "epsilon": 0.07}


def random_cost(seed: int, batch: int = 4, n: int = 20, m: int = 16) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 1.5 * torch.rand(batch, n, m, dtype=torch.float64, generator=generator)


def in_rounds(monkeypatch: pytest.MonkeyPatch, cost: Tensor, **options: Any) -> TransportResult:
    with monkeypatch.context() as patch:
        patch.setattr(importlib.import_module("rgwot.transport.fused_gromov_wasserstein"), "descend", descend_in_rounds)
        return solve(cost, **options)


@pytest.mark.parametrize("r", [0.02, 0.07, 0.2])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-12])
def test_rounds_give_the_plan_of_the_descent(r: float, tolerance: float, monkeypatch: pytest.MonkeyPatch) -> None:
    cost = random_cost(0)
    options: dict[str, Any] = {**PAPER, "r": r, "tolerance": tolerance, "max_iterations": 2000}
    expected, found = solve(cost, **options), in_rounds(monkeypatch, cost, **options)
    assert expected.converged.all()
    assert found.converged.all()
    assert found.marginal_error.max() <= tolerance
    torch.testing.assert_close(found.objective, expected.objective, rtol=1e-9, atol=0)
    torch.testing.assert_close(found.plan, expected.plan, rtol=0, atol=1e-6)
    if tolerance == 1e-6:
        assert torch.equal(found.iterations, expected.iterations)


def test_given_marginals_and_a_limit_of_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = random_cost(1, n=6, m=5)
    p, q = torch.arange(1.0, 7) / 21, torch.arange(1.0, 6) / 15
    for limit in (1, 2, 5):
        options: dict[str, Any] = {**PAPER, "r": 0.2, "p": p, "q": q, "max_iterations": limit}
        expected, found = solve(cost, **options), in_rounds(monkeypatch, cost, **options)
        assert torch.equal(found.iterations, expected.iterations)
        torch.testing.assert_close(found.objective, expected.objective, rtol=1e-6, atol=0)
        torch.testing.assert_close(found.plan, expected.plan, rtol=0, atol=1e-6)


def test_pairs_stop_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pair gets the same plan whoever is beside it: what has converged is frozen."""
    cost = random_cost(2)
    together = in_rounds(monkeypatch, cost, **PAPER, r=0.1)
    assert len(set(together.iterations.tolist())) > 1
    for b in range(len(cost)):
        alone = in_rounds(monkeypatch, cost[b : b + 1].expand(4, -1, -1), **PAPER, r=0.1)
        assert torch.equal(alone.iterations, together.iterations[b].expand(4))
        torch.testing.assert_close(alone.plan[0], together.plan[b], rtol=1e-12, atol=0)


def halve(constants: Sequence[Tensor], values: Sequence[Tensor]) -> Sequence[Tensor]:
    value, count, running = values
    value = torch.where(running, value / 2, value)
    return value, count + running, value > constants[0]


@pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param(
            "cuda",
            marks=[
                pytest.mark.gpu,
                pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine"),
            ],
        ),
    ],
)
def test_repeated_ends_with_the_last_problem_or_the_last_round(device: str) -> None:
    limit = torch.tensor(1.0, device=device)
    start = torch.tensor([1.5, 8.0, 100.0], device=device)
    values = (start, torch.zeros(3, device=device), torch.ones(3, dtype=torch.bool, device=device))
    repeated = Repeated(halve, (limit,), values)
    value, count, running = repeated((limit,), values, 100)
    assert value.tolist() == [0.75, 1.0, 0.78125]
    assert count.tolist() == [1, 3, 7]
    assert not running.any()
    value, count, running = repeated((2 * limit,), values, 2)
    assert value.tolist() == [0.75, 2.0, 25.0]
    assert count.tolist() == [1, 2, 2]
    assert running.tolist() == [False, False, True]
    assert start.tolist() == [1.5, 8.0, 100.0]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
@pytest.mark.parametrize("r", [0.02, 0.1])
def test_captured_rounds_give_the_plan_of_the_cpu(r: float) -> None:
    assert random_cost(0).numel() <= MAX_ENTRIES
    for seed in (3, 4):  # the second solve replays the graph of the first
        cost = random_cost(seed, n=33, m=33)
        expected = solve(cost, **PAPER, r=r, tolerance=1e-12, max_iterations=2000)
        found = solve(cost.cuda(), **PAPER, r=r, tolerance=1e-12, max_iterations=2000)
        torch.testing.assert_close(found.objective.cpu(), expected.objective, rtol=1e-9, atol=0)
        torch.testing.assert_close(found.plan.cpu(), expected.plan, rtol=0, atol=1e-6)
