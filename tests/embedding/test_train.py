"""The training stage learns, resumes bit for bit, and writes the documented files."""

from __future__ import annotations

import logging
import os
import signal
import typing
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from rgwot.blocks import nested
from rgwot.config.methods import FAMILIES
from rgwot.embedding import loop
from rgwot.embedding.encoder import Encoder
from rgwot.embedding.loop import Record, Trainer, objective
from rgwot.embedding.sampler import FeatureBank
from rgwot.embedding.settings import TrainedEncoder
from rgwot.features.index import open_stores
from rgwot.losses.interface import PairBatch
from rgwot.runtime.errors import RgwotError
from rgwot.stages.advice import inactive_prior
from rgwot.stages.checkpoint import Checkpoint
from rgwot.stages.train import build_encoder, recipe_of, train

Make = Callable[..., TrainedEncoder]


def losses(directory: Path) -> np.ndarray:
    return pd.read_csv(directory / "history.csv")[["loss", "align", "cidm"]].to_numpy()


def model_of(directory: Path) -> dict[str, typing.Any]:
    return torch.load(directory / "model.pt", weights_only=True)


def assert_same_model(one: Path, two: Path) -> None:
    first, second = model_of(one)["encoder"], model_of(two)["encoder"]
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


def test_model_and_history(task: Path, settings: Make, tmp_path: Path) -> None:
    chosen = settings(cidm__beta=0.5)
    train(task, task.parent, tmp_path / "seed3", chosen, 3, device="cpu")
    history = pd.read_csv(tmp_path / "seed3" / "history.csv")
    assert list(history) == ["step", "loss", "align", "cidm", "seconds"]
    assert history.step.tolist() == list(range(1, 13))
    assert (history.seconds.diff().dropna() >= 0).all()
    np.testing.assert_allclose(history.loss, history["align"] + 0.5 * history.cidm, rtol=1e-5)
    model = model_of(tmp_path / "seed3")
    assert model["seed"] == 3
    assert model["videos"] == ["v0", "v1", "v2"]
    assert model["settings"]["cidm"]["beta"] == 0.5
    assert model["settings"]["cidm"]["lambda"] == 2.0
    assert model["architecture"]["input_norm"] is True  # "auto" is True for features with random weights
    assert model["features"]["fps"] == 2.0
    Encoder(**model["architecture"]).load_state_dict(model["encoder"])
    assert model["encoder"]["input_mean"].mean() == pytest.approx(5, abs=0.2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["seed3"]  # the side checkpoint is gone


def test_input_norm_follows_the_weights(make_task: Callable[..., Path], settings: Make, tmp_path: Path) -> None:
    index = make_task((8, 9), weights="imagenet1k_v1")
    bank = FeatureBank(open_stores(index, index.parent), 1.0)
    for key, weights, expected in [
        ("auto", "imagenet1k_v1", False), ("auto", "random", True), ("channel", "imagenet1k_v1", True),
        ("none", "random", False),
    ]:  # fmt: skip
        encoder, architecture = build_encoder(settings(encoder__input_norm=key).encoder, "float32", 0, bank, weights)
        assert encoder.input_norm is architecture["input_norm"] is expected


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_only_a_total_with_the_contrast_is_divided_by_the_frames(beta: float) -> None:
    """Both videos have the same two orthogonal frames; at the published radius the public solver takes one pass."""
    frames = torch.eye(2, dtype=torch.float64)[None]
    times, length = torch.tensor([[0.0, 100.0]], dtype=torch.float64), torch.tensor([1000.0], dtype=torch.float64)
    batch = PairBatch(frames, frames, times, length, times, length, torch.tensor([0]))
    recipe = recipe_of(TrainedEncoder.of(nested({**FAMILIES["rgwot-parity"].sets, "cidm.beta": beta})))
    loss, align, contrast = objective(batch, recipe.align, recipe.cidm)
    # The virtual frame comes first. The others are 0 or 1 apart; off the diagonal, they are also half a video apart.
    cost = np.array([[0.5, 0.5, 0.5], [0.5, 0, 1 + 0.35 / 2], [0.5, 1 + 0.35 / 2, 0]])
    kernel = np.exp(-0.7 * cost / 0.07)
    row = (1 / 3) / kernel.sum(1)
    plan = 3 * row[:, None] * kernel * (1 / 3) / (kernel.T @ row)
    P = np.exp(10 * np.eye(2))
    by_hand = -(plan[1:, 1:] * np.log(P / P.sum(1) + 1e-11)).sum() / 2
    assert align.item() == pytest.approx(by_hand, rel=1e-9)
    # Frames that are 100 native frames apart are near; their squared distance of 2 counts twice in each video.
    assert contrast.item() == pytest.approx(8)
    assert loss.item() == pytest.approx((by_hand + 0.5 * 8) / 2 if beta else by_hand, rel=1e-9)


def contrast_of(
    changes: dict[str, typing.Any], frames: Tensor, times: Tensor, length: float
) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
    """Return the terms for a video and its copy with reversed channels, and the gradient of the total in the video."""
    x, lengths = frames[None].clone().requires_grad_(), torch.tensor([length], dtype=torch.float64)
    batch = PairBatch(x, frames[None].flip(2), times[None], lengths, times[None], lengths, torch.tensor([0]))
    recipe = recipe_of(TrainedEncoder.of(nested(changes)))
    terms = objective(batch, recipe.align, recipe.cidm)
    terms[0].sum().backward()
    assert x.grad is not None
    return terms, x.grad


@pytest.mark.parametrize("n", [8, 32])
def test_beta_has_the_scale_of_the_public_code(n: int) -> None:
    """With the public solver and window, rgwot at beta = 1 has the gradient of rgwot-parity times N."""
    generator = torch.Generator().manual_seed(n)
    frames = torch.nn.functional.normalize(torch.randn(n, 6, dtype=torch.float64, generator=generator), dim=1)
    times = 2000 * torch.rand(n, dtype=torch.float64, generator=generator).sort()[0]
    family = FAMILIES["rgwot-parity"].sets
    parity, slope = contrast_of(dict(family), frames, times, 2000)
    paper = {"cidm.beta": 1.0, "ot.solver": "parity", "cidm.unit": "native_frames", "cidm.sigma": 300.0}
    found, gradient = contrast_of(paper, frames, times, 2000)
    loss, align, contrast = found
    torch.testing.assert_close(loss, align + contrast, rtol=1e-12, atol=0)
    torch.testing.assert_close(gradient, n * slope, rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(contrast, parity[2], rtol=0, atol=0)


@pytest.mark.parametrize(("unit", "expected"), [("positions", 2.828427), ("native_frames", 2_934_909.66)])
def test_the_contrast_to_the_letter(unit: str, expected: float) -> None:
    """The paper's C-IDM with i and j as sampled positions (no pair is 300 apart) or as native frames."""
    frames = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    changes = {**FAMILIES["rgwot-literal"].sets, "cidm.unit": unit}
    terms, _ = contrast_of(changes, frames, torch.tensor([0.0, 400.0, 800.0], dtype=torch.float64), 1000)
    loss, align, contrast = terms
    assert contrast.item() == pytest.approx(2 * expected, rel=1e-7)
    assert loss.item() == pytest.approx(align.item() + contrast.item(), rel=1e-12)


def test_units_of_the_window_of_the_contrast(make_task: Callable[..., Path], settings: Make, tmp_path: Path) -> None:
    """Videos of 26 samples last 13 s, of which 0.2 is 2.6 s; a video twice as long has a window twice as long."""
    same, other = make_task((26, 26)), make_task((26, 52))
    actual = {}
    for index, unit, sigma in [
        (same, "share", 0.2), (same, "seconds", 2.6), (same, "native_frames", 2.6 * 30000 / 1001),
        (other, "share", 0.2), (other, "seconds", 2.6),
    ]:  # fmt: skip
        out = tmp_path / f"{unit}{index is other}"
        chosen = settings(cidm__unit=unit, cidm__sigma=sigma, train__iterations=4)
        train(index, index.parent, out, chosen, 0, device="cpu")
        actual[unit, index is other] = losses(out)
    np.testing.assert_allclose(actual["share", False], actual["seconds", False], rtol=1e-5)
    np.testing.assert_allclose(actual["native_frames", False], actual["seconds", False], rtol=1e-5)
    assert np.abs(actual["share", True] - actual["seconds", True])[0, 2] > 1e-3


LEARNING = {"loss__alignment": "mapped"}


@pytest.mark.parametrize(
    "changes", [{}, {"train__memory_gb": 1e-9}, LEARNING], ids=["memory", "disk", "what a loss learns"]
)
@pytest.mark.usefixtures("learning_loss")
def test_interrupted_run_ends_with_the_same_bits(
    task: Path, settings: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, typing.Any]
) -> None:
    chosen = settings(**{**changes, "train__iterations": 13})
    train(task, task.parent, tmp_path / "whole", chosen, 1, device="cpu")

    steps = Trainer.steps

    def stopped(self: Trainer) -> Iterator[list[Record]]:
        for records in steps(self):
            if self.step == 8:
                os.kill(os.getpid(), signal.SIGTERM)
            yield records

    monkeypatch.setattr(Trainer, "steps", stopped)
    with pytest.raises(SystemExit) as stop:
        train(task, task.parent, tmp_path / "parts", chosen, 1, device="cpu")
    assert stop.value.code == 128 + signal.SIGTERM
    assert not (tmp_path / "parts").exists()
    (state,) = (tmp_path / ".resume").glob("*/state.pt")
    kept = torch.load(state, weights_only=True)
    assert (len(kept["history"]), bool(kept["learned"])) == (8, changes is LEARNING)
    monkeypatch.setattr(Trainer, "steps", steps)
    train(task, task.parent, tmp_path / "parts", chosen, 1, device="cpu")
    np.testing.assert_array_equal(losses(tmp_path / "whole"), losses(tmp_path / "parts"))
    assert_same_model(tmp_path / "whole", tmp_path / "parts")
    assert "learned" not in model_of(tmp_path / "parts")
    assert not (tmp_path / ".resume").exists()


def test_checkpoints_of_other_settings_are_not_used(tmp_path: Path) -> None:
    one, two = (Checkpoint(tmp_path / "out", {"seed": seed}) for seed in (0, 1))
    one.save({"value": torch.ones(2)})
    assert two.load() is None
    state = Checkpoint(tmp_path / "elsewhere", {"seed": 0}).load()
    assert state is not None
    assert torch.equal(state["value"], torch.ones(2))
    two.save({})
    one.remove()
    assert two.load() == {}


def test_periodic_checkpoint(task: Path, settings: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[int] = []
    monkeypatch.setattr(Checkpoint, "save", lambda self, state: saved.append(len(state["history"])))
    train(task, task.parent, tmp_path / "out", settings(**{"train.save_every_s": 0}), 0, device="cpu")
    assert saved == [4, 8, 12]


@pytest.mark.parametrize(("accumulation", "precision"), [(1, "bfloat16"), (5, "float32")])
def test_training_from_disk_has_the_bits_of_training_from_memory(
    task: Path, settings: Make, tmp_path: Path, accumulation: int, precision: str
) -> None:
    for name, memory_gb in (("memory", 1.0), ("disk", 1e-9)):
        chosen = settings(
            train__accumulation=accumulation, train__precision=precision, train__memory_gb=memory_gb,
            encoder__channels=16,
        )  # fmt: skip
        train(task, task.parent, tmp_path / name, chosen, 0, device="cpu")
    np.testing.assert_array_equal(losses(tmp_path / "memory"), losses(tmp_path / "disk"))
    assert_same_model(tmp_path / "memory", tmp_path / "disk")


def test_a_store_damaged_while_training_reads_it_is_refused_in_one_line(
    make_task: Callable[..., Path], settings: Make, tmp_path: Path
) -> None:
    index = make_task((20, 26))
    chunk = index.parent / "v1.zarr/conv4c/c.0.0.0.0"
    chunk.write_bytes(chunk.read_bytes()[:-7])
    with pytest.raises(RgwotError, match=r"v1\.zarr.*damaged.*copy it again") as error:
        train(index, index.parent, tmp_path / "out", settings(train__memory_gb=1e-9), 0, device="cpu")
    assert "\n" not in str(error.value)


def test_seed_changes_everything_and_repeats(task: Path, settings: Make, tmp_path: Path) -> None:
    for name, seed in [("a", 0), ("b", 0), ("c", 1)]:
        train(task, task.parent, tmp_path / name, settings(), seed, device="cpu")
    assert_same_model(tmp_path / "a", tmp_path / "b")
    np.testing.assert_array_equal(losses(tmp_path / "a"), losses(tmp_path / "b"))
    assert (losses(tmp_path / "a") != losses(tmp_path / "c")).all()


def test_n_train_takes_that_many(task: Path, settings: Make, tmp_path: Path) -> None:
    train(task, task.parent, tmp_path / "out", settings(data__n_train=2), 0, device="cpu")
    assert len(model_of(tmp_path / "out")["videos"]) == 2
    with pytest.raises(RgwotError, match=r"3 videos with features, expected data\.n_train = 4"):
        train(task, task.parent, tmp_path / "more", settings(data__n_train=4), 0, device="cpu")


def test_one_video_is_too_few(make_task: Callable[..., Path], settings: Make, tmp_path: Path) -> None:
    index = make_task((9, 0))
    with pytest.raises(RgwotError, match="1 video with features, expected at least 2") as error:
        train(index, index.parent, tmp_path / "out", settings(), 0, device="cpu")
    assert "\n" not in str(error.value)


def test_short_videos_train(make_task: Callable[..., Path], settings: Make, tmp_path: Path) -> None:
    index = make_task((1, 3))
    train(index, index.parent, tmp_path / "out", settings(train__iterations=4), 0, device="cpu")
    assert np.isfinite(losses(tmp_path / "out")).all()


def test_a_run_that_diverges_stops_and_says_where(task: Path, settings: Make, tmp_path: Path) -> None:
    with pytest.raises(RgwotError, match=r"iteration 5: an embedding is not finite"):
        train(task, task.parent, tmp_path / "out", settings(train__lr=1e38), 0, device="cpu")
    chosen = settings(train__lr=1e38, train__iterations=4, train__weight_decay=1e30)
    with pytest.raises(RgwotError, match=r"iteration 4: a weight is not finite"):
        train(task, task.parent, tmp_path / "out", chosen, 0, device="cpu")
    assert not (tmp_path / "out").exists()


def test_a_loss_that_is_not_a_number_names_the_terms(
    task: Path, settings: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contrast = loop.cidm_loss
    monkeypatch.setattr(loop, "cidm_loss", lambda *args, **kwargs: contrast(*args, **kwargs) * torch.inf)
    with pytest.raises(RgwotError, match=r"iteration 1: loss is inf \(alignment \d.*, C-IDM inf\)"):
        train(task, task.parent, tmp_path / "out", settings(), 0, device="cpu")
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_reported(task: Path, settings: Make, tmp_path: Path) -> None:
    with pytest.raises(RgwotError, match="no usable GPU"):
        train(task, task.parent, tmp_path / "out", settings(), 0, device="cuda")


def test_without_alignment_only_the_contrast_is_left(task: Path, settings: Make, tmp_path: Path) -> None:
    train(task, task.parent, tmp_path / "out", settings(loss__alignment="none"), 0, device="cpu")
    loss, align, cidm = losses(tmp_path / "out").T
    assert (align == 0).all()
    np.testing.assert_allclose(loss, cidm / 32)


def test_inactive_prior_is_reported_once_with_the_radius_that_acts(
    task: Path, settings: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="rgwot"):
        train(task, task.parent, tmp_path / "out", settings(), 0, device="cpu")
    said = [message for message in caplog.messages if "structural prior" in message]
    assert len(said) == 1
    assert f"from r = {1 / 7:.4g}" in said[0]


def test_more_threads_than_cores_are_reported(
    task: Path, settings: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5}, raising=False)
    for threads in (2, 3):
        chosen = settings(train__iterations=1, train__threads=threads)
        train(task, task.parent, tmp_path / str(threads), chosen, 0, device="cpu")
    (told,) = [message for message in caplog.messages if "core" in message]
    assert told.startswith("train.threads: found 3, which exceeds the 2 available cores")


@pytest.mark.parametrize(
    ("changes", "silent"),
    [
        ({"ot__r": 0.02}, False),
        ({"ot__r": 1 / 33}, True),
        ({"ot__r": 0.031, "ot__virtual": "none"}, False),
        ({"ot__alpha": 0.0}, True),
        ({"loss__alignment": "none"}, True),
    ],
)
def test_when_the_prior_is_inactive(settings: Make, changes: dict[str, typing.Any], silent: bool) -> None:
    assert (inactive_prior(settings(train__N=32, **changes)) is None) == silent


BASE = {
    "train__iterations": 5,
    "train__accumulation": 4,
    "encoder__input_norm": "channel",
    "train__precision": "float32",
}


@pytest.fixture(scope="module")
def plain(task: Path, settings: Make, tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    folder = tmp_path_factory.mktemp("plain")
    train(task, task.parent, folder, settings(**BASE), 0, device="cpu")
    return losses(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"cidm__beta": 0.5}, {"cidm__lambda": 1.0}, {"cidm__sigma": 0.4}, {"cidm__unit": "native_frames"},
        {"cidm__distance": "euclidean"}, {"cidm__weight": "none"}, {"cidm__weight": "time"},
        {"cidm__positives": "weighted"}, {"cidm__over_n": True},
        {"encoder__c": 1}, {"encoder__D": 3}, {"encoder__channels": 5}, {"encoder__hidden": 5},
        {"encoder__dropout": 0.5}, {"encoder__batch_norm": "per_video"}, {"encoder__input_norm": "none"},
        {"train__N": 4}, {"train__accumulation": 1}, {"train__lr": 3e-2}, {"train__weight_decay": 0.5},
        {"train__precision": "bfloat16"}, {"data__context_s": 1.5}, {"data__context_side": "before"},
    ],
    ids=str,
)  # fmt: skip
def test_every_key_of_the_training_changes_it(
    task: Path, settings: Make, tmp_path: Path, plain: np.ndarray, change: dict[str, typing.Any]
) -> None:
    """Keys of ``ot`` and ``loss`` are tested with the alignments (test_other_alignments.py)."""
    train(task, task.parent, tmp_path / "out", settings(**{**BASE, **change}), 0, device="cpu")
    assert not np.array_equal(plain, losses(tmp_path / "out"))
