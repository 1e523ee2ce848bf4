"""Features that lack a bad video since it was skipped are refused once bad videos are to fail."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rgwot.features.index import write_index
from rgwot.features.store import StoreWriter
from rgwot.runtime.errors import RgwotError
from rgwot.study import datasets
from rgwot.study.study import Study

TABLES = Path(__file__).resolve().parents[2] / "workflow/tables.yaml"
IMPORTED = {"imported": {"folder": "features", "axes": "TC", "fps": 2}}
WHOLE, CUT, LOST = ("ok", "", 3), ("partial", "ends early", 2), ("skipped", "no pictures", 0)


def store(path: Path, status: str, reason: str, frames: int, decoder: str = "decord") -> Path:
    writer = StoreWriter(path, np.arange(frames) / 2, 1)
    writer.write(0, np.zeros((frames, 1024, 1, 1)))
    writer.finish(frames, {"status": status, "reason": reason, "decoder": decoder})
    return path


@pytest.mark.parametrize(
    ("last", "decoder", "refused"),
    [(WHOLE, "decord", None), (CUT, "decord", "partial"), (LOST, "decord", "skipped"), (LOST, "import", "skipped")]
    # Of imported features a part may be all there is: `on_mismatch` decides, not `on_bad_video`.
    + [(CUT, "import", None)],
)
def test_the_index_job_refuses_them(
    tmp_path: Path, last: tuple[str, str, int], decoder: str, refused: str | None
) -> None:
    stores = [store(tmp_path / "a.zarr", *WHOLE), store(tmp_path / "b.zarr", *last, decoder=decoder)]
    if refused:
        with pytest.raises(RgwotError, match=rf"b.zarr: video 'b' was {refused} by an earlier run \({last[1]}\)"):
            write_index(stores, tmp_path / "index.csv")
        assert not (tmp_path / "index.csv").exists()
    write_index(stores, tmp_path / "index.csv", "skip" if refused else "fail")
    assert pd.read_csv(tmp_path / "index.csv").status.tolist() == ["ok", last[0]]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with videos a and b, of which an earlier run skipped b."""
    monkeypatch.chdir(tmp_path)
    index = Path("results/features/mine/tea/index.csv")
    for path in (Path("videos/tea/a.mp4"), Path("videos/tea/b.mp4"), index):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    for name in "ab":
        index.with_name(f"{name}.zarr").mkdir()
    listed(index, "skipped")
    os.utime("videos/tea/b.mp4", (1, 1))
    return index


def listed(index: Path, status: str) -> None:
    rows = [("a", "ok", "", 3), ("b", status, "no pictures", 0), ("gone", "skipped", "removed since", 0)]
    pd.DataFrame(rows, columns=["video", "status", "reason", "frames"]).to_csv(index, index=False)


def check(on_bad_video: str = "fail", video: str | None = None, **entry: object) -> None:
    content = {"on_bad_video": on_bad_video, "datasets": {"mine": {"layout": "folder", "root": "videos", **entry}}}
    datasets.check_left_out(Study.of(content), "mine", "tea", video)


def test_planning_refuses_them(made: Path) -> None:
    with pytest.raises(RgwotError, match=r"videos/tea/b.mp4: skipped by an earlier run \(no pictures\)") as told:
        check()
    assert "delete results/features/mine/tea/b.zarr" in str(told.value)
    check("skip")
    check(video="a")
    with pytest.raises(RgwotError, match="b.mp4: skipped"):
        check(video="b")
    with pytest.raises(RgwotError, match="b.mp4: skipped"):
        check(**IMPORTED)
    listed(made, "partial")
    with pytest.raises(RgwotError, match="b.mp4: partial"):
        check()
    check(**IMPORTED)


def test_planning_passes_what_is_extracted_again(made: Path) -> None:
    os.utime("videos/tea/b.mp4", (made.stat().st_mtime + 1,) * 2)
    check()
    os.utime("videos/tea/b.mp4", (1, 1))
    made.with_name("b.zarr").rmdir()
    check()
