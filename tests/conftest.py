"""Settings and fixtures of all tests; this file also makes pytest put its folder, with helper modules, on the path."""

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

# There is no deadline, because times depend on the load of the machine; every run draws the same examples.
settings.register_profile("rgwot", deadline=None, derandomize=True)
settings.load_profile("rgwot")

# If this were set, every job of a workflow would compile the project again, because each is a new process.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

#: Tests that take minutes. They run first, so that no worker is left with one of them while the others are idle.
LONGEST = [Path(__file__).parent / name for name in ("workflow", "faults", "test_notebook.py")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def rank(item: pytest.Item) -> int:
        return next((at for at, path in enumerate(LONGEST) if item.path.is_relative_to(path)), len(LONGEST))

    items.sort(key=rank)


@pytest.fixture(scope="session")
def running() -> Iterator[Chromium]:
    """Return the only Chromium of a worker; Playwright refuses to run a second one."""
    from chromium import chromium

    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def browser(running: Chromium) -> Iterator[Browser]:
    """A browser without the cookies of other test files."""
    from chromium import Browser

    opened = Browser(running)
    yield opened
    opened.close()
