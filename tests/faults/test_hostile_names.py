"""Names of videos and tasks on disk cannot reach a shell, or a path outside results."""

from __future__ import annotations

import csv
import os
import re
import string
import sys
import unicodedata
from contextlib import chdir
from pathlib import Path, PurePosixPath
from random import Random

import pytest
import yaml
from checkouts import Checkout, run
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted import READING, script_command
from videos import write_video

from rgwot.datasets.finding import find
from rgwot.datasets.names import stem_of, video_id
from rgwot.features.store import open_store
from rgwot.runtime.errors import RgwotError
from rgwot.study import datasets
from rgwot.study.doctor import examine
from rgwot.study.study import Study, Task

NAMES = (
    "two words", "it's", 'a "quoted" name', "a;touch escaped", "$(touch escaped)", "`touch escaped`", "$HOME",
    "a&&b|c>d", "-rf", "--help", "..a", "...b",
    "..%2F..%2Fup", "100%", "%20", "*", "[a]", "~", "#",
    "\\", "naïve", unicodedata.normalize("NFD", "naïve2"), "茶", "🫖", "case", "CASE", "0003",
    "NA", "a,b", "a:b", "a=b",
)  # fmt: skip
REFUSED = {"a\nb": "control", "é" * 120: "long"}
FEATURES = {"features": {"fps": 1, "size": 32, "weights": "random"}}


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    stem=st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=40)
    | st.sampled_from((*NAMES, ".", "..", "..."))
)
def test_an_id_stays_inside_and_needs_no_quotes(stem: str) -> None:
    try:
        video = video_id(stem)
    except UnicodeEncodeError:
        # Half of a surrogate pair cannot be in the name of a file.
        return
    assert set(video) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-%")
    assert video[0] not in ".-"
    path = PurePosixPath("results/features/own/tea") / f"{video}.zarr"
    assert path.parent.name == "tea"
    assert Path(os.path.normpath(path)) == Path(path)
    assert stem_of(video) == stem


def touched(root: Path) -> None:
    """Make a task with an empty video file of every name in `NAMES`."""
    root.mkdir(parents=True)
    for name in NAMES:
        (root / f"{name}.mp4").touch()


def test_planning_with_every_name(tmp_path: Path) -> None:
    fresh = Checkout.copied_to(tmp_path / "checkout")
    touched(fresh.path / "videos/tea")
    (fresh.path / "own.yaml").write_text("datasets: {own: {layout: folder, root: videos}}\n", encoding="utf-8")
    assert fresh.plan("results/features/own/tea/index.csv", more=["own.yaml"]).jobs["extract"] == 1
    names = [path.name.removesuffix(".mp4") for path in (fresh.path / "videos/tea").iterdir()]
    # On a disk that ignores case, as on macOS, two of the names are the same file.
    assert set(names) >= {*NAMES} - {"CASE"}
    assert len({video_id(name).lower() for name in names}) == len(NAMES) - 1
    # A job gets every name unchanged.
    study = Study.of({"datasets": {"own": {"layout": "folder", "root": str(fresh.path / "videos")}}})
    (batch,) = datasets.batches(Task(study, "own", "tea"))
    root = fresh.path / "videos/tea"
    assert datasets.video_paths(Task(study, "own", "tea"), batch) == {
        video_id(n): str(root / f"{n}.mp4") for n in names
    }
    assert not list(fresh.path.rglob("escaped"))


