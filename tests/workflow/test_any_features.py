"""The real Snakefile makes scores and pages from vectors and maps of any size, with and without videos."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from checkouts import Checkout
from videos import write_video

from rgwot.features.store import open_store
from rgwot.runtime.tensors import load_tensors

STEPS = "0.0,3.0,1 cut\n3.0,6.0,2 stir\n6.0,10.0,3 pour\n"
SHAPES = {"TC": (48,), "TCHW": (32, 4, 4)}
CONFIGURATION = """
seeds: [0]
page: {datasets: [alone_tc], methods: [raw/kmeans]}
encoder: {channels: 8, hidden: 8, D: 8}
train: {iterations: 4, N: 4, threads: 1}
decode: {K: 3}
datasets:
  filmed_tc: {layout: folder, root: videos, imported: {folder: features/TC, axes: TC, fps: 2}}
  alone_tc: {layout: features, root: features/TC, imported: {axes: TC, fps: 2, native_fps: 30}}
  alone_tchw: {layout: features, root: features/TCHW, imported: {axes: TCHW, fps: 2}}
"""
DATASETS = ("filmed_tc", "alone_tc", "alone_tchw")
# Features in every form get one result, and one encoder is trained on vectors; all other tests train on maps.
SCORES = [
    *(f"results/scores/raw/kmeans/{dataset}/tea/seed0.csv" for dataset in DATASETS),
    "results/scores/rgwot/graphcut/alone_tc/tea/seed0.csv",
]
PAGE = "results/report/alone_tc/tea.html"
TABLE = "results/tables/any_features.csv"
ENTRY = '''from rgwot.reporting.tables.table import Place, Row, Table
from .paper import protocols

def any_features():
    """Any features."""
    places = [Place(name, name) for name in ("filmed_tc", "alone_tc", "alone_tchw")]
    rows = [Row("raw", "raw", "raw", "kmeans")]
    return Table(datasets=places, metrics=["f1"], blocks=protocols().blocks, rows=rows, paper=False)

TABLES = {"any_features": any_features}
'''


def write(root: Path) -> None:
    """Write four recordings of 10 s in which three steps follow each other: videos, and features that show steps."""
    (root / "videos/tea").mkdir(parents=True)
    for seed, name in enumerate("abcd"):
        rng = np.random.default_rng(seed)
        write_video(root / f"videos/tea/{name}.mp4", 300)
        (root / f"videos/tea/{name}.csv").write_text(STEPS)
        step = np.repeat([0, 1, 2], [6, 6, 8])
        for axes, shape in SHAPES.items():
            folder = root / "features" / axes / "tea"
            folder.mkdir(parents=True, exist_ok=True)
            shown = np.eye(shape[0])[step].reshape(20, shape[0], *[1] * (len(shape) - 1))
            np.save(folder / f"{name}.npy", (rng.normal(size=(20, *shape)) + 30 * shown).astype(np.float32))
            (folder / f"{name}.csv").write_text(STEPS)
    (root / "more.yaml").write_text(CONFIGURATION)
    (root / "tables").mkdir()
    (root / "tables/mine.py").write_text(ENTRY)


@pytest.mark.long
def test_every_form_goes_from_files_to_scores_and_pages(fresh: Checkout) -> None:
    write(fresh.path)
    output = fresh.snakemake(TABLE, *SCORES, PAGE, more=["more.yaml"])
    assert output.returncode == 0, output.text[-4000:]
    for target in SCORES:
        assert len(pd.read_csv(fresh.path / target)) > 0
    table = pd.read_csv(fresh.path / TABLE)
    assert "raw" in set(table.method)
    assert table[[f"{dataset}_f1" for dataset in DATASETS]].notna().all(axis=None)
    for dataset in DATASETS:
        store = open_store(fresh.path / f"results/features/{dataset}/tea/a.zarr")
        assert (store.vectors, store.shape[1]) == (dataset.endswith("tc"), 48 if dataset.endswith("tc") else 32)
    model = load_tensors(fresh.path / "results/models/rgwot/alone_tc/tea/seed0/model.pt")
    assert "stack1.weight" in model["encoder"]
    manifest = pd.read_csv(fresh.path / "results/manifest/alone_tc/tea.csv")
    assert manifest[["duration_s", "fps", "width", "height"]].drop_duplicates().to_numpy().tolist() == [[10, 30, 0, 0]]
    text = (fresh.path / PAGE).read_text(encoding="utf-8")
    assert text.count('"pictured":false') + text.count('"pictured": false') == 4
    view = json.loads((fresh.path / "results/views/raw/kmeans/alone_tc/tea/seed0.json").read_text())
    assert view["tree"]["leaves"]
    assert {frame["picture"] for step in view["typical"] for frame in step["frames"]} == {None}
    # Videos are as long as their features, so the clusters of these clear steps are equal.
    raw = [
        fresh.path / f"results/keysteps/raw/kmeans/{name}/tea/seed0/segments.csv" for name in ("filmed_tc", "alone_tc")
    ]
    assert raw[0].read_text() == raw[1].read_text()
    assert not fresh.plan(TABLE, *SCORES, PAGE, more=["more.yaml"]).jobs


def test_bad_features_are_refused_in_one_line_and_nothing_is_lost(fresh: Checkout) -> None:
    write(fresh.path)
    target = "results/features/alone_tc/tea/index.csv"
    path = fresh.path / "features/TC/tea/b.npy"
    good = np.load(path)
    wrong = good.copy()
    wrong[3, 5] = np.nan
    for array, said in (
        (wrong, "nan at sample 3, channel 5"),
        (good[:, :40], "b.zarr: vectors of 40 at 2 per second, expected vectors of 48 at 2 per second as in a.zarr"),
    ):
        np.save(path, array)
        done = fresh.snakemake(target, more=["more.yaml"])
        assert done.returncode != 0
        assert said in done.text, done.text[-3000:]
        assert "Traceback" not in done.text
        assert not (fresh.path / target).exists()
        assert (fresh.path / "results/features/alone_tc/tea/a.zarr").exists()
    np.save(path, good)
    assert fresh.snakemake(target, more=["more.yaml"]).returncode == 0


def test_a_missing_checkpoint_is_reported_once_before_any_job(fresh: Checkout) -> None:
    write(fresh.path)
    more = "datasets: {mine: {layout: folder, root: videos, settings: {features: {weights: gone.pth}}}}"
    (fresh.path / "gone.yaml").write_text(more)
    plan = fresh.plan("results/features/mine/tea/index.csv", more=["gone.yaml"])
    assert plan.mistake.startswith("rgwot: datasets.mine: features.weights: no file gone.pth; expected imagenet1k_v1")


def test_a_root_that_holds_no_task_is_reported(fresh: Checkout) -> None:
    (fresh.path / "empty").mkdir()
    (fresh.path / "wrong.yaml").write_text("datasets: {mine: {root: empty, layout: folder}}")
    told = fresh.plan("results/features/mine/tea/index.csv", more=["wrong.yaml"]).mistake
    assert "datasets.mine: no task found in" in told
    assert "found no video and no file of features; expected a folder of videos per task" in told
