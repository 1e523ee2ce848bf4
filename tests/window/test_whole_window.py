"""From videos, or features alone, to annotations that taught the others, in the window, with the real workflow.

With a folder of videos in RGWOT_VIDEOS, these take the place of the synthetic ones.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from chromium import WHERE, WITHOUT, Browser, Window

from rgwot.datasets.annotation_files import read_annotation_file
from rgwot.names import read_names
from rgwot.paths import SEGMENTS, Run, at
from rgwot.stages.decode import write_keysteps
from rgwot.study.shipped import DEFAULTS
from rgwot.study.study import Study
from rgwot.synthetic.settings import SynthSettings
from rgwot.synthetic.videos import write_dataset
from rgwot.window.learning import Learner

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium

pytestmark = [pytest.mark.long, pytest.mark.skipif(WHERE is None, reason=WITHOUT)]


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    """Return a folder of videos without annotations: four short ones, or those that the environment names."""
    folder = tmp_path / "whole" / "tea"
    if named := os.environ.get("RGWOT_VIDEOS"):
        shutil.copytree(named, folder, ignore=shutil.ignore_patterns("*.csv"))
        return folder
    settings = SynthSettings(layout="folder", tasks=("tea",), K=4, n_videos=4, min_s=12, max_s=16, seed=3)
    write_dataset(settings, folder.parent)
    for annotation in folder.glob("*.csv"):
        annotation.unlink()
    return folder


# Every test has its own window, because a page whose server has ended goes on asking and fills the console.
@pytest.fixture
def window(running: Chromium) -> Iterator[Window]:
    browser = Browser(running)
    yield browser.window(1400, 900)
    browser.close()


@contextmanager
def opened(folder: Path, window: Window) -> Iterator[None]:
    """Run `rgwot open` for a folder, and go to its address; wait at the end until its run has written everything."""
    command = [sys.executable, "-m", "rgwot", "open", str(folder), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        address = re.search(r"http://\S+", process.stdout.readline())
        assert address is not None
        window._page.goto(address[0])
        yield
        window.wait_for("document.querySelector('#saved').textContent === 'Everything is saved.'")
        window.wait_for("DATA.runs.some(({given}) => given.length)", 60)
        window.wait_for("!document.querySelector('#newer').hidden", 900)
        window.wait_for("!document.querySelector('#running').textContent", 900)
        # The run has written the deviations.
        window.wait_for("!document.querySelector('#procedure').textContent.includes('being checked')", 60)
        assert window.errors == []
    finally:
        process.terminate()
        process.wait(30)


def to_labels(window: Window) -> None:
    """Wait for the page of the only task, which opens by itself, and go to the tab of labels."""
    window.wait_for("document.querySelector('#tab-label')?.hidden === false", 600)
    window.click_on("#tab-label")


def run_first() -> str:
    """Return the output of `rgwot run first` in the current folder."""
    command = [sys.executable, "-m", "rgwot", "run", "first", "--cores", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout + done.stderr


def check_written(study: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that the window wrote what the commands would have written, to the byte, so nothing is left for them to do.

    ``data`` is the folder of videos or features beside the study.
    """
    monkeypatch.chdir(study)
    learned = Run("rgwot-plus", "labelled", 0)
    own = Learner("mine", "tea").key_steps(Study.read((DEFAULTS, Path("config.yaml"))), learned)
    write_keysteps(tmp_path / "learned", own)
    found = at(SEGMENTS, method=learned.method, decoder=learned.decoder, dataset="mine", task="tea", seed=0)
    assert found.read_bytes() == (tmp_path / "learned" / "segments.csv").read_bytes()
    assert "Nothing to be done" in run_first()
    # Run the commands in another folder, on the same data with the annotations that were made in the window.
    again = tmp_path / "again"
    shutil.copytree(data, again / data.name)
    shutil.copytree(
        study, again / study.name, symlinks=True, ignore=shutil.ignore_patterns("results", ".snakemake", ".rgwot")
    )
    monkeypatch.chdir(again / study.name)
    run_first()
    for pattern in ("keysteps/*/*/mine/tea/seed0/*.csv", "annotations/mine/*.csv", "report/mine/*.csv"):
        names = sorted(path.relative_to(study) for path in (study / "results").glob(pattern))
        assert names
        for name in names:
            assert name.read_bytes() == (study / name).read_bytes(), name


