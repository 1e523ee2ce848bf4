"""Methods with other alignment losses train, resume bit for bit, and give models that can be loaded."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from alignments import (
    TRANSPORT,
    check_fall,
    check_keys,
    check_pairs,
    check_pairs_at_once,
    check_precision,
    losses,
    of_family,
    random_batch,
    terms,
    trainer_of,
)

from rgwot.config.methods import FAMILIES
from rgwot.embedding.encoder import encoder_of
from rgwot.embedding.sampler import FeatureBank
from rgwot.features.index import open_stores
from rgwot.losses.cidm import cidm_loss
from rgwot.losses.settings import LOSSES
from rgwot.runtime.errors import RgwotError
from rgwot.stages.models import load_model
from rgwot.stages.train import train

METHODS = ("rgwot", "tcc", "cnc", "cnc-released", *TRANSPORT)
summed = partial(cidm_loss, lambda_=2.0, sigma=7.0, weight="relative_time")


@pytest.fixture(scope="module")
def trained(task: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a run of every family."""
    folder = tmp_path_factory.mktemp("runs")
    for name in METHODS:
        train(task, task.parent, folder / name, of_family(name), 0, device="cpu")
    return folder


def assert_of_family(directory: Path, name: str) -> None:
    model = load_model(directory / "model.pt")
    expected = FAMILIES[name].sets.get("loss.alignment", "gromov_wasserstein")
    assert model["settings"]["loss"]["alignment"] == expected
    with torch.inference_mode():
        norms = encoder_of(model)(torch.rand(4, 2, 1024, 3, 3)).norm(dim=1)
    assert torch.allclose(norms, torch.ones(4)) is (name == "rgwot")


@pytest.mark.parametrize("name", LOSSES)
def test_an_alignment_reads_all_of_its_keys(name: str) -> None:
    check_keys(name)


@pytest.mark.parametrize("name", LOSSES)
def test_a_batch_is_its_pairs_one_by_one(name: str) -> None:
    check_pairs(name)


@pytest.mark.parametrize("name", LOSSES)
def test_autocast_does_not_lower_the_precision(name: str) -> None:
    check_precision(name)


@pytest.mark.parametrize("name", METHODS)
def test_a_family_trains_and_its_model_loads(trained: Path, name: str) -> None:
    values = terms(trained / name)
    assert values.shape == (6, 3)
    assert np.isfinite(values).all()
    assert_of_family(trained / name, name)


def test_what_the_total_is(trained: Path) -> None:
    weights = {"rgwot": 1 / 32, "cnc": 0.5, "cnc-released": 0.5}
    for name in METHODS:
        loss, align, cidm = terms(trained / name).T
        np.testing.assert_allclose(loss, align + weights.get(name, 0) * cidm, rtol=1e-5, err_msg=name)
        assert (cidm > 0).all()


def test_cnc_adds_the_mean_over_videos_of_the_sum_over_pairs() -> None:
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
    torch.testing.assert_close(align, losses(batch, of_family("tcc"))[0])
    torch.testing.assert_close(total, align + (sums[0] + sums[1]) / 2)


def test_the_released_cnc_trains_tcc_with_its_own_distance_and_the_published_one_does_not(
    task: Path, trained: Path, tmp_path: Path
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


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("tcc", {"encoder__unit_norm": True}),
        ("cnc", {"train__clip": 1e-3}),
        ("cnc", {"cidm__over_n": True}),
        ("cnc", {"cidm__gradient": False}),
    ],
    ids=str,
)
def test_keys_beside_those_of_the_alignment_change_the_training(
    task: Path, trained: Path, tmp_path: Path, name: str, change: dict[str, Any]
) -> None:
    train(task, task.parent, tmp_path / "out", of_family(name, **change), 0, device="cpu")
    assert not np.array_equal(terms(tmp_path / "out"), terms(trained / name))


def test_settings_that_train_nothing_are_refused() -> None:
    with pytest.raises(RgwotError, match=r"^test: loss\.alignment none and cidm\.gradient false leave nothing"):
        of_family("cnc-released", loss__alignment="none")


@pytest.mark.parametrize("name", ["rgwot", "tcc", *TRANSPORT])
def test_the_alignment_falls_on_a_planted_problem(task: Path, tmp_path: Path, name: str) -> None:
    own = {"steps": 120, "train__lr": 3e-3} if name == "tcc" else {}
    check_fall(name, task, tmp_path / "out", **own)


@pytest.mark.parametrize("batch_norm", ["joint", "per_video"])
@pytest.mark.parametrize("name", ["rgwot", "cnc", "vava"])
def test_pairs_in_one_forward_pass_equal_pairs_one_by_one(task: Path, name: str, batch_norm: str) -> None:
    check_pairs_at_once(name, task, batch_norm)


def test_what_a_loss_learns_is_trained_and_comes_from_the_seed(task: Path, learning_loss: str) -> None:
    bank = FeatureBank(open_stores(task, task.parent), 1.0)
    chosen = of_family("tcc", loss__alignment=learning_loss, train__iterations=4)
    before = torch.random.get_rng_state()
    trainers = [trainer_of(chosen, bank, seed) for seed in (0, 0, 1)]
    assert torch.equal(torch.random.get_rng_state(), before)
    first, same, other = ([value.clone() for value in trainer.learned.parameters()] for trainer in trainers)
    assert all(torch.equal(a, b) for a, b in zip(first, same, strict=True))
    assert not torch.equal(first[0], other[0])
    list(trainers[0].steps())
    assert all(not torch.equal(a, b) for a, b in zip(first, trainers[0].learned.parameters(), strict=True))
    for value in trainers[1].learned.parameters():
        value.data.fill_(torch.nan)
    with pytest.raises(RgwotError, match="iteration 1: loss is nan"):
        list(trainers[1].steps())
    plain = of_family("tcc")
    assert trainer_of(plain, bank, 0).learned is None


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", [name for name in METHODS if name not in TRANSPORT])
def test_cuda_follows_the_cpu(task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    # By default, convolutions on CUDA keep only 10 of the 23 bits of float32.
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    chosen = of_family(name, train__lr=1e-4)
    for device in ("cpu", "cuda"):
        train(task, task.parent, tmp_path / device, chosen, 0, device=device)
    np.testing.assert_allclose(terms(tmp_path / "cuda"), terms(tmp_path / "cpu"), rtol=1e-2)
