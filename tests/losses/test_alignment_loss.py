from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from torch import Tensor
from with_defaults import align_frames

from rgwot.losses import cross_entropy

alignment_loss = partial(cross_entropy.alignment_loss, tau=0.1, symmetric=False)


def pair(seed: int = 0, batch: int = 3, n: int = 6, m: int = 4) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x, y = (torch.randn(batch, size, 5, dtype=torch.float64, generator=generator) for size in (n, m))
    plan = torch.rand(batch, n, m, dtype=torch.float64, generator=generator)
    normalise = torch.nn.functional.normalize
    return normalise(x, dim=2), normalise(y, dim=2), plan / plan.sum(2, keepdim=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_oracle_of_three_one_hot_frames(dtype: torch.dtype) -> None:
    x = torch.eye(3, dtype=dtype)[None]
    loss = alignment_loss(x, x, align_frames(x, x, solver="parity").weights)
    # The value in 40-digit arithmetic is 2.4658240601e-4; in float32, log P near P = 1 has an absolute error of 6e-8.
    assert loss.item() == pytest.approx(2.46583e-4, abs=1e-9 if dtype == torch.float64 else 1e-7)
    if dtype == torch.float64:
        assert loss.item() == pytest.approx(2.4658240601e-4, rel=1e-10)


def test_formula_pair_by_pair() -> None:
    x, y, plan = pair()
    loss = alignment_loss(x, y, plan, tau=0.2)
    for b in range(3):
        p = torch.softmax(x[b] @ y[b].T / 0.2, 1)
        assert loss[b].item() == pytest.approx((-(plan[b] * torch.log(p + 1e-11)).sum() / 6).item(), rel=1e-12)


def test_symmetric_is_the_mean_of_both_directions() -> None:
    x, y, plan = pair(1)
    both = alignment_loss(x, y, plan, symmetric=True)
    back = alignment_loss(y, x, plan.transpose(1, 2)) * 4 / 6
    torch.testing.assert_close(both, (alignment_loss(x, y, plan) + back) / 2)


def test_collapsed_embeddings_cost_log_m() -> None:
    _, _, plan = pair()
    x, y = torch.ones(3, 6, 5), torch.ones(3, 4, 5)
    torch.testing.assert_close(alignment_loss(x, y, plan.float()), torch.full((3,), math.log(4)))


def test_hopeless_matches_are_capped() -> None:
    x = torch.eye(2)[None]
    loss = alignment_loss(x, -x, torch.eye(2)[None], tau=1e-3)
    assert loss.item() == pytest.approx(-math.log(1e-11), rel=1e-6)


@pytest.mark.parametrize("symmetric", [False, True])
def test_gradient(symmetric: bool) -> None:
    x, y, plan = pair(2, batch=2, n=4, m=3)
    assert torch.autograd.gradcheck(
        lambda x, y: alignment_loss(x, y, plan, tau=0.3, symmetric=symmetric), (x.requires_grad_(), y.requires_grad_())
    )
    plan.requires_grad_()
    alignment_loss(x, y, plan).sum().backward()
    assert plan.grad is None


def test_autocast_does_not_lower_the_precision() -> None:
    x, y, plan = (value.float() for value in pair(3))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = alignment_loss(x, y, plan)
    assert inside.dtype == torch.float32
    torch.testing.assert_close(inside, alignment_loss(x, y, plan), rtol=0, atol=0)
    half = alignment_loss(x.bfloat16(), y.bfloat16(), plan)
    assert half.dtype == torch.float32
    torch.testing.assert_close(half, inside, rtol=0.05, atol=0)


def test_mistakes_are_refused() -> None:
    x, y, plan = pair()
    with pytest.raises(ValueError, match=r"found \(3, 6, 5\), \(3, 4, 5\), \(3, 4, 6\)"):
        alignment_loss(x, y, plan.transpose(1, 2))
