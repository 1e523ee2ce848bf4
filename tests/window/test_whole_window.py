"""From a folder of videos to an annotation that taught the others, in the window alone, with the real workflow."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from chromium import WHERE, WITHOUT, Browser, Window

from rgwot.config.configuration import SynthSettings
from rgwot.paths import SEGMENTS, Run, at
from rgwot.stages.decode import write_keysteps
from rgwot.study.shipped import DEFAULTS
from rgwot.study.study import Study
from rgwot.synthetic.videos import write_dataset
from rgwot.window.learning import Learner

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Chromium

pytestmark = [pytest.mark.long, pytest.mark.skipif(WHERE is None, reason=WITHOUT)]


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    write_dataset(SynthSettings(layout="folder", tasks=("tea",), K=4, n_videos=4, min_s=12, max_s=16, seed=3), folder)
    for annotation in (folder / "tea").glob("*.csv"):
        annotation.unlink()
    return folder / "tea"


@pytest.fixture(scope="module")
def window(running: Chromium) -> Iterator[Window]:
    browser = Browser(running)
    yield browser.window(1400, 900)
    browser.close()


def run(study: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "rgwot", "run", *arguments]
    done = subprocess.run(command, cwd=study, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_from_videos_to_an_annotation_that_teaches(
    videos: Path, window: Window, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "rgwot", "open", str(videos), "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    study = videos.with_name("tea_study")
    try:
        address = re.search(r"http://\S+", process.stdout.readline())
        assert address is not None
        window._page.goto(address[0])
        window.wait_for("document.querySelector('#proposal')?.hidden === false")
        assert "4 videos" in window.get("document.querySelector('#found').textContent")
        window.press("Enter")
        # The page of the only task opens by itself.
        window.wait_for("document.querySelector('#tab-label')?.hidden === false", 600)
        window.click_on("#tab-label")
        window.wait_for("document.querySelector('#label-stage video')?.readyState >= 2")
        window.press(" ")
        for key in "1234":
            window.press(key)
            time.sleep(1)
        window.press("0")
        window.press(" ")
        window.wait_for("document.querySelector('#saved').textContent === 'Everything is saved.'")
        window.wait_for("DATA.runs.some(({given}) => given.length)", 60)
        # The run behind writes the same.
        window.wait_for("!document.querySelector('#newer').hidden", 600)
        window.wait_for("!document.querySelector('#running').textContent", 60)
        assert window.errors == []
    finally:
        process.terminate()
        process.wait(30)
    monkeypatch.chdir(study)
    taught = Run("rgwot-plus", "labelled", 0)
    write_keysteps(
        tmp_path / "again", Learner("mine", "tea").taught(Study.read((DEFAULTS, Path("config.yaml"))), taught)
    )
    found = at(SEGMENTS, method=taught.method, decoder=taught.decoder, dataset="mine", task="tea", seed=0)
    assert found.read_bytes() == (tmp_path / "again" / "segments.csv").read_bytes()
    assert "Nothing to be done" in run(study, "first")
