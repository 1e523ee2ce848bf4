"""The families of the other alignment losses train, resume with the same bits, and give models that load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from rgwot.config.methods import FAMILIES, LOSSES
from rgwot.config.settings import Settings
from rgwot.embedding.encoder import encoder_of, seeded
from rgwot.embedding.loop import Recipe, Terms, Trainer, objective
from rgwot.embedding.sampler import FeatureBank
from rgwot.features.index import open_stores
from rgwot.losses.cidm import cidm_loss
from rgwot.losses.interface import PairBatch
from rgwot.runtime.errors import RgwotError
from rgwot.stages.train import build_encoder, load_model, recipe_of, train

Make = Callable[..., Settings]
TRANSPORT = ("vava", "opel")
METHODS = ("rgwot", "tcc", "gtcc", "lav", "cnc", "cnc-released", *TRANSPORT)
summed = partial(cidm_loss, lambda_=2.0, sigma=7.0, weight="relative_time")


@pytest.fixture(scope="session")
def of_family(settings: Make) -> Make:
    """Return a function that makes the small settings of a family."""

    def make(name: str, **changes: Any) -> Settings:
        own = {key.replace(".", "__"): value for key, value in FAMILIES[name].overrides.items()}
        if name in TRANSPORT:
            # With the 8 frames of these runs nothing is 15 frames apart.
            own |= {"train__N": 8, "loss__window": 2}
        return settings(**{"train__iterations": 6, **own, **changes})

    return make


@pytest.fixture(scope="module")
def trained(task: Path, of_family: Make, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a run of every family."""
    folder = tmp_path_factory.mktemp("runs")
    for name in METHODS:
        train(task, task.parent, folder / name, of_family(name), 0, device="cpu")
    return folder


def terms(directory: Path) -> np.ndarray:
    return pd.read_csv(directory / "history.csv")[["loss", "align", "cidm"]].to_numpy()


def assert_of_family(directory: Path, name: str) -> None:
    model = load_model(directory / "model.pt")
    expected = FAMILIES[name].overrides.get("loss.alignment", "gromov_wasserstein")
    assert model["settings"]["loss"]["alignment"] == expected
    with torch.inference_mode():
        norms = encoder_of(model)(torch.rand(4, 2, 1024, 3, 3)).norm(dim=1)
    assert torch.allclose(norms, torch.ones(4)) is (name in ("rgwot", "lav"))


def random_batch(seed: int = 0) -> PairBatch:
    """Embeddings of three pairs, four frames each, of length 1; times in seconds."""
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.nn.functional.normalize(
        torch.randn(2, 3, 4, 5, dtype=torch.float64, generator=generator), dim=3
    ).unbind()
    times = (40 * torch.rand(2, 3, 4, dtype=torch.float64, generator=generator)).sort(2)[0]
    lengths = torch.tensor([[40.0, 50.0, 60.0], [45.0, 41.0, 70.0]], dtype=torch.float64)
    return PairBatch(
        x,
        y,
        times[0],
        lengths[0],
        times[1],
        lengths[1],
        torch.arange(3),
        chance=lambda i: np.random.default_rng([0, i]),
    )


class Recorder:
    """A block of settings that notes which keys are read."""

    def __init__(self, block: str, values: object, read: set[str]) -> None:
        self.block, self.values, self.read = block, values, read

    def __getattr__(self, key: str) -> Any:
        self.read.add(f"{self.block}.{key}")
        return getattr(self.values, key)


def learned_by(recipe: Recipe) -> nn.Module | None:
    make = recipe.learned
    return seeded(0, lambda: make(5)) if make else None


def losses(batch: PairBatch, settings: Settings) -> Terms:
    recipe = recipe_of(settings)
    return objective(batch, recipe.align, recipe.cidm)


@pytest.mark.parametrize("name", LOSSES)
def test_the_keys_an_alignment_is_said_to_read_are_those_it_reads(name: str) -> None:
    read: set[str] = set()
    settings = Settings.model_validate({"loss": {"alignment": name}})
    recording = SimpleNamespace(ot=Recorder("ot", settings.ot, read), loss=Recorder("loss", settings.loss, read))
    batch = replace(random_batch(), learned=learned_by(recipe_of(settings)))
    if batch.learned is not None:
        batch.learned.double()
    LOSSES[name].bound(recording)(batch)
    assert read == set(LOSSES[name].dotted())


def aligned(name: str, batch: PairBatch) -> Terms:
    """Losses with an alignment and its defaults; what that learns begins from one seed."""
    settings = Settings.model_validate({"loss": {"alignment": name, "window": 2}, "encoder": {"D": 5}})
    learned = learned_by(recipe_of(settings))
    learned = learned.to(batch.x.dtype) if learned is not None and batch.x.dtype == torch.float64 else learned
    return losses(replace(batch, learned=learned), settings)


@pytest.mark.parametrize("name", LOSSES)
def test_a_batch_is_its_pairs_one_by_one(name: str) -> None:
    batch = random_batch()
    found = torch.stack(aligned(name, batch))
    for p in range(3):
        tensors = (one.name for one in fields(batch) if isinstance(getattr(batch, one.name), Tensor))
        alone = replace(batch, **{key: getattr(batch, key)[p : p + 1] for key in tensors})
        torch.testing.assert_close(torch.stack(aligned(name, alone))[:, 0], found[:, p], rtol=1e-6, atol=0)


