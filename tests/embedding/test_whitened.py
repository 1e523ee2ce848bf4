"""Whitened features are conditioned per video, white over the training videos, and free of amplified noise and NaN."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from with_defaults import decode_by, fit_by

from rgwot.embedding import whitened
from rgwot.embedding.interface import ArrayFeatures, Fitted, spatial_means
from rgwot.embedding.settings import Whitened
from rgwot.embedding.whitened import (
    DISCRETE,
    Whitening,
    _Levels,
    cell_means,
    condition,
    fit_whitened,
    fit_whitening,
    restore_whitened,
    smooth,
    speed,
    standardise,
    variability,
)
from rgwot.features.store import FeatureStore, StoreWriter, open_store
from rgwot.keysteps.interface import Frames


def samples(T: int, C: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.normal(size=(T, C)) * rng.uniform(0.5, 4, size=C) + rng.normal(size=C))


def test_channels_are_standardised_and_constant_ones_are_zero() -> None:
    x = samples(200, 4).astype(np.float16).astype(np.float64)
    # Add constants, values that flicker between neighbours in float16, and a channel that is tiny beside the rest.
    flicker = np.where(np.arange(200) % 3 == 0, 1.0, 1.0 + 2.0**-10)
    noise = 1e-7 * np.random.default_rng(1).normal(size=200)
    actual = standardise(np.column_stack([x, np.full(200, 0.3), np.zeros(200), flicker, 300 * flicker, noise]))
    np.testing.assert_allclose(actual[:, :4].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(actual[:, :4].std(axis=0), 1)
    np.testing.assert_array_equal(actual[:, 4:], 0)
    # The scale of a video does not matter, nor does that of a channel.
    np.testing.assert_allclose(standardise(1e-6 * x), standardise(x), atol=1e-9)
    small = standardise(np.column_stack([x, 1e-3 * x[:, 0]]))
    np.testing.assert_allclose(small[:, 4], small[:, 0], atol=1e-9)
    np.testing.assert_array_equal(standardise(np.ones((1, 3))), 0)


def test_smoothing_is_a_centred_mean_with_the_ends_repeated() -> None:
    x = samples(50, 3)
    padded = np.concatenate([x[:1], x[:1], x, x[-1:], x[-1:]])
    expected = np.stack([padded[i : i + 5].mean(axis=0) for i in range(50)])
    np.testing.assert_allclose(smooth(x, 0.1), expected)
    np.testing.assert_array_equal(smooth(x, 0.02), x)
    np.testing.assert_allclose(smooth(x[::-1], 0.1)[::-1], smooth(x, 0.1))


def test_speed_is_half_the_way_between_the_neighbours() -> None:
    z = np.array([[0.0, 5.0], [1.0, 5.0], [4.0, 5.0], [2.0, 5.0]])
    ways = np.array([[0.5, 0], [2.0, 0], [0.5, 0], [1.0, 0]])
    np.testing.assert_allclose(speed(z), np.log(ways + 0.02))
    np.testing.assert_allclose(speed(z[:1]), np.log([[0.02, 0.02]]))


def test_variability_is_the_deviation_around_a_sample() -> None:
    z = samples(60, 3)
    padded = np.concatenate([z[:1], z[:1], z, z[-1:], z[-1:]])
    of_five = np.stack([padded[i : i + 5].std(axis=0) for i in range(60)])
    np.testing.assert_allclose(variability(z, 5 / 60), np.log(of_five + 0.02))
    # A single sample has no deviation, so a window has at least three samples.
    of_three = np.stack([padded[i + 1 : i + 4].std(axis=0) for i in range(60)])
    np.testing.assert_allclose(variability(z, 0.0), np.log(of_three + 0.02))


def test_movement_separates_what_values_do_not() -> None:
    """Shaking and resting at the same positions differ in speed and variability, but not in their values."""
    generator = np.random.default_rng(0)
    shaking = np.repeat(np.tile([True, False], 5), 60)
    x = np.where(shaking[:, None], generator.normal(size=(600, 6)), 0.0) + generator.normal(size=(600, 6)) * 0.05

    def largest_difference(**moving: bool) -> float:
        made = condition(x, Whitened(**moving))
        return float(np.abs(made[shaking].mean(axis=0) - made[~shaking].mean(axis=0)).max())

    assert condition(x, Whitened(speed=True, variability=True)).shape == (600, 18)
    assert largest_difference() < 0.3
    assert largest_difference(speed=True) > 1
    assert largest_difference(variability=True) > 1


@pytest.mark.parametrize("shape", [(400, 6), (30, 60)])
def test_what_is_fitted_is_white(shape: tuple[int, int]) -> None:
    x = samples(*shape)
    whitening = fit_whitening([x[:11], x[11:]], 5, 1e-6)
    white = (x - whitening.mean) @ whitening.basis
    assert white.shape == (len(x), 5)
    np.testing.assert_allclose(white.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(white.T @ white / len(x), np.eye(5), atol=1e-10)
    # The fitted components are those of largest variance, here from the singular value decomposition of the samples.
    _, singular, rows = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    deviations = 1 / np.linalg.norm(whitening.basis, axis=0)
    np.testing.assert_allclose(deviations, singular[:5] / np.sqrt(len(x)))
    cosines = np.abs(np.einsum("cd,dc->d", whitening.basis * deviations, rows[:5]))
    np.testing.assert_allclose(cosines, 1)
    assert (whitening.basis[np.abs(whitening.basis).argmax(axis=0), range(5)] > 0).all()
    np.testing.assert_allclose(np.linalg.norm(whitening.apply(x), axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("shape", [(400, 60), (60, 400)])
def test_both_ways_to_the_leading_components_agree(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int]) -> None:
    x = samples(*shape)
    whole = fit_whitening([x], 8, 1e-6)
    monkeypatch.setattr(whitened, "SMALL", 10)
    iterated = fit_whitening([x], 8, 1e-6)
    np.testing.assert_allclose(iterated.basis, whole.basis, atol=1e-9)
    np.testing.assert_array_equal(fit_whitening([x], 8, 1e-6).basis, iterated.basis)


@pytest.mark.parametrize("small", [1500, 10])
def test_components_of_hardly_any_variance_are_dropped(monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr(whitened, "SMALL", small)
    x = np.zeros((90, 40))
    x[:, :3] = samples(90, 3)
    x[:, 3] = 1e-4 * samples(90, 1)[:, 0]
    assert fit_whitening([x], 8, 1e-4).basis.shape == (40, 3)
    assert fit_whitening([x[:20]], 8, 1e-4).basis.shape == (40, 3)
    assert fit_whitening([x], 2, 1e-4).basis.shape == (40, 2)


def test_samples_without_any_difference_are_zero() -> None:
    for x in (np.full((9, 4), 0.5), np.full((3, 4), 0.5)):
        np.testing.assert_array_equal(fit_whitening([x], 8, 1e-4).apply(x), np.zeros((len(x), 1)))


def test_cells_are_means_of_pieces_of_the_map(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for number, (h, w) in enumerate([(5, 7), (1, 1), (2, 1)]):
        maps = rng.normal(size=(70, 1024, h, w)).astype(np.float16)
        writer = StoreWriter(tmp_path / f"{number}.zarr", np.arange(70.0), (h, w))
        writer.write(0, maps[:64])
        writer.write(1, maps[64:])
        writer.finish(70, {"status": "ok", "reason": ""})
        store = open_store(tmp_path / f"{number}.zarr")
        np.testing.assert_allclose(cell_means(store, 1), spatial_means(store), atol=1e-6)
        actual = cell_means(store, 2)
        values = maps.astype(np.float64)
        if (h, w) == (5, 7):
            pieces = [values[:, :, y, x] for y in (slice(0, 2), slice(2, 5)) for x in (slice(0, 4), slice(4, 7))]
        else:
            pieces = [values[:, :, y : y + 1] for y in range(h)]
        expected = np.concatenate([piece.mean(axis=(2, 3)) for piece in pieces], axis=1)
        np.testing.assert_allclose(actual, expected, atol=1e-6)


def videos() -> dict[str, np.ndarray]:
    """Return videos that alternate between two places, each with a large offset and a scale of its own."""
    found = {}
    for seed, name in enumerate("abcd"):
        rng = np.random.default_rng(seed)
        place = np.repeat(rng.permutation([0, 1, 0, 1, 1, 0]), 10)
        signal = np.where(place == 0, 1.0, -1.0)[:, None] * np.array([1.0, -1.0, 0, 0])
        found[name] = (signal + 0.2 * rng.normal(size=(60, 4))) * rng.uniform(1, 5, 4) + 20 * rng.normal(size=4)
    return found


def test_what_sets_videos_apart_does_not_remain(write_stores: Callable[..., list[FeatureStore]]) -> None:
    stores = write_stores(videos())
    embed = fit_by("whitened", stores, {}, seed=0)
    actual = [embed(store).embedding for store in stores]
    assert {x.dtype for x in actual} == {np.dtype(np.float32)}
    x = np.concatenate(actual)
    assert x.shape == (240, 4)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-5)
    # Samples at the same place are nearer, also across videos, than samples at different places.
    place = np.concatenate([np.sign(v[:, 0] - v[:, 0].mean()) for v in videos().values()])
    cosines, same = x @ x.T, place[:, None] == place
    assert cosines[same].mean() > cosines[~same].mean() + 0.4
    again = fit_by("whitened", stores, {}, seed=7)
    np.testing.assert_array_equal(np.concatenate([again(store).embedding for store in stores]), x)


def test_videos_held_out_do_not_reach_the_components(write_stores: Callable[..., list[FeatureStore]]) -> None:
    stores = write_stores(videos())
    embed = fit_by("whitened", stores[:2], {}, seed=0)
    block = Whitened()
    own = [smooth(standardise(spatial_means(store)), block.smooth).astype(np.float32) for store in stores]
    expected = fit_whitening(own[:2], block.D, block.floor)
    for store, x in zip(stores, own, strict=True):
        np.testing.assert_allclose(embed(store).embedding, expected.apply(x), atol=1e-5)
    every = fit_by("whitened", stores, {}, seed=0)
    assert np.abs(every(stores[0]).embedding - embed(stores[0]).embedding).max() > 1e-3


def discrete(*parts: np.ndarray) -> list[bool]:
    levels = _Levels()
    for x in parts:
        levels.add(x.astype(np.float32))
    return [bool(one) for one in levels.discrete()]


def test_channels_of_few_values_that_recur_are_discrete() -> None:
    rng = np.random.default_rng(0)
    tool = rng.binomial(5, 0.1, size=300) / 5
    codes = rng.integers(16, size=300)
    steady = 0.005 * rng.normal(size=300)
    rare = np.where(np.arange(300) % 60 == 7, rng.uniform(size=300), 0)
    x = np.column_stack([tool, codes, tool / 3, steady, rare, codes + (codes == 3) * (np.arange(300) > 150)])
    parts = x[:100], x[100:]
    expected = [True, True, True, False, False, True]
    assert discrete(*parts) == expected
    assert discrete(*parts[::-1]) == expected
    assert discrete(*(part.round(3) for part in parts)) == expected
    # A seventeenth value in any of the videos is one too many.
    later = parts[1].copy()
    later[:9, 1] = 16
    assert discrete(parts[0], later) == [True, False, *expected[2:]]
    # A channel with very few samples is not discrete, because measured channels then have few values, too.
    assert discrete(steady[:8, None], steady[8:14, None]) == [False]


def test_a_resampled_video_among_others_leaves_channels_discrete() -> None:
    rng = np.random.default_rng(0)
    tool = np.repeat(rng.integers(3, size=(300, 1)), 10, axis=0).astype(float)
    between = np.linspace(0, 1, 1000)[:, None] * tool[:1000]
    assert len(np.unique(between)) > 100
    assert discrete(tool[:1000], between) == [False]
    assert discrete(tool[:1000], tool[1000:2000], between) == [True]
    assert discrete(tool[:1000], between, between) == [False]
    assert discrete(*18 * [tool], between, between) == [True]


MOVING = Whitened(speed=True, variability="apart")


def with_tools(seed: int, measured: int, noise: float = 0) -> ArrayFeatures:
    """Return a video with four channels of 0, 0.5 and 1, the first with added ``noise``, and with measured channels."""
    rng = np.random.default_rng(seed)
    held = np.repeat(rng.integers(3, size=(12, 4)) / 2, 10, axis=0)
    x = np.concatenate([held, np.cumsum(rng.normal(size=(120, measured)), axis=0)], axis=1)
    x[:, 0] += noise * rng.normal(size=120)
    return ArrayFeatures(f"v{seed}", x[:, :, None, None].astype(np.float16), np.arange(120.0), 120.0, Fraction(1), 1.0)


def without_motion_of_tools(store: ArrayFeatures) -> np.ndarray:
    """Return the conditioned features of a video with tools and two measured channels."""
    x = condition(cell_means(store, 1), MOVING)
    motion = [*range(6, 10), *range(12, 16)]
    assert np.abs(x[:, motion]).max(axis=0).min() > 0
    x[:, motion] = 0
    return x


def test_discrete_channels_have_neither_speed_nor_variability() -> None:
    stores = [with_tools(seed, measured=2) for seed in range(3)]
    embed = fit_whitened(stores, 0, MOVING)
    assert isinstance(embed, Fitted)
    np.testing.assert_array_equal(embed.learned[DISCRETE], [True] * 4 + [False] * 2)
    expected = [without_motion_of_tools(store) for store in stores]
    whole = fit_whitening(expected, MOVING.D, MOVING.floor)
    for store, x in zip(stores, expected, strict=True):
        second = np.split(embed(store).embedding, 2, axis=1)[1] * np.sqrt(2)
        np.testing.assert_allclose(second[:, : whole.basis.shape[1]], whole.apply(x), atol=1e-5)


def test_held_out_videos_follow_the_training_videos() -> None:
    """Channels that are discrete in the training videos have no motion, except in bundles of earlier revisions."""
    stores, other = [with_tools(seed, measured=2) for seed in range(3)], with_tools(3, measured=2, noise=0.1)
    embed = fit_whitened(stores, 0, MOVING)
    assert isinstance(embed, Fitted)
    restored = restore_whitened(embed.learned, MOVING)
    for store in (*stores, other):
        np.testing.assert_array_equal(restored(store).embedding, embed(store).embedding)
    # Replace the components by others with nonzero weights for this motion, to see whether it is left out.
    shape = embed.learned["basis"].shape
    learned = {**embed.learned, "basis": np.random.default_rng(5).normal(size=shape)}
    whitening = Whitening(learned["mean"], learned["basis"], blocks=2)
    actual = restore_whitened(learned, MOVING)(other).embedding
    np.testing.assert_array_equal(actual, whitening.apply(without_motion_of_tools(other)))
    before = restore_whitened({name: x for name, x in learned.items() if name != DISCRETE}, MOVING)
    np.testing.assert_array_equal(before(other).embedding, whitening.apply(condition(cell_means(other, 1), MOVING)))


def test_if_all_channels_are_discrete_both_blocks_are_their_values() -> None:
    stores = [with_tools(seed, measured=0) for seed in range(4)]
    embed, plain = fit_whitened(stores, 0, MOVING), fit_whitened(stores, 0, Whitened())
    for store in stores:
        for block in np.split(embed(store).embedding, 2, axis=1):
            np.testing.assert_allclose(block * np.sqrt(2), plain(store).embedding, atol=1e-5)
    x = np.concatenate([embed(store).embedding for store in stores]).astype(np.float64)
    frames = Frames(x, (120,) * 4, 1.0)
    found = decode_by("consensus", frames, 3, {"consensus.blocks": 2}, np.random.default_rng(0))
    assert set(found.labels.tolist()) == {0, 1, 2}


def test_every_setting_reaches_the_embedding(write_stores: Callable[..., list[FeatureStore]]) -> None:
    stores = write_stores(videos())
    plain = fit_by("whitened", stores, {}, seed=0)(stores[0]).embedding
    cases: tuple[tuple[dict[str, object], int], ...] = (
        ({"smooth": 0.1}, 4),
        ({"D": 3}, 3),
        ({"floor": 0.9}, 1),
        ({"grid": 2}, 4),
        ({"speed": True}, 8),
        ({"variability": True}, 8),
    )
    for keys, D in cases:
        found = Whitened(**keys)(stores, 0)(stores[0]).embedding  # type: ignore[arg-type]
        assert found.shape == (60, D)
        assert found.shape != plain.shape or not np.array_equal(found, plain)
