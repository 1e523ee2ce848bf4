"""Reading ahead: the order stays, errors arrive, no thread stays, and training keeps its bits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from rgwot.config.settings import Settings
from rgwot.embedding import loop
from rgwot.embedding.ahead import THREAD, read_ahead
from rgwot.embedding.bank import FeatureBank, Tier, choose_tier
from rgwot.embedding.loop import Trainer
from rgwot.embedding.train import build_encoder, train
from rgwot.features.index import open_stores
from rgwot.runtime.errors import RgwotError

Make = Callable[..., Settings]


@pytest.fixture(autouse=True)
def _no_thread_stays() -> object:
    yield
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(THREAD)]


@pytest.mark.parametrize("background", [True, False])
def test_values_come_in_order_and_one_ahead_at_most(background: bool) -> None:
    made: list[int] = []

    def square(key: int) -> int:
        made.append(key)
        return key * key

    with read_ahead(square, range(50), background=background) as values:
        for key, value in enumerate(values):
            assert value == key * key
            assert len(made) <= key + 1 + background
    assert made == list(range(50))


def test_the_next_value_is_made_while_the_last_is_used() -> None:
    started = [threading.Event() for _ in range(4)]

    def make(key: int) -> int:
        started[key].set()
        return key

    with read_ahead(make, range(4), background=True) as values:
        for key in values:
            # Made although nobody asks for it before this block is left: by another thread.
            assert key == 3 or started[key + 1].wait(timeout=30)


def test_an_error_is_raised_where_its_value_is_asked_for() -> None:
    def make(key: int) -> int:
        if key == 2:
            raise RgwotError("damaged")
        return key

    seen: list[int] = []
    with pytest.raises(RgwotError, match="damaged"), read_ahead(make, range(9), background=True) as values:
        seen.extend(values)
    assert seen == [0, 1]


def test_leaving_early_makes_nothing_more() -> None:
    made: list[int] = []

    def interrupted() -> None:
        with read_ahead(made.append, range(1000), background=True) as values:
            next(values)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(made) <= 2


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("accumulation", [1, 5])
def test_training_from_disk_has_the_bits_of_training_from_memory(
    task: Path, settings: Make, accumulation: int, precision: str
) -> None:
    states = []
    for memory_gb in (1.0, 1e-9):
        chosen = settings(train__accumulation=accumulation, train__precision=precision, encoder__channels=16)
        bank = FeatureBank(open_stores(task, task.parent), memory_gb)
        assert bank.reads_ahead == (memory_gb == 1e-9)
        trainer = Trainer(build_encoder(chosen, 0, bank, "random")[0], bank, chosen, 0)
        threads = set()
        trainer.run(lambda records, seen=threads: bool(seen.update(t.name for t in threading.enumerate())) or True)
        assert any(name.startswith(THREAD) for name in threads) == bank.reads_ahead
        states.append(trainer.state())
    memory, disk = states
    np.testing.assert_array_equal(memory["history"][:, :4], disk["history"][:, :4])
    for name, value in memory["encoder"].items():
        assert torch.equal(value, disk["encoder"][name]), name


def test_an_error_of_a_step_ends_the_thread(
    task: Path, settings: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objective, called = loop.objective, []

    def failing(*arguments: object) -> object:
        called.append(None)
        if len(called) == 3:
            raise RuntimeError("out of memory")
        return objective(*arguments)

    monkeypatch.setattr(loop, "objective", failing)
    with pytest.raises(RuntimeError, match="out of memory"):
        train(task, task.parent, tmp_path / "out", settings(train__memory_gb=1e-9), 0, device="cpu")


def test_a_store_damaged_while_training_reads_it_is_told_in_one_line(
    make_task: Callable[..., Path], settings: Make, tmp_path: Path
) -> None:
    index = make_task((20, 26))
    (shard,) = (path for path in (index.parent / "v1.zarr" / "conv4c" / "c").rglob("*") if path.is_file())
    shard.write_bytes(shard.read_bytes()[:-7])
    with pytest.raises(RgwotError, match=r"v1\.zarr.*damaged.*extract the video again") as error:
        train(index, index.parent, tmp_path / "out", settings(train__memory_gb=1e-9), 0, device="cpu")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("memory_gb", "gpu_gb", "expected"),
    [
        (8, 3, Tier.GPU), (8, 2, Tier.GPU), (8, 1.9, Tier.MEMORY), (8, 0, Tier.MEMORY), (1, 2, Tier.GPU),
        (1, 0, Tier.DISK), (1.9, 1.9, Tier.DISK),
    ],
)  # fmt: skip
def test_features_live_in_the_fastest_place_they_fit_into(memory_gb: float, gpu_gb: float, expected: Tier) -> None:
    assert choose_tier(2_000_000_000, memory_gb, gpu_gb) is expected


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize(("memory_gb", "gpu_gb", "tier"), [(1, None, "gpu"), (1, 0, "memory"), (1e-9, 0, "disk")])
def test_every_tier_gives_the_stored_maps_on_a_gpu(
    task: Path, memory_gb: float, gpu_gb: float | None, tier: str
) -> None:
    stores = open_stores(task, task.parent)
    bank = FeatureBank(stores, memory_gb, torch.device("cuda"), gpu_gb)
    assert bank.tier == tier
    stacks = [np.array([[0, 1], [3, 4]]), np.array([[19, 2]])]
    clips = bank.clips([2, 0], stacks)
    assert clips.device.type == "cuda"
    assert clips.movedim(2, -1).is_contiguous()
    expected = np.concatenate([stores[2].read()[stacks[0]], stores[0].read()[stacks[1]]])
    np.testing.assert_array_equal(clips.cpu().numpy(), expected)
