"""The real Snakefile with features made elsewhere and with stored frames."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
from checkouts import Checkout
from videos import write_video

from rgwot.features.store import open_store

CONFIGURATION = """
datasets:
  mine: {layout: folder, root: videos, imported: {folder: features, axes: CT, fps: 2, weights: other}}
  stored: {layout: folder, root: stored, frames_fps: 15, settings: {features: {size: 32, weights: random}}}
"""


def write(root: Path) -> None:
    rng = np.random.default_rng(0)
    for folder in ("videos/tea", "features/tea", "stored/tea"):
        (root / folder).mkdir(parents=True)
    for name in ("a b", "c"):
        write_video(root / f"videos/tea/{name}.mp4", 90)
        np.save(root / f"features/tea/{name}.npy", rng.normal(size=(1024, 6)).astype(np.float32))
        with h5py.File(root / f"stored/tea/{name}.h5", "w") as file:
            file["images"] = rng.integers(0, 256, (30, 32, 32, 3), dtype=np.uint8)


def test_both_end_in_the_feature_index(fresh: Checkout, configured: Callable[[str], str]) -> None:
    write(fresh.path)
    more = configured(CONFIGURATION)
    targets = [f"results/features/{dataset}/tea/index.csv" for dataset in ("mine", "stored")]
    # Only the entry of stored frames, which has no block `imported`, is extracted by a network.
    assert fresh.plan(*targets, more=[more]).jobs == {"import_features": 1, "extract": 1, "index": 2}
    output = fresh.snakemake(*targets, more=[more])
    assert output.returncode == 0, output.text
    for target, frames in zip(targets, (6, 4), strict=True):
        index = pd.read_csv(fresh.path / target)
        assert (index.video.tolist(), index.frames.tolist()) == (["a%20b", "c"], [frames, frames])
    attributes = open_store(fresh.path / "results/features/mine/tea/a%20b.zarr").attributes
    assert (attributes["source"], attributes["weights"], attributes["width"]) == ("a b.npy", "other", 96)
    assert open_store(fresh.path / "results/features/stored/tea/c.zarr").attributes["decoder"] == "h5"
    # If options change, only the stores and the index are made again.
    again = configured(CONFIGURATION.replace("weights: other", "weights: third"))
    assert fresh.plan(*targets, more=[again]).jobs == {"import_features": 1, "index": 1}
    # Deleted features cause no run if everything made from them exists.
    (fresh.path / "features/tea/c.npy").unlink()
    assert not fresh.plan(*targets, more=[configured(CONFIGURATION)]).jobs


def test_features_of_another_study_are_taken_only_if_they_fit(
    fresh: Checkout, configured: Callable[[str], str]
) -> None:
    write(fresh.path)
    folder = fresh.path / "results/features/mine/tea"
    target = f"{folder.relative_to(fresh.path)}/index.csv"
    assert fresh.snakemake(target, more=[configured(CONFIGURATION)]).returncode == 0
    # Remove Snakemake's records, which do not exist in another folder with a link to these features, or a copy of them.
    shutil.rmtree(fresh.path / ".snakemake")
    assert not fresh.plan(target, more=[configured(CONFIGURATION)]).jobs
    refused = f"rgwot: {folder.relative_to(fresh.path)}/index.0.csv: was not made by this study: "
    plan = fresh.plan(target, more=[configured(CONFIGURATION.replace("weights: other", "weights: third"))])
    assert plan.mistake == (
        f"{refused}form.weights is 'other', expected 'third'; rm {folder.relative_to(fresh.path)}/index*, and run "
        "again, which keeps features that fit"
    )
    shared = fresh.path.parent / "shared"
    folder.rename(shared)
    folder.symlink_to(shared)
    path = fresh.path / "features/tea/c.npy"
    np.save(path, np.load(path) + 1)
    os.utime(path, (1, 1))
    plan = fresh.plan(target, more=[configured(CONFIGURATION)])
    assert plan.mistake.startswith(
        f"{refused}it was made from another file than features/tea/c.npy; replace the link to {shared}"
    )
    for kind in ("videos", "features"):
        (fresh.path / f"{kind}/tea/c.{'mp4' if kind == 'videos' else 'npy'}").unlink()
    plan = fresh.plan(target, more=[configured(CONFIGURATION)])
    assert plan.mistake.startswith(f"{refused}it has 2 videos, expected 1; 'c' is not in both")
    folder.unlink()
    shutil.copytree(shared, folder, ignore=shutil.ignore_patterns("*index*"))
    output = fresh.snakemake(target, more=[configured(CONFIGURATION)])
    assert output.returncode == 0, output.text
    log = (fresh.path / "results/logs/import_features/mine/tea/0.log").read_text(encoding="utf-8")
    assert "a%20b.zarr: kept, because it was made from this file" in log


@pytest.mark.long
def test_an_import_that_failed_is_not_taken_for_up_to_date(fresh: Checkout, configured: Callable[[str], str]) -> None:
    write(fresh.path)
    more, target = configured(CONFIGURATION), "results/features/mine/tea/index.csv"
    assert fresh.snakemake(target, more=[more]).returncode == 0
    path = fresh.path / "features/tea/new.npy"
    write_video(fresh.path / "videos/tea/new.mp4", 90)
    for value, failed in ((np.nan, 1), (1.0, 0)):
        np.save(path, np.full((1024, 6), value, dtype=np.float32))
        # As after Ctrl-C, only a missing part of the index shows that the import is unfinished.
        os.utime(path, (1, 1))
        assert fresh.plan(target, more=[more]).jobs == {"import_features": 1, "index": 1}
        assert fresh.snakemake(target, more=[more]).returncode == failed


def test_a_missing_file_is_named_before_any_job_runs(fresh: Checkout, configured: Callable[[str], str]) -> None:
    write(fresh.path)
    (fresh.path / "features/tea/c.npy").unlink()
    plan = fresh.plan("results/features/mine/tea/index.csv", more=[configured(CONFIGURATION)])
    assert plan.mistake.startswith("rgwot: tea/c: no features; expected one file features/tea/c or features/c")
