"""Beside this file lie helper modules; it makes pytest put their folder on the module path."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from chromium import Browser
    from playwright.sync_api import Browser as Chromium

# No deadline, because times depend on what else the machine does; every run draws the same examples.
settings.register_profile("rgwot", deadline=None, derandomize=True)
settings.load_profile("rgwot")

# Every job of a workflow is a process, and would compile the project again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

#: Files that take minutes. They come first, so that no worker has one of them left when the others are idle.
LONGEST = [Path(__file__).parent / name for name in ("workflow", "faults", "test_notebook.py")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        return next((at for at, path in enumerate(LONGEST) if item.path.is_relative_to(path)), len(LONGEST))

    items.sort(key=rank)


@pytest.fixture(scope="session")
def running() -> Iterator[Chromium]:
    """The only Chromium of a worker: Playwright refuses a second one beside the first."""
    from chromium import chromium

    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def browser(running: Chromium) -> Iterator[Browser]:
    """A browser without the cookies of other files of tests."""
    from chromium import Browser

    opened = Browser(running)
    yield opened
    opened.close()