@pytest.mark.parametrize("name", LOSSES)
def test_autocast_does_not_lower_the_precision(name: str) -> None:
    batch = random_batch()
    batch = replace(batch, x=batch.x.float(), y=batch.y.float())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = aligned(name, batch)
    for one, other in zip(inside, aligned(name, batch), strict=True):
        assert one.dtype == torch.float32
        assert torch.equal(one, other)


def test_every_key_of_the_two_blocks_is_read_by_some_alignment() -> None:
    every = {f"{block}.{key}" for block in ("ot", "loss") for key in getattr(Settings(), block).model_dump()}
    assert {key for about in LOSSES.values() for key in about.dotted()} == every - {"loss.alignment"}


@pytest.mark.parametrize("name", METHODS)
def test_a_family_trains_and_its_model_loads(trained: Path, name: str) -> None:
    values = terms(trained / name)
    assert values.shape == (6, 3)
    assert np.isfinite(values).all()
    assert_of_family(trained / name, name)


def test_what_the_total_is(trained: Path) -> None:
    weights = {"rgwot": 1 / 32, "lav": 1 / 64, "cnc": 0.5, "cnc-released": 0.5}
    for name in METHODS:
        loss, align, cidm = terms(trained / name).T
        np.testing.assert_allclose(loss, align + weights.get(name, 0) * cidm, rtol=1e-5, err_msg=name)
        assert (cidm > 0).all()


def test_cnc_adds_the_mean_over_videos_of_the_sum_over_pairs(of_family: Make) -> None:
    batch = random_batch()
    chosen = of_family("cnc", cidm__sigma=7.0, cidm__unit="seconds")
    total, align, cidm = losses(batch, chosen)
    sums = [
        summed(video, times, duration=lengths, distance="euclidean", positives="weighted")
        for video, times, lengths in (
            (batch.x, batch.x_times, batch.x_lengths),
            (batch.y, batch.y_times, batch.y_lengths),
        )
    ]
    torch.testing.assert_close(cidm, sums[0] + sums[1])
    torch.testing.assert_close(align, losses(batch, of_family("tcc")).loss)
    torch.testing.assert_close(total, align + (sums[0] + sums[1]) / 2)


def test_the_released_cnc_trains_tcc_with_its_own_distance_and_the_published_one_does_not(
    task: Path, of_family: Make, trained: Path, tmp_path: Path
) -> None:
    alone = of_family("tcc", loss__distance="elementwise")
    train(task, task.parent, tmp_path / "alone", alone, 0, device="cpu")
    runs = {name: torch.load(trained / name / "model.pt", weights_only=True)["encoder"] for name in METHODS}
    released = runs.pop("cnc-released")
    for name, value in torch.load(tmp_path / "alone" / "model.pt", weights_only=True)["encoder"].items():
        assert torch.equal(value, released[name]), name
    for name in ("tcc", "cnc"):
        assert any(not torch.equal(value, released[key]) for key, value in runs[name].items())
    np.testing.assert_array_equal(terms(tmp_path / "alone")[:, 1], terms(trained / "cnc-released")[:, 1])
    assert not np.array_equal(terms(tmp_path / "alone")[:, 0], terms(trained / "cnc-released")[:, 0])


def test_gtcc_asks_about_the_frames_of_either_video(of_family: Make) -> None:
    """With all of the few frames drawn and windows on one side, either video may come first."""
    chosen = of_family("gtcc", encoder__D=5)
    always = SimpleNamespace(choice=lambda n, size, replace: np.arange(n), integers=lambda n: 0)
    batch = replace(random_batch(2), learned=learned_by(recipe_of(chosen)), chance=lambda iteration: always)
    swapped = replace(
        batch,
        x=batch.y, x_times=batch.y_times, x_lengths=batch.y_lengths,
        y=batch.x, y_times=batch.x_times, y_lengths=batch.x_lengths,
    )  # fmt: skip
    torch.testing.assert_close(losses(swapped, chosen).loss, losses(batch, chosen).loss)


