"""Checks that every alignment loss must pass, whether of the library or of another paper."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from phases import tiny
from torch import Tensor, nn

from rgwot.blocks import load
from rgwot.config.methods import FAMILIES
from rgwot.embedding.encoder import seeded
from rgwot.embedding.loop import Recipe, Trainer, objective
from rgwot.embedding.sampler import FeatureBank
from rgwot.embedding.settings import TrainedEncoder
from rgwot.features.index import open_stores
from rgwot.losses.interface import PairBatch
from rgwot.stages.train import build_encoder, recipe_of, train

TRANSPORT = ("vava", "opel")


def of_family(name: str, **changes: Any) -> TrainedEncoder:
    """Return the settings of a family, made small for tests."""
    own = {key.replace(".", "__"): value for key, value in FAMILIES[name].sets.items()}
    if name in TRANSPORT:
        # With 8 frames per video, no two frames would be farther apart than the default window of 15.
        own |= {"train__N": 8, "loss__window": 2}
    return tiny(**{"train__iterations": 6, **own, **changes})


def terms(directory: Path) -> np.ndarray:
    return pd.read_csv(directory / "history.csv")[["loss", "align", "cidm"]].to_numpy()


def random_batch(seed: int = 0) -> PairBatch:
    """Return random unit vectors for three pairs of videos of four frames each, with times in seconds."""
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
    """Settings that record which keys are read."""

    def __init__(self, values: object, read: set[str]) -> None:
        self.values, self.read = values, read

    def __getattr__(self, key: str) -> Any:
        self.read.add(key)
        return getattr(self.values, key)


def learned_by(recipe: Recipe) -> nn.Module | None:
    with seeded(0):
        return recipe.learned(5) if recipe.learned else None


def losses(batch: PairBatch, settings: TrainedEncoder) -> tuple[Tensor, Tensor, Tensor]:
    recipe = recipe_of(settings)
    return objective(batch, recipe.align, recipe.cidm)


def aligned(name: str, batch: PairBatch) -> tuple[Tensor, Tensor, Tensor]:
    """Return the losses of a batch with this alignment; what the alignment itself learns is drawn from a fixed seed."""
    settings = TrainedEncoder.of({"loss": {"alignment": name, "window": 2}, "encoder": {"D": 5}})
    learned = learned_by(recipe_of(settings))
    learned = learned.to(batch.x.dtype) if learned is not None and batch.x.dtype == torch.float64 else learned
    return losses(replace(batch, learned=learned), settings)


def trainer_of(settings: TrainedEncoder, bank: FeatureBank, seed: int, double: bool = False) -> Trainer:
    encoder = build_encoder(settings.encoder, settings.train.precision, seed, bank, "random")[0]
    return Trainer(encoder.double() if double else encoder, bank, recipe_of(settings), seed)


def check_keys(name: str) -> None:
    """A loss reads all of its keys."""
    read: set[str] = set()
    settings = TrainedEncoder.of({"loss": {"alignment": name}})
    batch = replace(random_batch(), learned=learned_by(recipe_of(settings)))
    if batch.learned is not None:
        batch.learned.double()
    load(type(settings.loss).FUNCTION)(batch, Recorder(settings.loss, read))
    assert read == set(type(settings.loss).model_fields)


def check_pairs(name: str) -> None:
    """A batch gives the same losses as its pairs one by one."""
    batch = random_batch()
    actual = torch.stack(aligned(name, batch))
    for p in range(3):
        tensors = (one.name for one in fields(batch) if isinstance(getattr(batch, one.name), Tensor))
        alone = replace(batch, **{key: getattr(batch, key)[p : p + 1] for key in tensors})
        torch.testing.assert_close(torch.stack(aligned(name, alone))[:, 0], actual[:, p], rtol=1e-6, atol=0)


def check_precision(name: str) -> None:
    """Autocast does not lower the precision."""
    batch = random_batch()
    batch = replace(batch, x=batch.x.float(), y=batch.y.float())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = aligned(name, batch)
    for one, other in zip(inside, aligned(name, batch), strict=True):
        assert one.dtype == torch.float32
        assert torch.equal(one, other)


def check_fall(name: str, task: Path, out: Path, steps: int = 40, **changes: Any) -> None:
    """The alignment loss decreases on a planted problem."""
    own = {"train__iterations": steps, "train__lr": 5e-3, "cidm__beta": 0.0, **changes}
    train(task, task.parent, out, of_family(name, **own), 0, device="cpu")
    align = terms(out)[:, 1]
    assert np.isfinite(align).all()
    assert align[-steps // 4 :].mean() < 0.95 * align[: steps // 4].mean()


def check_pairs_at_once(name: str, task: Path, batch_norm: str) -> None:
    """Pairs in one forward pass give the same results as pairs one by one."""
    bank = FeatureBank(open_stores(task, task.parent), 1.0)
    chosen = of_family(name, train__iterations=4, encoder__batch_norm=batch_norm, encoder__dropout=0.2)
    histories = []
    # float64, because Adam amplifies the rounding errors of tiny gradients in float32.
    for pairs_at_once in (1, 3, 4):
        trainer = trainer_of(chosen, bank, 0, double=True)
        trainer.pairs_at_once = pairs_at_once
        list(trainer.steps())
        histories.append([record[1:4] for record in trainer.history])
    np.testing.assert_allclose(histories[1:], histories[:1] * 2, rtol=1e-8)
