"""Videos held out affect neither the weights of the model nor anything else in its file."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from phases import write_video

from rgwot.embedding.settings import TrainedEncoder
from rgwot.runtime.errors import RgwotError
from rgwot.stages.embed import embed, read_embeddings
from rgwot.stages.train import train

Make = Callable[..., TrainedEncoder]
LENGTHS = (20, 26, 31, 24, 0)


@pytest.fixture
def task(make_task: Callable[..., Path]) -> Path:
    """Return the index of four videos with frames, v0 to v3, and v4 without a frame."""
    return make_task(LENGTHS)


def test_the_model_is_the_same_whatever_is_in_a_video_held_out(task: Path, settings: Make, tmp_path: Path) -> None:
    chosen = settings(data__split="holdout")
    out = [tmp_path / name for name in ("before", "after", "without", "leaky")]
    train(task, task.parent, out[0], chosen, 3, device="cpu", held_out=["v1", "v4"])
    shutil.rmtree(task.parent / "v1.zarr")
    write_video(task.parent / "v1.zarr", LENGTHS[1], seed=99)
    train(task, task.parent, out[1], chosen, 3, device="cpu", held_out=["v4", "v1"])
    # The comparison can fail: a training that includes v1 gives another model.
    train(task, task.parent, out[3], chosen, 3, device="cpu", held_out=["v0"])
    shutil.rmtree(task.parent / "v1.zarr")
    train(task, task.parent, out[2], chosen, 3, device="cpu", held_out=["v1", "v4"])
    models = [torch.load(folder / "model.pt", weights_only=True) for folder in out]
    for model in models[1:3]:
        assert all(torch.equal(models[0]["encoder"][key], value) for key, value in model["encoder"].items())
        assert {**model, "encoder": None} == {**models[0], "encoder": None}
    assert models[0]["videos"] == ["v0", "v2", "v3"]
    assert models[0]["held_out"] == ["v1", "v4"]
    assert models[0]["settings"]["data"]["split"] == "holdout"
    assert any(not torch.equal(models[0]["encoder"][key], value) for key, value in models[3]["encoder"].items())


def test_n_train_draws_from_the_training_part(task: Path, settings: Make, tmp_path: Path) -> None:
    for seed in range(6):
        chosen = settings(data__split="holdout", data__n_train=2, train__iterations=1)
        train(task, task.parent, tmp_path / str(seed), chosen, seed, device="cpu", held_out=["v1"])
        videos = torch.load(tmp_path / str(seed) / "model.pt", weights_only=True)["videos"]
        assert len(videos) == 2
        assert set(videos) <= {"v0", "v2", "v3"}
    chosen = settings(data__split="holdout", data__n_train=4)
    with pytest.raises(RgwotError, match=r"3 videos with features that are not held out, expected data.n_train = 4"):
        train(task, task.parent, tmp_path / "many", chosen, 0, device="cpu", held_out=["v1"])


def test_too_few_videos_to_train_on(task: Path, settings: Make, tmp_path: Path) -> None:
    holdout = settings(data__split="holdout")
    with pytest.raises(RgwotError, match="1 video with features that are not held out, expected at least 2"):
        train(task, task.parent, tmp_path / "m", holdout, 0, device="cpu", held_out=["v0", "v1", "v2"])
    assert not (tmp_path / "m").exists()


def test_embeddings_record_which_part_a_video_is_in(task: Path, settings: Make, tmp_path: Path) -> None:
    chosen = settings(data__split="holdout", train__iterations=1)
    train(task, task.parent, tmp_path / "m", chosen, 0, device="cpu", held_out=["v4", "v2"])
    model = tmp_path / "m" / "model.pt"
    embed(task, task.parent, model, tmp_path / "trained.zarr", device="cpu")
    embed(task, task.parent, None, tmp_path / "raw.zarr", device="cpu", held_out=["v2", "v4"])
    embed(task, task.parent, None, tmp_path / "all.zarr", device="cpu")
    for name in ("trained", "raw"):
        embedded = read_embeddings(tmp_path / f"{name}.zarr")
        assert embedded.held_out == ("v2", "v4")
        assert (set(embedded.part(held_out=False)), set(embedded.part(held_out=True))) == ({"v0", "v1", "v3"}, {"v2"})
    assert read_embeddings(tmp_path / "all.zarr").held_out == ()
