"""ASOT and VASOT: the loss of a step, learned key steps, and labels of degenerate videos (peers 2 and 3)."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from asot import (
    TEMPERATURE,
    Asot,
    Weights,
    draw_frames,
    first_centres,
    learn,
    padded,
    radius,
    segmentation_cost,
    segmentation_losses,
    solve_segmentation,
    split_videos,
    steps,
)
from decoder_task import task
from vasot import align
from with_defaults import decode_by, predict_by

from rgwot.config.configuration import Config
from rgwot.config.experiments import Experiments
from rgwot.keysteps.interface import Frames
from rgwot.runtime.errors import RgwotError

BOTH = ("asot", "vasot")
LEARNED = (*BOTH, "hvq")


def quick() -> dict[str, float]:
    return {"asot.epochs": 3, "hvq.epochs": 2}


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


@pytest.mark.parametrize("name", LEARNED)
def test_steps_in_any_order_are_found_together_and_in_new_videos(name: str) -> None:
    frames, truth = task(noise=0.1 if name == "hvq" else 0.5)
    decoded = decode_by(name, frames, 4, {}, np.random.default_rng(name == "hvq"))
    assert same_partition(truth, decoded.labels)
    facts = decoded.facts[name]
    # The alignment loss may rise: its plans sharpen with the embedding.
    assert name == "vasot" or facts.loss_last < facts.loss_first
    predict = predict_by(name, decoded, 4, {})
    swapped = Frames(np.concatenate([frames.x[96:144], frames.x[:48]]), (48, 48), 2.0)
    np.testing.assert_array_equal(predict(swapped).labels, np.r_[decoded.labels[96:144], decoded.labels[:48]])
    if name in BOTH:
        assert facts.key_steps == 4
        assert sum(facts.shares) == pytest.approx(1)
        assert 0 <= facts.residual < 1
        np.testing.assert_allclose(decoded.memberships.sum(axis=1), 1, atol=1e-9)


def test_the_loss_is_the_cross_entropy_with_a_constant_plan() -> None:
    f, centres = unit_vectors(2, 30, 5), unit_vectors(3, 5, seed=1)
    block = Asot()
    weights = {"alpha": block.alpha, "r": 0.04, "epsilon": block.epsilon, "lambda_": block.lambda_}
    plan = solve_segmentation(segmentation_cost(f, centres, block.rho), Weights(**weights), 25).exp()
    f.requires_grad_()
    centres.requires_grad_()
    (found,) = segmentation_losses([f], centres, block)
    p = torch.exp(f @ centres.T / TEMPERATURE)
    p = p / p.sum(2, keepdim=True)
    target = 30 * plan
    torch.testing.assert_close(found, -(target * p.log()).sum(2).mean(1))
    # With N T constant, the gradient of the logits is (p - N T) / N.
    (gradient,) = torch.autograd.grad(found.sum(), f)
    torch.testing.assert_close(gradient, (p - target) / 30 @ centres / TEMPERATURE)


def test_frames_are_drawn_in_order_one_from_each_part() -> None:
    rng = np.random.default_rng(0)
    assert draw_frames(5, 8, rng).tolist() == [0, 1, 2, 3, 4]
    found = np.stack([draw_frames(23, 4, rng) for _ in range(200)])
    borders = [0, 5, 11, 17, 23]
    for part in range(4):
        assert set(found[:, part].tolist()) == set(range(borders[part], borders[part + 1]))
    # The released code draws between the integers of linspace(0, T - 1, N + 1), so it never draws the last frame.
    found = np.stack([draw_frames(23, 4, rng, last=False) for _ in range(200)])
    borders = np.linspace(0, 22, 5).astype(int)
    for part in range(4):
        assert set(found[:, part].tolist()) == set(range(borders[part], borders[part + 1]))


def test_a_radius_reaches_a_neighbour() -> None:
    assert (radius(100, 0.04), radius(25, 0.04), radius(24, 0.04), radius(1, 0.04)) == (0.04, 0.04, 1 / 24, 1.0)


def test_centres_begin_at_the_directions_of_k_means() -> None:
    angles = np.deg2rad([0, 2, 90, 92, 200, 202, 202])
    f = torch.from_numpy(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    centres = first_centres(f, 3, np.random.default_rng(0))
    degrees = torch.rad2deg(torch.atan2(centres[:, 1], centres[:, 0])) % 360
    assert sorted(degrees.tolist()) == pytest.approx([1, 91, 200 + 4 / 3], abs=1e-3)
    assert len(first_centres(f, 7, np.random.default_rng(0))) == 6
    rounding = f[:1].float().repeat(9, 1) + 1e-7 * torch.randn(9, 2, generator=torch.Generator().manual_seed(0))
    assert len(first_centres(rounding, 3, np.random.default_rng(0))) == 1


@pytest.mark.parametrize("name", LEARNED)
def test_a_generator_decides_everything_whatever_the_number_of_threads(name: str) -> None:
    frames, _ = task(noise=1.5)
    threads, state = torch.get_num_threads(), torch.random.get_rng_state()
    actual = []
    for number, seed in ((1, 0), (2, 0), (1, 1)):
        torch.set_num_threads(number)
        actual.append(decode_by(name, frames, 4, quick(), np.random.default_rng(seed)))
        assert torch.get_num_threads() == number
    torch.set_num_threads(threads)
    assert torch.equal(torch.random.get_rng_state(), state)
    np.testing.assert_array_equal(actual[0].labels, actual[1].labels)
    np.testing.assert_array_equal(actual[0].memberships, actual[1].memberships)
    assert actual[0].facts == actual[1].facts
    assert actual[0].facts != actual[2].facts


def test_a_single_video_has_nothing_to_be_aligned_with() -> None:
    frames, _ = task(noise=1.5)
    one = Frames(frames.x[:48], (48,), 2.0)
    asot, vasot = (decode_by(name, one, 4, quick(), np.random.default_rng(3)) for name in BOTH)
    assert asot.facts["asot"] == vasot.facts["vasot"]
    np.testing.assert_array_equal(asot.labels, vasot.labels)
    # VASOT also equals ASOT if the weight beta is 0; otherwise the other videos matter.
    none = {**quick(), "vasot.beta": 0.0}
    asot, vasot = (decode_by(name, frames, 4, none, np.random.default_rng(3)) for name in BOTH)
    assert asot.facts["asot"] == vasot.facts["vasot"]
    aligned = decode_by("vasot", frames, 4, quick(), np.random.default_rng(3))
    assert aligned.facts["vasot"] != vasot.facts["vasot"]


def test_a_step_of_pairs_adds_the_loss_that_they_share() -> None:
    frames, _ = task(noise=1.0)
    two = Frames(frames.x[:96], (48, 48), 2.0)
    block = Asot(epochs=1, lr=1e-12)
    _, (with_pair,) = learn(two, 4, block, np.random.default_rng(0), lambda x, y: 3 + 0 * (x.sum() + y.sum()))
    _, (without,) = learn(two, 4, block, np.random.default_rng(0))
    # With pairs, an epoch has two steps of both videos instead of one.
    assert with_pair == pytest.approx(2 * without + 3, rel=1e-5)


def test_an_epoch_of_pairs_shows_every_video_with_another_one() -> None:
    rng = np.random.default_rng(0)
    partners = set()
    for _ in range(60):
        found = steps(3, True, rng)
        assert sorted(video for video, _ in found) == [0, 1, 2]
        partners |= {(video, other) for video, other in found}
    assert partners == {(x, y) for x in range(3) for y in range(3) if x != y}
    assert sorted(map(len, steps(5, False, rng))) == [1, 2, 2]
    assert steps(1, True, rng) == [[0]]


def unit_vectors(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(torch.randn(shape, generator=generator, dtype=torch.float64), dim=-1)


def dense_band(n: int, reach: int) -> torch.Tensor:
    apart = (torch.arange(n)[:, None] - torch.arange(n)).abs()
    return ((apart > 0) & (apart <= reach)).double()


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("capped", [True, False])
def test_a_padded_video_has_no_mass_after_its_own_frames(shared: bool, capped: bool) -> None:
    """Compare with dense, masked matrices over all N frames; if ``shared``, the batch has one step size."""
    N, K, block = 64, 3, Asot(N=64, pad=True, r=0.05, capped=capped)
    # Frames and centres are near each other, so that gradients are small and step sizes large.
    toward = torch.nn.functional.one_hot(torch.tensor(0), 5)
    lengths = (56, 64)
    centres, *videos = (
        torch.nn.functional.normalize(unit_vectors(n, 5, seed=n) + 2 * toward, dim=-1) for n in (3, *lengths)
    )
    band, batch = dense_band(N, 3) / block.r, []
    for f in videos:
        n = len(f)
        real = (torch.arange(N) < n).double()[:, None]
        whole = torch.cat([f, f[-1:].expand(N - n, 5)])
        cost = 1 - whole @ centres.T + block.rho * (torch.arange(N)[:, None] / N - torch.arange(K) / K).abs()
        batch.append((n, real, cost))

    def gradient(T: torch.Tensor, cost: torch.Tensor) -> torch.Tensor:
        actual = block.alpha * band @ (T.sum(1, keepdim=True) - T) + (1 - block.alpha) * cost
        return actual + block.epsilon * (T + 1e-12).log() + block.lambda_ * ((T.sum(0) * K).log() + 1)

    plans = [real / n / K * torch.ones(N, K) for n, real, _ in batch]
    largest = [gradient(T, cost).max() for T, (_, _, cost) in zip(plans, batch, strict=True)]
    etas = [float(4 / (max(largest) if shared else one)) for one in largest]
    cap = 1 / (block.epsilon + block.lambda_)
    assert min(etas) > cap
    assert etas[0] != etas[1] or shared
    expected = []
    for f, T, eta, (n, real, cost) in zip(videos, plans, etas, batch, strict=True):
        for _ in range(25):
            T = T * torch.exp(-(cap if capped else eta) * gradient(T, cost))
            T = real * T / T.sum(1, keepdim=True).clamp_min(1e-300) / n
        log_p = torch.log_softmax(f @ centres.T / TEMPERATURE, 1)
        expected.append(-(n * T[:n] * log_p).sum() / N)
    actual = torch.cat(segmentation_losses([f[None] for f in videos], centres, block, shared))
    torch.testing.assert_close(actual, torch.stack(expected), rtol=1e-6, atol=1e-9)
    (plain,) = segmentation_losses([videos[0][None]], centres, Asot(r=0.05, capped=capped))
    assert not torch.isclose(plain[0] * lengths[0] / N, expected[0])


def test_released_frames_are_scaled_as_drawn_with_the_copies_of_the_last() -> None:
    frames, _ = task()
    video, block = split_videos(frames)[0], Asot(N=64, pad=True, by_root=True)
    whole = np.concatenate([video, np.repeat(video[-1:], 16, axis=0)])
    expected = (whole - whole.mean(axis=0)) / whole.std(axis=0) / 4
    np.testing.assert_allclose(padded(video, block, np.random.default_rng(0)), expected, rtol=1e-4, atol=1e-5)
    drawn = padded(video, Asot(N=6, pad=True), np.random.default_rng(0))
    np.testing.assert_allclose(drawn.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(drawn.std(axis=0), 1, rtol=1e-5)


@pytest.mark.parametrize("column", ["first", "last"])
@pytest.mark.parametrize("pad", [False, True])
def test_the_alignment_is_the_25_passes_over_dense_matrices(column: str, pad: bool) -> None:
    """If the virtual column is the last, the first true frame is dropped instead of it, as in the released code."""
    n, m, block = 18, 23, Asot(N=40, pad=pad, r=0.1)
    x, y = unit_vectors(n, 4).requires_grad_(), unit_vectors(m, 4, seed=1).requires_grad_()
    N, M = (40, 40) if pad else (n, m)
    xs, ys = torch.cat([x, x[-1:].expand(N - n, 4)]).detach(), torch.cat([y, y[-1:].expand(M - m, 4)]).detach()
    cost = 1 - xs @ ys.T + block.rho * (torch.arange(N)[:, None] / N - torch.arange(M) / M).abs()
    cost = torch.cat([torch.full((1, M), 0.5), cost])
    half = torch.full((N + 1, 1), 0.5)
    cost = torch.cat([half, cost] if column == "first" else [cost, half], dim=1).double()
    # In both masks, position 0 is always allowed, and the frames follow.
    rows, columns = torch.arange(N + 1) <= n, torch.arange(M + 1) <= m
    mask = (rows[:, None] & columns).double()
    T = mask / mask.sum()
    by_x, by_y = dense_band(N + 1, int((N + 1) * 0.1)) / block.r, 1 - dense_band(M + 1, int((M + 1) * 0.1))
    for _ in range(25):
        kernel = mask * torch.exp(-((1 - block.alpha) * cost + block.alpha * by_x @ T @ by_y) / block.epsilon)
        a = torch.nan_to_num(1 / (n + 1) / kernel.sum(1), posinf=0)
        T = a[:, None] * kernel
        T = T * torch.nan_to_num(1 / (m + 1) / T.sum(0), posinf=0)
    weights = ((n + 1) * T[1:, 1:])[:n, :m]
    log_p = torch.log(torch.softmax(x @ y.T / TEMPERATURE, 1) + 1e-11)
    expected = -(weights * log_p).sum() / N
    actual = align(x, y, block, column)
    torch.testing.assert_close(actual, expected)
    for one, other in zip(torch.autograd.grad(actual, (x, y)), torch.autograd.grad(expected, (x, y)), strict=True):
        torch.testing.assert_close(one, other)


def test_variants_are_data() -> None:
    made = Experiments(Config())
    plain, asot, vasot, slip = (
        made.decoding("raw", name, "demo") for name in ("asot", "asot-released", "vasot", "vasot-released")
    )
    released = {"pad": True, "by_root": True, "capped": False}
    assert (plain.pad, plain.by_root, plain.capped) == (False, False, True)
    assert plain.model_copy(update=released).by_block() == asot.by_block()
    # The options in VASOT's run_bf.sh, and the defaults of its train.py; labelling uses the constants of training.
    published = {"alpha": 0.5, "rho": 0.2, "r": 0.04, "epsilon": 0.07, "lambda_": 0.1, "iterations": 25, "N": 256}
    published |= {"epochs": 50, "alpha_test": 0.5, "epsilon_test": 0.07, "lambda_test": 0.1, "hidden": 128, "D": 40}
    assert {name: getattr(vasot, name) for name in published} == published
    slipping = vasot.model_copy(update={**released, "start": "random", "column": "last"})
    assert slipping.by_block() == slip.by_block()
    assert (vasot.beta, vasot.column) == (1.0, "first")
    frames, _ = task()
    for decoder in (asot, slip):
        found = decoder.model_copy(update={"epochs": 2})(frames, 4, np.random.default_rng(0))
        assert set(found.labels.tolist()) <= set(range(4))


@pytest.mark.parametrize("name", LEARNED)
@pytest.mark.parametrize("K", [1, 3, 9])
@pytest.mark.parametrize(
    "x",
    [np.ones((1, 4)), np.eye(4), np.ones((30, 4)), np.zeros((5, 4)), np.repeat(np.eye(4), 8, axis=0)],
    ids=["one frame", "K larger", "constant", "zeros", "few different"],
)
def test_awkward_videos_are_labelled(name: str, K: int, x: np.ndarray) -> None:
    for lengths in ((len(x),), (len(x), len(x))):
        frames = Frames(np.tile(x, (len(lengths), 1)), lengths, 2.0)
        decoded = decode_by(name, frames, K, quick(), np.random.default_rng(0))
        assert 0 <= decoded.labels.min() <= decoded.labels.max() < K
        assert all(
            math.isfinite(getattr(decoded.facts[name], key, 0)) for key in ("loss_first", "loss_last", "residual")
        )
        if name in BOTH:
            assert np.isfinite(decoded.memberships).all()
            assert decoded.memberships.shape == (len(frames.x), K)
            assert (x != x[0]).any() or set(decoded.labels.tolist()) == {0}
        predict = predict_by(name, decoded, K, quick())
        assert set(predict(Frames(np.ones((2, 4)), (1, 1), 2.0)).labels.tolist()) <= set(range(K))


@pytest.mark.parametrize("name", ["asot", "hvq"])
def test_training_that_diverges_is_reported(name: str) -> None:
    frames, _ = task()
    with pytest.raises(RgwotError, match=f"{name}: found embeddings that are not finite.*smaller {name}.lr"):
        decode_by(name, frames, 4, {f"{name}.lr": 1e38}, np.random.default_rng(0))
