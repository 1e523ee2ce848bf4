"""Settings, batches, precision and training of GTCC, LAV and REMAP, as for the library's alignment losses."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from alignments import (
    check_fall,
    check_keys,
    check_pairs,
    check_pairs_at_once,
    check_precision,
    learned_by,
    losses,
    of_family,
    random_batch,
    terms,
)
from phases import write_index, write_video

from rgwot.config.configuration import load_config
from rgwot.config.experiments import Experiments
from rgwot.losses.cidm import cidm_loss
from rgwot.stages.models import load_model
from rgwot.stages.train import recipe_of, train

summed = partial(cidm_loss, lambda_=2.0, sigma=7.0, weight="relative_time")


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("task")
    videos = {"v0": 20, "v1": 26, "v2": 31}
    for seed, (name, frames) in enumerate(videos.items()):
        write_video(folder / f"{name}.zarr", frames, seed)
    return write_index(folder, videos)


@pytest.mark.parametrize("name", ["gtcc", "soft_dtw", "partial"])
def test_settings_batches_and_precision(name: str) -> None:
    check_keys(name)
    check_pairs(name)
    check_precision(name)


@pytest.mark.parametrize(("name", "weight"), [("gtcc", 0), ("lav", 1 / 64), ("remap", 1 / 32)])
def test_a_family_trains_and_its_model_loads(task: Path, tmp_path: Path, name: str, weight: float) -> None:
    chosen = of_family(name)
    train(task, task.parent, tmp_path / "run", chosen, 0, device="cpu")
    loss, align, cidm = terms(tmp_path / "run").T
    assert np.isfinite(align).all()
    np.testing.assert_allclose(loss, align + weight * cidm, rtol=1e-5)
    assert load_model(tmp_path / "run" / "model.pt")["settings"]["loss"]["alignment"] == chosen.loss.NAME


def test_gtcc_limits_the_gradient(task: Path, tmp_path: Path) -> None:
    for clip in (1.0, None):
        train(task, task.parent, tmp_path / str(clip), of_family("gtcc", train__clip=clip), 0, device="cpu")
    assert not np.array_equal(terms(tmp_path / "1.0"), terms(tmp_path / "None"))


# GTCC drops no frames here, because the penalty for dropped frames grows as cycles improve.
@pytest.mark.parametrize(("name", "changes"), [("gtcc", {"gtcc__keep": 1.0, "gtcc__mixture": 3}), ("lav", {})])
def test_the_alignment_falls_on_a_planted_problem(
    task: Path, tmp_path: Path, name: str, changes: dict[str, Any]
) -> None:
    check_fall(name, task, tmp_path / "out", **changes)


@pytest.mark.parametrize("batch_norm", ["joint", "per_video"])
@pytest.mark.parametrize("name", ["gtcc", "lav"])
def test_pairs_in_one_forward_pass_equal_pairs_one_by_one(task: Path, name: str, batch_norm: str) -> None:
    check_pairs_at_once(name, task, batch_norm)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("lav@cidm.unit=native_frames,sigma=10,soft_dtw.gamma=0.10", "lav"),
        ("gtcc@loss.alignment=tcc", "gtcc@loss.alignment=tcc"),
        ("tcc@loss.alignment=gtcc,train.clip=1", "gtcc"),
        ("lav@beta=0.03125,cidm.unit=seconds", "lav@beta=0.03125,cidm.unit=seconds"),
    ],
)
def test_canonical_spelling(written: str, canonical: str) -> None:
    experiments = Experiments(load_config({}))
    assert experiments.method(written) == canonical
    assert experiments.method(canonical) == canonical


def test_gtcc_asks_about_the_frames_of_either_video() -> None:
    """If all frames are drawn as anchors, with windows on one side, the order of the two videos does not matter."""
    chosen = of_family("gtcc", encoder__D=5)
    always = SimpleNamespace(choice=lambda n, size, replace: np.arange(n), integers=lambda n: 0)
    batch = replace(random_batch(2), learned=learned_by(recipe_of(chosen)), chance=lambda iteration: always)
    swapped = replace(
        batch,
        x=batch.y, x_times=batch.y_times, x_lengths=batch.y_lengths,
        y=batch.x, y_times=batch.x_times, y_lengths=batch.x_lengths,
    )  # fmt: skip
    torch.testing.assert_close(losses(swapped, chosen)[0], losses(batch, chosen)[0])


def test_lav_is_soft_dtw_over_the_frames_and_half_the_contrast_over_32() -> None:
    """Both terms are divided by N, which is 32 by default and 4 here."""
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
