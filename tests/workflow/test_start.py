"""A study in a new folder by `rgwot init` and `rgwot run`, from the checkout and from a wheel."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import yaml
from checkouts import REPOSITORY, Said, run, synthesise

from rgwot.runtime.errors import RgwotError
from rgwot.study.jobs import long_trainings, replaced
from rgwot.study.pages import trainings_to_come
from rgwot.study.shipped import DEFAULTS, PROFILE, SNAKEFILE, STUDY_FILES, snakemake_command, start_study
from rgwot.study.study import Study

QUIET = ("--cores", "1", "--quiet", "rules", "--")
ARRAYS = (
    "datasets:\n  mine: {layout: features, root: features, imported: {axes: TC, fps: 2}}\npage: {datasets: [mine]}\n"
)


def rgwot(folder: Path, *words: str, python: str = sys.executable, timeout_s: float = 600) -> Said:
    return run([python, "-m", "rgwot", *words], folder, timeout_s)


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "my videos").mkdir()
    output = rgwot(tmp_path, "init", "a study", "--videos", "my videos")
    assert output.returncode == 0, output.text
    study = tmp_path / "a study"
    assert {path.name for path in study.iterdir()} == set(STUDY_FILES)
    entry = yaml.safe_load((study / "config.yaml").read_text(encoding="utf-8"))["datasets"]["mine"]
    assert (study / entry["root"]).resolve() == tmp_path / "my videos"
    assert entry["root"] == "../my videos"
    (study / "Snakefile").unlink()
    before = {path.name: path.read_bytes() for path in study.iterdir()}
    assert rgwot(tmp_path, "init", "a study").mistake == (
        "rgwot: a study/config.yaml: exists already, so nothing was written; choose another folder, or remove the file"
    )
    assert {path.name: path.read_bytes() for path in study.iterdir()} == before
    assert "nowhere: no such folder" in rgwot(tmp_path, "init", "other", "--videos", "nowhere").mistake
    assert not (tmp_path / "other").exists()


def test_a_folder_is_looked_at_before_a_study_of_it_is_written(tmp_path: Path) -> None:
    for name in ("a.mp4", "b.mp4"):
        (tmp_path / "videos/tea").mkdir(parents=True, exist_ok=True)
        (tmp_path / "videos/tea" / name).write_bytes(b"")
    (tmp_path / "videos/green tea").mkdir()
    (tmp_path / "videos/green tea/c.mp4").touch()
    told = start_study(tmp_path / "study", tmp_path / "videos")
    assert told.pop("tea") == "2 videos"
    assert told.pop("green%20tea") == "1 videos"
    with pytest.raises(RgwotError, match="the folder of one task, tea") as caught:
        start_study(tmp_path / "other", tmp_path / "videos/tea")
    assert "nothing was written" in str(caught.value)
    assert not (tmp_path / "other").exists()


def test_commands_can_be_pasted_and_corrected(tmp_path: Path) -> None:
    assert "cd 'my study' && rgwot doctor" in rgwot(tmp_path, "init", "my study").text
    assert rgwot(tmp_path / "my study", "run", "First").mistake.endswith(
        "target 'First': unknown; did you mean 'first'?"
    )
    for text in (None, ""):
        if text is not None:
            (tmp_path / "config.yaml").write_text(text)
        assert "rgwot init" in rgwot(tmp_path, "doctor").mistake


def test_a_setting_that_a_method_replaces_is_reported(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("decode: {time: 0.0, surplus: 2}\n")
    study = Study.read((tmp_path / "config.yaml",))
    assert replaced(study, [DEFAULTS]) == []
    lines = replaced(study, [DEFAULTS, tmp_path / "config.yaml"])
    assert [line.rsplit(" ", 1)[1] for line in lines] == ["consensus@time=0"]


def test_hours_of_training_are_reported(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("device: cpu\ndatasets: {mine: {layout: folder, root: videos}}\n")
    study = Study.read((tmp_path / "config.yaml",))
    # Each of the three trainings has 10,000 iterations of 2.2 s (benchmarks/report/performance.md).
    assert "3 trainings take about 18 hours" in long_trainings(study, [("rgwot", "mine")] * 3)
    assert long_trainings(study, [("rgwot@train.iterations=100", "mine")]) == ""


def test_hours_of_training_are_reported_before_the_first_job(tmp_path: Path) -> None:
    (tmp_path / "videos/tea").mkdir(parents=True)
    for name in "ab":
        (tmp_path / f"videos/tea/{name}.mp4").touch()
    (tmp_path / "config.yaml").write_text(
        "device: cpu\nseeds: [0]\ndatasets: {mine: {layout: folder, root: videos}}\nfeatures: {weights: random}\n"
        "page: {datasets: [mine], methods: [rgwot/graphcut]}\n"
    )
    output = rgwot(tmp_path, "run", "--cores", "1", "first")
    note, job = (output.text.index(words) for words in ("1 trainings take about 6 hours", "extract: mine/tea"))
    assert note < job
    for path in ("models/vaot/mine/tea/seed{}/model.pt", "scores/vaot/kmeans@K=3/mine/tea/seed{}.csv"):
        words = [f"results/{path.format(seed)}" for seed in (0, 1)]
        assert trainings_to_come(Study.read((tmp_path / "config.yaml",)), words) == [("vaot", "mine")] * 2


def test_options_go_to_snakemake_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    output = rgwot(tmp_path, "run", "first")
    assert f"{tmp_path / 'config.yaml'}: no such file" in output.mistake
    (tmp_path / "config.yaml").write_text(ARRAYS)
    given = ["--configfile", "a.yaml", "--", "first"]
    ours, theirs = snakemake_command(given)[3:-4], snakemake_command(given)[-4:]
    assert theirs == given
    assert ours == [
        "--snakefile",
        str(SNAKEFILE.parent / "workflow/start/Snakefile"),
        "--workflow-profile",
        str(PROFILE),
    ]
    start_study(tmp_path / "new")
    monkeypatch.chdir(tmp_path / "new")
    assert snakemake_command(["-n"])[3:] == ["--workflow-profile", str(PROFILE), "-n"]
    assert snakemake_command(["-s", "x", "--workflow-profile", "none"])[3:] == ["-s", "x", "--workflow-profile", "none"]
    monkeypatch.chdir(REPOSITORY)
    assert snakemake_command(["-n"])[3:] == ["-n"]


def test_the_workflow_asks_for_snakemake_where_it_is_not_installed(tmp_path: Path, monkeypatch) -> None:
    start_study(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rgwot.study.shipped.find_spec", lambda name: None if name == "snakemake" else name)
    with pytest.raises(RgwotError, match=r"snakemake: not installed.*rgwot\[all\]"):
        snakemake_command(["first"])


@pytest.mark.parametrize("init", [True, False])
def test_a_study_of_arrays_is_planned(init: bool, tmp_path: Path) -> None:
    if init:
        start_study(tmp_path)
    (tmp_path / "config.yaml").write_text(ARRAYS)
    (tmp_path / "features/tea").mkdir(parents=True)
    for name in "ab":
        np.save(tmp_path / f"features/tea/{name}.npy", np.ones((4, 3), np.float32))
    jobs = rgwot(tmp_path, "run", "-n", *QUIET).jobs
    # Without a target, a run finds key steps in the study's own datasets, not in the demo, and trains nothing.
    assert jobs["decode"] == 2
    assert jobs["import_features"] == 1
    assert not {"train", "synth"} & set(jobs)


@pytest.mark.long
def test_a_wheel_is_enough(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "wheel")]
    subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True)
    (wheel,) = (tmp_path / "wheel").glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    python = tmp_path / "env/bin/python"
    (site,) = (tmp_path / "env/lib").glob("python*/site-packages")
    with zipfile.ZipFile(wheel) as content:
        content.extractall(site)
    # Add the dependencies but not this checkout: a .pth file in a folder that a .pth file adds is not read.
    (site / "others.pth").write_text(str(Path(np.__file__).parents[1]))
    script = tmp_path / "env/bin/rgwot"
    script.write_text(f'#!/bin/sh\nexec "{python}" -m rgwot "$@"\n')
    script.chmod(0o755)
    where = run([str(python), "-c", "import rgwot; print(rgwot.__file__)"], tmp_path, 60)
    assert str(site) in where.text

    videos, study = tmp_path / "clips", tmp_path / "study"
    synthesise(videos, n_videos=2)
    (task,) = (path.name for path in videos.iterdir() if path.is_dir())
    output = rgwot(tmp_path, "init", str(study), "--videos", str(videos), python=str(python))
    assert output.returncode == 0, output.text
    # One result is enough for a page.
    config = (study / "config.yaml").read_text()
    assert "page: {datasets: [mine]}" in config
    config = config.replace("{datasets: [mine]}", "{datasets: [mine], methods: [whitened/meanfield]}")
    (study / "config.yaml").write_text(config + "features: {size: 64}\n")
    assert rgwot(study, "run", "-n", *QUIET, "first", python=str(python)).jobs["extract"] == 1
    output = rgwot(study, "run", *QUIET, "first", python=str(python))
    assert output.returncode == 0, output.text
    assert (study / f"results/report/mine/{task}.html").is_file()
    assert (study / f"results/keysteps/whitened/meanfield/mine/{task}/seed0/procedures.csv").is_file()
    output = rgwot(study, "run", *QUIET, "results/tables/nothing.csv", python=str(python))
    assert "nothing" in output.mistake
