"""Import of features whose videos are available, by the command and in the workflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from import_helpers import TCHW, npy
from videos import write_video

from rgwot.config.configuration import load_config
from rgwot.datasets.settings import ImportSettings
from rgwot.features.importing import import_video
from rgwot.features.store import open_store
from rgwot.runtime.errors import RgwotError
from rgwot.study import datasets
from rgwot.study.jobs import feature_settings
from rgwot.study.study import Study, Task
from rgwot.video import probe

ROOT = Path(__file__).parents[2]


def test_the_video_knows_its_length(tmp_path: Path) -> None:
    path, settings = npy(tmp_path, TCHW), ImportSettings(axes="TCHW", fps=2)
    count = len(np.load(path))
    footage = write_video(tmp_path / "a b.mp4", frames=round(30 * count / 2))
    import_video(footage, path, tmp_path / "a%20b.zarr", settings)
    store = open_store(tmp_path / "a%20b.zarr")
    assert (store.duration_s, store.native_fps) == (pytest.approx(count / 2), 30)
    assert (store.attributes["width"], store.attributes["height"]) == (probe(footage).width, probe(footage).height)


def test_a_video_that_cannot_be_opened(tmp_path: Path) -> None:
    path, settings = npy(tmp_path, TCHW), ImportSettings(axes="TCHW", fps=2)
    (tmp_path / "bad.mp4").write_bytes(b"")
    with pytest.raises(RgwotError, match="bad.mp4"):
        import_video(tmp_path / "bad.mp4", path, tmp_path / "s.zarr", settings)
    import_video(tmp_path / "bad.mp4", path, tmp_path / "s.zarr", settings, on_bad_video="skip")
    skipped = open_store(tmp_path / "s.zarr")
    assert (skipped.shape, skipped.status) == ((0, 1024, 2, 3), "skipped")
    assert skipped.reason


def study(root: Path, **imported: Any) -> Study:
    entry = {
        "layout": "folder",
        "root": str(root / "videos"),
        "imported": {"folder": "feats", "axes": "TC", **imported},
    }
    content = {"roots": {"feats": str(root / "features")}, "datasets": {"mine": entry}}
    return Study.of(content)


def test_the_workflow_finds_the_file_of_each_video(tmp_path: Path) -> None:
    for path in ("videos/tea/a b.mp4", "videos/tea/c.mp4", "videos/tea/d.mp4", "features/tea/a b.h5", "features/c.npy"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    found = study(tmp_path, fps=29.97002997, key="a 'b'", on_mismatch="trim")
    assert datasets.imported_file(Task(found, "mine", "tea"), "a%20b") == str(tmp_path / "features/tea/a b.h5")
    assert datasets.imported_file(Task(found, "mine", "tea"), "c") == str(tmp_path / "features/c.npy")
    settings = feature_settings(Task(found, "mine", "tea"))["form"]
    assert settings == {"axes": "TC", "fps": "30000/1001", "key": "a 'b'", "on_mismatch": "trim"}
    with pytest.raises(
        RgwotError, match=r"tea/d: no features; expected one file .*features/tea/d or .*features/d with"
    ):
        datasets.imported_file(Task(found, "mine", "tea"), "d")
    (tmp_path / "features/tea/c.pt").touch()
    with pytest.raises(RgwotError, match=r"tea/c: features in .*c.pt and .*c.npy; expected one"):
        datasets.imported_file(Task(found, "mine", "tea"), "c")
    with pytest.raises(RgwotError, match="no such video"):
        datasets.imported_file(Task(found, "mine", "tea"), "e")


@pytest.mark.parametrize(
    ("imported", "message"),
    [
        ({"folder": "f", "fps": 2}, r"imported.axes: Field required"),
        ({"folder": "f", "axes": "TC"}, r"imported: fps: Field required, features per second; or set times"),
        ({"folder": "f", "axes": "TC", "fps": 2, "on_mismach": "trim"}, r"did you mean 'on_mismatch'"),
    ],
)
def test_mistakes_in_the_configuration(imported: dict[str, Any], message: str) -> None:
    with pytest.raises(RgwotError, match=message):
        load_config({"datasets": {"mine": {"layout": "folder", "root": "r", "imported": imported}}})
