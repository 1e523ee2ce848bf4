"""The index of a task with more videos than a command can name: made from lists of some of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rgwot.cli import cli
from rgwot.features.store import StoreWriter
from rgwot.runtime import arguments
from rgwot.runtime.errors import RgwotError
from rgwot.study import datasets
from rgwot.study.study import Study

NAMES = ("c", "a", "b", "d")
TABLES = Path(__file__).resolve().parents[2] / "workflow/tables.yaml"


@pytest.fixture
def stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(NAMES):
        writer = StoreWriter(tmp_path / f"{name}.zarr", np.arange(number) / 2, 1)
        writer.write(0, np.zeros((number, 1024, 1, 1)))
        status = "ok" if number else "skipped"
        writer.finish(number, {"status": status, "reason": "" if number else "no pictures", "decoder": "decord"})
    return [f"{name}.zarr" for name in NAMES]


def rgwot(*words: str) -> None:
    cli(list(words), standalone_mode=False)


def test_an_index_from_parts_is_that_from_stores(stores: list[str]) -> None:
    skip = ("--on-bad-video", "skip")
    rgwot("index", *skip, "whole.csv", *stores)
    rgwot("index", *skip, "index.0.csv", *stores[:3])
    rgwot("index", *skip, "index.1.csv", *stores[3:])
    rgwot("index", *skip, "index.csv", "index.0.csv", "index.1.csv")
    assert Path("index.csv").read_bytes() == Path("whole.csv").read_bytes()
    # What a part was made with does not decide for the whole.
    with pytest.raises(RgwotError, match="video 'c' was skipped by an earlier run"):
        rgwot("index", "again.csv", "index.0.csv", "index.1.csv")


def test_parts_are_only_where_a_command_cannot_name_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        (tmp_path / "videos/tea").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"videos/tea/{name}.mp4").touch()
    content = {"datasets": {"mine": {"layout": "folder", "root": str(tmp_path / "videos")}}}
    every = [f"results/features/mine/tea/{name}.zarr" for name in sorted(NAMES)]
    # An index that was made by an earlier version has the stores as its input: another input would outdate it.
    assert datasets.index_input(Study.of(content), "mine", "tea") == every
    monkeypatch.setattr(arguments, "LONGEST", 3 * (len(every[0]) + 1))
    study = Study.of(content)
    parts = [f"results/features/mine/tea/index.{part}.csv" for part in (0, 1)]
    assert datasets.index_input(study, "mine", "tea") == parts
    assert [datasets.index_part_input(study, "mine", "tea", part) for part in "01"] == [every[:3], every[3:]]
    with pytest.raises(RgwotError, match="no part 2 of its index, expected 0 to 1"):
        datasets.index_part_input(study, "mine", "tea", "2")
