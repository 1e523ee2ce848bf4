"""A task with thousands of videos is planned in batches, and another video leaves the existing files alone."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
import pytest
from checkouts import CORES, Checkout

from rgwot.study.datasets import BATCH

VIDEOS = 3000
GIVEN = "datasets: {mine: {layout: features, root: given, imported: {axes: TC, fps: 2}}}\n"
MINE = "datasets: {mine: {layout: folder, root: videos}}\n"


def test_thousands_of_videos_are_planned_in_batches(fresh: Checkout, configured: Callable[[str], str]) -> None:
    folder = fresh.path / "videos/tea"
    folder.mkdir(parents=True)
    for number in range(VIDEOS):
        # Percent-encoded, each of these letters takes six bytes.
        (folder / f"заваривание чая {number:04}.mp4").touch()
    method = "whitened@data.holdout=0.5,data.split=holdout"
    target = f"results/keysteps/{method}/meanfield/mine/tea/seed0/segments.csv"
    jobs = fresh.plan(target, more=[configured(MINE)]).jobs
    assert jobs["extract"] == -(-VIDEOS // BATCH)
    assert jobs["index"] == 1


KEY_STEPS = "results/keysteps/whitened/meanfield/mine/tea/seed0/segments.csv"


def write_features(folder: Path, names: str, seed: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    for name in names:
        np.save(folder / f"{name}.npy", rng.random((40, 8), dtype=np.float32))


def test_an_added_video_touches_only_itself(fresh: Checkout, configured: Callable[[str], str]) -> None:
    more = [configured(GIVEN)]
    folder = fresh.path / "given/tea"
    write_features(folder, "bcd")
    output = fresh.snakemake(KEY_STEPS, more=more)
    assert output.returncode == 0, output.text[-4000:]
    assert not fresh.plan(KEY_STEPS, more=more).jobs
    features = fresh.path / "results/features/mine/tea"
    before = {path: path.stat().st_mtime_ns for path in features.glob("*.zarr/zarr.json")}
    assert len(before) == 3
    # Another decoder needs no new features or embeddings.
    other = fresh.plan("results/keysteps/whitened/kmeans/mine/tea/seed0/segments.csv", more=more).jobs
    assert not {"import_features", "index", "embed_without_encoder"} & set(other)
    # The new video comes first in the list, which is harder than an addition at the end.
    write_features(folder, "a", seed=1)
    output = fresh.snakemake(KEY_STEPS, more=more)
    assert output.returncode == 0, output.text[-4000:]
    assert {path: path.stat().st_mtime_ns for path in before} == before
    with (features / "index.csv").open(encoding="utf-8", newline="") as file:
        assert [row["video"] for row in csv.DictReader(file)] == ["a", "b", "c", "d"]


@pytest.mark.long
def test_another_video_of_the_same_length_is_noticed_and_a_touched_one_is_not(
    fresh: Checkout, configured: Callable[[str], str]
) -> None:
    more = [configured(GIVEN)]
    folder = fresh.path / "given/tea"
    write_features(folder, "ab")
    output = fresh.snakemake(KEY_STEPS, more=more)
    assert output.returncode == 0, output.text[-4000:]

    def after_a_run_to_the_index() -> Collection[str]:
        # As after a kill, Snakemake sees only from the content of the index which jobs are left.
        output = fresh.snakemake(
            KEY_STEPS, options=("--cores", CORES, "--until", "index", "--quiet", "host"), more=more
        )
        assert output.returncode == 0, output.text[-4000:]
        assert output.text.count("Finished jobid") == 2, output.text[-4000:]
        return fresh.plan(KEY_STEPS, more=more).jobs.keys()

    (folder / "a.npy").touch()
    assert not after_a_run_to_the_index()
    write_features(folder, "a", seed=1)
    assert after_a_run_to_the_index() == {"embed_without_encoder", "decode"}
