"""Projected maps are standardised per video and white over the training videos; others use the same projection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from with_defaults import fit_by

from rgwot.embedding.projection import Projection, fit_projection, moments
from rgwot.embedding.settings import TrainedEncoder
from rgwot.embedding.whitened import speed
from rgwot.features.index import open_stores
from rgwot.runtime.errors import RgwotError
from rgwot.stages.advice import long_window
from rgwot.stages.embed import embed, read_embeddings
from rgwot.stages.train import train


def test_places_are_white_over_the_videos(make_task: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rgwot.embedding.projection.CHANNELS", 8)
    index = make_task((40, 50))
    stores = open_stores(index, index.parent)
    projection = fit_projection(stores, speed=False)
    maps = [projection(store) for store in stores]
    assert [store.shape for store in maps] == [(40, 8, *stores[0].shape[2:]), (50, 8, *stores[0].shape[2:])]
    places = np.concatenate([np.moveaxis(store.read(), 1, -1).reshape(-1, 8) for store in maps]).astype(np.float64)
    assert np.cov(places.T, bias=True) == pytest.approx(np.eye(8), abs=0.02)
    # Every video is standardised separately, so its mean is near 0.
    for store in maps:
        assert np.abs(store.read().astype(np.float64).mean(axis=(0, 2, 3))).max() < 0.02


def test_scale_and_shift_of_a_video_change_nothing(make_task: Callable[..., Path]) -> None:
    index = make_task((30, 30))
    store = open_stores(index, index.parent)[0]
    mean, scale = moments(lambda frames: np.moveaxis(store.frames(frames), 1, -1), len(store))
    maps = store.read().astype(np.float64)
    assert mean == pytest.approx(maps.mean(axis=(0, 2, 3)), rel=1e-4)
    assert 1 / scale == pytest.approx(maps.std(axis=(0, 2, 3)), rel=1e-3)


def test_a_model_trained_on_them_embeds_by_itself(
    task: Path, settings: Callable[..., TrainedEncoder], tmp_path: Path
) -> None:
    chosen = settings(encoder__input_norm="whitened")
    train(task, task.parent, tmp_path / "model", chosen, 0, device="cpu")
    model = torch.load(tmp_path / "model" / "model.pt", weights_only=True)
    channels = model["projection"]["basis"].shape[1]
    assert model["encoder"]["conv1.weight"].shape[1] == channels <= 64
    assert model["architecture"]["input_norm"] is False
    embed(task, task.parent, tmp_path / "model" / "model.pt", tmp_path / "made.zarr", device="cpu")
    assert np.isfinite(read_embeddings(tmp_path / "made.zarr").videos["v0"].embedding).all()


def test_maps_are_accompanied_by_their_speed_at_every_place(
    make_task: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rgwot.embedding.projection.FRAMES", 16)
    index = make_task((40, 50))
    stores = open_stores(index, index.parent)
    channels = stores[0].shape[1]
    # With an identity matrix in place of the components, the result is the standardised maps and their speed.
    as_it_is = Projection(np.zeros(2 * channels, np.float32), np.eye(2 * channels, dtype=np.float32))
    for store in stores:
        maps = store.read().astype(np.float64)
        z = (maps - maps.mean(axis=(0, 2, 3), keepdims=True)) / maps.std(axis=(0, 2, 3), keepdims=True)
        places = z.transpose(2, 3, 0, 1).reshape(-1, len(z), channels)
        moved = np.stack([speed(place) for place in places], axis=1)
        moved = (moved - moved.mean(axis=(0, 1))) / moved.std(axis=(0, 1))
        made = as_it_is(store).read().astype(np.float64).reshape(len(z), 2 * channels, -1)
        np.testing.assert_allclose(made[:, channels:], moved.transpose(0, 2, 1), atol=0.02)
        np.testing.assert_allclose(made[:, :channels], z.reshape(len(z), channels, -1), atol=0.02)
    assert fit_projection(stores, speed=True).mean.shape == (2 * channels,)


def test_vectors_are_accompanied_by_their_speed_as_those_of_the_method_whitened(
    write_vectors: Callable[..., Path], settings: Callable[..., TrainedEncoder], tmp_path: Path
) -> None:
    index = write_vectors([sensors(0), sensors(1, 40)])
    stores = open_stores(index, index.parent)
    project, embed_one = (
        fit_projection(stores, speed=True),
        fit_by("whitened", stores, {"whiten.speed": True}, 0),
    )
    for store in stores:
        x = project(store).read()[:, :, 0, 0].astype(np.float64)
        np.testing.assert_allclose(x / np.linalg.norm(x, axis=1, keepdims=True), embed_one(store).embedding, atol=2e-3)
    # The model itself records that speed was added; `embed` gets no settings.
    chosen = settings(encoder__speed=True)
    train(index, index.parent, tmp_path / "model", chosen, 0, device="cpu")
    embed(index, index.parent, tmp_path / "model" / "model.pt", tmp_path / "made.zarr", device="cpu")
    assert np.isfinite(read_embeddings(tmp_path / "made.zarr").videos["v0"].embedding).all()


def test_speed_of_features_that_are_not_whitened_is_refused(
    task: Path, settings: Callable[..., TrainedEncoder], tmp_path: Path
) -> None:
    with pytest.raises(RgwotError, match=r"encoder.speed: found features that are not whitened \(encoder.input_norm="):
        train(task, task.parent, tmp_path / "m", settings(encoder__speed=True), 0, device="cpu")


def sensors(seed: int, T: int = 50, C: int = 6) -> np.ndarray:
    """Return three phases of C channels with noise, in multiples of 1/64, which float16 holds at all scales below."""
    rng = np.random.default_rng(seed)
    levels = np.random.default_rng(99).normal(size=(3, C))[np.minimum(np.arange(T) * 3 // T, 2)]
    return np.round(64 * (levels + 0.5 * rng.normal(size=(T, C)))) / 64


def test_vectors_are_white_as_the_method_whitened_has_them(write_vectors: Callable[..., Path]) -> None:
    index = write_vectors([sensors(0), 3 * sensors(1, 40)])
    stores = open_stores(index, index.parent)
    project = fit_projection(stores, speed=False)
    made = [project(store) for store in stores]
    assert all(store.vectors for store in made)
    x = [store.read()[:, :, 0, 0].astype(np.float64) for store in made]
    assert [one.shape for one in x] == [(50, 6), (40, 6)]
    assert np.cov(np.concatenate(x).T, bias=True) == pytest.approx(np.eye(6), abs=0.01)
    embed_one = fit_by("whitened", stores, {}, seed=0)
    for store, one in zip(stores, x, strict=True):
        lengths = np.linalg.norm(one, axis=1, keepdims=True)
        np.testing.assert_allclose(one / lengths, embed_one(store).embedding, atol=2e-3)


@pytest.mark.parametrize(("held_out", "beside"), [((), 0.5), (("v3",), 0.0)])
def test_scales_of_the_channels_of_vectors_change_nothing(
    write_vectors: Callable[..., Path],
    settings: Callable[..., TrainedEncoder],
    tmp_path: Path,
    held_out: tuple[str, ...],
    beside: float,
) -> None:
    """Scales are powers of two, so every bit must agree, also for held-out videos."""
    scales = 2.0 ** np.array([9, -7, 0, 3, -2, 5])
    videos = [sensors(seed, 40 + seed) for seed in range(4)]
    chosen = settings(data__split="holdout" if held_out else "all", encoder__beside=beside)
    actual = []
    for name, factor in (("as they are", 1.0), ("rescaled", scales)):
        index = write_vectors([x * factor for x in videos])
        train(index, index.parent, tmp_path / name, chosen, 0, device="cpu", held_out=held_out)
        embed(index, index.parent, tmp_path / name / "model.pt", tmp_path / f"{name}.zarr", device="cpu")
        made = read_embeddings(tmp_path / f"{name}.zarr").videos
        actual.append([made[f"v{number}"].embedding for number in range(4)])
    for one, other in zip(*actual, strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.concatenate(actual[0]).std(axis=0).max() > 0.01  # not constant, even after few steps of training


def test_vectors_can_still_be_given_as_they_are(
    write_vectors: Callable[..., Path], settings: Callable[..., TrainedEncoder], tmp_path: Path
) -> None:
    index = write_vectors([sensors(0), sensors(1)])
    for norm, projected_, standardised in [
        ("auto", True, False), ("whitened", True, False), ("channel", False, True), ("none", False, False),
    ]:  # fmt: skip
        train(index, index.parent, tmp_path / norm, settings(encoder__input_norm=norm), 0, device="cpu")
        model = torch.load(tmp_path / norm / "model.pt", weights_only=True)
        assert (("projection" in model), model["architecture"]["input_norm"]) == (projected_, standardised)


def test_a_window_longer_than_steps_is_reported_only_for_vectors(
    task: Path, write_vectors: Callable[..., Path], settings: Callable[..., TrainedEncoder], tmp_path: Path
) -> None:
    """Videos last 25 s, so a window of 2 s is 8 % of a video, and one of 1.2 s is 5 %."""
    index = write_vectors([sensors(0), sensors(1)])
    for where, changes, said in [
        (index, {}, True), (index, {"cidm__sigma": 1.2}, False), (task, {}, False),
        (index, {"cidm__unit": "native_frames", "cidm__sigma": 4}, True),
        (index, {"cidm__unit": "share", "cidm__sigma": 0.02}, False), (index, {"cidm__beta": 0.0}, False),
    ]:  # fmt: skip
        note = long_window(settings(**changes), open_stores(where, where.parent))
        assert ("within 8 % of a typical video" in str(note)) is said
    train(index, index.parent, tmp_path / "out", settings(ot__r=0.5), 0, device="cpu")
    assert len(torch.load(tmp_path / "out" / "model.pt", weights_only=True)["notes"]) == 1