def test_lav_is_soft_dtw_over_the_frames_and_half_the_contrast_over_32(of_family: Make) -> None:
    """LAV divides both by N: 32 by default, 4 here."""
    batch = random_batch(1)
    total, align, cidm = losses(batch, of_family("lav", cidm__sigma=7.0, cidm__unit="seconds"))
    for p in range(3):
        cost = torch.cdist(batch.x[p], batch.y[p]) ** 2
        before = torch.full((5, 5), torch.inf, dtype=torch.float64)
        before[0, 0] = 0
        for i in range(4):
            for j in range(4):
                ways = torch.stack([before[i, j], before[i, j + 1], before[i + 1, j]])
                before[i + 1, j + 1] = cost[i, j] - 0.1 * torch.logsumexp(-ways / 0.1, 0)
        contrast = sum(
            summed(v[p : p + 1], t[p : p + 1], duration=n[p : p + 1], distance="squared", positives="plain").item()
            for v, t, n in ((batch.x, batch.x_times, batch.x_lengths), (batch.y, batch.y_times, batch.y_lengths))
        )
        assert total[p].item() == pytest.approx(before[4, 4].item() / 4 + 0.5 * contrast / 32)
        assert align[p].item() == pytest.approx(before[4, 4].item() / 4)
        assert cidm[p].item() == pytest.approx(contrast)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("tcc", {"encoder__unit_norm": True}),
        ("gtcc", {"train__clip": None}),
        ("cnc", {"cidm__over_n": True}),
        ("cnc", {"cidm__gradient": False}),
    ],
    ids=str,
)
def test_keys_beside_those_of_the_alignment_change_the_training(
    task: Path, of_family: Make, trained: Path, tmp_path: Path, name: str, change: dict[str, Any]
) -> None:
    train(task, task.parent, tmp_path / "out", of_family(name, **change), 0, device="cpu")
    assert not np.array_equal(terms(tmp_path / "out"), terms(trained / name))


def test_settings_that_train_nothing_are_refused(of_family: Make) -> None:
    with pytest.raises(RgwotError, match=r"^test: loss\.alignment none and cidm\.gradient false leave nothing"):
        of_family("cnc-released", loss__alignment="none")


@pytest.mark.parametrize("name", ["rgwot", "tcc", "gtcc", "lav", *TRANSPORT])
def test_the_alignment_falls_on_a_planted_problem(task: Path, of_family: Make, tmp_path: Path, name: str) -> None:
    # What GTCC drops costs more as cycles get better, and the more may be dropped.
    own = {"tcc": {"train__lr": 3e-3}, "gtcc": {"loss__keep": 1.0, "loss__mixture": 3}}.get(name, {})
    steps = 120 if name == "tcc" else 40
    chosen = of_family(name, **{"train__iterations": steps, "train__lr": 5e-3, "cidm__beta": 0.0, **own})
    train(task, task.parent, tmp_path / "out", chosen, 0, device="cpu")
    align = terms(tmp_path / "out")[:, 1]
    assert np.isfinite(align).all()
    assert align[-steps // 4 :].mean() < 0.95 * align[: steps // 4].mean()


def trainer_of(settings: Settings, bank: FeatureBank, seed: int, double: bool = False) -> Trainer:
    encoder = build_encoder(settings.encoder, settings.train.precision, seed, bank, "random")[0]
    return Trainer(encoder.double() if double else encoder, bank, recipe_of(settings), seed)


def test_what_a_loss_learns_is_trained_and_comes_from_the_seed(task: Path, of_family: Make) -> None:
    bank = FeatureBank(open_stores(task, task.parent), 1.0)
    chosen = of_family("gtcc", train__iterations=4)
    before = torch.random.get_rng_state()
    trainers = [trainer_of(chosen, bank, seed) for seed in (0, 0, 1)]
    assert torch.equal(torch.random.get_rng_state(), before)
    first, same, other = ([value.clone() for value in trainer.learned.parameters()] for trainer in trainers)
    assert all(torch.equal(a, b) for a, b in zip(first, same, strict=True))
    assert not torch.equal(first[0], other[0])
    trainers[0].run(lambda records: True)
    assert all(not torch.equal(a, b) for a, b in zip(first, trainers[0].learned.parameters(), strict=True))
    for value in trainers[1].learned.parameters():
        value.data.fill_(torch.nan)
    with pytest.raises(RgwotError, match="iteration 1: loss is nan"):
        trainers[1].run(lambda records: True)
    plain = of_family("tcc")
    assert trainer_of(plain, bank, 0).learned is None


@pytest.mark.parametrize("batch_norm", ["joint", "per_video"])
@pytest.mark.parametrize("name", ["rgwot", "gtcc", "lav", "cnc", "vava"])
def test_pairs_in_one_forward_pass_equal_pairs_one_by_one(
    task: Path, of_family: Make, name: str, batch_norm: str
) -> None:
    bank = FeatureBank(open_stores(task, task.parent), 1.0)
    chosen = of_family(name, train__iterations=4, encoder__batch_norm=batch_norm, encoder__dropout=0.2)
    histories = []
    # In float32 Adam makes much of the rounding of tiny gradients.
    for pairs_at_once in (1, 3, 4):
        trainer = trainer_of(chosen, bank, 0, double=True)
        trainer.pairs_at_once = pairs_at_once
        trainer.run(lambda records: True)
        histories.append([record[1:4] for record in trainer.history])
    np.testing.assert_allclose(histories[1:], histories[:1] * 2, rtol=1e-8)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", [name for name in METHODS if name not in TRANSPORT])
def test_cuda_follows_the_cpu(
    task: Path, of_family: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # PyTorch's default for convolutions keeps 10 bits of float32's 23.
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    chosen = of_family(name, train__lr=1e-4)
    for device in ("cpu", "cuda"):
        train(task, task.parent, tmp_path / device, chosen, 0, device=device)
    np.testing.assert_allclose(terms(tmp_path / "cuda"), terms(tmp_path / "cpu"), rtol=1e-2)
