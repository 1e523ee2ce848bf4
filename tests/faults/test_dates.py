"""Files with times that mislead the workflow: in the future, or unchanged although the content has changed."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from rgwot.cli import cli
from rgwot.config.configuration import load_config
from rgwot.features.importing import import_features
from rgwot.runtime.errors import RgwotError
from rgwot.study import datasets
from rgwot.study.doctor import examine
from rgwot.study.study import Study, Task

FORM: dict[str, Any] = {"axes": "TC", "fps": "2"}


@pytest.fixture
def content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the configuration of three recordings in the folder ``feats`` of a study, the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("feats/tea").mkdir(parents=True)
    for number in range(3):
        np.save(f"feats/tea/r{number}.npy", np.random.default_rng(number).normal(size=(20, 3)).astype(np.float32))
        Path(f"feats/tea/r{number}.csv").write_text("0,5,1 boil\n5,9.5,2 pour\n", encoding="utf-8")
    made = {"datasets": {"own": {"layout": "features", "root": "feats", "imported": FORM}}}
    Path("config.yaml").write_text(yaml.safe_dump(made), encoding="utf-8")
    return made


def findings_by(content: dict[str, Any], rule: str) -> list[tuple[str | None, str]]:
    return [(finding.file, finding.message) for finding in examine(content, "own").findings if finding.rule == rule]


@pytest.mark.parametrize("name", ["r0.npy", "r1.csv"])
@pytest.mark.parametrize("ahead_s", [9 * 3600, 5 * 365 * 86400])
def test_a_file_of_the_future_is_reported_before_the_run(content: dict[str, Any], name: str, ahead_s: int) -> None:
    path = Path("feats/tea") / name
    assert findings_by(content, "date") == []
    os.utime(path, (time.time() + ahead_s,) * 2)
    ((file, message),) = findings_by(content, "date")
    assert file == f"tea/{name}"
    assert message.startswith("was changed in the future (20")
    assert message.endswith(f"run: touch feats/tea/{name}")
    study = Study(load_config(content, "config.yaml"))
    with pytest.raises(RgwotError, match=rf"^feats/tea/{name}: was changed in the future"):
        datasets.files(Task(study, "own", "tea"))
    path.touch()
    assert findings_by(content, "date") == []


def test_small_differences_of_clocks_and_old_files_are_not_faults(content: dict[str, Any]) -> None:
    os.utime("feats/tea/r0.npy", (time.time() + 20,) * 2)
    os.utime("feats/tea/r1.npy", (-315619200,) * 2)
    assert findings_by(content, "date") == []


def test_another_file_of_the_same_size_and_time_is_noticed(content: dict[str, Any]) -> None:
    from rgwot.datasets.settings import ImportSettings

    source = Path("feats/tea/r0.npy")
    import_features(source, "results/features/own/tea/r0.zarr", ImportSettings(**FORM))
    assert findings_by(content, "changed") == []
    before = source.stat()
    np.save(source, np.random.default_rng(9).normal(size=(20, 3)).astype(np.float32))
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert source.stat().st_size == before.st_size
    ((file, message),) = findings_by(content, "changed")
    assert (file, "touch it" in message) == ("tea/r0.npy", True)
    checked = CliRunner().invoke(cli, ["verify"])
    assert checked.exit_code == 1
    assert "feats/tea/r0.npy: is not the file from which its features were made" in checked.stdout
    # If the time of the file differs, the workflow notices it by itself.
    source.touch()
    assert findings_by(content, "changed") == []