#: The starts of the segments in the bar of found key steps, as shares of the video; and the video that is labelled.
FOUND = "[...document.querySelectorAll('#label-found .seg')].map((one) => parseFloat(one.style.left) / 100)"
PLAYED = "document.querySelector('#label-stage video')"


def label_while_it_plays(window: Window, faster: int) -> int:
    """Press the next key, while the video plays, whenever another found step begins; return the number of keys.

    Steps of less than a second, which is about as fast as a hand can be, are skipped.
    """
    window.wait_for(f"{PLAYED}?.readyState >= 2")
    duration, moments = window.get(f"{PLAYED}.duration"), list[float]()
    for begin in window.get(FOUND):
        at = begin * duration
        if (not moments or at - moments[-1] >= 1 + faster) and duration - at >= 1:
            moments.append(at)
    for _ in range(faster):
        window.press("+")
    window.press(" ")
    for key, moment in zip("123456789", moments, strict=False):
        window.wait_for(f"{PLAYED}.currentTime >= {moment}")
        window.press(key)
    window.wait_for(f"{PLAYED}.paused")
    return min(len(moments), 9)


def test_from_videos_to_an_annotation_that_teaches(
    videos: Path, window: Window, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    count, study = len(list(videos.iterdir())), videos.with_name("tea_study")
    with opened(videos, window):
        window.wait_for("document.querySelector('#proposal')?.hidden === false")
        assert f"{count} videos" in window.get("document.querySelector('#found').textContent")
        window.press("Enter")
        window.wait_for("document.querySelector('#tab-steps')?.hidden === false", 900)
        # Give a key step a name.
        window.click_on("#tab-steps")
        window.click_on("#rows .keystep input")
        window.write("pour water")
        window.press("Tab")
        # Label one video while it plays, at a higher speed if it is long.
        window.click_on("#tab-label")
        first = window.get("document.querySelector('#label-video').selectedOptions[0].textContent")
        n = label_while_it_plays(window, 3 if "RGWOT_VIDEOS" in os.environ else 0)
        window.wait_for("document.querySelector('#saved').textContent === 'Everything is saved.'")
        annotation = read_annotation_file(videos / f"{first}.csv")
        assert len(annotation) == n
        assert "pour water" in set(annotation["label"])
    names = read_names(study / "names" / "mine" / "tea.yaml")
    assert ["pour water"] in [list(entry.names.values()) for entry in names.values()]
    check_written(study, videos, tmp_path, monkeypatch)


#: Number of steps in each recording of features; they follow each other, and last about two seconds each.
STEPS = 4
FEATURES_CONFIG = """datasets:
  mine: {layout: features, root: ../features, imported: {axes: TC, fps: 10}}
seeds: [0]
decode: {K: 4}
page: {datasets: [mine]}
"""


@pytest.fixture
def study_of_features(tmp_path: Path) -> Path:
    """Return a study of five recordings of eight noisy channels, in which four steps follow each other."""
    rng, folder = np.random.default_rng(5), tmp_path / "features" / "tea"
    folder.mkdir(parents=True)
    for name in ("a", "b", "c", "d", "e"):
        steps = np.repeat(np.arange(STEPS), rng.integers(18, 26, STEPS))
        np.save(folder / f"{name}.npy", np.eye(8)[steps] * 3 + rng.normal(size=(len(steps), 8)))
    study = tmp_path / "study"
    study.mkdir()
    subprocess.run([sys.executable, "-m", "rgwot", "init", str(study), "--videos", str(folder.parent)], check=False)
    (study / "config.yaml").write_text(FEATURES_CONFIG)
    return study


def test_three_recordings_of_features_are_annotated_with_few_keys(
    study_of_features: Path, window: Window, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keys = 0

    def press(key: str) -> None:
        nonlocal keys
        keys += 1
        window.press(key)

    with opened(study_of_features, window):
        to_labels(window)
        # Channels around the moment replace the player.
        window.wait_for("document.querySelector('#label-stage canvas.channels') !== null")
        window.wait_for("document.querySelectorAll('#label-stage .choices input').length === 8", 30)
        press(" ")
        for video in range(3):
            for key in "1234":
                press(key)
                time.sleep(1.5)
            press("0")
            press("Enter" if video < 2 else " ")
        # There is a click for the tab, and for each recording at most two keys besides those of its steps.
        assert 1 + keys <= 2 + 3 * (STEPS + 2)
        window.wait_for("DATA.runs.some(({given}) => given.length === 3)", 60)
    check_written(study_of_features, study_of_features.with_name("features"), tmp_path, monkeypatch)
