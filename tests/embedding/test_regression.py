from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from rgwot.baselines.regression import TimeRegressor, standardised, train_regressor
from rgwot.baselines.settings import Regression
from rgwot.embedding.interface import spatial_means
from rgwot.embedding.settings import DrawnVideosSettings
from rgwot.features.store import FeatureStore
from rgwot.runtime.errors import RgwotError

SMALL = Regression(E=3, epochs=2, lr=0.01, batch=4)


def drifting(T: int, seed: int) -> np.ndarray:
    """Return T samples in which some features change monotonically, with a different offset in every video."""
    rng = np.random.default_rng(seed)
    time = np.arange(T)[:, None] / T
    return np.hstack([time * 3 + rng.normal(), np.sin(4 * time) * 5 - rng.normal(), rng.normal(size=(T, 4))])


def test_every_feature_of_a_video_is_standardised_and_constant_ones_are_zero() -> None:
    x = np.array([[1.0, 7, -2], [3, 7, 0], [5, 7, 8]], dtype=np.float32)
    expected = [[-1.2247449, 0, -0.9258201], [0, 0, -0.46291005], [1.2247449, 0, 1.3887301]]
    np.testing.assert_allclose(standardised(x), expected, rtol=1e-6)
    np.testing.assert_array_equal(standardised(x[:1]), 0)


def test_layers_and_initial_weights() -> None:
    model = TimeRegressor(1024, 20, seed=3)
    assert [tuple(p.shape) for p in model.parameters()] == [(40, 1024), (40,), (20, 40), (20,), (1, 20), (1,)]
    for layer in (model.first, model.second, model.last):
        assert not layer.bias.any()
    assert model.first.weight.detach().std().item() == pytest.approx(0.01, rel=0.02)
    x = torch.randn(5, 1024, generator=torch.Generator().manual_seed(0))
    hidden = 1 / (1 + (-(x @ model.first.weight.T)).exp())
    second = hidden @ model.second.weight.T
    torch.testing.assert_close(model.embed(x), second)
    torch.testing.assert_close(model(x), ((1 / (1 + (-second).exp())) @ model.last.weight.T)[:, 0])


def test_training_against_adam_by_hand() -> None:
    """The loss is a sum of squares, weight decay is coupled, and the rate falls to a tenth at the 31st epoch."""
    x = torch.randn(6, 5, generator=torch.Generator().manual_seed(1))
    times = torch.arange(6) / 6
    settings = Regression(E=2, epochs=32, lr=0.05, weight_decay=0.3, batch=4)
    regressor = train_regressor(x, times, settings, seed=7)

    model = TimeRegressor(5, 2, seed=7)
    shuffle = torch.Generator().manual_seed(7)
    weights = list(model.parameters())
    first, second = ([torch.zeros_like(w) for w in weights] for _ in range(2))
    step = 0
    for epoch in range(32):
        rate = 0.05 if epoch < 30 else 0.005
        order = torch.randperm(6, generator=shuffle)
        for rows in (order[:4], order[4:]):
            step += 1
            error = ((model(x[rows]) - times[rows]) ** 2).sum()
            gradients = torch.autograd.grad(error, weights)
            with torch.no_grad():
                for w, g, m, v in zip(weights, gradients, first, second, strict=True):
                    full = g + 0.3 * w
                    m.mul_(0.9).add_(0.1 * full)
                    v.mul_(0.999).add_(0.001 * full**2)
                    w -= rate * (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-8)
    for one, other in zip(regressor.parameters(), weights, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_it_learns_the_time_of_a_frame_also_for_new_videos(write_stores: Callable[..., list[FeatureStore]]) -> None:
    stores = write_stores({name: drifting(60, seed) for seed, name in enumerate("abcd")})
    settings = Regression(E=5, epochs=60, lr=0.01, batch=32, standardise=True)
    embed = settings(stores[:3], 0)
    early, late = (embed(stores[3]).embedding[rows].mean(axis=0) for rows in (slice(0, 15), slice(45, 60)))
    spread = embed(stores[3]).embedding.std(axis=0).max()
    assert np.abs(early - late).max() > 1.5 * spread
    for store in stores:
        embedded = embed(store)
        assert embedded.embedding.shape == (60, 5)
        assert embedded.embedding.dtype == np.float32
        assert embedded.background is None


def test_the_seed_decides_and_threads_do_not(write_stores: Callable[..., list[FeatureStore]]) -> None:
    stores = write_stores({name: drifting(30, seed) for seed, name in enumerate("ab")})
    settings = SMALL
    before = torch.get_num_threads()
    made = []
    for threads, seed in ((1, 0), (3, 0), (1, 1)):
        torch.set_num_threads(threads)
        made.append(settings(stores, seed)(stores[0]).embedding)
        assert torch.get_num_threads() == threads
    torch.set_num_threads(before)
    np.testing.assert_array_equal(made[0], made[1])
    assert not np.allclose(made[0], made[2])


@pytest.mark.parametrize("standardise", [False, True])
def test_features_are_standardised_within_their_video_only_where_that_is_asked_for(
    write_stores: Callable[..., list[FeatureStore]], standardise: bool
) -> None:
    videos = {name: drifting(30, seed) for seed, name in enumerate("ab")}
    stores = write_stores(videos)
    chosen = Regression(E=3, epochs=2, lr=0.01, batch=4, standardise=standardise)
    read = [spatial_means(store) for store in stores]
    if standardise:
        read = [standardised(x) for x in read]
    times = torch.from_numpy(np.tile(np.arange(30, dtype=np.float32) / 30, 2))
    model = train_regressor(torch.from_numpy(np.concatenate(read)), times, chosen, 0)
    expected = model.embed(torch.from_numpy(read[1])).detach().numpy()
    actual = chosen(stores, 0)(stores[1]).embedding
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


def test_only_the_drawn_videos_train(write_stores: Callable[..., list[FeatureStore]]) -> None:
    stores = write_stores({name: drifting(20, seed) for seed, name in enumerate("abcd")})
    few = SMALL.model_copy(update={"data": DrawnVideosSettings(n_train=2)})
    found = few(stores, 0)(stores[0]).embedding
    alike = [
        np.array_equal(found, SMALL([one, other], 0)(stores[0]).embedding)
        for i, one in enumerate(stores)
        for other in stores[i + 1 :]
    ]
    assert sum(alike) == 1
    with pytest.raises(RgwotError, match=r"data\.n_train: found 5, expected at most 4, all videos"):
        Regression(data=DrawnVideosSettings(n_train=5))(stores, 0)


def test_a_diverging_training_ends_in_one_line() -> None:
    x = torch.full((4, 2), float("inf"))
    with pytest.raises(RgwotError, match=r"set a smaller regression\.lr"):
        train_regressor(x, torch.zeros(4), SMALL, 0)
