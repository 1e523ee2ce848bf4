"""GTCC, compared with loops over anchors, Gaussians and frames; fits, compared with PyTorch's; windows and draws."""

from __future__ import annotations

import importlib
import math

import gtcc
import numpy as np
import pytest
import torch
from gtcc import (
    Draw,
    DropFunction,
    Gtcc,
    Mixtures,
    align_gtcc,
    cycle_errors,
    draw,
    fit_mixtures,
    windows,
)
from torch import Tensor, nn

from rgwot.losses.interface import PairBatch


def gtcc_loss(
    x: Tensor, y: Tensor, *given: object, components: int = 15, delta: float = 0.2, tau: float = 0.1
) -> Tensor:
    return gtcc.gtcc_loss(x, y, *given, tau, Gtcc(mixture=components, delta=delta))


def normal(seed: int, *shape: int, scale: float = 0.05) -> Tensor:
    return scale * torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def walk(seed: int, batch: int, n: int, dim: int = 8, noise: float = 0.03) -> Tensor:
    """Return videos (batch, n, dim) along one smooth path, each with its own noise."""
    when = torch.linspace(0, 3, n, dtype=torch.float64)
    path = torch.stack([torch.sin((k + 1) * when) for k in range(dim)], 1)
    return 0.2 * path + normal(seed, batch, n, dim, scale=noise)


