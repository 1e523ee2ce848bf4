"""ASOT and VASOT: what a step minimises, what is learned, and labels of awkward videos (methods 5.12, 5.13)."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from rgwot.baselines.asot import (
    TEMPERATURE,
    Drawn,
    draw_frames,
    embed,
    first_centres,
    learn,
    radius,
    seeded,
    segmentation_cost,
    segmentation_loss,
    solve_segmentation,
)
from rgwot.baselines.vasot import paired
from rgwot.config.methods import DECODERS
from rgwot.config.settings import AsotSettings, Settings, VasotSettings
from rgwot.keysteps.interface import Frames
from rgwot.losses.gromov_wasserstein import align_gromov_wasserstein
from rgwot.runtime.errors import RgwotError

BOTH = ("asot", "vasot")
ORDERS = ([0, 1, 2, 3], [2, 0, 3, 1], [1, 0, 2, 3], [3, 1, 2, 0])


def task(noise: float = 0.5, frames: int = 12, dimensions: int = 16) -> tuple[Frames, np.ndarray]:
    """Four videos in which four steps take turns in different orders, and what is done."""
    rng = np.random.default_rng(0)
    truth = np.concatenate([np.repeat(order, frames) for order in ORDERS])
    x = rng.normal(size=(4, dimensions))[truth] + noise * rng.normal(size=(len(truth), dimensions))
    return Frames(x, (4 * frames,) * 4, 2.0), truth


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


@pytest.mark.parametrize("name", BOTH)
def test_steps_in_any_order_are_found_together_and_alone_and_in_new_videos(name: str) -> None:
    frames, truth = task()
    made = DECODERS[name].load()(frames, 4, Settings(), np.random.default_rng(0))
    assert same_partition(truth, made.labels)
    facts = made.facts[name]
    assert facts["key_steps"] == 4
    assert facts["epochs"] == 15
    # The alignment loss may rise: its plans sharpen with the embedding.
    assert name == "vasot" or facts["loss_last"] < facts["loss_first"]
    assert sum(facts["shares"]) == pytest.approx(1)
    assert 0 <= facts["residual"] < 1
    assert made.memberships is not None
    np.testing.assert_allclose(made.memberships.sum(axis=1), 1, atol=1e-9)
    assert made.predict is not None
    swapped = Frames(np.concatenate([frames.x[96:144], frames.x[:48]]), (48, 48), 2.0)
    np.testing.assert_array_equal(made.predict(swapped).labels, np.r_[made.labels[96:144], made.labels[:48]])
    alone = DECODERS[name].load()(Frames(frames.x[:48], (48,), 2.0), 4, Settings(), np.random.default_rng(0))
    assert same_partition(truth[:48], alone.labels)


def test_the_loss_is_the_cross_entropy_with_a_constant_plan() -> None:
    generator = torch.Generator().manual_seed(0)
    f, centres = (
        torch.nn.functional.normalize(torch.randn(shape, generator=generator, dtype=torch.float64), dim=-1)
        for shape in ((2, 30, 5), (3, 5))
    )
    block = AsotSettings()
    weights = {"alpha": block.alpha, "r": 0.04, "epsilon": block.epsilon, "lambda_": block.lambda_}
    plan = solve_segmentation(segmentation_cost(f, centres, block.rho), **weights, iterations=25).exp()
    f.requires_grad_()
    centres.requires_grad_()
    found = segmentation_loss(f, centres, block)
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


def test_a_radius_reaches_a_neighbour() -> None:
    assert (radius(100, 0.04), radius(25, 0.04), radius(24, 0.04), radius(1, 0.04)) == (0.04, 0.04, 1 / 24, 1.0)


def test_centres_begin_at_the_directions_of_k_means() -> None:
    angles = np.deg2rad([0, 2, 90, 92, 200, 202, 202])
    f = torch.from_numpy(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    found = first_centres(f, 3, np.random.default_rng(0))
    degrees = torch.rad2deg(torch.atan2(found[:, 1], found[:, 0])) % 360
    assert sorted(degrees.tolist()) == pytest.approx([1, 91, 200 + 4 / 3], abs=1e-3)
    assert len(first_centres(f, 7, np.random.default_rng(0))) == 6
    rounding = f[:1].float().repeat(9, 1) + 1e-7 * torch.randn(9, 2, generator=torch.Generator().manual_seed(0))
    assert len(first_centres(rounding, 3, np.random.default_rng(0))) == 1


def test_the_global_random_state_is_left_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    one, other, third = (
        seeded(np.random.default_rng(seed), lambda: torch.nn.Linear(3, 2)).weight for seed in (1, 1, 2)
    )
    assert torch.equal(one, other)
    assert not torch.equal(one, third)
    assert torch.equal(torch.rand(1), expected)


@pytest.mark.parametrize("name", BOTH)
def test_a_generator_decides_everything_whatever_the_number_of_threads(name: str) -> None:
    frames, _ = task(noise=1.5)
    threads = torch.get_num_threads()
    found = []
    for number, seed in ((1, 0), (2, 0), (1, 1)):
        torch.set_num_threads(number)
        found.append(DECODERS[name].load()(frames, 4, Settings(), np.random.default_rng(seed)))
        assert torch.get_num_threads() == number
    torch.set_num_threads(threads)
    assert found[0].memberships is not None
    np.testing.assert_array_equal(found[0].memberships, found[1].memberships)
    assert found[0].facts == found[1].facts
    assert found[0].facts != found[2].facts


def test_a_single_video_has_nothing_to_be_aligned_with() -> None:
    frames, _ = task(noise=1.5)
    one = Frames(frames.x[:48], (48,), 2.0)
    asot, vasot = (DECODERS[name].load()(one, 4, Settings(), np.random.default_rng(3)) for name in BOTH)
    assert asot.facts["asot"] == vasot.facts["vasot"]
    np.testing.assert_array_equal(asot.labels, vasot.labels)
    # Nor without a weight; and with one, the other videos do count.
    none = Settings(vasot=VasotSettings(beta=0.0))
    asot, vasot = (DECODERS[name].load()(frames, 4, none, np.random.default_rng(3)) for name in BOTH)
    assert asot.facts["asot"] == vasot.facts["vasot"]
    aligned = DECODERS["vasot"].load()(frames, 4, Settings(), np.random.default_rng(3))
    assert aligned.facts["vasot"] != vasot.facts["vasot"]


def test_the_loss_of_a_pair_is_both_segmentations_and_the_alignment() -> None:
    frames, _ = task(noise=1.0)
    two = Frames(frames.x[:96], (48, 48), 2.0)
    seen = []

    def pair_loss(x: Drawn, y: Drawn) -> torch.Tensor:
        value = align_gromov_wasserstein(paired(x, y), Settings()).sum()
        seen.append((x, y, value.item()))
        return value

    _, with_pair = learn(two, 4, AsotSettings(epochs=1), np.random.default_rng(0), pair_loss)
    _, without = learn(two, 4, AsotSettings(epochs=1), np.random.default_rng(0))
    ((x, y, value),) = seen
    assert with_pair[0] == pytest.approx(without[0] + value / 2, rel=1e-6)
    assert value > 0
    batch = paired(x, y)
    assert batch.x.shape == (1, 48, 40)
    torch.testing.assert_close(batch.shares[0][0], torch.arange(48, dtype=torch.float64) / 48)


def test_of_an_odd_number_of_videos_the_last_is_alone() -> None:
    frames, _ = task()
    three = Frames(frames.x[:130], (48, 48, 34), 2.0)
    pairs = []

    def pair_loss(x: Drawn, y: Drawn) -> torch.Tensor:
        pairs.append((x.length, y.length))
        return (x.f.sum() + y.f.sum()) * 0

    learn(three, 4, AsotSettings(epochs=4), np.random.default_rng(0), pair_loss)
    assert len(pairs) == 4


def test_long_videos_are_drawn_from_and_labelled_whole() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2, 3], 5000)
    x = rng.normal(size=(4, 8))[truth] + 0.5 * rng.normal(size=(20_000, 8))
    made = DECODERS["asot"].load()(Frames(x, (20_000,), 2.0), 4, Settings(), rng)
    # Borders may move by a few samples.
    names = [np.bincount(made.labels[truth == step]).argmax() for step in range(4)]
    assert len(set(names)) == 4
    assert (np.array(names)[truth] == made.labels).mean() > 0.99


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("K", [1, 3, 9])
@pytest.mark.parametrize(
    "x",
    [np.ones((1, 4)), np.eye(4), np.ones((30, 4)), np.zeros((5, 4)), np.repeat(np.eye(4), 8, axis=0)],
    ids=["one frame", "K larger", "constant", "zeros", "few different"],
)
def test_awkward_videos_are_labelled(name: str, K: int, x: np.ndarray) -> None:
    for lengths in ((len(x),), (len(x), len(x))):
        frames = Frames(np.tile(x, (len(lengths), 1)), lengths, 2.0)
        made = DECODERS[name].load()(frames, K, Settings(), np.random.default_rng(0))
        assert made.memberships is not None
        assert np.isfinite(made.memberships).all()
        assert made.memberships.shape == (len(frames.x), K)
        assert 0 <= made.labels.min() <= made.labels.max() < K
        assert all(math.isfinite(made.facts[name][key]) for key in ("loss_first", "loss_last", "residual"))
        if (x == x[0]).all():
            assert set(made.labels.tolist()) == {0}
        assert made.predict is not None
        assert set(made.predict(Frames(np.ones((2, 4)), (1, 1), 2.0)).labels.tolist()) <= set(range(K))


@pytest.mark.parametrize("name", BOTH)
def test_training_that_diverges_is_told(name: str) -> None:
    frames, _ = task()
    with pytest.raises(RgwotError, match="asot: found embeddings that are not finite.*smaller asot.lr"):
        DECODERS[name].load()(frames, 4, Settings(asot=AsotSettings(lr=1e38)), np.random.default_rng(0))


def test_embeddings_and_centres_have_length_one() -> None:
    frames, _ = task()
    learned, losses = learn(frames, 4, AsotSettings(epochs=2), np.random.default_rng(0))
    assert len(losses) == 2
    torch.testing.assert_close(learned.centres.norm(dim=1), torch.ones(4))
    f = embed(learned.network, frames.x[:48].astype(np.float32))
    assert f.shape == (48, 40)
    torch.testing.assert_close(f.norm(dim=1), torch.ones(48))
