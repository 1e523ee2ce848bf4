"""The third-person table through the real Snakefile: ProceL as released (12 tasks) and CrossTask (18 tasks)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from checkouts import Checkout, grow
from synthetic_trees import TreeSettings, plan
from synthetic_trees.crosstask import annotated_rows

from rgwot.datasets.names import video_id
from rgwot.datasets.registry import tasks_of
from rgwot.records import read_annotations, read_manifest
from rgwot.reporting.tables.scores import reported_rows
from rgwot.reporting.tables.spec import find_table, load_tables

TABLES = Path(__file__).resolve().parents[2] / "workflow/tables.yaml"
LAYOUTS = ("procel", "crosstask")
SECONDS = 4.0
# One task of each dataset: the one with the extra row of the list, and the one with the fewest key steps.
TRAINED = {"procel": ["perform_cpr"], "crosstask": ["16815"]}


def planned(layout: str) -> TreeSettings:
    return TreeSettings(layout=layout, n_videos=2, min_s=SECONDS, max_s=SECONDS, width=64, height=64)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout beside both trees, and configurations that lead there."""
    checkout = Checkout.copied_to(tmp_path_factory.mktemp("third_person") / "checkout")
    for layout in LAYOUTS:
        grow(checkout.path / layout, layout, n_videos=2, min_s=SECONDS, max_s=SECONDS, width=64, height=64)
    (checkout.path / "roots.yaml").write_text("roots: {procel: procel, crosstask: crosstask}\n")
    chosen = (f"{dataset}: {{tasks: {tasks}}}" for dataset, tasks in TRAINED.items())
    (checkout.path / "few.yaml").write_text(f"datasets: {{{', '.join(chosen)}}}\n")
    return checkout


def test_the_table_holds_what_the_paper_prints() -> None:
    table = find_table(load_tables(TABLES), "third_person")
    assert list(table.datasets) == ["procel", "crosstask"]
    assert table.metrics == ("precision", "recall", "f1", "iou")
    rows = {row["method"]: row for row in reported_rows(table)}
    assert len(rows) == 14
    assert [rows["RGWOT"][f"procel_{metric}"] for metric in ("precision", "recall", "f1")] == [0.422, 0.467, 0.443]
    assert [rows["OPEL"][f"crosstask_{metric}"] for metric in ("precision", "recall", "f1")] == [0.356, 0.348, 0.351]
    assert pd.isna(rows["VAOT"]["procel_f1"])
    assert pd.isna(rows["RGWOT"]["procel_iou"])
    known = {method: row["protocol"] for method, row in rows.items() if row["protocol"] != "unknown"}
    assert known == {"RGWOT": "micro_video", "VAOT": "micro_video", "OPEL": "macro_video", "CnC": "macro_task"}


@pytest.mark.slow
def test_the_whole_table_is_planned(checkout: Checkout) -> None:
    jobs = checkout.plan("results/tables/third_person.csv", more=["roots.yaml"]).jobs
    rows = len(find_table(load_tables(TABLES), "third_person").rows)
    assert jobs["manifest"] == jobs["index"] == 12 + 18
    assert jobs["extract"] == 30
    assert jobs["evaluate"] == rows * 30


@pytest.mark.slow
def test_every_task_of_both_datasets_is_read(checkout: Checkout) -> None:
    listed = [f"results/manifest/{dataset}/{facts.task}.csv" for dataset in LAYOUTS for facts in tasks_of(dataset)]
    made = checkout.snakemake(*listed, more=["roots.yaml"])
    assert made.returncode == 0, made.text[-4000:]
    for dataset in LAYOUTS:
        videos = {(video.task, video.place.stem): video for video in plan(planned(dataset))}
        assert {task for task, _ in videos} == {facts.task for facts in tasks_of(dataset)}
        seen = 0
        for task in {task for task, _ in videos}:
            manifest = read_manifest(checkout.path / f"results/manifest/{dataset}/{task}.csv")
            segments = read_annotations(checkout.path / f"results/annotations/{dataset}/{task}.csv")
            assert set(manifest["status"]) == {"ok"}
            assert list(manifest["video"]) == [video_id(name) for name in manifest["name"]]
            occurring = sorted(
                {s.key_step for (t, _), video in videos.items() if t == task for s in video.timeline.segments}
            )
            for name, own in zip(manifest["name"], manifest["video"], strict=True):
                video = videos[task, name]
                rows = annotated_rows(video) if dataset == "crosstask" else video.timeline.segments
                # Key steps are numbered by those that occur in the task.
                expected = [(round(s, 3), round(e, 3), occurring.index(step) + 1) for s, e, step in rows]
                read = segments[segments["video"] == own][["start_s", "end_s", "key_step"]]
                found = list(read.itertuples(index=False, name=None))
                assert sorted(found) == sorted(expected)
                assert found == expected or dataset == "procel"
                seen += 1
        assert seen == len(videos)
    containers = {
        Path(path).suffix
        for listed in checkout.path.glob("results/manifest/*/*.csv")
        for path in read_manifest(listed)["path"]
    }
    assert containers == {".mp4", ".webm", ".mkv"}


@pytest.mark.long
def test_the_whole_table_is_made(checkout: Checkout) -> None:
    made = checkout.snakemake("results/tables/third_person.csv", more=["roots.yaml"])
    assert made.returncode == 0, made.text[-4000:]
    table = pd.read_csv(checkout.path / "results/tables/third_person.csv")
    measured = table[table["kind"] == "measured"]
    rows = [row.id for row in find_table(load_tables(TABLES), "third_person").rows]
    assert measured.groupby("method").size().to_dict() == dict.fromkeys(rows, 16)
    assert (measured["n_runs"] == 30).all()
    shares = measured[[f"{dataset}_{metric}" for dataset in LAYOUTS for metric in ("precision", "recall", "f1", "iou")]]
    assert shares.notna().all(axis=None)
    assert ((shares >= 0) & (shares <= 1)).all(axis=None)


@pytest.mark.slow
def test_a_task_of_each_is_scored(checkout: Checkout) -> None:
    rows = [f"results/tables/third_person/{row}.csv" for row in ("one_label", "rgwot")]
    made = checkout.snakemake(*rows, more=["roots.yaml", "few.yaml"])
    assert made.returncode == 0, made.text[-4000:]
    scored = {
        path.relative_to(checkout.path).parts[4:6] for path in checkout.path.glob("results/scores/rgwot/**/seed0.csv")
    }
    assert scored == {(dataset, task) for dataset, tasks in TRAINED.items() for task in tasks}
    index = pd.read_csv(checkout.path / "results/features/procel/perform_cpr/index.csv")
    assert list(index["video"]) == ["cpr_0040", "cpr_0042"]
    assert set(index["status"]) == {"ok"}
    for row in rows:
        table = pd.read_csv(checkout.path / row)
        table = table[table["kind"] == "measured"]
        assert set(table["protocol"]) == {"micro_video", "macro_video", "macro_task", "strict_task"}
        assert (table["n_runs"] == 1).all()
        assert (table[[f"{dataset}_task_runs" for dataset in LAYOUTS]] == 1).all(axis=None)
        assert (table["n_videos"] == 4).all()
        assert table[[f"{dataset}_{metric}" for dataset in LAYOUTS for metric in ("f1", "iou")]].notna().all(axis=None)
