"""A task with results in a served window, and a window that shows its page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from chromium import Browser, Window
from page_tree import Task, make_task
from served import CONFIG, Served, serving

from rgwot.paths import Run


@pytest.fixture(scope="session")
def made_task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """Return a task with results, in which no video is annotated; it takes seconds to make."""
    made = make_task(tmp_path_factory.mktemp("made") / "study", annotated=False)
    made.runs = [Run("raw", "kmeans", 0)]
    made.page()
    (made.folder / "config.yaml").write_text(CONFIG)
    return made


@pytest.fixture
def task(made_task: Task, tmp_path: Path) -> Task:
    """Return a copy of this task, which a test may change."""
    shutil.copytree(made_task.folder, tmp_path / "study")
    return replace(made_task, folder=tmp_path / "study", runs=[*made_task.runs])


@pytest.fixture
def served(task: Task, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.chdir(task.folder)
    with serving(task.folder, monkeypatch) as running:
        yield running


@pytest.fixture
def window(browser: Browser, served: Served) -> Window:
    """Return a window that went from the printed address to the page of the task."""
    opened = browser.window(1400, 900)
    opened._page.goto(served.address)
    opened.wait_for("document.querySelector('#tasks a') !== null")
    assert "token" not in opened.get("location.href")
    opened.click_on("#tasks a")
    opened.wait_for("document.querySelector('#tab-label')?.hidden === false")
    return opened
