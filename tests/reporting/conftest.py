"""Fixtures: the page of a task whose names would do harm as markup, and a browser with this page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from chromium import Browser, Window
    from page_tree import Task


@pytest.fixture(scope="session")
def page_task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    from page_tree import make_task
    from page_window import STEPS, VIDEOS

    return make_task(tmp_path_factory.mktemp("page"), VIDEOS, steps=STEPS)


@pytest.fixture(scope="session")
def page(page_task: Task) -> Path:
    return page_task.page()


@pytest.fixture
def window(browser: Browser, page: Path) -> Window:
    opened = browser.window()
    opened.open(page)
    return opened
