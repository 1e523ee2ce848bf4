"""Projected maps: standardised per video, white over the training videos, the same for a video seen or not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from rgwot.config.settings import Settings
from rgwot.embedding import projection as projected
from rgwot.embedding.embed import embed
from rgwot.embedding.projection import fit_projection, moments
from rgwot.embedding.train import train
from rgwot.features.index import open_stores


def test_places_are_white_over_the_videos(make_task: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projected, "CHANNELS", 8)
    index = make_task((40, 50))
    stores = open_stores(index, index.parent)
    projection = fit_projection(stores)
    maps = [projection(store) for store in stores]
    assert [store.shape for store in maps] == [(40, 8, *stores[0].shape[2:]), (50, 8, *stores[0].shape[2:])]
    places = np.concatenate([np.moveaxis(store.read(), 1, -1).reshape(-1, 8) for store in maps]).astype(np.float64)
    assert np.cov(places.T, bias=True) == pytest.approx(np.eye(8), abs=0.02)
    # Every video is standardised by itself, so none is off the mean.
    for store in maps:
        assert np.abs(store.read().astype(np.float64).mean(axis=(0, 2, 3))).max() < 0.02


def test_scale_and_shift_of_a_video_change_nothing(make_task: Callable[..., Path]) -> None:
    index = make_task((30, 30))
    store = open_stores(index, index.parent)[0]
    mean, scale = moments(store)
    maps = store.read().astype(np.float64)
    assert mean == pytest.approx(maps.mean(axis=(0, 2, 3)), rel=1e-4)
    assert 1 / scale == pytest.approx(maps.std(axis=(0, 2, 3)), rel=1e-3)


def test_a_model_trained_on_them_embeds_by_itself(
    task: Path, settings: Callable[..., Settings], tmp_path: Path
) -> None:
    chosen = settings(encoder__input_norm="whitened")
    train(task, task.parent, tmp_path / "model", chosen, 0, device="cpu")
    model = torch.load(tmp_path / "model" / "model.pt", weights_only=True)
    channels = model["projection"]["basis"].shape[1]
    assert model["encoder"]["conv1.weight"].shape[1] == channels <= 64
    assert model["architecture"]["input_norm"] is False
    embed(task, task.parent, tmp_path / "model" / "model.pt", tmp_path / "made.zarr", device="cpu")
    import zarr

    made = zarr.open_group(tmp_path / "made.zarr", mode="r")
    assert made.attrs["complete"] is True
    assert np.isfinite(np.asarray(made["v0"]["embedding"])).all()
