"""The real Snakefile makes the third-person table, from one task of ProceL as released and one of CrossTask."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from checkouts import Checkout, grow
from synthetic_trees import TreeSettings, plan
from synthetic_trees.crosstask import annotated_rows

from rgwot.datasets.names import video_id
from rgwot.records import read_annotations, read_manifest
from rgwot.reporting.targets import load_targets

LAYOUTS = ("procel", "crosstask")
SECONDS = 4.0
# The task whose list has an extra row, and the task with the fewest key steps.
TASK = {"procel": "perform_cpr", "crosstask": "16815"}


def settings(layout: str) -> dict[str, Any]:
    return {"tasks": (TASK[layout],), "n_videos": 2, "min_s": SECONDS, "max_s": SECONDS, "width": 64, "height": 64}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Return a checkout with a task of both trees, and a configuration with their roots."""
    checkout = Checkout.copied_to(tmp_path_factory.mktemp("third_person") / "checkout")
    for layout in LAYOUTS:
        grow(checkout.path / layout, layout, **settings(layout))
    chosen = ", ".join(f"{dataset}: {{tasks: ['{task}']}}" for dataset, task in TASK.items())
    roots = "roots: {procel: procel, crosstask: crosstask}"
    (checkout.path / "two.yaml").write_text(f"{roots}\ndatasets: {{{chosen}}}\n")
    return checkout


def test_a_task_of_each_is_read(checkout: Checkout) -> None:
    output = checkout.snakemake(
        *(f"results/manifest/{name}/{task}.csv" for name, task in TASK.items()), more=["two.yaml"]
    )
    assert output.returncode == 0, output.text[-4000:]
    for dataset, task in TASK.items():
        videos = {video.place.stem: video for video in plan(TreeSettings(layout=dataset, **settings(dataset)))}
        manifest = read_manifest(checkout.path / f"results/manifest/{dataset}/{task}.csv")
        segments = read_annotations(checkout.path / f"results/annotations/{dataset}/{task}.csv")
        assert set(manifest["status"]) == {"ok"}
        assert list(manifest["video"]) == [video_id(name) for name in manifest["name"]]
        assert set(manifest["name"]) == set(videos)
        occurring = sorted({segment.key_step for video in videos.values() for segment in video.timeline.segments})
        for name, own in zip(manifest["name"], manifest["video"], strict=True):
            rows = annotated_rows(videos[name]) if dataset == "crosstask" else videos[name].timeline.segments
            # Only the key steps that occur in the task are numbered.
            expected = [(round(s, 3), round(e, 3), occurring.index(step) + 1) for s, e, step in rows]
            read = segments[segments["video"] == own][["start_s", "end_s", "key_step"]]
            actual = list(read.itertuples(index=False, name=None))
            assert sorted(actual) == sorted(expected)
            assert actual == expected or dataset == "procel"


@pytest.mark.long
def test_every_row_is_made(checkout: Checkout) -> None:
    output = checkout.snakemake("results/tables/third_person.csv", more=["two.yaml"])
    assert output.returncode == 0, output.text[-4000:]
    table = pd.read_csv(checkout.path / "results/tables/third_person.csv")
    measured = table[table["kind"] == "measured"]
    rows = [row.id for row in load_targets().table("third_person").rows]
    assert measured.groupby("method").size().to_dict() == dict.fromkeys(rows, 16)
    assert (measured[[f"{dataset}_task_runs" for dataset in LAYOUTS]] == 1).all(axis=None)
    assert (measured["n_videos"] == 4).all()
    index = pd.read_csv(checkout.path / "results/features/procel/perform_cpr/index.csv")
    assert list(index["video"]) == ["cpr_0040", "cpr_0042"]
    assert set(index["status"]) == {"ok"}
    shares = measured[[f"{dataset}_{metric}" for dataset in LAYOUTS for metric in ("precision", "recall", "f1", "iou")]]
    assert shares.notna().all(axis=None)
    assert ((shares >= 0) & (shares <= 1)).all(axis=None)
