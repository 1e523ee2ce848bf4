"""Whitened features concatenated with learned ones: both parts keep their values, scaled to the given shares."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from with_defaults import fit_by

from rgwot.embedding.interface import unit_rows
from rgwot.embedding.settings import TrainedEncoder
from rgwot.features.index import open_stores
from rgwot.stages.embed import embed, read_embeddings
from rgwot.stages.train import train

SHARE = 0.7


def embedded(index: Path, folder: Path, settings: TrainedEncoder, held_out: tuple[str, ...]) -> dict[str, np.ndarray]:
    train(index, index.parent, folder / "model", settings, 0, device="cpu", held_out=held_out)
    embed(index, index.parent, folder / "model" / "model.pt", folder / "made.zarr", device="cpu")
    return {name: video.embedding for name, video in read_embeddings(folder / "made.zarr").videos.items()}


@pytest.mark.parametrize(("vectors", "held_out"), [(False, ("v2",)), (True, ())])
def test_both_parts_are_what_they_are_alone(
    task: Path,
    write_vectors: Callable[..., Path],
    settings: Callable[..., TrainedEncoder],
    tmp_path: Path,
    vectors: bool,
    held_out: tuple[str, ...],
) -> None:
    rng = np.random.default_rng(0)
    index = write_vectors([rng.normal(size=(T, 6)) for T in (20, 26, 31)]) if vectors else task
    split = "holdout" if held_out else "all"
    alone = embedded(index, tmp_path / "alone", settings(data__split=split), held_out)
    both = embedded(index, tmp_path / "both", settings(data__split=split, encoder__beside=SHARE), held_out)
    stores = open_stores(index, index.parent)
    seen = [store for store in stores if store.video not in held_out]
    white = fit_by("whitened", seen, {}, 0)
    centre = np.concatenate([alone[store.video] for store in seen]).mean(axis=0)
    for store in stores:
        found, learned = both[store.video], alone[store.video]
        D = found.shape[1] - learned.shape[1]
        np.testing.assert_allclose(found[:, :D], np.sqrt(SHARE) * white(store).embedding, atol=1e-6)
        np.testing.assert_allclose(found[:, D:], np.sqrt(1 - SHARE) * unit_rows(learned - centre), atol=1e-4)
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
