"""The embedding stage, compared with the model applied by hand, and the files that it writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import zarr
from phases import FPS

from rgwot.blocks import nested
from rgwot.config.methods import FAMILIES
from rgwot.embedding import encoder as model
from rgwot.embedding.encoder import encoder_of
from rgwot.embedding.settings import Embedding, TrainedEncoder
from rgwot.features.store import open_store
from rgwot.runtime.errors import RgwotError
from rgwot.stages.embed import embed, read_embeddings
from rgwot.stages.models import load_model
from rgwot.stages.train import train

LENGTHS = {"a%20b": 9, "empty": 0, "c": 23}


@pytest.fixture(scope="module")
def task(make_task: Callable[..., Path]) -> Path:
    return make_task(tuple(LENGTHS.values()), names=tuple(LENGTHS))


def tiny(side: str) -> TrainedEncoder:
    values = {
        "encoder.channels": 8, "encoder.hidden": 8, "encoder.D": 5, "train.N": 6, "train.iterations": 8,
        "train.lr": 0.01, "data.context_side": side, "encoder.c": 3,
    }  # fmt: skip
    return TrainedEncoder.of(nested(values))


@pytest.mark.parametrize(("side", "offsets"), [("after", (0, 1, 2)), ("before", (-2, -1, 0)), ("both", (-1, 0, 1))])
def test_embeddings_are_the_model_applied_by_hand(
    task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, side: str, offsets: tuple[int, ...]
) -> None:
    train(task, task.parent, tmp_path / "model", tiny(side), 5, device="cpu")
    path = tmp_path / "model" / "model.pt"
    monkeypatch.setattr(model, "FRAMES_PER_BATCH", 7)
    embed(task, task.parent, path, tmp_path / "seed5.zarr", method="rgwot", device="cpu", threads=1)

    root = zarr.open_group(tmp_path / "seed5.zarr", mode="r")
    attributes = dict(root.attrs)
    (note,) = attributes.pop("notes")
    assert "structural prior does nothing" in note
    lengths = {video: len(open_store(task.parent / f"{video}.zarr")) for video in ("a%20b", "c")}
    assert attributes == {
        "method": "rgwot",
        "seed": 5,
        "features_fps": FPS,
        "videos": list(lengths),
        "duration_s": [frames / FPS for frames in lengths.values()],
        "native_fps": ["30000/1001"] * 2,
        "complete": True,
    }
    assert {name: (array.shape, array.dtype) for name, array in root.arrays()} == {
        "embedding": ((sum(lengths.values()), 5), np.float32),
        "time_s": ((sum(lengths.values()),), np.float64),
        "offsets": ((3,), np.int64),
    }
    made = read_embeddings(tmp_path / "seed5.zarr").videos
    encoder = encoder_of(load_model(path))
    assert not encoder.training
    for video in ("a%20b", "c"):
        maps = torch.from_numpy(open_store(task.parent / f"{video}.zarr").read()).float()
        expected = []
        for t in range(len(maps)):
            stack = [maps[min(max(t + offset, 0), len(maps) - 1)] for offset in offsets]
            with torch.no_grad():
                expected.append(encoder(torch.stack(stack)[None])[0])
        actual = made[video]
        np.testing.assert_allclose(actual.embedding, torch.stack(expected), atol=1e-5)
        assert np.std(actual.embedding, axis=0).max() > 1e-3
        np.testing.assert_array_equal(actual.time_s, np.arange(len(maps)) / FPS)
        assert (actual.duration_s, actual.native_fps) == (len(maps) / FPS, 30000 / 1001)


def test_raw_features_are_spatial_means_of_norm_one(task: Path, tmp_path: Path) -> None:
    embed(task, task.parent, None, tmp_path / "raw.zarr", device="cpu", threads=1)
    embedded = read_embeddings(tmp_path / "raw.zarr")
    assert (embedded.method, embedded.features_fps) == ("raw", FPS)
    maps = open_store(task.parent / "c.zarr").read().astype(np.float64).mean(axis=(2, 3))
    np.testing.assert_allclose(embedded.videos["c"].embedding, maps / np.linalg.norm(maps, axis=1)[:, None], atol=1e-6)


def test_an_older_result_is_replaced(task: Path, tmp_path: Path) -> None:
    for seed in (1, 2):
        embed(task, task.parent, None, tmp_path / "raw.zarr", seed=seed, device="cpu")
    assert zarr.open_group(tmp_path / "raw.zarr", mode="r").attrs["seed"] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["raw.zarr"]


def test_unusable_models_are_refused(task: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.zarr"
    with pytest.raises(RgwotError, match="no such model"):
        embed(task, task.parent, tmp_path / "none.pt", output)
    (tmp_path / "text.pt").write_text("not a model")
    with pytest.raises(RgwotError, match=r"text\.pt: not a readable model"):
        embed(task, task.parent, tmp_path / "text.pt", output)
    torch.save({"encoder": {}}, tmp_path / "other.pt")
    with pytest.raises(RgwotError, match="not a model of this library"):
        embed(task, task.parent, tmp_path / "other.pt", output)
    train(task, task.parent, tmp_path / "model", tiny("after"), 0, device="cpu")
    model = load_model(tmp_path / "model" / "model.pt")
    model["features"]["weights_sha256"] = "2" * 64
    torch.save(model, tmp_path / "model" / "model.pt")
    with pytest.raises(RgwotError, match="trained on features with weights_sha256"):
        embed(task, task.parent, tmp_path / "model" / "model.pt", output)
    assert not output.exists()


def quick(method: str) -> Embedding:
    family = FAMILIES[method]
    return family.embedding.of(nested({"regression.epochs": 2, "regression.E": 4, **family.sets}))


DIMENSIONS = {"cte": 4, "gpl": 128, "gpl-nobg": 128, "unitygraph": 1024}


@pytest.mark.parametrize("method", DIMENSIONS)
def test_methods_without_an_encoder_embed_every_frame(task: Path, tmp_path: Path, method: str) -> None:
    made = []
    for number in range(2):
        path = tmp_path / f"{number}.zarr"
        embed(task, task.parent, None, path, method=method, settings=quick(method), seed=2, device="cpu", threads=1)
        made.append(read_embeddings(path))
    assert made[0].method == method
    for video in ("a%20b", "c"):
        first, second = (task.videos[video] for task in made)
        assert first.embedding.shape == (LENGTHS[video], DIMENSIONS[method])
        np.testing.assert_array_equal(first.embedding, second.embedding)
        assert (first.background is not None) == (method == "gpl-nobg")
        if first.background is not None:
            assert (first.background.shape, first.background.dtype) == ((LENGTHS[video],), bool)


def test_nothing_is_learned_from_a_video_held_out(task: Path, tmp_path: Path) -> None:
    for number, held_out in enumerate([(), ("c",)]):
        path = tmp_path / f"{number}.zarr"
        embed(task, task.parent, None, path, method="cte", settings=quick("cte"), device="cpu", held_out=held_out)
    both, one = (read_embeddings(tmp_path / f"{number}.zarr") for number in range(2))
    assert one.held_out == ("c",)
    assert not np.array_equal(one.videos["a%20b"].embedding, both.videos["a%20b"].embedding)
    assert one.videos["c"].embedding.shape == both.videos["c"].embedding.shape
    with pytest.raises(RgwotError, match="graph: videos with features: found 1, expected at least 2"):
        embed(task, task.parent, None, tmp_path / "g.zarr", method="gpl", held_out=("c",))
    assert not (tmp_path / "g.zarr").exists()


def test_a_method_with_an_encoder_needs_its_model(task: Path, tmp_path: Path) -> None:
    with pytest.raises(RgwotError, match=r"method 'rgwot@alpha=0\.1': found no model; give one"):
        embed(task, task.parent, None, tmp_path / "out.zarr", method="rgwot@alpha=0.1")
    assert not (tmp_path / "out.zarr").exists()
