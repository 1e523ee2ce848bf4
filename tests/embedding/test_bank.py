"""The feature bank returns the content of the stores, both from memory and from disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from rgwot.embedding.sampler import FeatureBank, choose_tier
from rgwot.features.index import open_stores
from rgwot.runtime.errors import RgwotError

STACKS = [np.array([[0, 1], [3, 4], [3, 4]]), np.array([[19, 2], [5, 5]])]


@pytest.mark.parametrize("memory_gb", [1.0, 1e-9])
def test_clips_are_the_stored_maps(task: Path, memory_gb: float) -> None:
    stores = open_stores(task, task.parent)
    bank = FeatureBank(stores, memory_gb)
    assert bank.tier == ("memory" if memory_gb == 1.0 else "disk")
    clips = bank.clips([2, 0], STACKS)
    expected = np.concatenate([stores[2].read()[STACKS[0]], stores[0].read()[STACKS[1]]])
    assert clips.dtype == torch.float16
    np.testing.assert_array_equal(clips.numpy(), expected)
    assert clips.movedim(2, -1).is_contiguous()


@pytest.mark.parametrize(
    ("memory_gb", "gpu_gb", "expected"),
    [
        (8, 3, "gpu"), (8, 2, "gpu"), (8, 1.9, "memory"), (8, 0, "memory"), (1, 2, "gpu"), (1, 0, "disk"),
        (1.9, 1.9, "disk"),
    ],
)  # fmt: skip
def test_features_live_in_the_fastest_place_they_fit_into(memory_gb: float, gpu_gb: float, expected: str) -> None:
    assert choose_tier(2_000_000_000, memory_gb, gpu_gb) == expected


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize(("memory_gb", "tier"), [(1, "gpu"), (1, "memory"), (1e-9, "disk")])
def test_every_tier_gives_the_stored_maps_on_a_gpu(
    task: Path, monkeypatch: pytest.MonkeyPatch, memory_gb: float, tier: str
) -> None:
    stores = open_stores(task, task.parent)
    if tier != "gpu":
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _device: (0, 0))
    bank = FeatureBank(stores, memory_gb, torch.device("cuda"))
    assert bank.tier == tier
    clips = bank.clips([2, 0], STACKS)
    assert clips.device.type == "cuda"
    assert clips.movedim(2, -1).is_contiguous()
    expected = np.concatenate([stores[2].read()[STACKS[0]], stores[0].read()[STACKS[1]]])
    np.testing.assert_array_equal(clips.cpu().numpy(), expected)


@pytest.mark.parametrize("memory_gb", [1.0, 1e-9])
def test_statistics_are_those_of_all_maps(make_task: Callable[..., Path], memory_gb: float) -> None:
    index = make_task((12, 12))  # with equal lengths, equal weights of videos are equal weights of frames
    stores = open_stores(index, index.parent)
    mean, std = FeatureBank(stores, memory_gb).statistics()
    maps = np.concatenate([store.read() for store in stores]).astype(np.float64)
    np.testing.assert_allclose(mean, maps.mean((0, 2, 3)), rtol=1e-5)
    np.testing.assert_allclose(std, maps.std((0, 2, 3)), rtol=1e-5)


def test_videos_without_frames_are_left_out(make_task: Callable[..., Path]) -> None:
    index = make_task((8, 0, 9))
    assert [store.video for store in open_stores(index, index.parent)] == ["v0", "v2"]


def test_stores_of_another_network_are_refused(make_task: Callable[..., Path]) -> None:
    index, other = make_task((8, 9)), make_task((8, 9), weights="imagenet1k_v1")
    (index.parent / "v1.zarr").rename(index.parent / "old.zarr")
    (other.parent / "v1.zarr").rename(index.parent / "v1.zarr")
    with pytest.raises(RgwotError, match=r"v1\.zarr.*weights 'imagenet1k_v1', expected 'random'"):
        open_stores(index, index.parent)


def test_a_missing_or_foreign_index_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RgwotError, match="no such feature index"):
        open_stores(tmp_path / "index.csv", tmp_path)
    (tmp_path / "index.csv").write_text("a,b\n1,2\n")
    with pytest.raises(RgwotError, match="video,status,reason,frames"):
        open_stores(tmp_path / "index.csv", tmp_path)