def any_names(seed: int, count: int) -> list[str]:
    """Draw names from all printable characters, from those of ASCII, or from those that mean something to Snakemake."""
    random = Random(seed)
    printable = [chr(i) for i in range(sys.maxunicode) if unicodedata.category(chr(i))[0] in "LMNPS" and chr(i) != "/"]
    alphabets = (
        printable,
        string.ascii_letters + string.digits + string.punctuation.replace("/", "") + " ",
        "<>{}ab_1.",
    )
    drawn = ("".join(random.choices(random.choice(alphabets), k=random.randint(1, 15))) for _ in range(count))
    # Files that macOS leaves next to copies are ignored; names that differ only in case are tested elsewhere.
    return list({unicodedata.normalize("NFC", name).casefold(): name for name in drawn if name[:2] != "._"}.values())


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_any_printable_name_is_refused_by_the_doctor_or_right_to_the_end(tmp_path: Path, seed: int) -> None:
    names = any_names(seed, 200)
    fresh = Checkout.copied_to(tmp_path / "checkout")
    root = fresh.path / "videos"
    (root / "tea").mkdir(parents=True)
    for name in names:
        (root / "tea" / f"{name}.mp4").touch()
        (root / "tea" / f"{name}.csv").touch()
    content = {"datasets": {"own": {"layout": "folder", "root": "videos"}}}
    (fresh.path / "own.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    targets = ("results/features/own/tea/index.csv", "results/manifest/own/tea.csv")
    with chdir(fresh.path):
        report = examine(content, "own", quick=True)
    refused = {finding.file for finding in report.findings if finding.rule == "name" and finding.severity == "error"}
    assert refused == {
        f"tea/{name}{suffix}"
        for name in names
        if re.search("[{}]|<[a-z][a-z0-9_]*>", name)
        for suffix in (".mp4", ".csv")
    }
    plan = fresh.plan(*targets, more=["own.yaml"])
    assert "which Snakemake would replace" in plan.mistake if refused else plan.returncode == 0
    for path in refused:
        (root / path).unlink()
    assert fresh.plan(*targets, more=["own.yaml"]).jobs["manifest"] == 1
    study = Study.of({"datasets": {"own": {"layout": "folder", "root": str(root)}}})
    paths = [
        path
        for batch in datasets.batches(Task(study, "own", "tea"))
        for path in datasets.video_paths(Task(study, "own", "tea"), batch).values()
    ]
    assert sorted(paths) == sorted(str(path) for path in root.rglob("*.mp4"))


def test_a_root_that_snakemake_would_replace(tmp_path: Path) -> None:
    root = tmp_path / "my <old> films"
    (root / "tea").mkdir(parents=True)
    for name in "ab":
        (root / "tea" / f"{name}.mp4").touch()
    content = {"datasets": {"own": {"layout": "folder", "root": str(root)}}}
    with pytest.raises(RgwotError, match="my <old> films.* '<old>', which Snakemake would replace"):
        examine(content, "own", quick=True)
    with pytest.raises(RgwotError, match="<old>"):
        datasets.batches(Task(Study.of(content), "own", "tea"))


@pytest.mark.parametrize("name", sorted(REFUSED), ids=["control", "long"])
def test_names_that_no_result_can_have_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "tea").mkdir()
    (tmp_path / "tea" / f"{name}.mp4").touch()
    (tmp_path / "tea/b.mp4").touch()
    with pytest.raises(RgwotError, match=REFUSED[name]) as caught:
        find("own", "folder", tmp_path).of("tea")
    assert "\n" not in str(caught.value)


def test_jobs_with_a_hostile_name(tmp_path: Path) -> None:
    name = "-a;$(touch escaped) `b` \"c\" 'd' %2e é"
    (tmp_path / "root/tea").mkdir(parents=True)
    source = write_video(tmp_path / "root/tea" / f"{name}.mp4", 24, 24)
    write_video(tmp_path / "root/tea/b.mp4", 24, 24)
    entry = {"layout": "folder", "root": "root", "options": {}, "on_bad_video": "fail"}
    output = {"manifest": "m.csv", "annotations": "a.csv"}
    jobs = tmp_path.parent / f"{tmp_path.name}-jobs"
    jobs.mkdir()
    said = run(script_command("manifest", jobs, output=output, params={"entry": entry}), tmp_path)
    assert said.returncode == 0, said.text
    with (tmp_path / "m.csv").open(newline="", encoding="utf-8") as file:
        (row,) = [row for row in csv.DictReader(file) if row["video"] != "b"]
    # In the file, an apostrophe keeps spreadsheets from running the name as a formula.
    assert (row["name"], row["video"]) == (f"'{name}", video_id(name))
    store = f"features/{row['video']}.zarr"
    params = {"videos": {row["video"]: str(source)}, "settings": {**FEATURES, **READING}}
    ids = {"video": row["video"]}
    command = script_command("extract", jobs, output=[store], params=params, wildcards=ids, config={"device": "cpu"})
    said = run(command, tmp_path, 120)
    assert said.returncode == 0, said.text
    assert open_store(tmp_path / store).attributes["source"] == f"{name}.mp4"
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith(".")) == [
        "a.csv", "features", "m.csv", "root",
    ]  # fmt: skip
