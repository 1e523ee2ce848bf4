from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from loss_helpers import descent
from torch import Tensor

from rgwot.losses import gtcc
from rgwot.losses.gtcc import PASSES, DropFunction, multi_cycle_error, responsibilities
from rgwot.losses.tcc import matches, tcc_loss

gtcc_loss = partial(gtcc.gtcc_loss, components=3, eta=1.0, tau=0.1, lambda_v=1e-3)


def pair(seed: int = 0, batch: int = 2, n: int = 6, m: int = 5, dim: int = 3) -> tuple[Tensor, ...]:
    """Embeddings, times and log keep of both videos, in the order that `gtcc_loss` takes them."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.rand(*shape, dtype=torch.float64, generator=generator)

    x, y = draw(batch, n, dim) - 0.5, draw(batch, m, dim) - 0.5
    return x, y, draw(batch, n).sort(1)[0], draw(batch, m).sort(1)[0], -draw(batch, n), -draw(batch, m)


def fitted(match: list[float], times: list[float], components: int) -> list[list[float]]:
    """Responsibilities of a mixture of Gaussians fitted to one weighted sample, one term at a time."""
    mean = [(k + 0.5) / components for k in range(components)]
    variance = [(0.5 / components) ** 2] * components
    share = [1 / components] * components
    least = (0.5 / len(times)) ** 2
    for last in range(PASSES + 1):
        parts = []
        for time in times:
            density = [
                share[k] * math.exp(-((time - mean[k]) ** 2) / (2 * variance[k])) / math.sqrt(variance[k])
                for k in range(components)
            ]
            parts.append([value / sum(density) for value in density])
        if last == PASSES:
            break
        for k in range(components):
            share[k] = sum(a * part[k] for a, part in zip(match, parts, strict=True))
            mean[k] = sum(a * part[k] * time for a, part, time in zip(match, parts, times, strict=True)) / share[k]
            variance[k] = least + (
                sum(a * part[k] * (time - mean[k]) ** 2 for a, part, time in zip(match, parts, times, strict=True))
                / share[k]
            )
    return parts


def written_out(x: Tensor, y: Tensor, x_times: Tensor, y_times: Tensor, *keep: Tensor, components: int) -> float:
    """One pair; neighbours, ways back and keeping one frame and one component at a time."""
    eta, tau, lambda_v = 0.7, 0.2, 0.3
    directions = []
    for u, v, own, other, log_keep in ((x, y, x_times, y_times, keep[0]), (y, x, y_times, x_times, keep[1])):
        scale = u.shape[1] * tau
        total = 0.0
        for i in range(len(u)):
            match = torch.softmax(-((u[i] - v) ** 2).sum(1) / scale, 0)
            parts = fitted(match.tolist(), other.tolist(), components)
            error = 0.0
            for k in range(components):
                share = sum(match[j].item() * parts[j][k] for j in range(len(v)))
                neighbour = sum(match[j].item() * parts[j][k] / share * v[j] for j in range(len(v)))
                back = torch.softmax(-((neighbour - u) ** 2).sum(1) / scale, 0)
                mean = (back * own).sum()
                variance = (back * (own - mean) ** 2).sum()
                error += share * ((own[i] - mean) ** 2 / variance + lambda_v * variance.log()).item()
            total += math.exp(log_keep[i].item()) * error - eta * log_keep[i].item()
        directions.append(total / len(u))
    return sum(directions) / 2


@pytest.mark.parametrize("components", [1, 2, 3])
def test_against_loops(components: int) -> None:
    batch = pair()
    loss = gtcc_loss(*batch, components=components, eta=0.7, tau=0.2, lambda_v=0.3)
    for p in range(2):
        expected = written_out(*(value[p] for value in batch), components=components)
        assert loss[p].item() == pytest.approx(expected, rel=1e-9)


def test_one_component_and_nothing_dropped_is_tcc() -> None:
    x, y, x_times, y_times, *_ = pair(1)
    loss = gtcc_loss(x, y, x_times, y_times, torch.zeros(2, 6), torch.zeros(2, 5), components=1)
    torch.testing.assert_close(loss, tcc_loss(x, y, x_times, y_times, tau=0.1, lambda_v=1e-3))


def test_two_places_become_two_components() -> None:
    times = torch.arange(10, dtype=torch.float64)[None] / 10
    match = torch.zeros(1, 1, 10, dtype=torch.float64)
    match[0, 0, [1, 2]] = 0.35
    match[0, 0, [7, 8]] = 0.15
    parts = responsibilities(match, times, 2)
    torch.testing.assert_close(parts.sum(3), torch.ones(1, 1, 10, dtype=torch.float64))
    held = (match[..., None] * parts)[0, 0]
    torch.testing.assert_close(held.sum(0), torch.tensor([0.7, 0.3], dtype=torch.float64), rtol=0, atol=1e-3)
    assert parts[0, 0, 1, 0] > 0.999
    assert parts[0, 0, 8, 1] > 0.999
    one_hot = responsibilities(torch.eye(10, dtype=torch.float64)[None], times, 4)
    assert one_hot.isfinite().all()


def test_gradient() -> None:
    x, y, x_times, y_times, x_keep, y_keep = pair(2, n=4, m=3)
    inputs = tuple(value.requires_grad_() for value in (x, y, x_keep, y_keep))

    def with_one(x: Tensor, y: Tensor, x_keep: Tensor, y_keep: Tensor) -> Tensor:
        return gtcc_loss(x, y, x_times, y_times, x_keep, y_keep, components=1, tau=0.3)

    assert torch.autograd.gradcheck(with_one, inputs)
    parts = responsibilities(matches(x.detach(), y.detach(), 0.3), y_times, 3)

    def with_three(x: Tensor, y: Tensor) -> Tensor:
        return multi_cycle_error(x, y, x_times, parts, 0.3, 0.1)

    assert torch.autograd.gradcheck(with_three, (x, y))


def test_gradient_takes_the_components_as_given() -> None:
    x, y, x_times, y_times, x_keep, y_keep = pair(3)
    x.requires_grad_()
    loss = gtcc_loss(x, y, x_times, y_times, x_keep, y_keep, tau=0.3, lambda_v=0.1)
    (gradient,) = torch.autograd.grad(loss.sum(), x)
    there, back = (
        responsibilities(matches(u, v, 0.3), times, 3)
        for u, v, times in ((x.detach(), y, y_times), (y, x.detach(), x_times))
    )
    fixed = (x_keep.exp() * multi_cycle_error(x, y, x_times, there, 0.3, 0.1) - x_keep).mean(1)
    fixed = fixed + (y_keep.exp() * multi_cycle_error(y, x, y_times, back, 0.3, 0.1) - y_keep).mean(1)
    torch.testing.assert_close(loss, fixed / 2)
    torch.testing.assert_close(gradient, torch.autograd.grad(fixed.sum() / 2, x)[0])


def test_the_best_keep_is_the_price_over_the_error() -> None:
    x, y, x_times, y_times, _, y_keep = pair(4)
    parts = responsibilities(matches(x, y, 0.1), y_times, 3)
    error = multi_cycle_error(x, y, x_times, parts, 0.1, 1e-3)
    eta = 0.5 * error.min().item()
    assert eta > 0
    keep = (eta / error).log().requires_grad_()
    loss = gtcc_loss(x, y, x_times, y_times, keep, y_keep, eta=eta)
    (gradient,) = torch.autograd.grad(loss.sum(), keep)
    torch.testing.assert_close(gradient, torch.zeros_like(gradient))
    # Frames whose cycles are cheaper than the price gain by being kept more.
    whole = torch.zeros_like(keep).requires_grad_()
    loss = gtcc_loss(x, y, x_times, y_times, whole, y_keep, eta=2 * error.max().item())
    assert (torch.autograd.grad(loss.sum(), whole)[0] < 0).all()


def test_drop_function_finds_the_frames_without_a_partner() -> None:
    # Two videos of five steps; in both every other frame is background, far away and the same at all times, so that
    # its cycle cannot come back to its own time.
    steps = 4 * torch.eye(5, 6, dtype=torch.float64)
    video = torch.cat([steps, 4 * torch.eye(6, dtype=torch.float64)[5:].expand(5, 6)])
    order = torch.arange(10).view(2, 5).T.flatten()
    video = video[order][None]
    times = torch.arange(10, dtype=torch.float64)[None] / 10
    background = order >= 5
    torch.manual_seed(0)
    keep = DropFunction(6)
    optimiser = torch.optim.Adam(keep.parameters(), lr=0.02)
    first = keep(video, video)
    assert ((first.exp() > 0.7) & (first < 0)).all()
    for _ in range(60):
        log_keep = keep(video, video)
        loss = gtcc_loss(video, video, times, times, log_keep, log_keep, eta=0.5).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    kept = keep(video, video).exp()[0]
    assert kept[background].max() < 0.8 * kept[~background].min()
    torch.testing.assert_close(keep(3 * video, 3 * video)[0].exp(), kept, rtol=1e-2, atol=0)


def test_a_few_steps_lower_it() -> None:
    times = (torch.arange(12, dtype=torch.float64) / 12)[None]
    kept = torch.full_like(times, -0.1)
    values = descent(lambda x, y: gtcc_loss(x, y, times, times, kept, kept))
    assert values[-1] < 0.7 * values[0]


def test_pairs_do_not_mix() -> None:
    batch = pair(5, batch=3)
    one_by_one = [gtcc_loss(*(value[p : p + 1] for value in batch)) for p in range(3)]
    torch.testing.assert_close(gtcc_loss(*batch), torch.cat(one_by_one))
    x, y, x_times, y_times, x_keep, y_keep = batch
    torch.testing.assert_close(gtcc_loss(y, x, y_times, x_times, y_keep, x_keep), gtcc_loss(*batch))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_finite_at_any_scale(scale: float) -> None:
    x, y, *rest = (value.float() for value in pair(6))
    x = (scale * x).requires_grad_()
    loss = gtcc_loss(x, scale * y, *rest)
    assert loss.isfinite().all()
    assert torch.autograd.grad(loss.sum(), x)[0].isfinite().all()


def test_autocast_does_not_lower_the_precision() -> None:
    batch = tuple(value.float() for value in pair(7))
    keep = DropFunction(3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside, kept = gtcc_loss(*batch), keep(batch[0], batch[1])
    assert inside.dtype == kept.dtype == torch.float32
    assert torch.equal(inside, gtcc_loss(*batch))
    assert torch.equal(kept, keep(batch[0], batch[1]))


def test_mistakes_are_told() -> None:
    x, y, x_times, y_times, x_keep, y_keep = pair()
    with pytest.raises(ValueError, match=r"log_keep: found \(2, 5\), \(2, 6\), expected \(2, 6\), \(2, 5\)"):
        gtcc_loss(x, y, x_times, y_times, y_keep, x_keep)
    with pytest.raises(ValueError, match="components: found 0"):
        gtcc_loss(x, y, x_times, y_times, x_keep, y_keep, components=0)
    with pytest.raises(ValueError, match="eta: found -1"):
        gtcc_loss(x, y, x_times, y_times, x_keep, y_keep, eta=-1)
