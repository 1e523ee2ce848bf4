"""Two processes that are asked for the same output at the same time do not harm each other."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripted import READING, script_command
from videos import write_video

from rgwot.embedding.settings import TrainedEncoder
from rgwot.features.extract import Extraction, extract
from rgwot.features.settings import FeatureSettings
from rgwot.features.store import StoreWriter, open_store
from rgwot.runtime.errors import RgwotError
from rgwot.runtime.files import replacing
from rgwot.stages.train import train

FEATURES = {"features": {"fps": 30, "size": 32, "weights": "random"}}
TRAINING = {
    "encoder": {"channels": 8, "hidden": 8, "D": 8},
    "train": {"N": 4, "iterations": 40, "accumulation": 2, "precision": "float32", "threads": 1},
}


def write_task(folder: Path) -> Path:
    """Write the features of a task of two videos and return the path of its index."""
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        writer = StoreWriter(folder / f"{name}.zarr", np.arange(12) / 2, 2)
        writer.write(0, rng.normal(size=(12, 1024, 2, 2)))
        facts = {"weights": "random", "fps": 2.0, "status": "ok", "reason": "", "duration_s": 6.0, "native_fps": "30"}
        writer.finish(12, facts)
    (folder / "index.csv").write_text("video,status,reason,frames\na,ok,,12\nb,ok,,12\n", encoding="utf-8")
    return folder / "index.csv"


def extraction(folder: Path, store: object, video: Path) -> list[str]:
    """Return the command of a job that extracts the features of a video; its script is written into the folder."""
    params = {"videos": {"a": str(video)}, "settings": {**FEATURES, **READING}}
    given = {"device": "cpu"}
    return script_command("extract", folder, output=[store], params=params, wildcards={"video": "a"}, config=given)


def training(folder: Path, output: object, index: Path, settings: dict[str, Any]) -> list[str]:
    """Return the command of a job that trains on features; its script is written into the folder."""
    files = {"model": f"{output}/model.pt", "history": f"{output}/history.csv", "machine": f"{output}/machine.json"}
    parts: dict[str, Any] = {"wildcards": {"method": "rgwot", "seed": 0}, "config": {"device": "cpu"}}
    return script_command("train", folder, input={"index": index}, output=files, params={"settings": settings}, **parts)


def start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE, text=True)


def both(command: list[str]) -> list[int]:
    """Run a command twice at the same time, check that there is no traceback, and return the exit codes."""
    processes = [start(command) for _ in range(2)]
    said = [process.communicate(timeout=3600)[1] for process in processes]
    assert "Traceback" not in "".join(said), said
    return [process.returncode for process in processes]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.long
def test_extraction(tmp_path: Path) -> None:
    video = write_video(tmp_path / "a.mp4", 150)
    # One process makes the store; the other reports that it is locked, unless it starts after the first has ended.
    assert 0 in both(extraction(tmp_path, tmp_path / "twice/a.zarr", video))
    extract(video, tmp_path / "alone/a.zarr", FeatureSettings(**FEATURES["features"]), device="cpu")
    store = open_store(tmp_path / "twice/a.zarr")
    assert (store.status, len(store)) == ("ok", 150)
    np.testing.assert_array_equal(store.read(), open_store(tmp_path / "alone/a.zarr").read())
    extract(video, tmp_path / "twice/a.zarr", FeatureSettings(**FEATURES["features"]), device="cpu")
    np.testing.assert_array_equal(store.read(), open_store(tmp_path / "twice/a.zarr").read())


def test_a_second_extraction_is_refused_while_the_first_is_at_work(tmp_path: Path) -> None:
    video, output, run = write_video(tmp_path / "a.mp4", 30), tmp_path / "a.zarr", Extraction.run

    def twice(job: Extraction) -> None:
        with pytest.raises(
            RgwotError, match=r"a\.zarr: another process extracts the same video; run the command again"
        ):
            extract(video, output, FeatureSettings(**FEATURES["features"]), device="cpu")
        run(job)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Extraction, "run", twice)
        extract(video, output, FeatureSettings(**FEATURES["features"]), device="cpu")
    assert len(open_store(output)) == 30
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mp4", "a.zarr"]


def test_training(tmp_path: Path) -> None:
    index = write_task(tmp_path)
    assert both(training(tmp_path, tmp_path / "twice/seed0", index, TRAINING)) == [0, 0]
    train(index, tmp_path, tmp_path / "alone/seed0", TrainedEncoder.of(TRAINING), 0, device="cpu")
    one, two = (tmp_path / name / "seed0/model.pt" for name in ("alone", "twice"))
    assert one.read_bytes() == two.read_bytes()
    assert [path.name for path in (tmp_path / "twice").iterdir()] == ["seed0"]


def test_a_directory_replaced_from_both_sides_is_always_one_of_them(tmp_path: Path) -> None:
    target, failed = tmp_path / "out.zarr", []

    def write(name: str) -> None:
        try:
            for _ in range(40):
                with replacing(target) as folder:
                    folder.mkdir()
                    for part in ("a", "b", "c"):
                        (folder / part).write_text(name)
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in "123"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    parts = {(target / part).read_text() for part in ("a", "b", "c")}
    assert len(parts) == 1
    assert list(tmp_path.iterdir()) == [target]


def fail_half_way(target: Path) -> None:
    with replacing(target) as folder:
        folder.mkdir()
        raise RgwotError("made up")


def test_a_failed_directory_leaves_the_older_one(tmp_path: Path) -> None:
    (tmp_path / "out.zarr").mkdir()
    (tmp_path / "out.zarr/kept").touch()
    with pytest.raises(RgwotError, match="made up"):
        fail_half_way(tmp_path / "out.zarr")
    assert [path.name for path in (tmp_path / "out.zarr").iterdir()] == ["kept"]
    assert [path.name for path in tmp_path.iterdir()] == ["out.zarr"]