def shares(seed: int, *shape: int) -> Tensor:
    return torch.rand(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def drawn(n: int, seed: int, batch: int = 1) -> Draw:
    return draw(n, [np.random.default_rng([seed, k]) for k in range(batch)], torch.device("cpu"))


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[Mixtures]:
    """Record the fitted mixtures; both directions are fitted separately, because the videos differ in length."""
    found: list[Mixtures] = []

    def fit(alpha: Tensor, components: int) -> Mixtures:
        found.append(fit_mixtures(alpha, components))
        return found[-1]

    monkeypatch.setattr(gtcc, "fit_mixtures", fit)
    return found


def of_pairs(fits: list[Mixtures], draws: tuple[Draw, Draw]) -> list[Mixtures]:
    """Give mixtures (P Q, K, ...) of both directions the shape (P, Q, K, ...)."""
    return [
        Mixtures(*(part.view(*one.anchors.shape, *part.shape[1:]) for part in fit))
        for fit, one in zip(fits, draws, strict=True)
    ]


def written_out(
    u: Tensor, v: Tensor, anchors: list[int], before: bool, fit: Mixtures, kept: Tensor, *, delta: float, tau: float
) -> float:
    """Return the loss of one direction of one pair, with loops over anchors, Gaussians and frames."""
    n, total, width = len(u), 0.0, round(delta * len(u))
    for q, i in enumerate(anchors):
        window = set(range(i - width, i)) if before else set(range(i, i + width))
        if i < width:
            window |= set(range(width))
        if i >= n - width:
            window |= set(range(n - width, n))
        error = 0.0
        for k in range(fit.weights.shape[1]):
            neighbour = [sum(float(fit.parts[q, k, j] * v[j, d]) for j in range(len(v))) for d in range(v.shape[1])]
            terms = {
                f: math.exp(-math.dist(neighbour, u[f].tolist()) / tau) for f in sorted(window) if 0 <= f < n
            }  # fmt: skip
            mean = sum(f * term for f, term in terms.items()) / sum(terms.values())
            error += float(fit.weights[q, k]) * (i - mean) ** 2
        share = float(kept[i])
        total += share * error + (1 - share) / max(error, 0.01)
    return total


@pytest.mark.parametrize(("components", "delta", "tau"), [(1, 0.5, 0.1), (5, 0.2, 0.3), (15, 0.34, 0.1)])
def test_against_loops(components: int, delta: float, tau: float, fits: list[Mixtures]) -> None:
    x, y = walk(0, 2, 12), walk(1, 2, 15)
    draws, kept = (drawn(12, 0, 2), drawn(15, 4, 2)), (shares(0, 2, 12), shares(1, 2, 15))
    loss = gtcc_loss(x, y, *draws, *kept, components=components, delta=delta, tau=tau)
    both = of_pairs(fits, draws)
    for p in range(2):
        expected = 0.0
        for u, v, (anchors, before), fit, share in (
            (x, y, draws[0], both[0], kept[0]),
            (y, x, draws[1], both[1], kept[1]),
        ):
            mine = Mixtures(fit.parts[p], fit.weights[p])
            expected += written_out(
                u[p], v[p], anchors[p].tolist(), bool(before[p]), mine, share[p], delta=delta, tau=tau
            )
        assert loss[p].item() == pytest.approx(expected, rel=1e-9)
    # Windows on both sides were drawn, and all frames (12 and 15) are anchors.
    assert {bool(side) for draw in draws for side in draw.before} == {False, True}
    assert draws[0].anchors.tolist() == [list(range(12))] * 2


def test_gradient_through_both_videos_with_the_mixtures_as_given(fits: list[Mixtures]) -> None:
    x, y = walk(2, 2, 7, 3), walk(3, 2, 6, 3)
    draws, kept = (drawn(7, 1, 2), drawn(6, 2, 2)), (shares(2, 2, 7), shares(3, 2, 6))
    gtcc_loss(x, y, *draws, *kept, components=3, delta=0.4)
    there, back = of_pairs(fits, draws)

    def fixed(x: Tensor, y: Tensor, x_kept: Tensor, y_kept: Tensor) -> Tensor:
        total = x.new_zeros(len(x))
        for u, v, chosen, fit, share in ((x, y, draws[0], there, x_kept), (y, x, draws[1], back, y_kept)):
            error = cycle_errors(u, v, chosen, fit, 0.4, 0.1)
            here = share.gather(1, chosen.anchors)
            total = total + (here * error + (1 - here) / error.clamp_min(0.01)).sum(1)
        return total

    inputs = tuple(value.requires_grad_() for value in (x, y, *kept))
    assert torch.autograd.gradcheck(fixed, inputs)
    loss = gtcc_loss(x, y, *draws, *kept, components=3, delta=0.4)
    torch.testing.assert_close(loss, fixed(*inputs))
    for one, other in zip(
        torch.autograd.grad(loss.sum(), inputs), torch.autograd.grad(fixed(*inputs).sum(), inputs), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_no_gradient_on_the_way_there_from_the_anchor() -> None:
    # The window of the anchor has only other frames of u, so a gradient of the anchor would come from the way there.
    u, v = walk(4, 1, 10), walk(5, 1, 10)
    chosen = Draw(torch.tensor([[5]]), torch.tensor([True]))
    fit = Mixtures(*(part[None] for part in fit_mixtures(torch.softmax(-torch.cdist(u[:, 5:6], v)[0] / 0.1, 1), 4)))
    (gradient,) = torch.autograd.grad(cycle_errors(u.requires_grad_(), v, chosen, fit, 0.3, 0.1).sum(), u)
    assert gradient[0].abs().sum(1).nonzero().flatten().tolist() == [2, 3, 4]


def test_windows_by_hand() -> None:
    anchors = torch.tensor([[0, 1, 4, 8, 9]]).expand(2, -1)
    inside = windows(10, Draw(anchors, torch.tensor([False, True])), 0.2)
    found = [[row.nonzero().flatten().tolist() for row in one] for one in inside]
    # A window has two of ten frames: the anchor and the next one, or the two before it. Near an end of the video, the
    # two frames at that end are added.
    assert found[0] == [[0, 1], [0, 1, 2], [4, 5], [8, 9], [8, 9]]
    assert found[1] == [[0, 1], [0, 1], [2, 3], [6, 7, 8, 9], [7, 8, 9]]
    assert windows(2, Draw(torch.tensor([[0, 1]]), torch.tensor([True])), 0.2).any(2).all()
    assert windows(4, Draw(anchors[:1, :3], torch.tensor([False])), 1.0).all()


def divergence(alpha: Tensor, fit: Mixtures) -> Tensor:
    g = (fit.weights[..., None] * fit.parts).sum(1)
    ratio = (alpha + 1e-30).log() - (g + 1e-30).log()
    return ((alpha - g) * ratio).sum(1)


def gaussian(mean: float, variance: float, n: int) -> Tensor:
    return torch.softmax(-((torch.arange(n, dtype=torch.float64) - mean) ** 2) / (2 * variance), 0)


def test_a_mixture_is_found_again() -> None:
    alpha = torch.stack([
        0.7 * gaussian(6, 4, 40) + 0.3 * gaussian(30, 9, 40),
        gaussian(20, 25, 40),
        0.5 * gaussian(10, 6, 40) + 0.5 * gaussian(29, 6, 40),
    ])  # fmt: skip
    fit = fit_mixtures(alpha, 5)
    torch.testing.assert_close(fit.parts.sum(2), torch.ones(3, 5, dtype=torch.float64))
    torch.testing.assert_close(fit.weights.sum(1), torch.ones(3, dtype=torch.float64))
    assert divergence(alpha, fit).max() < 0.02
    left = (fit.weights * (fit.parts[..., :18].sum(2) > 0.5)).sum(1)
    torch.testing.assert_close(left, torch.tensor([0.7, left[1].item(), 0.5], dtype=torch.float64), rtol=0, atol=0.05)


def one_at_a_time(alpha: Tensor, components: int) -> Mixtures:
    """Fit as the public code does, row by row with PyTorch's optimiser and automatic differentiation."""
    fits = []
    for row in alpha:
        n = len(row)
        mean = torch.tensor([1 + k * (n - 2) / components for k in range(components)], dtype=row.dtype)
        numbers = [mean, torch.full_like(mean, n), torch.ones_like(mean)]
        for value in numbers:
            value.requires_grad_()
        place = torch.arange(n, dtype=row.dtype)

        def mixture(numbers: list[Tensor] = numbers, place: Tensor = place) -> Mixtures:
            mean, variance, logits = numbers
            squares = (place - mean.clamp(0, len(place) - 1)[:, None]) ** 2
            density = torch.exp(-squares / (2 * variance.clamp_min(0.5)[:, None]))
            return Mixtures((density / density.sum(1, keepdim=True))[None], torch.softmax(logits, 0)[None])

        optimiser = torch.optim.LBFGS(numbers, lr=0.5, max_iter=4, history_size=10, line_search_fn="strong_wolfe")

        def closure(row: Tensor = row, optimiser: torch.optim.LBFGS = optimiser, mixture=mixture) -> Tensor:
            optimiser.zero_grad()
            value = divergence(row[None], mixture()).sum()
            value.backward()
            return value

        for _ in range(8):
            optimiser.step(closure)
        fits.append([part.detach() for part in mixture()])
    return Mixtures(*(torch.cat(parts) for parts in zip(*fits, strict=True)))


@pytest.fixture
def whole_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the bound that newer versions of PyTorch put on the line search."""
    optimiser = importlib.import_module("torch.optim.lbfgs")
    search = optimiser._strong_wolfe
    monkeypatch.setattr(optimiser, "_strong_wolfe", lambda *values, max_ls=25, **options: search(*values, **options))


@pytest.mark.parametrize(("n", "components"), [(32, 5), (32, 15), (50, 15)])
def test_the_fit_ends_where_one_distribution_at_a_time_does(n: int, components: int, whole_searches: None) -> None:
    u, v = walk(6, 1, n)[0], walk(7, 1, n)[0]
    alpha = torch.softmax(-torch.cdist(u, v) / 0.1, 1)[:: n // 8]
    mine, theirs = (divergence(alpha, fit(alpha, components)) for fit in (fit_mixtures, one_at_a_time))
    torch.testing.assert_close(mine, theirs, rtol=1e-2, atol=1e-4)


def gradient_of(x: Tensor, y: Tensor, draws: tuple[Draw, Draw]) -> Tensor:
    inputs = x.clone().requires_grad_(), y.clone().requires_grad_()
    everything = [torch.ones(1, x.shape[1], dtype=torch.float64)] * 2
    found = torch.autograd.grad(gtcc_loss(*inputs, *draws, *everything).sum(), inputs)
    return torch.cat([one.flatten() for one in found])


def test_gradients_with_either_fit_agree(whole_searches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = walk(22, 1, 10, 32, 0.1), walk(42, 1, 10, 32, 0.1)
    draws = (drawn(10, 0), drawn(10, 1))
    mine = gradient_of(x, y, draws)
    monkeypatch.setattr(gtcc, "fit_mixtures", one_at_a_time)
    assert torch.cosine_similarity(mine, gradient_of(x, y, draws), dim=0) > 0.99


def test_fits_to_one_frame_and_to_nothing_in_particular_are_finite() -> None:
    for n in (1, 2, 9):
        alpha = torch.cat([torch.eye(n), torch.full((1, n), 1 / n)])
        fit = fit_mixtures(alpha, 15)
        assert fit.parts.shape == (n + 1, 15, n)
        assert fit.parts.isfinite().all()
        assert fit.weights.isfinite().all()


def test_draws() -> None:
    windows = drawn(32, 0, 60)
    assert windows.anchors.shape == (60, 20)
    assert (windows.anchors.diff(dim=1) > 0).all()
    assert sorted(set(windows.anchors.flatten().tolist())) == list(range(32))
    assert 15 < int(windows.before.sum()) < 45
    assert drawn(5, 0).anchors.tolist() == [[0, 1, 2, 3, 4]]
    torch.testing.assert_close(drawn(32, 0, 60).anchors, windows.anchors)


def batch_of(x: Tensor, y: Tensor, seed: int = 0, iteration: int = 0, planned: int = 10_000) -> PairBatch:
    P, N, D = x.shape
    times, lengths = torch.linspace(0, 1, N).double().expand(P, -1), torch.ones(P)
    torch.manual_seed(0)
    learned = DropFunction(D).double()
    return PairBatch(
        x, y, times, lengths, times, lengths, torch.arange(iteration, iteration + P), learned, planned,
        lambda i: np.random.default_rng([seed, i]),
    )  # fmt: skip


SETTINGS = Gtcc()


@pytest.mark.parametrize(("iteration", "epoch"), [(0, 0), (199, 0), (200, 1), (9_999, 49)])
def test_a_fiftieth_of_the_training_is_an_epoch(iteration: int, epoch: int) -> None:
    x, y = walk(10, 1, 24), walk(11, 1, 24)
    batch = batch_of(x, y, iteration=iteration)
    generator = np.random.default_rng([0, iteration])
    draws = [draw(24, [generator], x.device) for _ in range(2)]
    least = 0.95 ** (epoch + 1)
    kept = [least + (1 - least) * torch.sigmoid(batch.learned(*pair)) for pair in ((x, y), (y, x))]
    torch.testing.assert_close(align_gtcc(batch, SETTINGS), gtcc_loss(x, y, *draws, *kept))


def test_nothing_is_dropped_where_all_of_a_frame_is_kept() -> None:
    x, y = walk(12, 1, 24), walk(13, 1, 24)
    everything = Gtcc(keep=1.0)
    batch = batch_of(x, y)
    loss = align_gtcc(batch, everything)
    for value in batch.learned.parameters():
        nn.init.normal_(value)
    assert torch.equal(align_gtcc(batch, everything), loss)
    assert not torch.equal(align_gtcc(batch, SETTINGS), loss)


def test_drop_function_by_hand() -> None:
    torch.manual_seed(3)
    score = DropFunction(4).double()
    sizes = [tuple(layer.weight.shape) for layer in score.network if isinstance(layer, nn.Linear)]
    assert sizes == [(256, 4), (1024, 256), (512, 1024), (256, 512), (5, 256)]
    frames, other = normal(14, 2, 6, 4), normal(15, 2, 9, 4)
    found = score(frames, other)
    for p in range(2):
        numbers = score.network(other[p]).mean(0)
        scores = np.array([(frames[p, i] @ numbers[:4] + numbers[4]).item() for i in range(6)])
        expected = (scores - scores.mean()) / scores.std(ddof=1)
        np.testing.assert_allclose(found[p].detach().numpy(), expected, rtol=1e-9)
    # Identical frames have score 0 and a finite gradient.
    same = frames[:, :1].expand(-1, 6, -1).clone().requires_grad_()
    scores = score(same, other)
    assert not scores.any()
    assert torch.autograd.grad(scores.sum(), same)[0].isfinite().all()


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_finite_at_any_scale(scale: float) -> None:
    x = (scale * walk(18, 1, 12).float()).requires_grad_()
    y = scale * walk(19, 1, 12).float()
    batch = batch_of(x, y)
    loss = align_gtcc(batch, SETTINGS)
    assert loss.dtype == torch.float32
    assert loss.isfinite().all()
    assert torch.autograd.grad(loss.sum(), x)[0].isfinite().all()


def test_a_cycle_that_comes_back_exactly_is_finite() -> None:
    x = (1e3 * torch.eye(10)[None]).requires_grad_()
    kept = shares(6, 1, 10).float()
    loss = gtcc_loss(x, x.detach(), *[Draw(torch.tensor([[4]]), torch.tensor([False]))] * 2, kept, kept)
    torch.testing.assert_close(loss, 2 * 100 * (1 - kept[:, 4]), rtol=1e-5, atol=0)
    assert torch.autograd.grad(loss.sum(), x)[0].isfinite().all()
