"""VAVA, OPEL and our reconstruction of REMAP train, and their models load."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from rgwot.config.methods import FAMILIES
from rgwot.config.settings import Settings
from rgwot.embedding.bank import FeatureBank
from rgwot.embedding.loop import Trainer
from rgwot.embedding.model import encoder_of, load_model
from rgwot.embedding.train import build_encoder, train
from rgwot.features.index import open_stores

Make = Callable[..., Settings]
METHODS = ("vava", "opel", "opel-gaussian", "remap")


def small(settings: Make, name: str, **changes: Any) -> Settings:
    own = {key.replace(".", "__"): value for key, value in FAMILIES[name].overrides.items()}
    # With the 8 frames of these runs nothing is 15 frames apart.
    return settings(**{"train__N": 8, "loss__window": 2, **own, **changes})


def terms(directory: Path) -> np.ndarray:
    return pd.read_csv(directory / "history.csv")[["loss", "align", "cidm"]].to_numpy()


@pytest.mark.parametrize("name", METHODS)
def test_a_family_trains_and_its_model_loads(task: Path, settings: Make, tmp_path: Path, name: str) -> None:
    chosen = small(settings, name, train__iterations=80, train__lr=3e-3)
    train(task, task.parent, tmp_path / "out", chosen, 0, device="cpu")
    loss, align, cidm = terms(tmp_path / "out").T
    assert len(loss) == 80
    assert np.isfinite([loss, align, cidm]).all()
    np.testing.assert_allclose(loss, align + (cidm if name == "remap" else 0), rtol=1e-5)
    assert align[-20:].mean() < 0.9 * align[:20].mean()
    model = load_model(tmp_path / "out" / "model.pt")
    assert model["settings"]["loss"]["alignment"] == FAMILIES[name].overrides["loss.alignment"]
    with torch.inference_mode():
        norms = encoder_of(model)(torch.rand(4, 2, 1024, 3, 3)).norm(dim=1)
    assert torch.allclose(norms, torch.ones(4)) is (name == "remap")


@pytest.mark.parametrize("name", METHODS)
def test_pairs_in_one_forward_pass_equal_pairs_one_by_one(task: Path, settings: Make, name: str) -> None:
    bank = FeatureBank(open_stores(task, task.parent), 1.0)
    chosen = small(settings, name)
    histories = []
    for pairs_at_once in (1, 4):
        trainer = Trainer(build_encoder(chosen, 0, bank, "random")[0].double(), bank, chosen, 0)
        trainer.pairs_at_once = pairs_at_once
        trainer.run(lambda records: True)
        histories.append([record[1:4] for record in trainer.history])
    np.testing.assert_allclose(histories[0], histories[1], rtol=1e-8)
