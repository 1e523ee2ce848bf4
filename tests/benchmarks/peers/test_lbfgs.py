"""L-BFGS on many problems at once, compared with PyTorch's on one problem at a time."""

from __future__ import annotations

import importlib

import pytest
import torch
from gtcc import minimise
from torch import Tensor


def valley(x: Tensor, steepness: Tensor) -> Tensor:
    """Rosenbrock's function (R,) of pairs (R, 2), minimum 0 at (1, 1)."""
    return steepness * (x[:, 1] - x[:, 0] ** 2) ** 2 + (1 - x[:, 0]) ** 2


def differentiated(function):
    def objective(x: Tensor) -> tuple[Tensor, Tensor]:
        x = x.detach().requires_grad_()
        value = function(x)
        (gradient,) = torch.autograd.grad(value.sum(), x)
        return value.detach(), gradient

    return objective


STARTS = torch.tensor([[-1.2, 1.0], [0.0, 0.0], [3.0, -2.0], [1.0, 1.0], [-30.0, 40.0]], dtype=torch.float64)
STEEP = torch.tensor([100.0, 10.0, 1.0, 100.0, 5.0], dtype=torch.float64)


def test_valleys_are_followed_to_their_end() -> None:
    solution = minimise(differentiated(lambda x: valley(x, STEEP)), STARTS, steps=40, iterations=4, rate=1.0)
    torch.testing.assert_close(solution, torch.ones_like(STARTS), rtol=0, atol=1e-4)


@pytest.mark.parametrize("steps", [1, 2, 4])
@pytest.mark.parametrize("row", range(5))
def test_steps_are_those_of_pytorch(steps: int, row: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Newer versions of PyTorch end a line search when its step has no evaluations left; remove this bound.
    module = importlib.import_module("torch.optim.lbfgs")
    search = module._strong_wolfe
    monkeypatch.setattr(module, "_strong_wolfe", lambda *values, max_ls=25, **options: search(*values, **options))
    solution = minimise(differentiated(lambda x: valley(x, STEEP)), STARTS, steps=steps, iterations=4, rate=0.5)
    x = STARTS[row : row + 1].clone().requires_grad_()
    optimiser = torch.optim.LBFGS([x], lr=0.5, max_iter=4, line_search_fn="strong_wolfe", history_size=10)

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = valley(x, STEEP[row : row + 1]).sum()
        value.backward()
        return value

    for _ in range(steps):
        optimiser.step(closure)
    torch.testing.assert_close(solution[row : row + 1], x.detach(), rtol=1e-5, atol=1e-7)


def test_rows_do_not_mix_and_a_row_at_its_minimum_stays() -> None:
    whole = minimise(differentiated(lambda x: valley(x, STEEP)), STARTS, steps=3, iterations=4, rate=0.5)
    for row in range(len(STARTS)):
        steep = STEEP[row : row + 1]
        alone = minimise(
            differentiated(lambda x, steep=steep: valley(x, steep)),
            STARTS[row : row + 1],
            steps=3,
            iterations=4,
            rate=0.5,
        )
        torch.testing.assert_close(alone[0], whole[row], rtol=1e-12, atol=0)
    assert whole[3].tolist() == [1.0, 1.0]
