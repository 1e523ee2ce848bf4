"""The terms of VAVA and OPEL and their gradients, compared with plain loops."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from pair_batches import batch_of, pair, plain_inter
from torch import Tensor
from with_defaults import kantorovich_match

from rgwot.baselines import kantorovich
from rgwot.baselines.kantorovich import inter_video_loss, intra_video_loss, temporal_share
from rgwot.baselines.settings import Kantorovich
from rgwot.blocks import nested
from rgwot.config.methods import FAMILIES
from rgwot.embedding.settings import TrainedEncoder
from rgwot.losses.cidm import cidm_loss
from rgwot.losses.interface import PairBatch


def vava_loss(x: Tensor, y: Tensor, match: tuple[Tensor, Tensor], **changes: Any) -> Tensor:
    return kantorovich.vava_loss(x, y, *match, Kantorovich(**changes))


def mean_square(one: Tensor, two: Tensor) -> float:
    return float(((one - two) ** 2).mean())


def plain_intra(x: Tensor, window: float, weighted: bool) -> float:
    n, total = len(x), 0.0
    for i in range(n):
        for j in range(n):
            d, omega = mean_square(x[i], x[j]), (i - j) ** 2 + 1
            if abs(i - j) > window:
                total += (omega if weighted else 1) * max(0.0, 2 - d)
            else:
                total += d / omega
    return total / n**2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("window", [0, 2, 15])
def test_intra_term_by_a_double_loop(weighted: bool, window: float) -> None:
    x, _ = pair()
    loss = intra_video_loss(x, window, weighted)
    for b in range(3):
        assert loss[b].item() == pytest.approx(plain_intra(x[b], window, weighted), rel=1e-12)


def test_intra_term_of_opel_is_cidm_on_positions() -> None:
    x, _ = pair(1)
    positions = torch.arange(6.0).expand(3, -1)
    expected = cidm_loss(
        x / 5**0.5, positions, lambda_=2.0, sigma=3.0, duration=1.0, distance="squared", weight="time",
        positives="weighted",
    ) / 36  # fmt: skip
    torch.testing.assert_close(intra_video_loss(x, 3.0, True), expected)


def test_inter_term_by_hand() -> None:
    distance = torch.tensor([[[1.0, 2.0], [4.0, 0.5]]], dtype=torch.float64)
    score = torch.tensor([[[0.9, 0.1], [0.2, 0.8]]])
    # In both directions, the best matches have a mean distance of (1 + 0.5) / 2, and the worst of (2 + 4) / 2.
    assert inter_video_loss(distance, score).item() == pytest.approx(math.log1p(math.exp((1.5 - 6) / 0.5)), rel=1e-12)
    assert inter_video_loss(torch.ones(2, 3, 3), torch.rand(2, 3, 3)).tolist() == pytest.approx([math.log(2)] * 2)


@pytest.mark.parametrize("weighted", [False, True])
def test_whole_loss_by_plain_loops(weighted: bool) -> None:
    x, y = pair(2)
    match = kantorovich_match(x, y, torch.tensor([0.9, 0.5, 0.1]), zeta=0.3)
    loss = vava_loss(x, y, match, zeta=0.3, window=2, weighted_negatives=weighted, lambda_c=0.7)
    for b in range(3):
        transported = 0.0
        for i in range(7):
            for j in range(5):
                cost = 0.3 if i == 0 or j == 0 else 5 * mean_square(x[b, i - 1], y[b, j - 1])
                transported += float(match[0][b, i, j]) * cost
        distance = torch.cdist(x[b], y[b]) ** 2 / 5
        expected = (plain_intra(x[b], 2, weighted) + plain_intra(y[b], 2, weighted)) / 2
        expected += transported / (7 * 5) / (6 * 4) + 0.7 * plain_inter(distance, match[1][b])
        assert loss[b].item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_of_vava_and_opel(weighted: bool) -> None:
    """The gradient is taken with respect to the embeddings; the matching is a constant by definition."""
    x, y = pair(3, batch=2, n=5, m=4, d=3)
    match = kantorovich_match(x, y, torch.tensor([0.9, 0.5]))

    def loss(x: Tensor, y: Tensor) -> Tensor:
        # With lambda_c far above its default of 1e-4, a wrong gradient of the term between the videos is noticed.
        return vava_loss(x, y, match, window=1, weighted_negatives=weighted, lambda_c=0.5)

    assert torch.autograd.gradcheck(loss, (x.requires_grad_(), y.requires_grad_()))


def test_gradient_of_the_transported_cost() -> None:
    """Without the other terms, and times N' M' N M, the gradient is 2 T (x - y)."""
    x, y = pair(4, batch=1, n=3, m=3)
    x.requires_grad_()
    match = kantorovich_match(x.detach(), y, torch.tensor([0.9]))
    intra = sum(intra_video_loss(video, 0, False) / 2 for video in (x, y))
    loss = vava_loss(x, y, match, window=0, lambda_c=0.0) - intra
    (gradient,) = torch.autograd.grad(16 * 9 * loss.sum(), x)
    expected = 2 * (match[0][:, 1:, 1:, None] * (x[:, :, None] - y[:, None])).sum(2)
    torch.testing.assert_close(gradient, expected.detach())


def of_family(name: str, batch: PairBatch, **changes: object) -> Tensor:
    settings = TrainedEncoder.of(nested({**FAMILIES[name].sets, "loss.window": 2, **changes}))
    loss: Tensor = settings.loss(batch)
    return loss


def test_families_differ_as_described() -> None:
    """Compare VAVA and OPEL with the functions that they call, given their constants explicitly."""
    batch = batch_of(8)
    for name, changes, density, rate, first, last, weighted in [
        ("vava", {}, "gaussian", 1, 0, "rows", False),
        ("opel", {}, "laplace", 100, 1, "columns", True),
        ("opel", {"loss.prior": "gaussian"}, "gaussian", 100, 1, "columns", True),
    ]:
        phi = temporal_share(batch.iterations + first, rate)
        match = kantorovich_match(batch.x, batch.y, phi, prior=density, last=last)
        expected = vava_loss(batch.x, batch.y, match, window=2, weighted_negatives=weighted)
        torch.testing.assert_close(of_family(name, batch, **changes), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", ["vava", "opel"])
def test_the_plan_is_a_constant_of_the_loss(name: str) -> None:
    """The gradient of the whole loss equals that with the matching of the detached embeddings."""
    batch = batch_of(10)
    batch.x.requires_grad_()
    (whole,) = torch.autograd.grad(of_family(name, batch, **{"loss.lambda_c": 0.5}).sum(), batch.x)
    x = batch.x.detach()
    match = kantorovich_match(x, batch.y, temporal_share(batch.iterations, 1))
    if name == "opel":
        phi = temporal_share(batch.iterations + 1, 100)
        match = kantorovich_match(x, batch.y, phi, prior="laplace", last="columns")
    loss = vava_loss(batch.x, batch.y, match, window=2, weighted_negatives=name == "opel", lambda_c=0.5)
    torch.testing.assert_close(whole, torch.autograd.grad(loss.sum(), batch.x)[0])
